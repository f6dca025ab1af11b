//! Small circuits of all four kinds, their keys, and an engine on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use blstrs::Scalar;
use ff::Field;
use prost::Message as _;

use crate::cancel::Cancel;
use crate::circuit::testing::RandomCircuit;
use crate::circuit::{AnyCircuit, Expected, Matrices, Witness};
use crate::engine::{self, Config, Engine, Parts, ProverSlot, Submitted};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::prove::cpu::CpuBackend;
use crate::prove::fake::{Fake, Fault, Gate};
use crate::prove::{Catalog, CircuitData, Footprint, KeyDigest, Proof, ProofTask};
use crate::srs::develop::{develop, Target, ToxicWaste};
use crate::srs::{Store, StoreConfig, Work};
use crate::units::Bytes;
use crate::wire::await_proof_response::Status;
use crate::wire::{self, AwaitProofResponse, SubmitProofRequest};

use super::events::events_agree;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn circuit_id(kind: ProofKind) -> CircuitId {
    CircuitId::new(kind, 2048).unwrap()
}

fn circuit(kind: ProofKind) -> RandomCircuit {
    let size = 12 + 6 * (kind as usize);
    RandomCircuit { seed: 7 + kind as u64, inputs: 3, aux: size, boolean_percent: 70, values: true }
}

struct Fixture {
    pool: Arc<rayon::ThreadPool>,
    finishing: Arc<rayon::ThreadPool>,
    circuits: HashMap<CircuitId, CircuitData>,
}

/// Keys are made once; their files are unlinked as soon as they are mapped.
fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let [pool, finishing] = ["fixture", "finishing"].map(|name| engine::open::pool(name, 2).unwrap());
        let core = CpuBackend::new(pool.clone()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::new();
        let work = Work { arithmetic: &core, progress: &|_| {}, cancel: &cancel };
        let store = Store::new(StoreConfig {
            parameter_dirs: vec![folder.path().into()],
            cache_dir: folder.path().into(),
            allow_development: true,
        });
        let data = |kind| {
            let id = circuit_id(kind);
            let stem = format!("v28-engine-test-{id}");
            let target = Target { folder: folder.path(), stem: &stem, circuit: id };
            let toxic = ToxicWaste::random(&mut rand::rngs::OsRng);
            develop(&target, || circuit(kind).blank(), &toxic, &work).unwrap();
            let matrices = Matrices::compile(&id.to_string(), circuit(kind).blank()).unwrap();
            let srs = store.open(id, &stem, matrices.shape(), &work).unwrap();
            (id, CircuitData { id, matrices: Arc::new(matrices), srs: Arc::new(srs) })
        };
        let circuits = pool.install(|| ProofKind::ALL.into_iter().map(data).collect());
        Fixture { pool, finishing, circuits }
    })
}

/// Bytes that a decoded request is booked with.
pub const INTAKE: Bytes = Bytes::kib(1);
/// Projected bytes that the small circuits are booked with.
pub const WITNESS: Bytes = Bytes::kib(64);
pub const SHARED: Bytes = Bytes::mib(4);
pub const TURN: Bytes = Bytes::mib(8);

/// The real circuits, with a script for loading.
#[derive(Default)]
pub struct TestCatalog {
    pub loads: Mutex<Vec<Fault>>,
    pub loaded: Mutex<Vec<CircuitId>>,
    pub missing: Mutex<Option<CircuitId>>,
    /// Where the keys have changed, what they are now.
    pub key: Mutex<Option<KeyDigest>>,
    /// Kinds whose circuits are ready to be proved at open.
    pub prepared: Vec<ProofKind>,
}

impl Catalog for TestCatalog {
    fn prepared(&self) -> Vec<(CircuitId, Footprint)> {
        let prepared = self.prepared.iter().map(|kind| circuit_id(*kind));
        prepared.map(|id| (id, self.footprint(id).unwrap())).collect()
    }

    fn available(&self, id: CircuitId) -> Result<()> {
        let there = fixture().circuits.contains_key(&id) && *self.missing.lock().unwrap() != Some(id);
        let missing =
            || Error::new(Code::ParametersMissing, format!("{id}.params is in none of the folders"));
        there.then_some(()).ok_or_else(missing)
    }

