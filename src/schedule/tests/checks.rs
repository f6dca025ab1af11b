//! The rules that hold after every event.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Item, Presence, Request, Role, Work};
use super::world::{Checked, World};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::memory::{ClaimId, Class};
use crate::schedule::{Action, Counts, Event, Factors, JobId, SlotKind};
use crate::units::Bytes;

fn scaled(bytes: Bytes, thousandths: u32) -> u64 {
    (bytes.0 * u64::from(thousandths)).div_ceil(1000)
}

/// What must be known from before an event.
pub struct Before {
    reserved: Bytes,
    /// Bytes that the event says exist beyond what was promised for them.
    correction: Bytes,
    /// The request whose turn ended.
    ended: Option<JobId>,
    /// Requests that were ready for the slot of the turn that ended.
    ready: BTreeSet<JobId>,
}

impl World {
    pub fn before(&self, event: &Event) -> Before {
        let correction = match event {
            Event::SynthesisDone { job, partition, bytes } => {
                let held = self.items.get(&(*job, *partition)).map(|item| self.held(item.witness));
                bytes.saturating_sub(held.unwrap_or(*bytes))
            }
            Event::Measured { claim, bytes, .. } => bytes.saturating_sub(self.held(*claim)),
            Event::CircuitLoaded { circuit, srs, matrices } => {
                let held = self.circuits.get(circuit).map_or(Bytes::ZERO, |s| self.held(s.claim));
                srs.saturating_add(*matrices).saturating_sub(held)
            }
            _ => Bytes::ZERO,
        };
        let turn = match event {
            Event::ClaimDropped { claim } => self.roles.get(claim).copied(),
            _ => None,
        };
        let (mut ended, mut ready) = (None, BTreeSet::new());
        if let Some(Role::Turn(job, _, slot)) = turn {
            ended = Some(job);
            let takes = |(_, item): &(_, &Item)| self.home(item.circuit.kind.urgency()) == slot;
            ready = self.ready().filter(takes).map(|((job, _), _)| job).collect();
        }
        Before { reserved: self.scheduler.ledger().reserved(), correction, ended, ready }
    }

    pub fn held(&self, claim: ClaimId) -> Bytes {
        self.scheduler.ledger().held(claim).map_or(Bytes::ZERO, |demand| demand.total())
    }

    /// What the world notes of an event before the scheduler hears it.
    pub fn heard(&mut self, event: &Event) {
        match event {
            Event::SynthesisDone { job, partition, .. } => self.reported((*job, *partition)),
            Event::Measured { claim, .. } => {
                if let Some(Role::Turn(job, partition, _) | Role::Finish(job, partition)) =
                    self.roles.get(claim)
                {
                    self.reported((*job, *partition));
                }
            }
            Event::CircuitLoaded { circuit, .. } => {
                if let Some(shared) = self.circuits.get_mut(circuit) {
                    shared.unreported = false;
                }
            }
            Event::ClaimDropped { claim } => {
                if let Some(Role::Witness(job, _)) = self.roles.get(claim) {
                    self.touch(*job);
                }
            }
            Event::Preload { costs } => *self.unanswered.entry((costs.circuit, false)).or_default() += 1,
            Event::Evict { circuit } => *self.unanswered.entry((*circuit, true)).or_default() += 1,
            _ => {}
        }
    }

    fn reported(&mut self, at: (JobId, usize)) {
        if let Some(item) = self.items.get_mut(&at) {
            item.unreported = false;
        }
    }

    fn touch(&mut self, job: JobId) {
        let circuit = self.homes.get(&job).copied();
        if let Some(shared) = circuit.and_then(|circuit| self.circuits.get_mut(&circuit)) {
            shared.idle_since = self.now;
        }
    }

    pub fn replied(&mut self, circuit: CircuitId, evicted: bool, action: Action) -> Checked {
        match self.unanswered.remove(&(circuit, evicted)) {
            None => Err(format!("nobody waits for {action:?}")),
            Some(_) => {
                self.replies.push(action);
                Ok(())
            }
        }
    }

    fn ready(&self) -> impl Iterator<Item = ((JobId, usize), &Item)> {
        let here = self.items.iter().filter(|(at, item)| item.is_ready() && self.jobs.contains_key(&at.0));
        here.map(|(at, item)| (*at, item)).filter(|(_, item)| self.is_resident(item.circuit))
    }

    pub fn is_resident(&self, circuit: CircuitId) -> bool {
        self.circuits.get(&circuit).is_some_and(|shared| shared.state == Presence::Resident)
    }

