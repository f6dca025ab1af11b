//! Real 2 KiB development sectors and their vanilla proofs, made with filecoin-proofs-api.
//!
//! A [`Sector`] holds what a storage miner would send for each of the four proof kinds (the fields of
//! `cuzk.v1.SubmitProofRequest` as plain data) and what Filecoin's own verifiers need to check the
//! answer. Everything follows from the [`Recipe`]: the same recipe gives the same bytes.
//!
//! Filecoin's crates read their settings from the environment once, at first use. Call [`use_folder`]
//! first thing in `main`, before any other thread exists, so that verifying keys are looked for in the
//! right folder and the graph's parent cache is written there too.

mod cache;
mod recipe;
mod request;
mod seal;
mod statement;
mod vanilla;

pub use prost::Message;
pub use recipe::{Recipe, SealType, WindowType};
pub use request::{Kind, Request};

use std::path::Path;

use serde::{Deserialize, Serialize};
use statement::Statement;

/// Why a sector could not be made, read or checked.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The padded size of the sectors this crate makes.
pub const SECTOR_SIZE: u64 = 2 << 10;

/// Makes Filecoin's crates look for `.params` and `.vk` files in `parameters`, and keep their parent
/// cache in its subfolder `parents`. Their settings are read once, at first use: a later call has no effect.
pub fn use_folder(parameters: &Path) {
    std::env::set_var("FIL_PROOFS_PARAMETER_CACHE", parameters);
    std::env::set_var("FIL_PROOFS_PARENT_CACHE", parameters.join("parents"));
}

/// A sealed sector's requests, and the statements they prove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sector {
    recipe: Recipe,
    requests: Vec<Request>,
    c1_json: Vec<u8>,
    statement: Statement,
}

impl Sector {
    /// Seals a sector in a temporary folder inside `dir` and makes its vanilla proofs. Takes seconds.
    pub fn make(dir: &Path, recipe: Recipe) -> Result<Sector> {
        std::fs::create_dir_all(dir)?;
        let work = tempfile::Builder::new().prefix("sealing-").tempdir_in(dir)?;
        vanilla::make(work.path(), recipe)
    }

    /// The sector kept in `dir` for this recipe; made and kept there on first use. Safe to call from many
    /// processes at once: a file appears whole or not at all, and one that does not read back is made anew.
    pub fn load_or_make(dir: &Path, recipe: Recipe) -> Result<Sector> {
        if let Some(sector) = cache::load(dir, recipe) {
            return Ok(sector);
        }
        let sector = Sector::make(dir, recipe)?;
        cache::store(dir, &sector)?;
        Ok(sector)
    }

    /// What the sector was made from.
    pub fn recipe(&self) -> Recipe {
        self.recipe
    }

    /// What the miner sends for this kind.
    pub fn request(&self, kind: Kind) -> &Request {
        &self.requests[kind as usize]
    }

    /// The raw JSON of the C1 output (`SealCommitPhase1Output`), without the miner's envelope.
    pub fn c1_json(&self) -> &[u8] {
        &self.c1_json
    }

    /// Asks filecoin-proofs-api whether `proof` is what it accepts for this kind. Needs the circuit's `.vk`
    /// file in the folder given to [`use_folder`].
    pub fn verify(&self, kind: Kind, proof: &[u8]) -> Result<bool> {
        self.statement.verify(kind, proof)
    }
}
