//! One plan: the question's answer with the advice.

use forebay::memory::Class;
use forebay::simulate::Outcome;
use forebay::units::Bytes;
use forebay::Result;
use serde::Serialize;

use super::advice::{advise, Advice};
use super::policy::Choice;
use super::question::Question;

/// An answer.
pub struct Plan {
    pub question: Question,
    pub outcome: Outcome,
    pub peak: Peak,
    pub advice: Advice,
    /// Of the prior art: what it would hold at most if nothing killed it, where it was killed.
    pub unlimited_peak: Option<Bytes>,
}

/// Memory by class at the moment when it was the most.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Peak {
    pub srs: Bytes,
    pub matrices: Bytes,
    pub working_set: Bytes,
    pub witness: Bytes,
    pub intake: Bytes,
}

impl Peak {
    fn of(outcome: &Outcome) -> Peak {
        let classes = outcome.peak_classes.map(|bytes| bytes.0);
        let class = |class| Bytes(of_class(&classes, class));
        Peak {
            srs: class(Class::Srs),
            matrices: class(Class::Matrices),
            working_set: class(Class::WorkingSet),
            witness: class(Class::Witness),
            intake: class(Class::Intake),
        }
    }
}

/// One class of bytes that are in the order of [`Class::ALL`].
pub fn of_class(classes: &[u64; Class::ALL.len()], class: Class) -> u64 {
    let all = Class::ALL.iter().zip(classes);
    all.filter(|(of, _)| **of == class).map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)
}

impl Plan {
    /// Asks; with a timeline, which holds every event, where one is wanted.
    pub fn make(question: Question, record: bool) -> Result<Plan> {
        let outcome = question.ask(record)?;
        let peak = Peak::of(&outcome);
        let advice = advise(&question, &outcome)?;
        let unlimited_peak = match outcome.killed {
            None => None,
            Some(_) => Some(question.with_room(Bytes(u64::MAX >> 1)).ask(false)?.peak),
        };
        Ok(Plan { question, outcome, peak, advice, unlimited_peak })
    }

    /// How many requests were unfinished at most, where that is fewer than were to be kept queued.
    pub fn fewer_queued(&self) -> Option<usize> {
        let mix = &self.question.mix;
        let endless = mix.entries.iter().filter(|entry| entry.every.is_none());
        let wanted = endless.map(|entry| entry.count.min(mix.queued)).fold(0, usize::saturating_add);
        let fewer = self.outcome.unfinished < wanted && self.outcome.killed.is_none();
        fewer.then_some(self.outcome.unfinished)
    }

    /// The smallest `memory.limit` that is as good, where it is less than the planned one.
    pub fn enough_limit(&self) -> Option<Bytes> {
        let room = self.question.room;
        let enough = room.with(self.advice.least_memory?).limit();
        (enough < room.limit()).then_some(enough)
    }

    /// What holds it: the ledger promises, the prior art just holds.
    pub fn verb(&self) -> &'static str {
        match self.question.policy {
            Choice::Forebay => "promised",
            _ => "held",
        }
    }
}