    fn footprint(&self, id: CircuitId) -> Result<Footprint> {
        self.available(id)?;
        let data = &fixture().circuits[&id];
        let matrices = Bytes::mib(1);
        let (shape, srs) = (*data.matrices.shape(), SHARED.saturating_sub(matrices));
        Ok(Footprint { shape, witness: WITNESS, wide_hint: 40, matrices, srs })
    }

    fn key(&self, id: CircuitId) -> Result<Option<KeyDigest>> {
        let changed = *self.key.lock().unwrap();
        Ok(changed.or_else(|| Some(*fixture().circuits[&id].srs.source_digest())))
    }

    fn load(&self, id: CircuitId, cancel: &Cancel) -> Result<CircuitData> {
        let fault = self.loads.lock().unwrap().pop();
        match fault {
            Some(Fault::Fail) => return Err(Error::new(Code::ParametersInvalid, "scripted: corrupt")),
            Some(Fault::Panic) => panic!("loading panics as scripted"),
            Some(Fault::Stall(gate)) => {
                gate.pass(Some(cancel));
                cancel.check()?;
            }
            _ => {}
        }
        self.loaded.lock().unwrap().push(id);
        Ok(fixture().circuits[&id].clone())
    }
}

/// What is peculiar about the requests with one id.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub synthesis: Option<Fault>,
    /// The statement's inputs are not those of the witness.
    pub false_statement: bool,
    pub assembly_panics: bool,
    pub decoding_panics: bool,
}

struct TestTask {
    kind: ProofKind,
    partitions: usize,
    script: Script,
}

impl ProofTask for TestTask {
    fn kind(&self) -> ProofKind {
        self.kind
    }

    fn circuit(&self) -> CircuitId {
        circuit_id(self.kind)
    }

    fn partitions(&self) -> usize {
        self.partitions
    }

    fn intake_bytes(&self) -> Bytes {
        INTAKE
    }

    fn synthesize(&self, _partition: usize, wide_hint: usize, cancel: &Cancel) -> Result<Witness> {
        match &self.script.synthesis {
            Some(Fault::Fail) => return Err(Error::new(Code::InvalidRequest, "scripted")),
            Some(Fault::Panic) => panic!("synthesis panics as scripted"),
            Some(Fault::Stall(gate)) => gate.pass(Some(cancel)),
            Some(Fault::Hold(gate)) => gate.pass(None),
            _ => {}
        }
        Witness::generate(circuit(self.kind), Expected { aux: 0, wide: wide_hint }, cancel)
    }

    fn public_inputs(&self, _partition: usize) -> Result<Vec<Scalar>> {
        let mut inputs = circuit(self.kind).public_inputs();
        if self.script.false_statement {
            inputs[0] += Scalar::ONE;
        }
        Ok(inputs)
    }

    fn circuit_with_values(&self, _partition: usize) -> Result<AnyCircuit> {
        Ok(AnyCircuit::new(circuit(self.kind)))
    }

    fn assemble(&self, proofs: &[Proof]) -> Result<Vec<u8>> {
        assert!(!self.script.assembly_panics, "assembly panics as scripted");
        Ok(proofs.iter().flat_map(Proof::to_bytes).collect())
    }
}

/// What a world is made of beside its slots.
pub struct Setup {
    pub config: Config,
    pub catalog: TestCatalog,
    /// The engine's cache folder, of its own unless two engines are to share one.
    pub cache: Arc<tempfile::TempDir>,
}

impl Setup {
    pub fn new(config: Config) -> Setup {
        let cache = Arc::new(tempfile::tempdir().unwrap());
        Setup { config, catalog: TestCatalog::default(), cache }
    }

    /// Opens an engine with these slots; `backend` is the one for all kinds on the processor.
    pub fn open(self, backend: Arc<Fake>, slots: Vec<ProverSlot>) -> Result<World> {
        let Setup { config, catalog, cache } = self;
        let catalog = Arc::new(catalog);
        let scripts: Arc<Mutex<HashMap<String, Script>>> = Arc::default();
        let known = scripts.clone();
        let parts = Parts {
            catalog: catalog.clone(),
            slots,
            decode: Arc::new(move |request| {
                let script = known.lock().unwrap().get(&request.request_id).cloned().unwrap_or_default();
                decode(request, script)
            }),
            pool: fixture().pool.clone(),
        };
        let config = Config { cache_directory: cache.path().into(), ..config };
        Ok(World { engine: Engine::with_parts(config, parts)?, catalog, backend, scripts, cache })
    }

