//! The sector's requests as wire messages that a test may spoil.

use std::sync::atomic::{AtomicU32, Ordering};

use forebay::kind::ProofKind;
use forebay::wire::SubmitProofRequest;
use forebay_sector::Kind;
use prost::Message;

use super::cache;

/// The kind's name in the crate that makes sectors.
pub fn of_sector(kind: ProofKind) -> Kind {
    match kind {
        ProofKind::PorepC2 => Kind::PorepC2,
        ProofKind::SnapUpdate => Kind::SnapUpdate,
        ProofKind::WindowPost => Kind::WindowPost,
        ProofKind::WinningPost => Kind::WinningPost,
    }
}

/// The sector's request of this kind, under a request id of its own.
pub fn good(kind: ProofKind) -> SubmitProofRequest {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let bytes = cache::sector().request(of_sector(kind)).encode_to_vec();
    let mut request = SubmitProofRequest::decode(bytes.as_slice()).expect("the same message");
    request.request_id = format!("{kind}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    request
}
