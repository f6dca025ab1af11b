//! Keeping sectors on disk.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Recipe, Result, Sector};

/// Raised whenever the encoding of a sector, or how it follows from its recipe, changes.
const FORMAT: u32 = 1;

fn path(dir: &Path, recipe: Recipe) -> PathBuf {
    let Recipe { seed, seal, window, window_partition } = recipe;
    dir.join(format!("sector-{FORMAT}-{seed}-{seal:?}-{window:?}-{window_partition}.bin").to_lowercase())
}

pub(crate) fn load(dir: &Path, recipe: Recipe) -> Option<Sector> {
    let bytes = std::fs::read(path(dir, recipe)).ok()?;
    let sector: Sector = bincode::deserialize(&bytes).ok()?;
    (sector.recipe == recipe && sector.requests.len() == crate::Kind::ALL.len()).then_some(sector)
}

pub(crate) fn store(dir: &Path, sector: &Sector) -> Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&bincode::serialize(sector)?)?;
    file.as_file().sync_all()?;
    file.persist(path(dir, sector.recipe))?;
    Ok(())
}
