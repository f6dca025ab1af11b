//! What the doctor looks at, gathered once; the checks judge nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use forebay::engine::Config;
use forebay::filecoin::{parameter_stem, FilecoinCatalog};
use forebay::kind::CircuitId;
use forebay::memory::{Observation, Probe};
use forebay::prove::cpu::CpuBackend;
use forebay::prove::{Backend, Catalog, Footprint};
use forebay::srs::{Store, StoreConfig};
use forebay::units::Bytes;
use forebay::Error;
use rustix::process::{getrlimit, Resource};

use super::gpu::Gpus;

/// Extensions of the processor that the kernels use.
const FEATURES: [&str; 5] = ["avx2", "adx", "bmi2", "avx512ifma", "avx512_vbmi2"];

/// A folder that the engine writes to.
#[derive(Clone, Debug)]
pub struct Folder {
    pub path: PathBuf,
    /// Why nothing can be written there; none where it can.
    pub refused: Option<String>,
    /// Bytes that are free.
    pub free: Option<Bytes>,
}

/// Parameter files of one circuit.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub circuit: CircuitId,
    /// Bytes of the `.params` file.
    pub params: Option<Bytes>,
    pub native: bool,
    /// A check of the `.params` file is remembered.
    pub checked: bool,
    pub development: bool,
}

/// What one partition of a circuit needs when it is alone.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    pub circuit: CircuitId,
    pub bytes: Bytes,
}

/// This machine, as the configured engine would find it.
pub struct Facts {
    pub config: Config,
    pub cores: usize,
    pub features: Vec<&'static str>,
    /// The kernels that would run, or why none.
    pub kernels: Result<&'static str, String>,
    pub memory: Result<Observation, String>,
    pub swap: Bytes,
    /// The kernel tells how long tasks wait for memory.
    pub psi: bool,
    /// `always`, `madvise` or `never`; none where the kernel has none.
    pub huge_pages: Option<String>,
    /// Bytes that may be locked; none: no limit.
    pub memlock: Option<u64>,
    /// Files that may be open; none: no limit.
    pub open_files: Option<u64>,
    /// `vm.overcommit_memory`.
    pub overcommit: Option<u32>,
    pub gpus: Gpus,
    pub parameters: Vec<Parameters>,
    pub needs: Vec<Need>,
    pub cache: Folder,
    pub journal: Option<Folder>,
    /// Whether the clock follows a time service; none where nobody says.
    pub clock: Option<bool>,
}

impl Facts {
    pub fn gather(config: Config) -> Facts {
        let journal = config.journal_file.as_deref().filter(|file| !file.as_os_str().is_empty());
        let journal = journal.and_then(Path::parent).map(folder);
        let parameters = CircuitId::all()
            .filter(|circuit| config.kinds.contains(&circuit.kind))
            .filter_map(|circuit| parameters(&config, circuit))
            .collect();
        Facts {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            features: features(&text("/proc/cpuinfo").unwrap_or_default()),
            kernels: config.kernels.name().map_err(|e| e.to_string()),
            memory: Probe::default().observe().map_err(|e| e.to_string()),
            swap: swap(&text("/proc/meminfo").unwrap_or_default()),
            psi: Path::new("/proc/pressure/memory").exists(),
            huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|t| chosen(&t)),
            memlock: getrlimit(Resource::Memlock).current,
            open_files: getrlimit(Resource::Nofile).current,
            overcommit: text("/proc/sys/vm/overcommit_memory").and_then(|t| t.trim().parse().ok()),
            gpus: Gpus::gather(),
            parameters,
            needs: needs(&config).unwrap_or_default(),
            cache: folder(&config.cache_directory),
            journal,
            clock: clock(),
            config,
        }
    }
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn features(cpuinfo: &str) -> Vec<&'static str> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |name: &&str| flags.split_whitespace().any(|flag| flag == *name);
    FEATURES.into_iter().filter(has).collect()
}

fn swap(meminfo: &str) -> Bytes {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("SwapTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Bytes(kib.unwrap_or(0).saturating_mul(1 << 10))
}

/// The word in brackets.
fn chosen(setting: &str) -> Option<String> {
    Some(setting.split('[').nth(1)?.split(']').next()?.to_owned())
}

fn clock() -> Option<bool> {
    let ran = Command::new("timedatectl").args(["show", "-p", "NTPSynchronized", "--value"]).output().ok()?;
    match String::from_utf8_lossy(&ran.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// What of a folder, or of the first one above it that exists, can be used.
fn folder(path: &Path) -> Folder {
    let there = path.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let refused = tempfile::tempfile_in(there).err().map(|e| format!("{}: {e}", there.display()));
    let free = rustix::fs::statvfs(there).ok();
    let free = free.map(|stat| Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)));
    Folder { path: path.to_owned(), refused, free }
}

fn store(config: &Config) -> Store {
    Store::new(StoreConfig {
        parameter_dirs: config.parameter_directories.clone(),
        cache_dir: config.cache_directory.clone(),
        allow_development: config.allow_development_parameters,
    })
}

fn parameters(config: &Config, circuit: CircuitId) -> Option<Parameters> {
    let located = store(config).locate(&parameter_stem(circuit).ok()?).ok()?;
    if located.params.is_none() && located.native.is_none() {
        return None;
    }
    let size = |path: &PathBuf| fs::metadata(path).map(|data| Bytes(data.len())).ok();
    let remembered = |path: &PathBuf| {
        let name = path.file_name().map(|name| format!("{}.checked", name.to_string_lossy()));
        let beside = path.parent().zip(name.as_ref()).map(|(folder, name)| folder.join(name));
        let cached = name.map(|name| config.cache_directory.join(name));
        beside.into_iter().chain(cached).any(|file| file.is_file())
    };
    Some(Parameters {
        circuit,
        params: located.params.as_ref().and_then(size),
        native: located.native.is_some(),
        checked: located.params.iter().chain(&located.native).any(remembered),
        development: located.marked,
    })
}

/// What the circuits need whose matrices are compiled.
fn needs(config: &Config) -> Result<Vec<Need>, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = Arc::new(pool.map_err(|e| Error::internal(format!("starting a thread: {e}")))?);
    let core = CpuBackend::with_kernels(pool.clone(), config.kernels)?;
    let need = |circuit, footprint: &Footprint| {
        let Footprint { shape, wide_hint, witness, matrices, srs } = footprint;
        let turn = core.working_set(shape).max(core.finishing_set(shape, *wide_hint));
        let parts = [*srs, *matrices, *witness, turn];
        Need { circuit, bytes: parts.into_iter().fold(Bytes::ZERO, Bytes::saturating_add) }
    };
    let catalog = FilecoinCatalog::new(store(config), CpuBackend::with_kernels(pool, config.kernels)?);
    let prepared = catalog.prepared();
    let enabled = prepared.iter().filter(|(circuit, _)| config.kinds.contains(&circuit.kind));
    Ok(enabled.map(|(circuit, footprint)| need(*circuit, footprint)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        assert_eq!(
            features("processor : 0\nflags\t\t: fpu avx2 adx avx512ifma\n"),
            ["avx2", "adx", "avx512ifma"]
        );
        assert_eq!(swap("MemTotal: 5 kB\nSwapTotal:       2048 kB\n"), Bytes::mib(2));
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_judged_by_its_parent() {
        let parent = tempfile::tempdir().unwrap();
        let found = folder(&parent.path().join("a/b"));
        assert!(found.refused.is_none() && found.free.is_some());
        assert_eq!(found.path, parent.path().join("a/b"));
    }
}
