//! How many more requests of a kind may come.

use super::circuit::Circuit;
use super::scheduler::Scheduler;
use crate::kind::{ProofKind, Urgency};
use crate::memory::Class;
use crate::units::Bytes;

impl Scheduler {
    /// How many more requests of a kind would be accepted now without making an earlier one wait longer
    /// for memory. For PoSt it is at least one while the door is open: nothing of PoRep keeps it out.
    pub fn headroom(&self, kind: ProofKind) -> usize {
        if self.draining {
            return 0;
        }
        // What the budget cannot hold is refused, or waits for a larger budget.
        let intake = self.ledger.class(Class::Intake);
        let fits = |c: &Circuit| {
            Some(
                !self.beyond_budget(c.id()).ok()?
                    && self.largest_beside(c.id()).ok()?.saturating_add(intake) <= self.ledger.budget(),
            )
        };
        if !self.of_kind(kind).all(|c| fits(c).unwrap_or(false)) {
            return 0;
        }
        let open = self.settings.max_requests.saturating_sub(self.by_kind[kind as usize].0);
        let largest = self.of_kind(kind).map(|c| self.witnesses(c, c.partitions).0.max(1)).max();
        let Some(request) = largest else { return open };
        let fit = usize::try_from(self.spare(kind).0 / request).unwrap_or(usize::MAX);
        let floor = usize::from(kind.urgency() < Urgency::Patient);
        open.min(fit.max(floor))
    }

    fn of_kind(&self, kind: ProofKind) -> impl Iterator<Item = &Circuit> {
        self.residency.iter().filter(move |c| c.id().kind == kind)
    }

    /// Bytes of the witnesses that so many partitions of a circuit hold at once.
    fn witnesses(&self, circuit: &Circuit, partitions: usize) -> Bytes {
        let at_once = partitions.min(self.settings.ahead) as u64;
        Bytes(circuit.witness().0.saturating_mul(at_once))
    }

    /// Bytes that are free or idle, less what is kept for more urgent kinds and what the requests served
    /// before a new one of this kind will ask.
    fn spare(&self, kind: ProofKind) -> Bytes {
        if self.ledger.class(Class::Intake) >= self.intake_cap(kind.urgency()) {
            return Bytes::ZERO;
        }
        let kept = self.of_kind(kind).filter_map(|c| self.kept_back(c.id()).ok()).max().unwrap_or_default();
        let idle = self.residency.idle(None, kind.urgency(), &self.ledger);
        let idle = idle.iter().filter(|idle| idle.circuit.kind != kind);
        let idle = idle.fold(Bytes::ZERO, |sum, idle| sum.saturating_add(idle.bytes));
        let mut spare = self.ledger.free().saturating_add(idle).saturating_sub(kept);
        for (id, keys) in self.unstarted.iter().filter(|(id, _)| id.kind.urgency() <= kind.urgency()) {
            let Some(circuit) = self.residency.get(*id) else { continue };
            let waiting = keys.iter().filter_map(|key| self.jobs.get(&key.job));
            let waiting: usize = waiting.map(|job| job.parts.len() - job.next).sum();
            spare = spare.saturating_sub(Bytes(circuit.witness().0.saturating_mul(waiting as u64)));
        }
        let home = self.slots.home(kind.urgency());
        let missing = |c: &Circuit| c.missing(home).saturating_sub(c.witness());
        let missing = self.of_kind(kind).map(missing).max().unwrap_or_default();
        spare.saturating_sub(missing)
    }
}