    /// The slot that work of this urgency can always rely on.
    pub fn home(&self, urgency: Urgency) -> usize {
        let slots = self.settings.slots.iter().enumerate();
        let lanes = slots.filter(|(_, slot)| slot.serves < Urgency::Patient && urgency <= slot.serves);
        lanes.min_by_key(|(i, slot)| (slot.serves, *i)).map_or(0, |(i, _)| i)
    }

    /// Whether a slot takes this partition.
    fn takes(&self, slot: usize, request: &Request, item: &Item) -> bool {
        let is_cpu = |slot: usize| self.settings.slots[slot].kind == SlotKind::Cpu;
        let (urgency, home) = (request.urgency(), self.home(request.urgency()));
        let again = item.wrong > 0 && is_cpu(home);
        let serves = |slot: usize| self.settings.slots[slot].serves;
        // Its own lane of the processor spares it the processor's other slots.
        let elsewhere = is_cpu(slot) && is_cpu(home) && serves(home) == urgency && serves(slot) != urgency;
        urgency <= serves(slot) && !elsewhere && (!again || is_cpu(slot))
    }

    /// Whether one partition does not fit into the present budget, whoever leaves.
    fn is_beyond_budget(&self, id: CircuitId) -> bool {
        let home = self.home(id.kind.urgency());
        let (costs, factors) = (&self.costs[&id], self.factors(id));
        let alone = scaled(costs.witness, factors.witness) + scaled(costs.turn(home), factors.working_set);
        let pinned = self.settings.pinned.iter().filter(|other| **other != id);
        let pinned: u64 = pinned.map(|other| self.shared(*other)).sum();
        let intake = self.scheduler.ledger().class(Class::Intake).0;
        alone + self.shared(id) + pinned + intake > self.limit.0
    }

    fn factors(&self, id: CircuitId) -> Factors {
        let circuits = self.scheduler.circuits();
        circuits.iter().find(|view| view.circuit == id).map(|view| view.factors).unwrap_or_default()
    }

    /// Projected bytes of SRS and matrices.
    fn shared(&self, id: CircuitId) -> u64 {
        let (costs, factor) = (&self.costs[&id], self.factors(id).shared);
        scaled(costs.srs, factor) + scaled(costs.matrices, factor)
    }

    fn slot_is_free(&self, slot: usize) -> bool {
        self.scheduler.slots().get(slot).is_some_and(|view| view.turn.is_none())
    }

    /// A partition gets its witness claim: nobody more urgent may be waiting, and who is passed at the same
    /// urgency has waited less than the patience.
    pub fn may_start(&mut self, job: JobId) -> Checked {
        let (key, circuit) = (self.open(job)?.key, self.open(job)?.circuit);
        let present = self.circuits.get(&circuit).is_some_and(|shared| shared.state != Presence::Leaving);
        let (now, patience) = (self.now, self.settings.patience);
        let before =
            self.jobs.iter().filter(|(_, r)| r.key < key && r.waits() && !self.is_beyond_budget(r.circuit));
        let before: Vec<_> = before.map(|(other, _)| *other).collect();
        for other in before {
            let request = self.open(other)?;
            if request.urgency() < key.0 {
                return Err(format!("{job:?} is admitted while {other:?} waits, which is more urgent"));
            }
            if !present || request.circuit == circuit {
                return Err(format!("{job:?} is admitted before {other:?} and is no better off"));
            }
            let since = *request.passed_since.get_or_insert(now);
            if now.saturating_sub(since) >= patience {
                return Err(format!("{job:?} passes {other:?}, whose patience is over"));
            }
        }
        Ok(())
    }

    /// A partition gets a slot: it serves its kind, the circuit is there, and nobody comes before it.
    pub fn may_prove(&mut self, job: JobId, partition: usize, slot: usize) -> Checked {
        let request = self.jobs.get(&job).ok_or_else(|| format!("{job:?} has ended"))?;
        let item = self.items.get(&(job, partition)).ok_or("a partition in a slot without its witness")?;
        let serves = self.settings.slots.get(slot).ok_or("no such slot")?.serves;
        if request.urgency() > serves {
            return Err(format!("slot {slot} takes {job:?}, which it does not serve"));
        }
        if !self.is_resident(item.circuit) {
            return Err(format!("{job:?} is in a slot without its circuit"));
        }
        if self.items.values().any(|i| i.turn.is_some() && i.slot == slot) {
            return Err(format!("two turns at once in slot {slot}"));
        }
        for ((other, _), waiting) in self.ready().filter(|((other, _), _)| *other != job) {
            let before = &self.jobs[&other];
            let fits =
                self.costs[&waiting.circuit].turn(slot) <= self.costs[&item.circuit].turn(slot) && self.calm;
            let could = fits || slot == self.home(before.urgency());
            if before.key < request.key && could && self.takes(slot, before, waiting) {
                return Err(format!("{job:?} gets slot {slot} before {other:?}"));
            }
        }
        Ok(())
    }

