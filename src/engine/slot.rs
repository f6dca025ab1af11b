//! The prover slots, and where a partition's work runs.

use std::cmp::Reverse;
use std::sync::Arc;

use rayon::ThreadPool;

use crate::error::{Code, Error, Result};
use crate::kind::Urgency;
use crate::prove::{Backend, Footprint};
use crate::schedule::{SlotCost, SlotSettings};

/// The name of the processor's backend.
pub(super) const CPU: &str = "cpu";

/// One place that proves partitions, one at a time.
#[derive(Clone)]
pub struct ProverSlot {
    /// Proves.
    pub backend: Arc<dyn Backend>,
    /// What the heavy step's work on the processor runs on. rayon begins nothing more on a pool that is busy:
    /// slots that share one wait for each other's steps.
    pub pool: Arc<ThreadPool>,
    /// What finishing and verifying run on; no slot's `pool`.
    pub finishing: Arc<ThreadPool>,
    /// It takes work that is at least this urgent.
    pub serves: Urgency,
}

impl ProverSlot {
    fn is_cpu(&self) -> bool {
        self.backend.name() == CPU
    }

    /// Its backend's name; a lane beside the slot for all kinds says whom it serves.
    pub(super) fn name(&self) -> String {
        match self.serves {
            Urgency::Patient => self.backend.name().to_owned(),
            urgency => format!("{}-{urgency}", self.backend.name()),
        }
    }

    /// What the scheduler knows of it.
    pub(super) fn settings(&self) -> SlotSettings {
        match self.is_cpu() {
            true => SlotSettings::cpu_lane(self.serves),
            false => {
                SlotSettings { serves: self.serves, ..SlotSettings::device(self.backend.device_memory()) }
            }
        }
    }

    /// Bytes of one partition's turn.
    pub(super) fn cost(&self, footprint: &Footprint) -> SlotCost {
        let Footprint { shape, wide_hint, .. } = footprint;
        SlotCost {
            start: self.backend.working_set(shape),
            finish: self.backend.finishing_set(shape, *wide_hint),
            device: self.backend.device_set(shape, *wide_hint),
        }
    }
}

/// Every slot, in the scheduler's order.
pub(super) struct Slots(Vec<ProverSlot>);

/// Where a partition's work runs.
pub(super) struct Place<'a> {
    pub backend: &'a dyn Backend,
    pub pool: &'a ThreadPool,
    pub finishing: &'a ThreadPool,
    /// Whose work the pools run: none that is less urgent.
    pub serves: Urgency,
}

impl Slots {
    /// The slots for all kinds go first, and of these the processor: it proves again what a device got wrong.
    ///
    /// rayon knows no priorities, and paused work blocks the threads it is on. So slots of different urgency
    /// must have different pools; at most one urgency's have running threads while a more urgent step runs. And
    /// `loading`, which everybody waits for, must be none of them. A finish that shared the pool of heavy steps
    /// would wait for the next of these to end, and would hold its memory meanwhile.
    pub fn new(mut slots: Vec<ProverSlot>, loading: &Arc<ThreadPool>) -> Result<Slots> {
        slots.sort_by_key(|slot| (Reverse(slot.serves), !slot.is_cpu()));
        let ranks = |slot: &ProverSlot| {
            [
                (slot.pool.clone(), (slot.serves, "heavy")),
                (slot.finishing.clone(), (slot.serves, "finishing")),
            ]
        };
        let pools: Vec<_> = slots.iter().flat_map(ranks).collect();
        let mixed = slots.iter().any(|slot| slot.serves != slots[0].serves);
        let shared = |slot: &&ProverSlot| {
            ranks(slot).iter().any(|(pool, rank)| {
                let other = pools.iter().any(|(other, of)| of != rank && Arc::ptr_eq(other, pool));
                other || mixed && Arc::ptr_eq(pool, loading)
            })
        };
        match slots.iter().find(shared) {
            None => Ok(Slots(slots)),
            Some(slot) => Err(Error::new(
                Code::InvalidArgument,
                format!(
                    "slot {} shares a pool between heavy and finishing steps, with work of another urgency or \
                     with loading; give each its own",
                    slot.name()
                ),
            )),
        }
    }

    /// No slot at all.
    pub fn empty() -> Slots {
        Slots(Vec::new())
    }

    pub fn iter(&self) -> std::slice::Iter<'_, ProverSlot> {
        self.0.iter()
    }

    /// How many slots are for work of this urgency before any other.
    pub fn serving(&self, urgency: Urgency) -> usize {
        self.iter().filter(|slot| slot.serves == urgency).count()
    }

    /// The name of a slot's backend.
    pub fn device(&self, slot: usize) -> &str {
        self.0.get(slot).map_or("", |slot| slot.backend.name())
    }

    /// Where a partition with a turn of `slot` is worked on: on the slot's own pools, unless these serve less
    /// urgent work too and the processor has a slot for just its urgency.
    pub fn place(&self, slot: usize, urgency: Urgency) -> Result<Place<'_>> {
        let slot = self.0.get(slot).ok_or_else(|| Error::internal(format!("no backend for slot {slot}")))?;
        let exact = |slot: &&ProverSlot| slot.serves == urgency;
        let lane = || self.iter().find(|other| other.is_cpu() && exact(other));
        let home = Some(slot).filter(exact).or_else(lane).unwrap_or(slot);
        if home.serves < urgency {
            return Err(Error::internal(format!("slot {} does not serve {urgency} work", slot.name())));
        }
        let backend = if slot.is_cpu() { home } else { slot };
        Ok(Place {
            backend: &*backend.backend,
            pool: &home.pool,
            finishing: &home.finishing,
            serves: home.serves,
        })
    }
}
