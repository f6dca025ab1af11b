//! Groth16 proving: the backend trait, and the contracts between the pipeline and what it proves.

use crate::cancel::Cancel;
use crate::circuit::{Shape, Witness};
use crate::error::Result;
use crate::units::Bytes;

pub mod cpu;
mod proof;
mod task;

pub use proof::{Blinding, Proof};
pub use task::{Catalog, CircuitData, Footprint, ProofTask};

/// One place where the heavy step runs. The slot's working set exists only inside [`Backend::start`].
pub trait Backend: Send + Sync {
    /// `cpu`, or the device's name.
    fn name(&self) -> &str;

    /// Resident bytes of `start` beyond SRS, matrices and witness; a pure function of the shape.
    fn working_set(&self, shape: &Shape) -> Bytes;

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
