//! A small world and what may happen in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kind::{CircuitId, ProofKind};
use crate::schedule::mutation::Mutation;
use crate::schedule::tests::model::{Fault, Work};
use crate::schedule::tests::sizes::{self, circuit};
use crate::schedule::tests::world::{Checked, World};
use crate::schedule::{Costs, Event, JobId, Settings};
use crate::units::Bytes;

/// A request of a script.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub circuit: CircuitId,
    pub partitions: usize,
    /// How long it has from when it comes.
    pub within: Option<u64>,
}

pub fn ask(kind: ProofKind, partitions: usize) -> Ask {
    Ask { circuit: circuit(kind), partitions, within: None }
}

/// How often each thing may happen, beyond the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Allowance {
    pub failures: u8,
    pub wrong_proofs: u8,
    pub oversized: u8,
    pub cancels: u8,
    pub evictions: u8,
    pub preloads: u8,
    pub waits: u8,
    pub shutdowns: u8,
}

/// One small world.
#[derive(Clone)]
pub struct Script {
    pub name: &'static str,
    pub settings: Settings,
    pub costs: Vec<Arc<Costs>>,
    /// They come in this order, at any time.
    pub asks: Vec<Ask>,
    /// In memory at the start.
    pub present: Vec<ProofKind>,
    pub allowance: Allowance,
    /// The budgets that come one after the other, and whether the machine is short of memory.
    pub budgets: Vec<(u64, bool)>,
    /// Messages reach the scheduler before anything else happens.
    pub prompt: bool,
    pub post_at_once: bool,
}

impl Script {
    pub fn new(name: &'static str, settings: Settings, asks: Vec<Ask>) -> Script {
        let kinds: BTreeSet<_> = asks.iter().map(|ask| ask.circuit.kind).collect();
        let slots = settings.slots.len();
        Script {
            name,
            settings,
            costs: kinds.into_iter().map(|kind| sizes::costs(kind, slots)).collect(),
            asks,
            present: Vec::new(),
            allowance: Allowance::default(),
            budgets: Vec::new(),
            prompt: true,
            post_at_once: false,
        }
    }

    pub fn start(&self, mutation: Option<Mutation>) -> Result<State, String> {
        let mut world = World::new(self.settings.clone(), self.costs.iter().cloned());
        world.scheduler.mutation = mutation;
        for costs in &self.costs {
            world.tell(Event::Known { costs: costs.clone() })?;
        }
        for kind in &self.present {
            world.preload(circuit(*kind))?;
            world.settle()?;
        }
        world.replies.clear();
        world.post_at_once = self.post_at_once;
        Ok(State { world, allowance: self.allowance, budgets: 0 })
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Submit(usize),
    Deliver,
    End(Work, Fault),
    Cancel(JobId),
    Evict(CircuitId),
    Preload(CircuitId),
    Budget(u64, bool),
    Wait,
    Shutdown,
}

/// A reachable state: the world and what may still happen.
#[derive(Clone)]
pub struct State {
    pub world: World,
    pub allowance: Allowance,
    pub budgets: usize,
}

impl State {
    /// Everything that can happen next.
    pub fn choices(&self, script: &Script) -> Vec<Choice> {
        let world = &self.world;
        let mut choices = Vec::new();
        let next = world.submitted as usize;
        if next < script.asks.len() {
            choices.push(Choice::Submit(next));
        }
        if !world.mail.is_empty() {
            choices.push(Choice::Deliver);
        }
        world.work.iter().for_each(|work| self.endings(*work, &mut choices));
        let left = &self.allowance;
        if left.cancels > 0 {
            choices.extend(world.jobs.keys().map(|job| Choice::Cancel(*job)));
        }
        for costs in &script.costs {
            if left.evictions > 0 {
                choices.push(Choice::Evict(costs.circuit));
            }
            if left.preloads > 0 {
                choices.push(Choice::Preload(costs.circuit));
            }
        }
        if let Some((bytes, pressed)) = script.budgets.get(self.budgets) {
            choices.push(Choice::Budget(*bytes, *pressed));
        }
        if left.waits > 0 && world.wakeup().is_some() {
            choices.push(Choice::Wait);
        }
        if left.shutdowns > 0 {
            choices.push(Choice::Shutdown);
        }
        choices
    }

    fn endings(&self, work: Work, choices: &mut Vec<Choice>) {
        let (left, ended) = (&self.allowance, self.is_given_up(work));
        choices.push(Choice::End(work, Fault::None));
        let can_fail = !matches!(work, Work::Unload(_) | Work::Diagnosis(..));
        if can_fail && (left.failures > 0 || ended) {
            choices.push(Choice::End(work, Fault::Fails));
        }
        if left.wrong_proofs > 0 && !ended && matches!(work, Work::Finish(..)) {
            choices.push(Choice::End(work, Fault::WrongProof));
        }
        if left.oversized > 0 && can_fail && !ended {
            choices.push(Choice::End(work, Fault::Oversized));
        }
    }

    /// Its request has ended: the work is told to stop, and may still come to its end.
    fn is_given_up(&self, work: Work) -> bool {
        match work {
            Work::Load(_) | Work::Unload(_) => false,
            Work::Synthesis(job, _) | Work::Slot(job, _) | Work::Diagnosis(job, _) | Work::Finish(job, _) => {
                !self.world.jobs.contains_key(&job)
            }
        }
    }

    pub fn apply(&mut self, script: &Script, choice: Choice) -> Checked {
        if let Some(story) = &mut self.world.story {
            story.push(format!("{choice:?}"));
        }
        let (world, left) = (&mut self.world, &mut self.allowance);
        match choice {
            Choice::Submit(at) => {
                let ask = script.asks[at];
                let deadline = ask.within.map(|within| world.now + within);
                world.submit(JobId(at as u64), ask.circuit, ask.partitions, deadline)?;
            }
            Choice::Deliver => world.deliver()?,
            Choice::End(work, fault) => {
                let ended = self.is_given_up(work);
                let (world, left) = (&mut self.world, &mut self.allowance);
                match fault {
                    Fault::Fails if !ended => left.failures -= 1,
                    Fault::WrongProof => left.wrong_proofs -= 1,
                    Fault::Oversized => left.oversized -= 1,
                    _ => {}
                }
                let at = world.find(|w| *w == work).ok_or("the work is not in flight")?;
                world.end(at, fault);
            }
            Choice::Cancel(job) => {
                left.cancels -= 1;
                world.tell(Event::Cancelled { job })?;
            }
            Choice::Evict(circuit) => {
                left.evictions -= 1;
                world.tell(Event::Evict { circuit })?;
            }
            Choice::Preload(circuit) => {
                left.preloads -= 1;
                world.preload(circuit)?;
            }
            Choice::Budget(bytes, pressed) => {
                self.budgets += 1;
                world.budget(Bytes(bytes), pressed)?;
            }
            Choice::Wait => {
                left.waits -= 1;
                world.wait()?;
            }
            Choice::Shutdown => {
                left.shutdowns -= 1;
                world.tell(Event::Shutdown)?;
            }
        }
        if script.prompt {
            self.world.deliver_all()?;
        }
        self.world.check_counts()
    }

    /// Nothing runs: then everything must be answered, or wait for a named time or for more budget.
    pub fn at_rest(&self, script: &Script) -> Checked {
        if !self.world.work.is_empty() || !self.world.mail.is_empty() {
            return Ok(());
        }
        let mut end = self.world.clone();
        if !end.jobs.is_empty() && !script.budgets.is_empty() {
            end.budget(script.settings.budget, false)?;
        }
        end.shut().map_err(|why| format!("at rest: {why}"))
    }
}
