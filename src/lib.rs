//! forebay: Groth16 proofs over BLS12-381 for Filecoin storage miners, inside a fixed memory budget.
//!
//! The rooms, lower ones first; a lower room never imports a higher one:
//! [`error`], [`units`], [`kind`], `telemetry`, [`memory`], `schedule`, [`circuit`], [`srs`],
//! [`prove`], [`filecoin`], [`engine`], [`simulate`], [`ffi`].

pub mod cancel;
pub mod circuit;
pub mod engine;
pub mod error;
pub mod ffi;
pub mod filecoin;
pub mod kind;
pub mod memory;
pub mod prove;
pub mod schedule;
pub mod simulate;
pub mod srs;
pub mod telemetry;
pub mod units;
pub mod wire;

pub use error::{Code, Error, Result};
