//! The status document as far as it is shown. Fields that a server does not have are empty, others are passed over.

use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    pub library: String,
    pub kernels: String,
    pub state: String,
    pub uptime_seconds: u64,
    pub memory: Memory,
    pub process: Process,
    pub cells: Vec<Cell>,
    pub queues: Vec<Queue>,
    pub circuits: Vec<Circuit>,
    pub slots: Vec<Slot>,
    pub partitions: Partitions,
    pub jobs: Vec<Job>,
    pub recent: Vec<Job>,
    pub totals: Totals,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub limit: u64,
    pub reserved: u64,
    pub peak: u64,
    pub overruns: u64,
    pub left: u64,
    pub pressure: f64,
    pub pressed: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Process {
    pub resident: u64,
    pub unbooked: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cell {
    pub class: String,
    pub reserved: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Queue {
    pub kind: String,
    pub pending: u64,
    pub in_progress: u64,
    pub headroom: u64,
    pub next_deadline_ms: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Circuit {
    pub circuit: String,
    pub state: String,
    pub bytes: u64,
    pub users: u64,
    pub pinned: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Slot {
    pub name: String,
    pub reserved: u64,
    pub job_id: String,
    pub partition: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Partitions {
    pub waiting: u64,
    pub synthesis: u64,
    pub queued: u64,
    pub proving: u64,
    pub proved: u64,
    pub finishing: u64,
    pub freeing: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Job {
    pub job_id: String,
    pub request_id: String,
    pub kind: String,
    pub circuit: String,
    pub state: String,
    pub waits_for: String,
    pub partitions: u64,
    pub partitions_done: u64,
    pub stages: String,
    pub deadline_ms: Option<i64>,
    pub total_ms: u64,
    pub error: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub refused: u64,
    pub verification_failures: u64,
    pub panics: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_writes_is_read() {
        let document = serde_json::to_string(&forebay::engine::Status::default()).unwrap();
        let status: Status = serde_json::from_str(&document).unwrap();
        assert!(status.jobs.is_empty());
        let older: Status =
            serde_json::from_str(r#"{"state": "running", "new": [1], "memory": {"limit": 7}}"#).unwrap();
        assert_eq!((older.state.as_str(), older.memory.limit), ("running", 7));
    }
}
