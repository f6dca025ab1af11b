//! Groth16 parameters: check, import to the native mapped form, load; development setup.
//!
//! A circuit's key comes as a `.params` file (bellperson's layout) and is read from a native file
//! (`.fsrs`) that holds the same points as they are in memory, so that opening it is one mapping.

mod arithmetic;
pub mod develop;
mod header;
mod import;
mod key;
mod layout;
mod native;
mod official;
mod params;
mod points;
mod sidecar;
mod staged;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod work;

pub use arithmetic::Arithmetic;
pub use key::Srs;
pub use layout::Counts;
pub use params::{read_verifying_key, Examined, Origin};
pub use sidecar::DevelopmentMark;
pub use store::{Checked, Located, Store, StoreConfig, NATIVE_EXTENSION};
pub use work::{Phase, Progress, Query, Work};
