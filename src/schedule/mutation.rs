//! Bugs that tests plant, to show that the explorer finds them.

use super::contract::JobId;
use super::scheduler::Scheduler;
use crate::error::Result;
use crate::kind::Urgency;
use crate::memory::{Class, Demand, Stage};
use crate::units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutation {
    /// The witness claim is given up when synthesis ends.
    PermitReturnedEarly,
    /// The most urgent kind is served last.
    UrgencyInverted,
    /// A turn is not given back where its job has ended.
    TurnForgotten,
    /// A finishing claim is not given back.
    FinishForgotten,
    /// A circuit on its way is loaded once more.
    LoadDoubled,
    /// Deadlines run out and nobody is told.
    DeadlineIgnored,
    /// A job that failed is answered twice.
    AnsweredTwice,
    /// A lane of the processor takes all kinds.
    LaneForAll,
    /// No memory is kept for PoSt.
    RoomNotKept,
    /// Whoever waits for memory is passed for ever.
    DoorLeftOpen,
    /// Circuits leave before they were idle long enough.
    EvictedTooSoon,
    /// The budget stays what it was.
    BudgetNotFollowed,
    /// A working set that is larger than promised is not booked.
    OverrunNotBooked,
}

impl Scheduler {
    pub(super) fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Whether the job in this slot has ended.
    pub(super) fn orphaned(&self, slot: usize) -> bool {
        let turn = self.slots().get(slot).and_then(|view| view.turn);
        turn.is_some_and(|(job, _)| !self.jobs.contains_key(&job))
    }

    pub(super) fn mutated_urgency(&self, urgency: Urgency) -> Urgency {
        match urgency {
            Urgency::Critical if self.mutated(Mutation::UrgencyInverted) => Urgency::Patient,
            Urgency::Patient if self.mutated(Mutation::UrgencyInverted) => Urgency::Critical,
            as_it_is => as_it_is,
        }
    }

    pub(super) fn return_permit_early(&mut self, job: JobId, partition: usize) -> Result<()> {
        if self.mutated(Mutation::PermitReturnedEarly) {
            let part = self.jobs.get(&job).and_then(|job| job.parts.get(partition));
            if let Some(claim) = part.and_then(|part| part.witness) {
                self.ledger.correct(claim, Demand::of(Stage::Queued, Class::Witness, Bytes::ZERO))?;
            }
        }
        Ok(())
    }
}
