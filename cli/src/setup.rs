//! Where parameters are kept, and the arithmetic that work on them needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay::cancel::Cancel;
use forebay::engine::Config;
use forebay::filecoin::{develop, parameter_stem};
use forebay::kind::{CircuitId, ProofKind, SECTOR_SIZES};
use forebay::prove::cpu::CpuBackend;
use forebay::srs::develop::ToxicWaste;
use forebay::srs::{Progress, Work};
use forebay::{Error, Result};

use crate::progress::Bar;

/// Forebay's own cache folder, as the library has it by default.
pub fn default_cache() -> PathBuf {
    Config::default().cache_directory
}

/// Reads a sector size by its short name, such as `2k` or `32g`.
pub fn sector_size(text: &str) -> std::result::Result<u64, String> {
    SECTOR_SIZES.iter().find(|(_, name)| *name == text).map(|(size, _)| *size).ok_or_else(|| {
        let names: Vec<_> = SECTOR_SIZES.iter().map(|(_, name)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// These kinds, or all where none is named; most urgent first, each once.
pub fn kinds_or_all(named: &[ProofKind]) -> Vec<ProofKind> {
    ProofKind::ALL.into_iter().filter(|kind| named.is_empty() || named.contains(kind)).collect()
}

/// The prover core with its threads, for work on parameters.
pub struct Workshop {
    pool: Arc<rayon::ThreadPool>,
    core: CpuBackend,
}

impl Workshop {
    /// With this many threads; `None`: one for each processor.
    pub fn new(threads: Option<usize>) -> Result<Workshop> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .thread_name(|i| format!("params-{i}"))
            .build()
            .map_err(|e| Error::system("starting threads", std::io::Error::other(e)))?;
        let pool = Arc::new(pool);
        Ok(Workshop { core: CpuBackend::new(Arc::clone(&pool))?, pool })
    }

    /// Runs work on parameters under a progress bar with this title.
    pub fn run<T: Send>(&self, title: &str, work: impl FnOnce(&Work) -> Result<T> + Send) -> Result<T> {
        let bar = Bar::new(title);
        let show = |progress: Progress| bar.show(progress);
        let cancel = Cancel::new();
        let given = Work { arithmetic: &self.core, progress: &show, cancel: &cancel };
        self.pool.install(|| work(&given))
    }

    /// Makes a development key for a circuit in this folder, replacing an older development key.
    pub fn develop(&self, circuit: CircuitId, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::system(format!("making {}", folder.display()), e))?;
        let toxic = ToxicWaste::random(&mut rand::rngs::OsRng);
        self.run(&circuit.to_string(), |work| develop(circuit, folder, &toxic, work).map(drop))
    }
}

/// True where a folder has both files of a circuit's key.
pub fn has_key(circuit: CircuitId, folder: &Path) -> Result<bool> {
    let stem = parameter_stem(circuit)?;
    Ok(["params", "vk"].iter().all(|extension| folder.join(format!("{stem}.{extension}")).is_file()))
}
