//! What is known of one proof.

use forebay::{Error, Result};
use serde::{Deserialize, Serialize};

/// One proof's facts: the library's report, and what was seen from outside. Bytes are bytes, times milliseconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The proof kind.
    pub kind: String,
    /// The circuit.
    pub circuit: String,
    /// Constraints of the circuit.
    pub constraints: u64,
    /// The compact witness of a partition, as it waits for the prover.
    pub witness_bytes: u64,
    /// The prover's working set beyond SRS, matrices and witness.
    pub working_set_bytes: u64,
    /// The circuit's SRS, mapped.
    pub srs_bytes: u64,
    /// The circuit's matrices.
    pub matrices_bytes: u64,
    /// Acceptance to the first synthesis.
    pub queue_wait_ms: u64,
    /// Loading the circuit.
    pub srs_load_ms: u64,
    /// Witness generation.
    pub synthesis_ms: u64,
    /// Evaluation, transforms and the h query.
    pub start_ms: u64,
    /// The other queries.
    pub finish_ms: u64,
    /// Verification inside the library.
    pub verify_ms: u64,
    /// Acceptance to the answer.
    pub total_ms: u64,
    /// Where the proof was made.
    pub device: String,
    /// The highest resident bytes of this process while the proof was made.
    #[serde(default)]
    pub peak_rss_bytes: u64,
    /// Bytes of the answer.
    #[serde(default)]
    pub proof_bytes: usize,
    /// filecoin-proofs-api accepts the proof.
    #[serde(default)]
    pub verified: bool,
}

impl Facts {
    /// The library's part of the facts.
    pub fn from_report(json: &[u8]) -> Result<Facts> {
        serde_json::from_slice(json)
            .map_err(|e| Error::internal(format!("a job report that this program does not know: {e}")))
    }
}

/// The process' highest resident bytes from a moment on.
pub struct PeakMemory;

impl PeakMemory {
    /// Starts at what is resident now, where the kernel lets us; else the peak counts from the process' start.
    pub fn from_here() -> PeakMemory {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        PeakMemory
    }

    /// The peak since then; 0 where the kernel does not tell.
    pub fn reached(&self) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }
}
