//! The compact witness.

/// A partition's witness: one bit "is wide", one bit of value, 32 bytes for each wide value.
pub struct Witness {}
