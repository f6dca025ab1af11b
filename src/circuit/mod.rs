//! Circuits as the prover sees them: their shape, a partition's compact witness, and the compact
//! constraint matrices. Generic over every `bellpepper_core::Circuit<blstrs::Scalar>`.

mod matrices;
mod shape;
mod witness;

pub use matrices::Matrices;
pub use shape::Shape;
pub use witness::Witness;
