//! A real 2 KiB sector with development parameters, in a cache folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use forebay::kind::{CircuitId, ProofKind};
use forebay_sector::{Kind, Recipe, Request, Sector, SECTOR_SIZE};

use crate::failure::{sector_error, Result};
use crate::setup::{default_cache, has_key, Workshop};

/// Seed of the sector: the same data, ids and randomness every time.
const SEED: u64 = 1;

/// Where sector and parameters are kept.
#[derive(Clone, clap::Args)]
pub struct Ground {
    /// Folder for parameters, matrices and the 2 KiB sector [default: ${XDG_CACHE_HOME:-~/.cache}/forebay]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Ground {
    /// Tells Filecoin's crates where parameters are. To be called before any other thread exists.
    pub fn use_parameter_folder(&self) {
        forebay_sector::use_folder(&self.parameters());
    }

    /// The cache folder.
    pub fn cache(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(default_cache)
    }

    /// Where `.params` and `.vk` files are.
    pub fn parameters(&self) -> PathBuf {
        self.cache().join("development-parameters")
    }

    /// The sector, made on first use.
    pub fn sector(&self) -> Result<Sector> {
        Sector::load_or_make(&self.cache().join("sectors"), Recipe::new(SEED))
            .map_err(sector_error("making the 2 KiB sector"))
    }

    /// Makes the development keys of these kinds that are missing.
    pub fn make_parameters(&self, kinds: &[ProofKind], threads: Option<usize>) -> Result<()> {
        let folder = self.parameters();
        let mut workshop = None;
        for kind in kinds {
            let circuit = CircuitId::new(*kind, SECTOR_SIZE)?;
            if !has_key(circuit, &folder)? {
                let workshop = match &workshop {
                    Some(workshop) => workshop,
                    None => workshop.insert(Workshop::new(threads)?),
                };
                make_key(workshop, circuit, &folder)?;
            }
        }
        Ok(())
    }
}

fn make_key(workshop: &Workshop, circuit: CircuitId, folder: &Path) -> Result<()> {
    let begun = Instant::now();
    workshop.develop(circuit, folder)?;
    eprintln!("made development parameters for {circuit} in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The sector crate's name of a kind.
pub fn of_sector(kind: ProofKind) -> Kind {
    match kind {
        ProofKind::PorepC2 => Kind::PorepC2,
        ProofKind::SnapUpdate => Kind::SnapUpdate,
        ProofKind::WindowPost => Kind::WindowPost,
        ProofKind::WinningPost => Kind::WinningPost,
    }
}

/// The sector's request of a kind.
pub fn request(sector: &Sector, kind: ProofKind) -> &Request {
    sector.request(of_sector(kind))
}
