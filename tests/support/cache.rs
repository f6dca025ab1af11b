//! Development keys and sectors, made once for all integration tests: by default in cargo's folder for tests, else in
//! the one that `FOREBAY_TEST_CACHE` names. It is laid out as that of `forebay demo --cache`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use forebay::cancel::Cancel;
use forebay::filecoin::parameter_stem;
use forebay::kind::{CircuitId, ProofKind};
use forebay::prove::cpu::CpuBackend;
use forebay::srs::develop::ToxicWaste;
use forebay::srs::Work;
use forebay_sector::{Recipe, Sector, SECTOR_SIZE};
use fs2::FileExt;

/// The cache folder. Filecoin's crates are told about it before anything else reads the environment.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let named = std::env::var_os("FOREBAY_TEST_CACHE").map(PathBuf::from);
        let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("forebay"));
        let parameters = folder.join("development-parameters");
        std::fs::create_dir_all(&parameters).expect("a folder for the tests' keys");
        forebay_sector::use_folder(&parameters);
        folder
    })
}

/// Where the development keys are.
pub fn parameters() -> PathBuf {
    folder().join("development-parameters")
}

/// Runs while no other test, in this process or another, makes keys or sectors.
fn alone<T>(body: impl FnOnce() -> T) -> T {
    let lock = File::create(folder().join("tests.lock")).expect("the lock's file");
    lock.lock_exclusive().expect("the lock");
    let made = body();
    drop(lock);
    made
}

/// The 2 KiB circuit of a kind.
pub fn circuit(kind: ProofKind) -> CircuitId {
    CircuitId::new(kind, SECTOR_SIZE).expect("a registered size")
}

/// The sector whose requests are proved.
pub fn sector() -> &'static Sector {
    static SECTOR: OnceLock<Sector> = OnceLock::new();
    SECTOR.get_or_init(|| {
        alone(|| Sector::load_or_make(&folder().join("sectors"), Recipe::new(1)).expect("a sector"))
    })
}

/// Makes sure that the keys of these kinds' 2 KiB circuits exist.
pub fn need_keys(kinds: &[ProofKind]) {
    alone(|| {
        for kind in kinds {
            let stem = parameter_stem(circuit(*kind)).expect("a name");
            let exists = |extension: &str| parameters().join(format!("{stem}.{extension}")).is_file();
            if !["params", "vk", "development"].into_iter().all(exists) {
                develop(circuit(*kind), &parameters());
            }
        }
    });
}

/// The prover core with a pool of two threads.
pub fn core() -> (Arc<rayon::ThreadPool>, CpuBackend) {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads"));
    (pool.clone(), CpuBackend::new(pool).expect("a core"))
}

fn develop(circuit: CircuitId, folder: &Path) {
    let (pool, core) = core();
    let work = Work { arithmetic: &core, progress: &|_| (), cancel: &Cancel::new() };
    let toxic = ToxicWaste::random(&mut rand::rngs::OsRng);
    pool.install(|| forebay::filecoin::develop(circuit, folder, &toxic, &work)).expect("a development key");
}

/// A configuration of two threads over these folders.
pub fn config_over(parameters: &Path, cache: &Path, limit: &str) -> String {
    format!(
        "threads = 2\nsynthesis_workers = 1\nallow_development_parameters = true\n[memory]\nlimit = \"{limit}\"\n\
         [parameters]\ndirectories = [{parameters:?}]\n[cache]\ndirectory = {cache:?}\n"
    )
}

/// A configuration over the shared folders.
pub fn config(limit: &str) -> String {
    config_over(&parameters(), folder(), limit)
}
