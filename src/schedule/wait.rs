//! Why a request waits; every wait is visible.

/// What an unfinished request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Requests that are served before it.
    Turn,
    /// A synthesis worker.
    Worker,
    /// Slots: enough partitions are synthesised ahead of them.
    Ahead,
    /// Memory that others hold.
    Memory,
    /// A request that has waited so long for memory that nothing may pass it any more.
    Door,
    /// The machine is short of memory: one partition at a time.
    Pressure,
    /// SRS and matrices, which are being loaded.
    Circuit,
    /// A prover slot.
    Slot,
    /// Nothing: it is worked on.
    Nothing,
}

impl Wait {
    /// All reasons.
    pub const ALL: [Wait; 9] = [
        Wait::Turn,
        Wait::Worker,
        Wait::Ahead,
        Wait::Memory,
        Wait::Door,
        Wait::Pressure,
        Wait::Circuit,
        Wait::Slot,
        Wait::Nothing,
    ];

    /// Name in status and metrics; empty for nothing.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Turn => "turn",
            Wait::Worker => "worker",
            Wait::Ahead => "ahead",
            Wait::Memory => "memory",
            Wait::Door => "door",
            Wait::Pressure => "pressure",
            Wait::Circuit => "circuit",
            Wait::Slot => "slot",
            Wait::Nothing => "",
        }
    }
}
