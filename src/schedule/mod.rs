//! The scheduler: a pure state machine. It knows bytes, kinds, priorities and deadlines; it knows no
//! threads, no clock and no circuits. Whoever drives it (the engine with real events, the simulator with
//! virtual ones) tells it what happened and carries out what it decides.

mod admit;
mod circuit;
mod circuits;
mod contract;
mod door;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod fingerprint;
mod headroom;
mod job;
#[cfg(test)]
mod mutation;
mod residency;
mod room;
mod scheduler;
mod slots;
#[cfg(test)]
mod tests;
mod turns;
mod view;
mod wait;

pub use circuit::Ratios;
pub use contract::{
    Action, Costs, Event, Factors, JobId, Outcome, Settings, SlotCost, SlotKind, SlotSettings, Step,
    Submission,
};
pub use residency::CircuitView;
pub use scheduler::Scheduler;
pub use slots::SlotView;
pub use view::{Claims, Counts};
pub use wait::Wait;