    /// A circuit leaves: nobody uses it, it is not pinned, and it was idle long enough or has to go.
    pub fn may_drop(&self, event: &Event, id: CircuitId) -> Checked {
        let shared = self.circuits.get(&id).ok_or_else(|| format!("{id} is not in memory"))?;
        if shared.state != Presence::Resident {
            return Err(format!("{id} is dropped before it is in memory"));
        }
        if self.items.values().any(|item| item.circuit == id) {
            return Err(format!("{id} is dropped while partitions need it"));
        }
        let asked = matches!(event, Event::Evict { circuit } if *circuit == id);
        if asked || self.scheduler.is_draining() {
            return Ok(());
        }
        if self.settings.pinned.contains(&id) {
            return Err(format!("{id} is pinned and makes room"));
        }
        let post = self.jobs.values().any(|r| r.waits() && r.urgency() < Urgency::Patient);
        let rushed =
            post || self.limit < self.settings.budget || !self.calm || self.now >= self.settings.patience;
        if self.now.saturating_sub(shared.idle_since) < self.settings.min_idle && !rushed {
            return Err(format!("{id} leaves before its time"));
        }
        Ok(())
    }

    pub fn check(&mut self, event: &Event, before: &Before) -> Checked {
        self.check_budget(before)?;
        self.check_claims()?;
        self.check_totals()?;
        self.check_measured(event)?;
        self.check_returned(event)?;
        self.check_slots()?;
        self.check_waits(event, before)?;
        self.check_time()
    }

    /// Nothing is promised beyond the budget; where the budget sank below or something was larger than
    /// promised, nothing more is promised before it fits again.
    fn check_budget(&self, before: &Before) -> Checked {
        let ledger = self.scheduler.ledger();
        let growth = ledger.reserved().saturating_sub(before.reserved);
        if ledger.reserved() > self.limit && growth > before.correction {
            return Err(format!("{} are promised of {}", ledger.reserved(), self.limit));
        }
        Ok(())
    }

    /// What exists under each claim is covered by it.
    fn check_claims(&self) -> Checked {
        let covered = |claim, real: Bytes, what: &dyn Fn() -> String| {
            if real <= self.held(claim) {
                return Ok(());
            }
            Err(format!("{} holds {real}, promised are {}", what(), self.held(claim)))
        };
        for (at, item) in self.items.iter().filter(|(_, item)| !item.unreported) {
            covered(item.witness, item.witness_bytes, &|| format!("the witness of {at:?}"))?;
            match item.finish.or(item.turn) {
                Some(claim) => covered(claim, item.set, &|| format!("the working set of {at:?}"))?,
                None if item.set > Bytes::ZERO => return Err(format!("{at:?} works without a claim")),
                None => {}
            }
        }
        for (id, shared) in self.circuits.iter().filter(|(_, shared)| !shared.unreported) {
            covered(shared.claim, shared.srs.saturating_add(shared.matrices), &|| id.to_string())?;
        }
        Ok(())
    }

    /// What exists of each class, and altogether, is not more than is promised.
    fn check_totals(&self) -> Checked {
        let unreported =
            self.items.values().any(|i| i.unreported) || self.circuits.values().any(|s| s.unreported);
        if unreported {
            return Ok(());
        }
        let mut real: BTreeMap<Class, u64> = BTreeMap::new();
        let mut add = |class, bytes: Bytes| *real.entry(class).or_default() += bytes.0;
        for item in self.items.values() {
            add(Class::Witness, item.witness_bytes);
            add(Class::WorkingSet, item.set);
        }
        for shared in self.circuits.values() {
            add(Class::Srs, shared.srs);
            add(Class::Matrices, shared.matrices);
        }
        add(Class::Intake, self.intake);
        let ledger = self.scheduler.ledger();
        for (class, bytes) in &real {
            if *bytes > ledger.class(*class).0 {
                let promised = ledger.class(*class);
                return Err(format!("{bytes} bytes of {} exist, promised are {promised}", class.name()));
            }
        }
        Ok(())
    }

