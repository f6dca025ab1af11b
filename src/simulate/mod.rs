//! Plans: virtual time over the same scheduler and footprints that the engine runs on, and the pipelines of
//! the prior art for comparison.
//!
//! Work shares what a machine has ([`floor`]): threads beyond the processors run at a share of their speed,
//! syntheses slow each other by a measured part (memory bandwidth), a device works on one partition's kernels
//! at a time. Stage times are log-normal around those of a [`Profile`], drawn from a seed: the same question
//! has the same answer.

mod arrivals;
pub mod floor;
mod forebay;
mod measure;
mod mix;
mod outcome;
mod prior;
mod profile;
#[cfg(test)]
mod properties;
pub mod published;
mod recorder;
mod scenario;
#[cfg(test)]
mod tests;

pub use measure::measure;
pub use mix::{Entry, Mix};
pub use outcome::{Killed, KindOutcome, Outcome, Shares};
pub use prior::{Channel, Permit, Pipeline};
pub use profile::{CircuitProfile, Core, Device, Materialised, Prior, Profile, Seconds, Threads};
pub use recorder::{Doing, Lane, Sample, Timeline};
pub use scenario::{Policy, Scenario};
