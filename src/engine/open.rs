//! Opening an engine: parts, threads and channels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::{bounded, unbounded, Receiver};

use super::config::URGENT_WORKERS;
use super::driver::{Driver, Outlets};
use super::entry::lock;
use super::footprints::Footprints;
use super::shared::Shared;
use super::watch::{missing, watch};
use super::work::guarded;
use super::{journal, workers, BackendChoice, Config, Engine, Parts, ProverSlot};
use crate::error::{Code, Error, Result};
use crate::filecoin::{self, FilecoinCatalog};
use crate::kind::{CircuitId, Urgency};
use crate::memory::probe;
use crate::prove::cpu::CpuBackend;
use crate::schedule::{Factors, Scheduler, Settings};
use crate::srs::{Store, StoreConfig};
use crate::units::Bytes;

/// Before the next try to load a pinned circuit.
pub(super) const PIN_AGAIN: Duration = Duration::from_millis(500);

pub(super) fn pool(name: &str, threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    let prefix = name.to_owned();
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |i| format!("{prefix}-{i}"))
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
    let pool = |name: &str| pool(name, config.threads);
    let core = |pool: &Arc<_>| CpuBackend::with_kernels(Arc::clone(pool), config.kernels);
    let slot = |serves: Urgency| {
        let (pool, finishing) = (pool(serves.name())?, pool(&format!("end-{serves}"))?);
        let backend = Arc::new(core(&pool)?.finishing_on(finishing.clone()));
        Ok(ProverSlot { backend, pool, finishing, serves })
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

fn settings(config: &Config, shared: &Shared, factors: BTreeMap<CircuitId, Factors>) -> Result<Settings> {
    let observation = shared.probe.observe()?;
    let (limit, margin) = (config.memory_limit, config.memory_margin);
    *lock(&shared.observed) = observation.clone();
    let slots = shared.slots.iter().map(ProverSlot::settings).collect();
    Ok(Settings {
        budget: probe::budget(limit, margin, Bytes::ZERO, &observation),
        ceiling: probe::ceiling(limit, margin, &observation),
        factors,
        ..config.scheduling(slots)
    })
}

/// Projects the circuits that may be asked for: room is kept for those of PoSt. What is missing is said now,
/// not when a proof is due; a pinned circuit without parameters is an error.
fn expect_circuits(config: &Config, shared: &Shared) -> Result<()> {
    for (circuit, footprint) in shared.catalog.prepared() {
        shared.project(circuit, footprint)?;
    }
    for circuit in &config.pinned {
        shared.catalog.available(*circuit).map_err(|error| error.at("residency.pinned"))?;
    }
    let missing = missing(shared);
    for kind in &missing {
        tracing::warn!(%kind, "no parameters of this kind are there; its requests will be refused");
    }
    *lock(&shared.missing) = missing;
    Ok(())
}

/// Loads the pinned circuits, one after the other, the most urgent first.
fn load_pinned(shared: &Shared) {
    for circuit in shared.config.pinned.iter().collect::<BTreeSet<_>>() {
        loop {
            match shared.preload(*circuit) {
                Ok(_) => tracing::info!(%circuit, "pinned"),
                Err(error) if error.code() == Code::Closed => return,
                // Others hold the memory for now.
                Err(error) if error.code() == Code::Busy => {
                    std::thread::sleep(PIN_AGAIN);
                    continue;
                }
                Err(error) => tracing::error!(%circuit, %error, "a pinned circuit is not in memory"),
            }
            break;
        }
    }
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

/// Starts the thread that writes the journal; it ends when the keeper is dropped and all is written.
fn start_journal(shared: &Arc<Shared>, threads: &mut Threads) -> Result<Option<journal::Keeper>> {
    if shared.journal.is_none() {
        return Ok(None);
    }
    let (keeper, inbox) = journal::queue();
    let shared = shared.clone();
    threads.spawn("journal".into(), move || {
        let Some(journal) = &shared.journal else { return };
        let _ = guarded(&shared.instruments.panics, "the journal's thread", || {
            journal::write(journal, &inbox, &shared.instruments.journal);
            Ok(())
        });
    })?;
    Ok(Some(keeper))
}

/// Starts every thread of an engine.
pub(super) fn start(config: Config, parts: Parts) -> Result<Arc<Engine>> {
    let (messages, inbox) = unbounded();
    let shared = Arc::new(Shared::new(config.clone(), parts, messages)?);
    let footprints = Footprints::open(&config.cache_directory);
    let scheduler = Scheduler::new(settings(&config, &shared, footprints.factors())?)?;
    expect_circuits(&config, &shared)?;
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
    let keeper = start_journal(&shared, &mut threads)?;
    threads.spawn("delivery".into(), {
        let shared = shared.clone();
        move || workers::delivery(&shared, keeper, &work)
    })?;
    let (watched, stop) = bounded(0);
    threads.worker("memory-watch".into(), &shared, &stop, watch)?;
    let (chores, work) = unbounded();
    threads.spawn("chores".into(), {
        let shared = shared.clone();
        move || workers::chores(&shared, footprints, &work)
    })?;
    let outlets = Outlets { synthesis, slots, finish, delivery, chores };
    if !config.pinned.is_empty() {
        threads.spawn("pinned".into(), {
            let shared = shared.clone();
            move || load_pinned(&shared)
        })?;
    }
    let driver = Driver::new(shared.clone(), scheduler, outlets, watched);
    threads.spawn("scheduler".into(), {
        let shared = shared.clone();
        move || {
            let ran = guarded(&shared.instruments.panics, "the scheduler's thread", || {
                driver.run(&inbox);
                Ok(())
            });
            drop(ran);
        }
    })?;
    Ok(Arc::new(Engine {
        shared,
        own: threads.0.iter().map(|thread| thread.thread().id()).collect(),
        threads: Mutex::new(threads.0),
        door: super::door::Gate::default(),
        tag: rand::random(),
    }))
}
