//! How work ends, and how a whole world does.

use super::model::{Fault, Place, Work};
use super::world::{Checked, World};
use crate::error::{Code, Error};
use crate::kind::CircuitId;
use crate::schedule::{Event, JobId, Step};
use crate::units::Bytes;

impl World {
    /// Memory first, then the claims in the order of the engine's fields.
    pub fn drop_item(&mut self, at: (JobId, usize)) {
        if let Some(item) = self.items.remove(&at) {
            let claims = item.turn.into_iter().chain(item.finish).chain([item.witness]);
            self.mail.extend(claims.map(|claim| Event::ClaimDropped { claim }));
        }
    }

    /// The `at`th piece of work ends; what it has to say goes into the channel.
    pub fn end(&mut self, at: usize, fault: Fault) {
        let work = self.work.remove(at);
        self.calm &= fault != Fault::Oversized;
        match work {
            Work::Load(circuit) => self.end_load(circuit, fault),
            Work::Unload(circuit) => {
                if let Some(shared) = self.circuits.get_mut(&circuit) {
                    shared.free();
                    self.mail.push_back(Event::ClaimDropped { claim: shared.claim });
                }
            }
            Work::Synthesis(job, partition) => self.end_synthesis(job, partition, fault),
            Work::Slot(job, partition) => self.end_slot(job, partition, fault),
            Work::Diagnosis(job, partition) => {
                self.drop_item((job, partition));
                let error = Error::new(Code::Unsatisfied, "scripted");
                self.mail.push_back(Event::Diagnosed { job, partition, error });
            }
            Work::Finish(job, partition) => self.end_finish(job, partition, fault),
        }
    }

    fn end_load(&mut self, circuit: CircuitId, fault: Fault) {
        let Some(shared) = self.circuits.get_mut(&circuit) else { return };
        if fault == Fault::Fails {
            let claim = shared.claim;
            shared.free();
            self.mail.push_back(Event::LoadFailed { circuit, error: scripted() });
            self.mail.push_back(Event::ClaimDropped { claim });
            return;
        }
        if fault == Fault::Oversized {
            shared.srs = larger(shared.srs);
            shared.unreported = true;
        }
        let (srs, matrices) = (shared.srs, shared.matrices);
        self.mail.push_back(Event::CircuitLoaded { circuit, srs, matrices });
    }

    fn end_synthesis(&mut self, job: JobId, partition: usize, fault: Fault) {
        if fault == Fault::Fails {
            self.drop_item((job, partition));
            return self.mail.push_back(Event::SynthesisFailed { job, partition, error: scripted() });
        }
        let Some(item) = self.items.get_mut(&(job, partition)) else { return };
        if fault == Fault::Oversized {
            item.witness_bytes = larger(item.witness_bytes);
            item.unreported = true;
        }
        item.place = Place::Travelling;
        let bytes = item.witness_bytes;
        self.mail.push_back(Event::SynthesisDone { job, partition, bytes });
    }

    fn end_slot(&mut self, job: JobId, partition: usize, fault: Fault) {
        self.measure((job, partition), Step::Start, fault);
        if fault == Fault::Fails {
            self.drop_item((job, partition));
            return self.mail.push_back(Event::SlotFailed { job, partition, error: scripted() });
        }
        let costs = self.costs.clone();
        let Some(item) = self.items.get_mut(&(job, partition)) else { return };
        item.place = Place::Travelling;
        item.started = true;
        item.set = costs[&item.circuit].slots[item.slot].finish;
        self.mail.push_back(Event::SlotDone { job, partition });
    }

    /// What the step's working set came to; told before its claim is dropped.
    fn measure(&mut self, at: (JobId, usize), step: Step, fault: Fault) {
        let Some(item) = self.items.get_mut(&at) else { return };
        let Some(claim) = item.finish.or(item.turn) else { return };
        if fault == Fault::Oversized {
            item.set = larger(item.set);
            item.unreported = true;
        }
        if self.tells_sizes || item.unreported {
            self.mail.push_back(Event::Measured { claim, step, bytes: item.set });
        }
    }

    fn end_finish(&mut self, job: JobId, partition: usize, fault: Fault) {
        self.measure((job, partition), Step::Finish, fault);
        let Some(item) = self.items.get_mut(&(job, partition)) else { return };
        item.set = Bytes::ZERO;
        let claims = item.turn.take().into_iter().chain(item.finish.take());
        self.mail.extend(claims.map(|claim| Event::ClaimDropped { claim }));
        match fault {
            Fault::Fails => {
                self.drop_item((job, partition));
                self.mail.push_back(Event::FinishFailed { job, partition, error: scripted() });
            }
            Fault::WrongProof => {
                item.place = Place::Travelling;
                item.started = false;
                item.uses_circuit = false;
                item.wrong += 1;
                self.mail.push_back(Event::VerifyFailed { job, partition });
            }
            Fault::None | Fault::Oversized => {
                self.drop_item((job, partition));
                self.mail.push_back(Event::FinishDone { job, partition });
            }
        }
    }

    /// Everything in flight runs to its end without further faults, in the order in which it began.
    pub fn settle(&mut self) -> Checked {
        self.deliver_all()?;
        for _ in 0..1_000_000 {
            if self.work.is_empty() {
                return Ok(());
            }
            self.end(0, Fault::None);
            self.deliver_all()?;
        }
        Err("the world does not come to rest".into())
    }

    /// The same, and time goes on until every request has its answer.
    pub fn settle_in_time(&mut self) -> Checked {
        self.settle()?;
        for _ in 0..100 {
            if self.jobs.is_empty() {
                return Ok(());
            }
            if self.wakeup().is_none() {
                return Err(format!("nothing runs, nothing is waited for, and {:?} wait", self.jobs.keys()));
            }
            self.wait()?;
            self.settle()?;
        }
        Err(format!("time passes and {:?} are not served", self.jobs.keys()))
    }

    /// Everything is answered, drained and given back.
    pub fn shut(&mut self) -> Checked {
        self.settle_in_time()?;
        self.tell(Event::Drain)?;
        self.settle()?;
        let ledger = self.scheduler.ledger();
        if !self.scheduler.finished() || ledger.reserved() != Bytes::ZERO {
            return Err(format!("{} stay promised at the end", ledger.reserved()));
        }
        if self.answers.len() + self.refusals.len() != self.submitted as usize {
            return Err("a request was lost".into());
        }
        if self.unanswered.values().any(|n| *n > 0) {
            return Err(format!("preloads or evictions without answers: {:?}", self.unanswered));
        }
        Ok(())
    }
}

fn scripted() -> Error {
    Error::new(Code::Backend, "scripted")
}

fn larger(bytes: Bytes) -> Bytes {
    Bytes(bytes.0 + bytes.0 / 2 + 1)
}
