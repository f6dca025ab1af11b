//! Opening an engine: parts, threads and channels.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam::channel::{unbounded, Receiver};

use super::driver::{Driver, Outlets};
use super::shared::Shared;
use super::work::guarded;
use super::{workers, BackendChoice, Config, Engine, Parts};
use crate::error::{Code, Error, Result};
use crate::filecoin::{self, FilecoinCatalog};
use crate::memory::probe;
use crate::prove::cpu::CpuBackend;
use crate::schedule::{Scheduler, Settings, SlotSettings};
use crate::srs::{Store, StoreConfig};
use crate::units::Bytes;

/// Synthesis workers beside the configured ones, for PoSt only.
const URGENT_WORKERS: usize = 1;
const CPU: &str = "cpu";

/// The one pool that all heavy work runs on.
pub(super) fn pool(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("forebay-{i}"))
        .build()
        .map(Arc::new)
        .map_err(|e| Error::new(Code::System, format!("starting {threads} pool threads: {e}")))
}

/// This library's core and Filecoin's circuits.
pub(super) fn real_parts(config: &Config) -> Result<Parts> {
    if config.backend == BackendChoice::Gpu {
        return Err(Error::new(
            Code::Backend,
            "backend = \"gpu\": this build has no GPU core; use \"cpu\" or \"auto\"",
        ));
    }
    let pool = pool(config.threads)?;
    let core = || CpuBackend::with_kernels(pool.clone(), config.kernels);
    let store = Store::new(StoreConfig {
        parameter_dirs: config.parameter_directories.clone(),
        cache_dir: config.cache_directory.clone(),
        allow_development: config.allow_development_parameters,
    });
    Ok(Parts {
        catalog: Arc::new(FilecoinCatalog::new(store, core()?)),
        backends: vec![Arc::new(core()?)],
        decode: Arc::new(filecoin::decode),
        pool: pool.clone(),
    })
}

fn settings(config: &Config, parts: &Parts, shared: &Shared) -> Result<Settings> {
    let budget = match config.memory_limit {
        Some(limit) => limit.saturating_sub(config.memory_margin),
        None => probe::budget(None, config.memory_margin, Bytes::ZERO, &shared.probe.observe()?),
    };
    let slot = |name: &str| match name {
        CPU => SlotSettings::CPU,
        _ => SlotSettings::device(Bytes(u64::MAX)),
    };
    Ok(Settings {
        budget,
        ceiling: budget,
        workers: config.synthesis_workers,
        urgent_workers: URGENT_WORKERS,
        ahead: config.synthesis_workers + 2 * parts.backends.len(),
        slots: parts.backends.iter().map(|backend| slot(backend.name())).collect(),
        max_requests: config.intake_max_requests,
        max_intake: config.intake_max_bytes,
        patience: 60_000_000_000,
        min_idle: 0,
        pinned: Default::default(),
        factors: Default::default(),
    })
}

/// Threads that end when their channel closes; the channels close when the scheduler's thread ends.
#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(name.clone()).spawn(body);
        self.0.push(thread.map_err(|e| Error::system(format!("starting thread {name}"), e))?);
        Ok(())
    }

    fn worker<T: Send + 'static>(
        &mut self,
        name: String,
        shared: &Arc<Shared>,
        work: &Receiver<T>,
        body: fn(&Arc<Shared>, &Receiver<T>),
    ) -> Result<()> {
        let (shared, work) = (shared.clone(), work.clone());
        self.spawn(name, move || body(&shared, &work))
    }
}

/// Starts every thread of an engine.
pub(super) fn start(config: Config, mut parts: Parts) -> Result<Arc<Engine>> {
    // The processor goes first: its working set is kept in reserve, it proves again what a device got wrong.
    parts.backends.sort_by_key(|backend| backend.name() != CPU);
    let backends = parts.backends.len();
    let (messages, inbox) = unbounded();
    let shared = Arc::new(Shared::new(config.clone(), parts, messages));
    let parts = Parts {
        catalog: shared.catalog.clone(),
        backends: shared.backends.clone(),
        decode: shared.decode.clone(),
        pool: shared.pool.clone(),
    };
    let scheduler = Scheduler::new(settings(&config, &parts, &shared)?)?;
    let mut threads = Threads::default();
    let (synthesis, work) = unbounded();
    for i in 0..config.synthesis_workers + URGENT_WORKERS {
        threads.worker(format!("synthesis-{i}"), &shared, &work, workers::synthesis)?;
    }
    let mut slots = Vec::new();
    for i in 0..backends {
        let (slot, work) = unbounded();
        threads.worker(format!("slot-{i}"), &shared, &work, workers::slot)?;
        slots.push(slot);
    }
    let (finish, work) = unbounded();
    for i in 0..2 * backends {
        threads.worker(format!("finish-{i}"), &shared, &work, workers::finish)?;
    }
    let (delivery, work) = unbounded();
    threads.worker("delivery".into(), &shared, &work, workers::delivery)?;
    let driver = Driver::new(shared.clone(), scheduler, Outlets { synthesis, slots, finish, delivery });
    threads.spawn("scheduler".into(), {
        let shared = shared.clone();
        move || {
            let ran = guarded(&shared.tally, "the scheduler's thread", || {
                driver.run(&inbox);
                Ok(())
            });
            drop(ran);
        }
    })?;
    Ok(Arc::new(Engine {
        shared,
        threads: Mutex::new(threads.0),
        door: super::door::Gate::default(),
        tag: rand::random(),
    }))
}
