//! One plan: the question's answer with the advice.

use forebay::memory::Class;
use forebay::simulate::{Outcome, Sample};
use forebay::units::Bytes;
use forebay::Result;
use serde::Serialize;

use super::advice::{advise, Advice};
use super::policy::Choice;
use super::question::Question;

/// An answer.
pub struct Plan {
    pub question: Question,
    /// With a timeline.
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
    fn of(samples: &[Sample]) -> Peak {
        let most =
            samples.iter().max_by_key(|sample| sample.classes.iter().copied().fold(0, u64::saturating_add));
        let Some(most) = most else { return Peak::default() };
        let class = |class| Bytes(of_class(most, class));
        Peak {
            srs: class(Class::Srs),
            matrices: class(Class::Matrices),
            working_set: class(Class::WorkingSet),
            witness: class(Class::Witness),
            intake: class(Class::Intake),
        }
    }
}

/// What a sample has of one class.
pub fn of_class(sample: &Sample, class: Class) -> u64 {
    let all = Class::ALL.iter().zip(sample.classes);
    all.filter(|(of, _)| **of == class).map(|(_, bytes)| bytes).fold(0, u64::saturating_add)
}

impl Plan {
    pub fn make(question: Question) -> Result<Plan> {
        let outcome = question.ask_recorded()?;
        let peak = Peak::of(outcome.timeline.as_ref().map_or(&[], |timeline| &timeline.samples));
        let advice = advise(&question, &outcome)?;
        let unlimited_peak = match outcome.killed {
            None => None,
            Some(_) => Some(question.with_room(Bytes(u64::MAX >> 1)).ask()?.peak),
        };
        Ok(Plan { question, outcome, peak, advice, unlimited_peak })
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
