//! Bytes: what is promised (the ledger), what is real (regions, heap counts and the process), what is left (the probe).
//! This room knows nothing of circuits.

pub mod ledger;
pub mod meter;
pub mod probe;
pub mod region;
pub mod usage;

pub use ledger::{Account, ClaimId, Demand, Ledger, Refusal};
pub use meter::Meter;
pub use probe::{Observation, Probe, Resident};
pub use region::{FileMap, Pod, Region, RegionVec};
pub use usage::{Class, Count, Stage};
