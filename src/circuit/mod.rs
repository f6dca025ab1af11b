//! Circuits as the prover sees them: their shape, a partition's compact witness, and the compact
//! constraint matrices. Generic over every `bellpepper_core::Circuit<blstrs::Scalar>`.

mod any;
mod check;
mod density;
pub mod footprint;
mod generator;
#[cfg(test)]
mod generator_tests;
mod matrices;
mod rows;
mod scalar;
mod shape;
mod tail;
#[doc(hidden)]
pub mod testing;
mod witness;

pub use any::AnyCircuit;
#[cfg(test)]
pub(crate) use check::check;
pub use check::{first_violation, Violation};
pub use density::Densities;
pub use generator::Expected;
pub use matrices::{Distinct, Matrices, Matrix};
pub use rows::{synthesize_rows, Row};
pub use shape::Shape;
pub use witness::Witness;
