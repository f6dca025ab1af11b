//! Groth16 proving: the backend trait, and the contracts between the pipeline and what it proves.

use crate::cancel::Cancel;
use crate::circuit::{Shape, Witness};
use crate::error::Result;
use crate::units::Bytes;

pub mod cpu;
#[doc(hidden)]
pub mod fake;
mod proof;
mod task;
mod verify;

pub use proof::{Blinding, Proof};
pub use task::{Catalog, CircuitData, Footprint, ProofTask};
pub use verify::verify;

/// One place where the heavy step runs. The slot's working set exists only inside [`Backend::start`].
pub trait Backend: Send + Sync {
    /// `cpu`, or the device's name.
    fn name(&self) -> &str;

    /// Resident bytes of `start` beyond SRS, matrices and witness; a pure function of the shape.
    fn working_set(&self, shape: &Shape) -> Bytes;

    /// Resident bytes of `finish` beyond SRS, matrices and witness, for a witness with `wide` wide values;
    /// a pure function of its arguments. Without a projection of its own, as much as `start`.
    fn finishing_set(&self, shape: &Shape, wide: u64) -> Bytes {
        let _ = wide;
        self.working_set(shape)
    }

    /// The heavy step: evaluates A·w and B·w from the compact witness, computes the quotient and its
    /// multi-scalar multiplication. Evaluation buffers are free when it returns.
    fn start(&self, circuit: &CircuitData, witness: &Witness, cancel: &Cancel) -> Result<Started>;

    /// The rest: the a, b and l queries over the witness, and the blinded proof.
    fn finish(
        &self,
        circuit: &CircuitData,
        witness: &Witness,
        started: Started,
        blinding: Blinding,
        cancel: &Cancel,
    ) -> Result<Proof>;
}

/// What [`Backend::start`] leaves for [`Backend::finish`].
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// The h query's sum: Σ hᵢ·Hᵢ.
    pub h: blstrs::G1Projective,
}
