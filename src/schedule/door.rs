//! The way in: which requests are accepted.

use super::contract::{Action, Submission};
use super::job::{Job, Key};
use super::scheduler::{Claimed, Scheduler};
use crate::error::{Code, Error, Result};
use crate::kind::Urgency;
use crate::memory::{Class, Demand, Stage};
use crate::units::Bytes;

impl Scheduler {
    pub(super) fn submitted(&mut self, submission: Submission, actions: &mut Vec<Action>) -> Result<()> {
        let job = submission.job;
        if let Err(error) = self.admissible(&submission) {
            actions.push(Action::Refuse { job, error });
            return Ok(());
        }
        let demand = Demand::of(Stage::Waiting, Class::Intake, submission.intake);
        match self.ledger.claim(&self.requests, demand) {
            Err(refusal) => actions.push(Action::Refuse { job, error: self.busy(&refusal.to_string()) }),
            Ok(claim) => {
                self.claims.insert(claim, Claimed::Intake);
                self.intakes += 1;
                let position = self.enqueue(submission);
                actions.push(Action::Accept { job, position, claim });
            }
        }
        Ok(())
    }

    /// Whether the request may be accepted now; the error says whether it ever may.
    fn admissible(&mut self, submission: &Submission) -> Result<()> {
        let id = submission.costs.circuit;
        if self.draining {
            return Err(Error::new(Code::Closed, "the engine is shutting down; it accepts no more requests"));
        }
        if submission.partitions == 0 || self.jobs.contains_key(&submission.job) {
            return Err(Error::internal("a request without partitions, or with a number in use"));
        }
        self.residency.learn(&submission.costs);
        self.could_ever_fit(submission)?;
        let (unfinished, _) = self.by_kind[id.kind as usize];
        if unfinished >= self.settings.max_requests {
            return Err(self.busy(&format!("{unfinished} requests of kind {} are unfinished", id.kind)));
        }
        let intake = self.ledger.class(Class::Intake).saturating_add(submission.intake);
        let cap = self.intake_cap(id.kind.urgency());
        if intake > cap {
            return Err(
                self.busy(&format!("unfinished requests would hold {intake}, at most {cap} are allowed"))
            );
        }
        let largest = self.largest_beside(id)?;
        if intake.saturating_add(largest) > self.ledger.budget() {
            return Err(self.busy(&format!(
                "the unfinished requests' {intake} and one partition's {largest} exceed the budget of {}",
                self.ledger.budget()
            )));
        }
        Ok(())
    }

    fn could_ever_fit(&self, submission: &Submission) -> Result<()> {
        let id = submission.costs.circuit;
        let pinned = self.residency.pinned(id);
        let need = self.alone(id)?.saturating_add(submission.intake).saturating_add(pinned);
        if need > self.settings.ceiling {
            let mut refusal = self.ledger.refusal(need);
            refusal.limit = self.settings.ceiling;
            let place = match pinned {
                Bytes::ZERO => format!("one partition of {id}"),
                pinned => format!("one partition of {id} beside pinned circuits of {pinned}"),
            };
            return Err(Error::from(refusal).at(place));
        }
        let circuit = self.circuit(id)?;
        let home = self.slots.home(id.kind.urgency());
        let (need, limit) = (circuit.device(home), self.ledger.device(home).budget);
        if need > limit {
            let text = format!("one turn of {id} needs {need} of slot {home}'s device, which has {limit}");
            return Err(Error::new(Code::BudgetExceeded, text));
        }
        Ok(())
    }

    /// Bytes of decoded requests that one of this urgency may bring the sum to: the last eighth is PoSt's.
    pub(super) fn intake_cap(&self, urgency: Urgency) -> Bytes {
        let most = self.settings.max_intake;
        match urgency {
            Urgency::Patient => Bytes(most.0 / 8 * 7),
            _ => most,
        }
    }

    pub(super) fn busy(&self, why: &str) -> Error {
        let seconds = self.answer_interval.div_ceil(1_000_000_000).clamp(1, 60);
        Error::busy(why, std::time::Duration::from_secs(seconds))
    }

    fn enqueue(&mut self, submission: Submission) -> usize {
        let circuit = submission.costs.circuit;
        let urgency = circuit.kind.urgency();
        #[cfg(test)]
        let urgency = self.mutated_urgency(urgency);
        let deadline = submission.deadline.unwrap_or(u64::MAX);
        let key = Key { urgency, deadline, arrival: self.arrivals, job: submission.job };
        self.arrivals += 1;
        let position = self.by_urgency.iter().take(urgency as usize + 1).sum();
        self.by_urgency[urgency as usize] += 1;
        self.by_kind[circuit.kind as usize].0 += 1;
        self.order.insert(key);
        self.unstarted.entry(circuit).or_default().insert(key);
        if let Some(at) = submission.deadline {
            self.expiries.insert((at, key.job));
        }
        let entry = self.residency.learn(&submission.costs);
        entry.jobs += 1;
        entry.intake = entry.intake.max(submission.intake);
        entry.partitions = submission.partitions;
        self.jobs.insert(key.job, Job::new(key, circuit, submission.partitions));
        position
    }
}
