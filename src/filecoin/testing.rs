//! Helpers of this room's tests: real sectors and their requests.

use std::path::PathBuf;
use std::sync::OnceLock;

use forebay_sector::{Kind, Recipe, Sector};
use prost::Message as _;

use crate::wire::SubmitProofRequest;

/// A folder that outlives the test run, where Filecoin's crates look for parameters.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/sectors")
}

pub fn sector(recipe: Recipe) -> Sector {
    static SETTINGS: OnceLock<()> = OnceLock::new();
    SETTINGS.get_or_init(|| forebay_sector::use_folder(&folder()));
    Sector::load_or_make(&folder(), recipe).unwrap()
}

/// The sector of most tests.
pub fn default_sector() -> &'static Sector {
    static SECTOR: OnceLock<Sector> = OnceLock::new();
    SECTOR.get_or_init(|| sector(Recipe::new(1)))
}

pub fn request(sector: &Sector, kind: Kind) -> SubmitProofRequest {
    SubmitProofRequest::decode(sector.request(kind).encode_to_vec().as_slice()).unwrap()
}

pub fn default_request(kind: Kind) -> SubmitProofRequest {
    request(default_sector(), kind)
}
