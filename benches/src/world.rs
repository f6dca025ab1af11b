//! What all measurements share: threads, the core, a real 2 KiB sector and development parameters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay::cancel::Cancel;
use forebay::circuit::AnyCircuit;
use forebay::engine::Config;
use forebay::filecoin::{self, FilecoinCatalog};
use forebay::kind::{CircuitId, ProofKind};
use forebay::prove::cpu::{CpuBackend, Kernels};
use forebay::prove::{Backend, Catalog, CircuitData, ProofTask};
use forebay::srs::develop::ToxicWaste;
use forebay::srs::{Store, StoreConfig, Work};
use forebay::units::Bytes;
use forebay::wire::SubmitProofRequest;
use forebay_sector::{Kind, Message, Recipe, Request, Sector, SECTOR_SIZE};

use crate::report::Goal;
use crate::Failure;

/// Seed of the demonstration's sector.
const SEED: u64 = 1;

fn parameter_folder(cache: &Path) -> PathBuf {
    cache.join("development-parameters")
}

fn of_sector(kind: ProofKind) -> Kind {
    match kind {
        ProofKind::PorepC2 => Kind::PorepC2,
        ProofKind::SnapUpdate => Kind::SnapUpdate,
        ProofKind::WindowPost => Kind::WindowPost,
        ProofKind::WinningPost => Kind::WinningPost,
    }
}

/// Projected bytes of one partition of a circuit.
pub struct Needs {
    /// SRS and matrices.
    pub shared: Bytes,
    /// The compact witness.
    pub witness: Bytes,
    /// A prover slot's turn.
    pub turn: Bytes,
    /// The rest of the proof after it.
    pub finish: Bytes,
}

impl Needs {
    /// What one partition needs when it is alone.
    pub fn alone(&self) -> Bytes {
        Bytes(self.shared.0 + self.witness.0 + self.turn.0)
    }
}

/// The shared ground of a measurement.
pub struct World {
    /// The one pool that our work runs on.
    pub pool: Arc<rayon::ThreadPool>,
    /// The prover core.
    pub core: CpuBackend,
    /// What the core runs.
    pub kernels: Kernels,
    cache: PathBuf,
    catalog: FilecoinCatalog<CpuBackend>,
}

