//! The compact constraint matrices.

/// A and B of a circuit as a dictionary of row patterns and a compressed sequence of them.
pub struct Matrices {}