    /// What was measured is booked.
    fn check_measured(&self, event: &Event) -> Checked {
        match event {
            Event::Measured { claim, bytes, .. } if self.held(*claim) < *bytes => {
                let (role, held) = (self.roles.get(claim), self.held(*claim));
                Err(format!("{role:?}: {bytes} was measured and {held} is booked"))
            }
            _ => Ok(()),
        }
    }

    fn check_returned(&mut self, event: &Event) -> Checked {
        let Event::ClaimDropped { claim } = event else { return Ok(()) };
        let role = self.roles.remove(claim);
        match self.scheduler.ledger().held(*claim) {
            Some(_) => Err(format!("{role:?} was returned and is still promised")),
            None => Ok(()),
        }
    }

    /// A home never idles while a witness waits for it with its circuit.
    fn check_slots(&self) -> Checked {
        for ((job, partition), item) in self.ready() {
            let home = self.home(item.circuit.kind.urgency());
            if self.slot_is_free(home) {
                return Err(format!("partition {partition} of {job:?} waits, and slot {home} is free"));
            }
        }
        Ok(())
    }

    /// A ready PoSt waits for the end of one turn of each slot at most.
    fn check_waits(&mut self, event: &Event, before: &Before) -> Checked {
        if let Event::Submitted(submission) = event {
            self.check_admitted_at_once(submission.job)?;
        }
        let Some(ended) = before.ended else { return Ok(()) };
        for job in &before.ready {
            let first = self.jobs.values().map(|r| r.key).min();
            let Some(request) = self.jobs.get_mut(job) else { continue };
            if request.urgency() != Urgency::Critical || first != Some(request.key) || *job == ended {
                continue;
            }
            request.turns_waited += 1;
            if request.turns_waited > 1 {
                return Err(format!("{job:?} waits for a second turn of others"));
            }
        }
        Ok(())
    }

    /// In a calm world with room for it, a lone winning_post gets its worker and its memory at once.
    fn check_admitted_at_once(&self, job: JobId) -> Checked {
        if !self.post_at_once || !self.calm || self.scheduler.is_draining() {
            return Ok(());
        }
        let critical = |circuit: CircuitId| circuit.kind.urgency() == Urgency::Critical;
        if let Some(request) = self.jobs.get(&job).filter(|r| critical(r.circuit)) {
            let workers = self.work.iter().filter(|work| self.takes_posts_worker(work)).count();
            let alone = !self.items.values().any(|item| critical(item.circuit));
            let alone = alone && !self.jobs.iter().any(|(of, r)| *of != job && critical(r.circuit));
            let leaving = self.circuits.iter().any(|(id, s)| critical(*id) && s.state == Presence::Leaving);
            if alone && workers == 0 && !leaving && request.started == 0 {
                return Err(format!("{job:?} is not admitted though its memory is kept for it"));
            }
        }
        match self.refusals.get(&job) {
            Some(error) if self.asked_critical(job) => Err(format!("winning_post is refused: {error}")),
            _ => Ok(()),
        }
    }

    /// Where PoSt has one worker, window_post may be at it when winning_post comes.
    fn takes_posts_worker(&self, work: &Work) -> bool {
        let Work::Synthesis(job, _) = work else { return false };
        let urgent = self.homes.get(job).is_some_and(|circuit| circuit.kind.urgency() == Urgency::Urgent);
        urgent && self.settings.urgent_workers < 2
    }

    fn asked_critical(&self, job: JobId) -> bool {
        self.homes.get(&job).is_some_and(|circuit| circuit.kind == ProofKind::WinningPost)
    }

    /// What ran out is over, and the next time to wake up lies ahead.
    fn check_time(&self) -> Checked {
        if let Some((job, _)) = self.jobs.iter().find(|(_, r)| r.key.1 <= self.now) {
            return Err(format!("the time of {job:?} ran out, and it has no answer"));
        }
        match self.wakeup() {
            Some(at) if at <= self.now => Err(format!("woken at {}, it wants to be woken at {at}", self.now)),
            _ => Ok(()),
        }
    }

    /// The scheduler counts what the world counts.
    pub fn check_counts(&self) -> Checked {
        for kind in ProofKind::ALL {
            let of_kind = || self.jobs.values().filter(|r| r.circuit.kind == kind);
            let in_progress = of_kind().filter(|r| r.started > 0).count();
            let counts = Counts { pending: of_kind().count() - in_progress, in_progress };
            let told = self.scheduler.counts(kind);
            if told != counts {
                return Err(format!("{kind}: {told:?} is told, {counts:?} is right"));
            }
        }
        Ok(())
    }
}
