//! Groth16 proving: the backend trait, and the contracts between the pipeline and what it proves.

use crate::cancel::Cancel;
use crate::circuit::{Shape, Witness};
use crate::error::Result;
use crate::memory::Meter;
use crate::units::Bytes;

pub mod cpu;
#[doc(hidden)]
pub mod fake;
mod proof;
mod task;
mod verify;

pub use proof::{Blinding, Proof};
pub use task::{Catalog, CircuitData, Footprint, KeyDigest, ProofTask};
pub use verify::verify;

/// One place where the heavy step runs. The slot's working set exists only inside [`Backend::start`]. What a
/// device leaves to the processor runs on the current rayon pool.
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

    /// Bytes of the device's memory for a whole turn, for a witness with `wide` wide values; a pure function
    /// of its arguments. None on the processor.
    fn device_set(&self, shape: &Shape, wide: u64) -> Bytes {
        let _ = (shape, wide);
        Bytes::ZERO
    }

    /// Bytes of its device's memory that turns may use, all together; no bound of our own by default.
    fn device_memory(&self) -> Bytes {
        Bytes(u64::MAX)
    }

    /// The heavy step: evaluates A·w and B·w from the compact witness, computes the quotient and its
    /// multi-scalar multiplication. Evaluation buffers are free when it returns.
    fn start(&self, step: &Step) -> Result<Started>;

    /// The rest: the a, b and l queries over the witness, and the blinded proof.
    fn finish(&self, step: &Step, started: Started, blinding: Blinding) -> Result<Proof>;
}

/// What a step of one partition works with.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The circuit's shared data.
    pub circuit: &'a CircuitData,
    /// The partition's witness.
    pub witness: &'a Witness,
    /// Checked between chunks of work.
    pub cancel: &'a Cancel,
    /// Every region of the step is made for this meter.
    pub meter: &'a Meter,
}

/// What [`Backend::start`] leaves for [`Backend::finish`].
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// The h query's sum: Σ hᵢ·Hᵢ.
    pub h: blstrs::G1Projective,
}
