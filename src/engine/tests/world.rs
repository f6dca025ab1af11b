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
use crate::engine::{Config, Engine, Parts, ProverSlot, Submitted};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::prove::cpu::CpuBackend;
use crate::prove::fake::{Fake, Fault, Gate};
use crate::prove::{Catalog, CircuitData, Footprint, Proof, ProofTask};
use crate::srs::develop::{develop, Target, ToxicWaste};
use crate::srs::{Store, StoreConfig, Work};
use crate::units::Bytes;
use crate::wire::await_proof_response::Status;
use crate::wire::{self, AwaitProofResponse, SubmitProofRequest};

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
    circuits: HashMap<CircuitId, CircuitData>,
}

/// Keys are made once; their files are unlinked as soon as they are mapped.
fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let pool = crate::engine::open::pool("fixture", 2).unwrap();
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
        Fixture { pool, circuits }
    })
}

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
}

impl Catalog for TestCatalog {
    fn footprint(&self, id: CircuitId) -> Result<Footprint> {
        if *self.missing.lock().unwrap() == Some(id) {
            return Err(Error::new(
                Code::ParametersMissing,
                format!("{id}.params is in none of the folders"),
            ));
        }
        let data = &fixture().circuits[&id];
        let matrices = Bytes::mib(1);
        let (shape, srs) = (*data.matrices.shape(), SHARED.saturating_sub(matrices));
        Ok(Footprint { shape, witness: WITNESS, wide_hint: 40, matrices, srs })
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
        Bytes(1024)
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

pub struct World {
    pub engine: Arc<Engine>,
    pub catalog: Arc<TestCatalog>,
    pub backend: Arc<Fake>,
    scripts: Arc<Mutex<HashMap<String, Script>>>,
}

/// A budget in which all four circuits and a dozen witnesses have room.
pub fn config() -> Config {
    Config {
        memory_limit: Some(Bytes::mib(64)),
        memory_margin: Bytes::ZERO,
        threads: 2,
        synthesis_workers: 2,
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
        let slots = devices.iter().chain([&backend]).map(|fake| slot(fake, Urgency::Patient)).collect();
        World::with_slots(config, backend, slots)
    }

    /// An engine with these slots; `backend` is the one for all kinds on the processor.
    pub fn with_slots(config: Config, backend: Arc<Fake>, slots: Vec<ProverSlot>) -> World {
        let catalog = Arc::new(TestCatalog::default());
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
        World { engine: Engine::with_parts(config, parts).unwrap(), catalog, backend, scripts }
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
        assert!(!self.engine.metrics().contains("forebay_scheduler_faults_total 1"));
    }
}

/// A scripted backend of this name over the real core.
pub fn fake(name: &str) -> Fake {
    fake_on(name, &fixture().pool)
}

fn fake_on(name: &str, pool: &Arc<rayon::ThreadPool>) -> Fake {
    Fake::new(name, Arc::new(CpuBackend::new(pool.clone()).unwrap())).with_working_set(TURN)
}

/// A slot on the tests' own pool.
fn slot(fake: &Arc<Fake>, serves: Urgency) -> ProverSlot {
    ProverSlot { backend: fake.clone(), pool: fixture().pool.clone(), serves }
}

/// A slot of the processor, on a pool of its own, with its scripted backend.
pub fn lane(serves: Urgency, threads: usize) -> (Arc<Fake>, ProverSlot) {
    let pool = crate::engine::open::pool(serves.name(), threads).unwrap();
    let backend = Arc::new(fake_on("cpu", &pool));
    (backend.clone(), ProverSlot { backend, pool, serves })
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

/// A gate that a test waits at.
pub fn reached(gate: &Gate) {
    assert!(gate.reached(PATIENCE), "nothing came to the gate");
}
