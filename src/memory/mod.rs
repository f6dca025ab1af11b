//! Bytes: what is promised (the ledger), what is real (regions and the process), what is left (the probe).
//! This room knows nothing of circuits.

pub mod ledger;
mod meter;
pub mod probe;
pub mod region;

pub use ledger::{ClaimId, Demand, Ledger, Refusal};
pub use meter::Meter;
pub use probe::{Available, Probe, Resident};
pub use region::{FileMap, Pod, Region, RegionVec};
pub use usage::{Class, Stage};

pub mod usage;
