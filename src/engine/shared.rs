//! What all threads of one engine share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crossbeam::channel::{bounded, Sender};

use super::config::Config;
use super::entry::lock;
use super::instruments::Instruments;
use super::journal::Journal;
use super::registry::Registry;
use super::slot::Slots;
use super::work::{guarded, Message};
use super::Decoder;
use crate::cancel::Priorities;
use crate::error::{Error, Result};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::memory::{Observation, Probe};
use crate::prove::{Catalog, Footprint};
use crate::schedule::{Costs, Event};
use crate::units::Bytes;

pub(super) type Hook = Arc<dyn Fn() + Send + Sync>;

pub(super) struct Shared {
    pub config: Config,
    pub catalog: Arc<dyn Catalog>,
    pub slots: Slots,
    pub priorities: Priorities,
    pub decode: Decoder,
    pub pool: Arc<rayon::ThreadPool>,
    pub registry: Registry,
    pub journal: Option<Journal>,
    pub instruments: Instruments,
    pub probe: Probe,
    /// The last look at the machine.
    pub observed: Mutex<Observation>,
    /// Enabled kinds without any parameters.
    pub missing: Mutex<Vec<ProofKind>>,
    /// What the limit was changed to while the engine runs.
    pub limit: Mutex<Option<Bytes>>,
    pub hook: Mutex<Option<Hook>>,
    pub opened: Instant,
    pub messages: Sender<Message>,
    projections: Mutex<HashMap<CircuitId, Projection>>,
    /// The most wide values that a circuit's witness had.
    measured: Mutex<HashMap<CircuitId, u64>>,
}

/// What is known of a circuit before it is loaded.
#[derive(Clone)]
pub(super) struct Projection {
    pub footprint: Footprint,
    pub costs: Arc<Costs>,
}

/// Projected bytes of a circuit.
#[derive(Clone, Copy)]
pub(super) struct Projected {
    pub witness: Bytes,
    /// SRS and matrices.
    pub shared: Bytes,
    /// The largest of a slot.
    pub working_set: Bytes,
}

impl Shared {
    pub fn new(config: Config, parts: super::Parts, messages: Sender<Message>) -> Result<Shared> {
        let slots = Slots::new(parts.slots, &parts.pool)?;
        let instruments = Instruments::open(&slots)?;
        Ok(Shared {
            journal: Journal::open(&config, &instruments.journal),
            registry: Registry::new(config.keep_results),
            limit: Mutex::default(),
            config,
            catalog: parts.catalog,
            slots,
            priorities: Priorities::recording(instruments.pauses.clone()),
            decode: parts.decode,
            pool: parts.pool,
            instruments,
            missing: Default::default(),
            probe: Probe::default(),
            observed: Mutex::default(),
            hook: Mutex::new(None),
            opened: Instant::now(),
            messages,
            projections: Mutex::default(),
            measured: Mutex::default(),
        })
    }

    /// The scheduler's time.
    pub fn now(&self) -> u64 {
        self.time_of(Instant::now())
    }

    /// A moment in the scheduler's time.
    pub fn time_of(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.opened).as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn send(&self, message: Message) -> Result<()> {
        self.messages.send(message).map_err(|_| closed())
    }

    /// A circuit's projected bytes; asked of the catalog until it answers.
    pub fn projection(&self, circuit: CircuitId) -> Result<Projection> {
        if let Some(known) = lock(&self.projections).get(&circuit) {
            return Ok(known.clone());
        }
        let footprint = guarded(&self.instruments.panics, "the catalog", || {
            self.pool.install(|| self.catalog.footprint(circuit))
        })?;
        self.project(circuit, footprint)
    }

    /// What is projected for a circuit's parts, where that is known.
    pub fn projected(&self, circuit: CircuitId) -> Option<Projected> {
        let known = lock(&self.projections);
        let costs = &known.get(&circuit)?.costs;
        let turns = 0..costs.slots.len();
        Some(Projected {
            witness: costs.witness,
            shared: costs.residency(),
            working_set: turns.map(|slot| costs.turn(slot)).max().unwrap_or_default(),
        })
    }

    /// A circuit's sizes, where they were asked for before.
    pub fn known(&self, circuit: CircuitId) -> Option<Footprint> {
        lock(&self.projections).get(&circuit).map(|known| known.footprint)
    }

    /// What every slot makes of a circuit's sizes; remembered. The scheduler keeps room for those of PoSt and
    /// counts on the pinned ones from now on.
    pub fn project(&self, circuit: CircuitId, footprint: Footprint) -> Result<Projection> {
        let slots = guarded(&self.instruments.panics, "a backend's projection", || {
            Ok(self.slots.iter().map(|slot| slot.cost(&footprint)).collect())
        })?;
        let Footprint { witness, matrices, srs, .. } = footprint;
        let costs = Arc::new(Costs { circuit, witness, matrices, srs, slots });
        let post = circuit.kind.urgency() < Urgency::Patient && self.config.kinds.contains(&circuit.kind);
        if post || self.config.pinned.contains(&circuit) {
            let costs = costs.clone();
            self.send(Message::Event(Event::Known { costs }))?;
        }
        let projection = Projection { footprint, costs };
        lock(&self.projections).insert(circuit, projection.clone());
        Ok(projection)
    }
}

impl Shared {
    /// Brings a circuit into memory; whether it was there before.
    pub fn preload(&self, circuit: CircuitId) -> Result<bool> {
        let costs = self.projection(circuit)?.costs;
        let (reply, answer) = bounded(1);
        self.send(Message::Preload { costs, reply })?;
        answer.recv().map_err(|_| closed())?
    }

    /// Tells the catalog of a witness that had more wide values than any before; the next projection is its.
    pub fn learn(&self, circuit: CircuitId, wide: u64) {
        if lock(&self.measured).get(&circuit).is_some_and(|known| *known >= wide) {
            return;
        }
        lock(&self.measured).insert(circuit, wide);
        let learnt = guarded(&self.instruments.panics, "the catalog", || {
            self.catalog.learn(circuit, wide)?;
            self.catalog.footprint(circuit)
        });
        match learnt.and_then(|footprint| self.project(circuit, footprint)) {
            Ok(_) => {}
            Err(error) => tracing::warn!(%circuit, %error, "a measured witness was not remembered"),
        }
    }
}

impl Shared {
    /// Tells the host that a job has its answer. A panic of its hook is counted like any other and goes no
    /// further.
    pub fn call_hook(&self) {
        let hook = lock(&self.hook).clone();
        if let Some(hook) = hook {
            let _ = guarded(&self.instruments.panics, "the completion hook", || {
                hook();
                Ok(())
            });
        }
    }
}

pub(super) fn closed() -> Error {
    Error::new(crate::error::Code::Closed, "the engine is closed")
}
