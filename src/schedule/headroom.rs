//! How many more requests of a kind may come.

use super::job::rank;
use super::scheduler::Scheduler;
use crate::kind::ProofKind;
use crate::memory::Class;
use crate::units::Bytes;

impl Scheduler {
    /// How many more requests of a kind would be accepted now without making an earlier one wait longer
    /// for memory. For PoSt it is at least one while the door is open: nothing of PoRep keeps it out.
    pub fn headroom(&self, kind: ProofKind) -> usize {
        if self.draining {
            return 0;
        }
        let open = self.settings.max_requests.saturating_sub(self.by_kind[kind as usize]);
        let largest = self
            .residency
            .iter()
            .filter(|(id, _)| id.kind == kind)
            .map(|(_, c)| c.witness.0.max(1).saturating_mul(c.partitions as u64))
            .max();
        let Some(request) = largest else { return open };
        let fit = usize::try_from(self.spare(kind).0 / request).unwrap_or(usize::MAX);
        let floor = usize::from(rank(kind) < super::job::FIRST_PATIENT_RANK);
        open.min(fit.max(floor))
    }

    /// Bytes that are free or idle, less what the requests served before a new one of this kind will ask.
    fn spare(&self, kind: ProofKind) -> Bytes {
        let idle = self.residency.idle(None).iter().fold(Bytes::ZERO, |sum, (_, b)| sum.saturating_add(*b));
        let mut spare = self.ledger.free().saturating_add(idle);
        for key in self.unstarted.iter().take_while(|key| key.rank <= rank(kind)) {
            let Some(job) = self.jobs.get(&key.job) else { continue };
            let Some(circuit) = self.residency.get(job.circuit) else { continue };
            let waiting = (job.parts.len() - job.next) as u64;
            spare = spare.saturating_sub(Bytes(circuit.witness.0.saturating_mul(waiting)));
        }
        let present = self.residency.iter().any(|(id, c)| id.kind == kind && (c.users > 0 || c.jobs > 0));
        if !present {
            let alone = self.residency.iter().filter(|(id, _)| id.kind == kind).map(|(_, c)| c);
            let shared = alone.map(|c| c.alone().saturating_sub(c.witness)).max().unwrap_or_default();
            spare = spare.saturating_sub(shared);
        }
        let intake = self.settings.max_intake.saturating_sub(self.ledger.class(Class::Intake));
        if intake == Bytes::ZERO {
            return Bytes::ZERO;
        }
        spare
    }
}
