//! Sectors are real, deterministic and kept safely.

use std::path::Path;
use std::sync::OnceLock;

use filecoin_proofs_api::seal::SealCommitPhase1Output;
use forebay_sector::{Kind, Recipe, SealType, Sector, WindowType};
use tempfile::TempDir;

/// An empty folder, after Filecoin's crates were pointed at a folder of this process.
fn folder() -> TempDir {
    static SETTINGS: OnceLock<TempDir> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let parameters = tempfile::tempdir().unwrap();
        forebay_sector::use_folder(parameters.path());
        parameters
    });
    tempfile::tempdir().unwrap()
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn every_variant_seals_and_the_same_recipe_gives_the_same_requests() {
    let folder = folder();
    let recipe = Recipe::new(7);
    let sector = Sector::make(folder.path(), recipe).unwrap();
    assert_eq!(Sector::make(folder.path(), recipe).unwrap(), sector);
    assert_ne!(Sector::make(folder.path(), Recipe::new(8)).unwrap().c1_json(), sector.c1_json());
    for kind in Kind::ALL {
        assert_eq!(sector.request(kind).proof_kind, kind.wire_number());
    }
    for seal in [SealType::V1, SealType::Synthetic] {
        let recipe = Recipe { seal, window: WindowType::V1, window_partition: 1, ..recipe };
        let other = Sector::make(folder.path(), recipe).unwrap();
        let c1: SealCommitPhase1Output = serde_json::from_slice(other.c1_json()).unwrap();
        assert_eq!(c1.registered_proof as u64, other.request(Kind::PorepC2).registered_proof);
    }
    assert_eq!(entries(folder.path()), 0, "sealing cleans up after itself");
}

#[test]
fn a_kept_sector_is_read_back_and_a_broken_one_made_anew() {
    let folder = folder();
    let recipe = Recipe::new(9);
    let made = Sector::load_or_make(folder.path(), recipe).unwrap();
    assert_eq!(entries(folder.path()), 1);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    assert_eq!(Sector::load_or_make(folder.path(), recipe).unwrap(), made);
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), modified, "read, not made again");
    std::fs::write(&file, b"torn").unwrap();
    assert_eq!(Sector::load_or_make(folder.path(), recipe).unwrap(), made);
}
