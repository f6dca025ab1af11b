//! From a `.params` file to its native form.

use std::fs::File;
use std::path::Path;

use super::header::Header;
use super::params::{Examine, Examined, Origin};
use super::sidecar::{Stamp, Verdict};
use super::staged::Staged;
use super::work::{system, Work};
use crate::error::Result;
use crate::kind::CircuitId;

/// Reads `.params` once, checking and converting as it goes, and writes the native file.
pub(super) fn import(examine: &Examine, circuit: CircuitId, staged: Staged, work: &Work) -> Result<Examined> {
    let (examined, sink) = examine.import(staged, work)?;
    sink.finish(Header {
        circuit: circuit.to_string(),
        development: examined.origin == Origin::Development,
        counts: examined.counts,
        source: examined.digest,
        sections: Default::default(),
        vk: examined.vk.clone(),
    })?;
    Ok(examined)
}

/// Remembers that the checksums of a native file match.
pub(super) fn remember_verified(native: &Path, source: &[u8; 64]) -> Result<()> {
    let folder = native.parent().unwrap_or(Path::new("."));
    let file = File::open(native).map_err(system("opening", native))?;
    Verdict::new(Stamp::settled(&file, native)?, source, true).remember(native, folder);
    Ok(())
}
