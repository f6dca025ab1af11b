//! Groth16 parameters: check, import to the native mapped form, load; development setup.

/// A circuit's proving and verifying key, mapped from its native file.
pub struct Srs {}