impl World {
    /// A world over this cache folder, by default the one of `forebay demo`.
    pub fn open(cache: Option<PathBuf>, threads: usize, kernels: Kernels) -> Result<World, Failure> {
        let cache = cache.unwrap_or_else(|| Config::default().cache_directory);
        let parameters = parameter_folder(&cache);
        std::fs::create_dir_all(&parameters)?;
        forebay_sector::use_folder(&parameters);
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?);
        let store = Store::new(StoreConfig {
            parameter_dirs: vec![parameters],
            cache_dir: cache.clone(),
            allow_development: true,
        });
        let core = || CpuBackend::with_kernels(pool.clone(), kernels);
        Ok(World { core: core()?, kernels, catalog: FilecoinCatalog::new(store, core()?), pool, cache })
    }

    /// The 2 KiB circuit of a kind.
    pub fn circuit_id(&self, kind: ProofKind) -> Result<CircuitId, Failure> {
        Ok(CircuitId::new(kind, SECTOR_SIZE)?)
    }

    /// The file of a circuit's compiled matrices.
    pub fn matrix_file(&self, kind: ProofKind) -> Result<PathBuf, Failure> {
        Ok(self.catalog.matrix_path(self.circuit_id(kind)?)?)
    }

    /// Where native parameters, matrices and the sector are.
    pub fn cache_folder(&self) -> &Path {
        &self.cache
    }

    /// Where `.params` and `.vk` files are.
    pub fn parameter_folder(&self) -> PathBuf {
        parameter_folder(&self.cache)
    }

    /// Where parameters are.
    pub fn store(&self) -> &Store {
        self.catalog.store()
    }

    /// The path of a circuit's `.params` file, made on first use.
    pub fn params(&self, kind: ProofKind) -> Result<PathBuf, Failure> {
        let id = self.circuit_id(kind)?;
        let folder = self.parameter_folder();
        let path = folder.join(format!("{}.params", filecoin::parameter_stem(id)?));
        if !path.is_file() {
            eprintln!("making development parameters for {id}");
            self.work(|work| {
                filecoin::develop(id, &folder, &ToxicWaste::random(&mut rand::rngs::OsRng), work)
            })?;
        }
        Ok(path)
    }

    /// A core with the same kernels on one thread.
    pub fn single(&self) -> Result<CpuBackend, Failure> {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build()?);
        Ok(CpuBackend::with_kernels(pool, self.kernels)?)
    }

    /// Threads of the pool.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// A goal of the AVX-512 IFMA kernels on one thread.
    pub fn on_ifma(&self, goal: Goal) -> Result<Goal, Failure> {
        Ok(match (self.kernels.name()?, self.threads()) {
            ("ifma", 1) => goal,
            ("ifma", _) => Goal::Unjudged("one thread's"),
            _ => Goal::Unjudged("needs IFMA"),
        })
    }

    /// Runs work on parameters in the pool.
    pub fn work<T: Send>(&self, body: impl FnOnce(&Work) -> forebay::Result<T> + Send) -> Result<T, Failure> {
        let work = Work { arithmetic: &self.core, progress: &|_| (), cancel: &Cancel::new() };
        Ok(self.pool.install(|| body(&work))?)
    }

    /// The circuit's matrices and SRS, parameters made on first use.
    pub fn load(&self, kind: ProofKind) -> Result<CircuitData, Failure> {
        self.params(kind)?;
        let id = self.circuit_id(kind)?;
        Ok(self.pool.install(|| self.catalog.load(id, &Cancel::new()))?)
    }

    /// What the engine will promise for one partition of a kind.
    pub fn needs(&self, kind: ProofKind) -> Result<Needs, Failure> {
        let footprint = self.catalog.footprint(self.circuit_id(kind)?)?;
        let finish = self.core.finishing_set(&footprint.shape, footprint.wide_hint);
        Ok(Needs {
            shared: Bytes(footprint.srs.0 + footprint.matrices.0),
            witness: footprint.witness,
            turn: self.core.working_set(&footprint.shape).max(finish),
            finish,
        })
    }

    /// A decoded request of the real sector.
    pub fn task(&self, kind: ProofKind) -> Result<Arc<dyn ProofTask>, Failure> {
        World::decode(&self.request(kind)?.encode_to_vec())
    }

    /// A serialized request, decoded and checked.
    pub fn decode(message: &[u8]) -> Result<Arc<dyn ProofTask>, Failure> {
        let request: SubmitProofRequest = prost::Message::decode(message)?;
        Ok(filecoin::decode(&request)?)
    }

    /// Serialized requests of the real sector that differ in their names.
    pub fn messages(&self, kind: ProofKind, count: usize) -> Result<Vec<Vec<u8>>, Failure> {
        let request = self.request(kind)?;
        Ok((0..count).map(|i| World::named(&request, &format!("{}-{i}", request.request_id))).collect())
    }

    /// The same request under another name, serialized.
    pub fn named(request: &Request, name: &str) -> Vec<u8> {
        Request { request_id: name.to_owned(), ..request.clone() }.encode_to_vec()
    }

    /// The request of a kind, of the real sector.
    pub fn request(&self, kind: ProofKind) -> Result<Request, Failure> {
        Ok(self.sector()?.request(of_sector(kind)).clone())
    }

    /// Whether Filecoin's own verifier accepts an answer for the real sector.
    pub fn verifies(&self, kind: ProofKind, answer: &[u8]) -> Result<bool, Failure> {
        self.sector()?.verify(of_sector(kind), answer)
    }

    fn sector(&self) -> Result<Sector, Failure> {
        Sector::load_or_make(&self.cache.join("sectors"), Recipe::new(SEED))
    }

    /// The file of a circuit's native key.
    pub fn native_key(&self, kind: ProofKind) -> Result<PathBuf, Failure> {
        Ok(self.store().native_path(&filecoin::parameter_stem(self.circuit_id(kind)?)?))
    }

    /// The circuit of a kind without values.
    pub fn blank(&self, kind: ProofKind) -> Result<AnyCircuit, Failure> {
        Ok(filecoin::blank_circuit(self.circuit_id(kind)?)?())
    }
}