    /// Opens an engine with this processor.
    pub fn on(self, backend: Fake) -> Result<World> {
        let backend = Arc::new(backend);
        let slots = slots(&backend, &[]);
        self.open(backend, slots)
    }
}

pub struct World {
    pub engine: Arc<Engine>,
    pub catalog: Arc<TestCatalog>,
    pub backend: Arc<Fake>,
    scripts: Arc<Mutex<HashMap<String, Script>>>,
    pub cache: Arc<tempfile::TempDir>,
}

/// A budget in which all four circuits and a dozen witnesses have room. Nothing of the machine or of its user
/// plays a part: no pressure, and no cache folder until a world gives its own.
pub fn config() -> Config {
    Config {
        memory_limit: Some(Bytes::mib(64)),
        memory_margin: Bytes::ZERO,
        memory_pressure: 0,
        min_idle: Duration::ZERO,
        threads: 2,
        synthesis_workers: 2,
        parameter_directories: Vec::new(),
        cache_directory: "/dev/null/forebay".into(),
        ..Config::default()
    }
}

impl World {
    pub fn new() -> World {
        World::with(config(), &[])
    }

    /// An engine with the scripted processor and further scripted devices.
    pub fn with(config: Config, devices: &[Arc<Fake>]) -> World {
        let backend = Arc::new(fake("cpu"));
        let slots = slots(&backend, devices);
        World::with_slots(config, backend, slots)
    }

    /// An engine with these slots; `backend` is the one for all kinds on the processor.
    pub fn with_slots(config: Config, backend: Arc<Fake>, slots: Vec<ProverSlot>) -> World {
        Setup::new(config).open(backend, slots).unwrap()
    }

    pub fn script(&self, request_id: &str, script: Script) {
        self.scripts.lock().unwrap().insert(request_id.into(), script);
    }

    pub fn submit(&self, request_id: &str, kind: ProofKind, partitions: u32) -> Result<Submitted> {
        self.engine.submit(&message(request_id, kind, partitions))
    }

    pub fn start(&self, request_id: &str, kind: ProofKind, partitions: u32) -> String {
        self.submit(request_id, kind, partitions).unwrap().job_id
    }

    pub fn answer(&self, job_id: &str) -> AwaitProofResponse {
        let answer = self.engine.wait(job_id, Some(PATIENCE)).unwrap();
        assert_ne!(answer.status(), Status::Timeout, "{job_id} hangs: {:?}", self.engine.status());
        answer
    }

    /// The job's proof has one proof a partition; the engine has verified them.
    pub fn proved(&self, job_id: &str, partitions: usize) {
        let answer = self.answer(job_id);
        assert_eq!((answer.status(), answer.error_message.as_str()), (Status::Completed, ""));
        assert_eq!(answer.proof.len(), partitions * Proof::LEN);
    }

    pub fn failed(&self, job_id: &str, code: Code) -> String {
        let answer = self.answer(job_id);
        assert_eq!(answer.status(), Status::Failed);
        assert!(answer.error_message.starts_with(&format!("{}: ", code.name())), "{}", answer.error_message);
        answer.error_message
    }

