//! Development setup: a proving key for any bellpepper circuit, from toxic waste that this process knew.
//! Such a key is insecure; its files carry a mark and are refused unless that is allowed.

mod lagrange;
mod qap;
mod setup;
mod toxic;

pub use setup::{develop, Developed, Target};
pub use toxic::ToxicWaste;
