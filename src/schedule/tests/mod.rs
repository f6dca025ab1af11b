//! The scheduler in worlds that do what it says, in any order and with any fault.

mod admission;
mod checks;
mod endings;
mod headroom;
mod identity;
mod lifecycle;
pub(super) mod model;
mod order;
mod random;
mod residency;
pub(super) mod sizes;
pub(super) mod world;

use self::model::{Fault, Work};
use self::sizes::{all, circuit, settings};
use self::world::{Checked, World};
use super::{Event, JobId, Settings, SlotKind};
use crate::error::Code;
use crate::kind::ProofKind;

/// A world of all kinds with these settings.
fn world(settings: Settings) -> World {
    let slots = settings.slots.len();
    World::new(settings, all(slots))
}

/// All kinds on one processor.
fn one_cpu(budget: u64) -> World {
    world(settings(budget, &[SlotKind::Cpu]))
}

impl World {
    /// A request comes, and all messages before it have arrived.
    fn ask(&mut self, kind: ProofKind, partitions: usize) -> JobId {
        self.ask_within(kind, partitions, None)
    }

    fn ask_within(&mut self, kind: ProofKind, partitions: usize, deadline: Option<u64>) -> JobId {
        self.deliver_all().unwrap();
        let job = JobId(self.submitted);
        self.submit(job, circuit(kind), partitions, deadline).unwrap();
        job
    }

    /// The first such work in flight ends.
    fn finish_one(&mut self, is: impl Fn(&Work) -> bool, fault: Fault) {
        let at = self.find(is).expect("such work is in flight");
        self.end(at, fault);
        self.deliver_all().unwrap();
    }

    /// The scheduler hears of every circuit before its first request.
    fn know_all(&mut self) -> Checked {
        let costs = self.costs.clone();
        costs.values().try_for_each(|costs| self.tell(Event::Known { costs: costs.clone() }))
    }

    fn refused(&self, job: JobId) -> Option<Code> {
        self.refusals.get(&job).map(|error| error.code())
    }
}
