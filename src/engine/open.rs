//! Opening an engine: parts, threads and channels.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crossbeam::channel::{unbounded, Receiver};

use super::driver::{Driver, Outlets};
use super::shared::Shared;
use super::work::guarded;
use super::{workers, BackendChoice, Config, Engine, Parts, ProverSlot};
use crate::error::{Code, Error, Result};
use crate::filecoin::{self, FilecoinCatalog};
use crate::kind::Urgency;
use crate::memory::probe;
use crate::prove::cpu::CpuBackend;
use crate::schedule::{Scheduler, Settings};
use crate::srs::{Store, StoreConfig};
use crate::units::Bytes;

/// Synthesis workers beside the configured ones, for PoSt only.
const URGENT_WORKERS: usize = 1;

pub(super) fn pool(name: &'static str, threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |i| format!("{name}-{i}"))
        .build()
        .map(Arc::new)
        .map_err(|e| Error::new(Code::System, format!("starting {threads} threads of pool {name}: {e}")))
}

/// This library's core and Filecoin's circuits. Beside its slot for all kinds the processor has one for each
/// urgent kind, so that PoSt does not wait for the end of a running proof.
pub(super) fn real_parts(config: &Config) -> Result<Parts> {
    if config.backend == BackendChoice::Gpu {
        return Err(Error::new(
            Code::Backend,
            "backend = \"gpu\": this build has no GPU core; use \"cpu\" or \"auto\"",
        ));
    }
    let pool = |name| pool(name, config.threads);
    let core = |pool: &Arc<_>| CpuBackend::with_kernels(Arc::clone(pool), config.kernels);
    let slot = |serves: Urgency| {
        let pool = pool(serves.name())?;
        Ok(ProverSlot { backend: Arc::new(core(&pool)?), pool, serves })
    };
    let enabled = |urgency: &Urgency| config.kinds.iter().any(|kind| kind.urgency() == *urgency);
    let lanes = [Urgency::Urgent, Urgency::Critical].into_iter().filter(enabled);
    let loading = pool("loading")?;
    let store = Store::new(StoreConfig {
        parameter_dirs: config.parameter_directories.clone(),
        cache_dir: config.cache_directory.clone(),
        allow_development: config.allow_development_parameters,
    });
    Ok(Parts {
        catalog: Arc::new(FilecoinCatalog::new(store, core(&loading)?)),
        slots: std::iter::once(Urgency::Patient).chain(lanes).map(slot).collect::<Result<_>>()?,
        decode: Arc::new(filecoin::decode),
        pool: loading,
    })
}

fn settings(config: &Config, shared: &Shared) -> Result<Settings> {
    let budget = match config.memory_limit {
        Some(limit) => limit.saturating_sub(config.memory_margin),
        None => probe::budget(None, config.memory_margin, Bytes::ZERO, &shared.probe.observe()?),
    };
    Ok(Settings {
        budget,
        ceiling: budget,
        workers: config.synthesis_workers,
        urgent_workers: URGENT_WORKERS,
        ahead: config.synthesis_workers + 2 * shared.slots.serving(Urgency::Patient),
        slots: shared.slots.iter().map(ProverSlot::settings).collect(),
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
pub(super) fn start(config: Config, parts: Parts) -> Result<Arc<Engine>> {
    let (messages, inbox) = unbounded();
    let shared = Arc::new(Shared::new(config.clone(), parts, messages)?);
    let scheduler = Scheduler::new(settings(&config, &shared)?)?;
    let mut threads = Threads::default();
    let (synthesis, work) = unbounded();
    for i in 0..config.synthesis_workers + URGENT_WORKERS {
        threads.worker(format!("synthesis-{i}"), &shared, &work, workers::synthesis)?;
    }
    let mut slots = Vec::new();
    for prover in shared.slots.iter() {
        let (slot, work) = unbounded();
        threads.worker(format!("slot-{}", prover.name()), &shared, &work, workers::slot)?;
        slots.push(slot);
    }
    // Threads for each urgency: none waits for a less urgent proof that is paused.
    let mut finish = Vec::new();
    for urgency in Urgency::ALL {
        let (outlet, work) = unbounded();
        for i in 0..2 * shared.slots.serving(urgency).max(1) {
            threads.worker(format!("finish-{urgency}-{i}"), &shared, &work, workers::finish)?;
        }
        finish.push(outlet);
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
