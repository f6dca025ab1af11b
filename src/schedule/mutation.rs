//! Bugs that tests plant, to show that the explorer finds them.

use super::scheduler::Scheduler;

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
    /// A circuit leaves while a partition in a slot uses it.
    EvictedInUse,
    /// A job that failed is answered for each of its partitions.
    AnsweredTwice,
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
}