    /// What an unfinished job waits for; empty where it is worked on.
    pub fn waits_for(&self, job_id: &str) -> &'static str {
        let status = self.engine.status();
        status.jobs.iter().find(|job| job.job_id == job_id).map_or("it has ended", |job| job.waits_for)
    }

    /// Waits until the status document fulfils a condition.
    pub fn until(&self, what: &str, condition: impl Fn(&engine::Status) -> bool) -> engine::Status {
        let start = std::time::Instant::now();
        loop {
            let status = self.engine.status();
            if condition(&status) {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "not {what}: {status:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The value of one sample of the metrics, such as `forebay_jobs{kind="porep_c2",state="pending"}`.
    pub fn metric(&self, sample: &str) -> f64 {
        let metrics = self.engine.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {sample} in {metrics}")).parse().unwrap()
    }

    /// An ordinary request still goes through.
    pub fn still_works(&self) {
        let id = format!("check-{}", rand::random::<u32>());
        let job = self.start(&id, ProofKind::WinningPost, 2);
        self.proved(&job, 2);
    }

    /// Everything that is booked belongs to idle circuits, and evicting them leaves nothing.
    pub fn nothing_is_booked(&self) {
        for _ in 0..1000 {
            let status = self.engine.status();
            let shared: u64 = status.circuits.iter().map(|circuit| circuit.bytes).sum();
            if status.memory.reserved == shared && status.circuits.iter().all(|c| c.state == "resident") {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for kind in ProofKind::ALL {
            self.engine.evict(circuit_id(kind)).unwrap();
        }
        let status = self.engine.status();
        assert_eq!(status.memory.reserved, 0, "{status:?}");
        assert!(status.jobs.is_empty() && status.circuits.is_empty(), "{status:?}");
        assert!(status.memory.peak <= status.memory.limit);
        assert_eq!(self.metric("forebay_scheduler_faults_total"), 0.0);
        events_agree(&self.engine.metrics());
    }
}

/// A scripted backend of this name over the real core.
pub fn fake(name: &str) -> Fake {
    fake_on(name, &fixture().pool, &fixture().finishing)
}

fn fake_on(name: &str, pool: &Arc<rayon::ThreadPool>, finishing: &Arc<rayon::ThreadPool>) -> Fake {
    let core = CpuBackend::new(pool.clone()).unwrap().finishing_on(finishing.clone());
    Fake::new(name, Arc::new(core)).with_working_set(TURN)
}

/// The slots of a processor and of devices.
pub fn slots(backend: &Arc<Fake>, devices: &[Arc<Fake>]) -> Vec<ProverSlot> {
    devices.iter().chain([backend]).map(|fake| slot(fake, Urgency::Patient)).collect()
}

/// A slot on the tests' own pools.
fn slot(fake: &Arc<Fake>, serves: Urgency) -> ProverSlot {
    let Fixture { pool, finishing, .. } = fixture();
    ProverSlot { backend: fake.clone(), pool: pool.clone(), finishing: finishing.clone(), serves }
}

/// A slot of the processor, on pools of its own, with its scripted backend.
pub fn lane(serves: Urgency, threads: usize) -> (Arc<Fake>, ProverSlot) {
    let [pool, finishing] = ["heavy", "finishing"].map(|step| engine::open::pool(step, threads).unwrap());
    let backend = Arc::new(fake_on("cpu", &pool, &finishing));
    (backend.clone(), ProverSlot { backend, pool, finishing, serves })
}

fn decode(request: &SubmitProofRequest, script: Script) -> Result<Arc<dyn ProofTask>> {
    assert!(!script.decoding_panics, "decoding panics as scripted");
    let kind = match request.proof_kind() {
        wire::ProofKind::PorepSealCommit => ProofKind::PorepC2,
        wire::ProofKind::SnapDealsUpdate => ProofKind::SnapUpdate,
        wire::ProofKind::WindowPostPartition => ProofKind::WindowPost,
        _ => ProofKind::WinningPost,
    };
    Ok(Arc::new(TestTask { kind, partitions: request.partition_index as usize, script }))
}

pub fn message(request_id: &str, kind: ProofKind, partitions: u32) -> Vec<u8> {
    let kind = match kind {
        ProofKind::PorepC2 => wire::ProofKind::PorepSealCommit,
        ProofKind::SnapUpdate => wire::ProofKind::SnapDealsUpdate,
        ProofKind::WindowPost => wire::ProofKind::WindowPostPartition,
        ProofKind::WinningPost => wire::ProofKind::WinningPost,
    };
    SubmitProofRequest {
        request_id: request_id.into(),
        proof_kind: kind.into(),
        partition_index: partitions,
        ..SubmitProofRequest::default()
    }
    .encode_to_vec()
}

/// What one partition needs alone, beside its decoded request.
pub fn one_partition() -> Bytes {
    Bytes(SHARED.0 + TURN.0 + WITNESS.0)
}

/// A gate that opens at the end of its test, however that ends: a step that holds keeps its engine from closing.
#[derive(Default)]
pub struct Held(Gate);

impl Held {
    /// A step that cannot be interrupted waits at this gate.
    pub fn fault(&self) -> Fault {
        Fault::Hold(self.0.clone())
    }
}

impl std::ops::Deref for Held {
    type Target = Gate;

    fn deref(&self) -> &Gate {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A gate that a test waits at.
pub fn reached(gate: &Gate) {
    assert!(gate.reached(PATIENCE), "nothing came to the gate");
}
