//! What came of one pipeline, as its process tells it.

use serde::{Deserialize, Serialize};

/// One pipeline's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The highest anonymous resident bytes less those before the pipeline was set up. The key is a mapped file,
    /// so it is in neither.
    pub peak: u64,
    /// The most partitions that were synthesised and not yet in the prover.
    pub waiting: u64,
    /// Seconds from the arrival of the requests to the last verified proof.
    pub seconds: f64,
    /// Proofs that the network's own verifier accepts.
    pub verified: usize,
    /// The budget that the engine found for itself.
    pub budget: Option<u64>,
    /// The most bytes that the engine had promised.
    pub promised: Option<u64>,
}

impl Outcome {
    /// Proofs a minute.
    pub fn rate(&self) -> f64 {
        60.0 * self.verified as f64 / self.seconds
    }
}

/// What a pipeline measures of itself.
pub struct Ran {
    /// The answers, as the miner gets them.
    pub answers: Vec<Vec<u8>>,
    pub waiting: u64,
    pub seconds: f64,
    pub budget: Option<u64>,
    pub promised: Option<u64>,
}
