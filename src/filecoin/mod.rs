//! The four proof kinds of Filecoin: from a miner's request to checked statements, circuits, public
//! inputs and the bytes that the miner expects back.
//!
//! [`decode`] turns an untrusted `cuzk.v1.SubmitProofRequest` into a [`ProofTask`]. Every length, index and
//! field element that Filecoin's circuit code relies on is checked here, before it is relied on.

mod blank;
mod catalog;
mod decode;
mod guard;
mod paths;
mod porep;
mod post;
mod registered;
mod request;
mod task;
mod tree;
mod update;
mod window;
mod winning;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use blank::{blank_circuit, parameter_stem, BlankCircuit};
pub use catalog::{develop, FilecoinCatalog};
pub use decode::prover_id;
pub use request::request_from_c1;

use crate::error::{Code, Error, Result};
use crate::kind::ProofKind;
use crate::prove::ProofTask;
use crate::wire::SubmitProofRequest;

/// Decodes and checks a request.
///
/// Fails with `InvalidRequest` where a part is malformed or parts do not fit together, and with
/// `Unsupported` for the registered proof types of non-interactive PoRep.
pub fn decode(request: &SubmitProofRequest) -> Result<Arc<dyn ProofTask>> {
    let kind = proof_kind(request.proof_kind)?;
    decode::check_payload_fits(kind, request)?;
    guard::guarded("decoding", || match kind {
        ProofKind::PorepC2 => porep::decode(request),
        ProofKind::SnapUpdate => update::decode(request),
        ProofKind::WindowPost => window::decode(request),
        ProofKind::WinningPost => winning::decode(request),
    })
    .map_err(|error| error.at(kind))
}

/// The proof kind of its number in `cuzk.v1.ProofKind`.
pub fn proof_kind(number: i32) -> Result<ProofKind> {
    use crate::wire::ProofKind as Wire;
    match Wire::try_from(number) {
        Ok(Wire::PorepSealCommit) => Ok(ProofKind::PorepC2),
        Ok(Wire::SnapDealsUpdate) => Ok(ProofKind::SnapUpdate),
        Ok(Wire::WindowPostPartition) => Ok(ProofKind::WindowPost),
        Ok(Wire::WinningPost) => Ok(ProofKind::WinningPost),
        Ok(Wire::Unspecified) | Err(_) => Err(Error::new(
            Code::InvalidRequest,
            format!("proof_kind is {number}; expected 1 (PoRep), 2 (SnapDeals), 3 (WindowPoSt) or 4 (WinningPoSt)"),
        )),
    }
}
