//! The pipelines of the prior art: a task a partition, permits to synthesise, a channel, one prover.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::time::Instant;

use forebay::prove::{verify, CircuitData, ProofTask};

use super::outcome::Ran;
use super::partition::Partition;
use super::permits::Permits;
use super::policy::Policy;
use super::KIND;
use crate::world::World;
use crate::Failure;

/// When the permit goes back, and how many partitions the channel holds.
#[derive(Clone, Copy)]
struct Rules {
    returned_early: bool,
    channel: usize,
}

impl Rules {
    fn of(policy: Policy, workers: usize) -> Rules {
        Rules { returned_early: policy == Policy::A, channel: if policy == Policy::C { workers } else { 1 } }
    }
}

/// Synthesised partitions that are not yet in the prover.
#[derive(Default)]
struct Waiting {
    now: AtomicU64,
    most: AtomicU64,
}

impl Waiting {
    fn add(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn remove(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What all tasks share.
struct Line<'a> {
    circuit: &'a CircuitData,
    wide: usize,
    rules: Rules,
    permits: Permits,
    waiting: Waiting,
}

/// A partition with the place of its answer.
type Sent = (usize, Result<Partition, Failure>);

/// Runs the requests through the pipeline.
pub fn run(world: &World, policy: Policy, workers: usize, messages: &[Vec<u8>]) -> Result<Ran, Failure> {
    let circuit = world.load(KIND)?;
    let wide = usize::try_from(circuit.matrices.wide_hint().unwrap_or(0))?;
    let rules = Rules::of(policy, workers);
    let line =
        Line { circuit: &circuit, wide, rules, permits: Permits::new(workers), waiting: Waiting::default() };
    let begun = Instant::now();
    let tasks: Vec<_> = messages.iter().map(|message| World::decode(message)).collect::<Result<_, _>>()?;
    let answers = std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(rules.channel);
        for (at, task) in tasks.iter().enumerate() {
            let (line, sender) = (&line, sender.clone());
            scope.spawn(move || line.task(at, task, sender));
        }
        drop(sender);
        line.prove_all(world, &tasks, receiver)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let waiting = line.waiting.most.load(Ordering::SeqCst);
    Ok(Ran { answers, waiting, seconds, budget: None, promised: None })
}

impl Line<'_> {
    /// One partition's task, on a thread of its own.
    fn task(&self, at: usize, task: &Arc<dyn ProofTask>, sender: SyncSender<Sent>) {
        let mut permit = Some(self.permits.take());
        let made = on_this_thread(|| Partition::synthesize(task.as_ref(), self.circuit, self.wide));
        self.waiting.add();
        if self.rules.returned_early {
            permit = None;
        }
        // Nobody listens where the prover has failed: that failure is the one to tell.
        let _ = sender.send((at, made));
        drop(permit);
    }

    /// The one prover: takes partitions from the channel until all tasks have ended.
    fn prove_all(
        &self,
        world: &World,
        tasks: &[Arc<dyn ProofTask>],
        receiver: Receiver<Sent>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let mut answers = vec![Vec::new(); tasks.len()];
        for (at, made) in receiver {
            self.waiting.remove();
            let partition = made?;
            let proof = world.pool.install(|| partition.prove(&world.core, self.circuit))?;
            let inputs = tasks[at].public_inputs(0)?;
            if !world.pool.install(|| verify(self.circuit, &proof, &inputs))? {
                return Err("a proof from kept evaluation vectors does not verify".into());
            }
            answers[at] = tasks[at].assemble(&[proof])?;
        }
        Ok(answers)
    }
}

/// Runs `body` on the calling thread alone, its parallel loops included.
fn on_this_thread<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let _alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()?;
    body()
}
