//! Less urgent work stops while more urgent work runs.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kind::Urgency;

/// Every urgency has two ranks: that of finishing steps, and after it that of all other work.
const RANKS: usize = 2 * Urgency::ALL.len();

/// The steps that run now, by rank. Clones are the same.
///
/// Paused work blocks its threads, those of a pool included. So a step must not need a thread of a pool
/// that work of a later rank runs on: the ranks of heavy steps and of finishing ones have pools of their own.
/// Then the running step of the first rank is never held up; when it ends, the next one is the first.
#[derive(Clone, Debug, Default)]
pub struct Priorities(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// A bit for each rank that has a step running; written under the lock.
    running: AtomicU8,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    steps: [usize; RANKS],
    /// Since when a rank has had a step running without a break.
    since: [Option<Instant>; RANKS],
    pauses: Pauses,
}

/// What pauses for more urgent kinds came to. Where a heavy step stands back for one that finishes a proof of
/// its own urgency, nobody is late for it: that is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Times that a thread stopped between two chunks.
    pub count: u64,
    /// Threads that are stopped now.
    pub now: usize,
    /// How long they stood still, summed over threads; those that still do are not in it.
    pub paused: Duration,
    /// The longest time from the beginning of a more urgent step until the last thread had stopped.
    pub longest_delay: Duration,
}

/// A step that runs; work of later ranks is paused until it is dropped.
#[must_use = "work of later ranks goes on as soon as this is dropped"]
#[derive(Debug)]
pub struct Running {
    priorities: Priorities,
    rank: usize,
}

fn finishing(urgency: Urgency) -> usize {
    2 * urgency as usize
}

fn working(urgency: Urgency) -> usize {
    finishing(urgency) + 1
}

/// The bits of the ranks before this one.
fn before(rank: usize) -> u8 {
    (1 << rank) - 1
}

impl Priorities {
    /// Nothing runs.
    pub fn new() -> Priorities {
        Priorities::default()
    }

    /// A step of this urgency begins to run.
    pub fn enter(&self, urgency: Urgency) -> Running {
        self.enter_rank(working(urgency))
    }

    /// A step begins to run that finishes a proof of this urgency: heavy steps of the same urgency stand back
    /// for it too. It gives memory back, and they take it.
    pub fn enter_finishing(&self, urgency: Urgency) -> Running {
        self.enter_rank(finishing(urgency))
    }

    fn enter_rank(&self, rank: usize) -> Running {
        let mut state = self.lock();
        state.steps[rank] += 1;
        if state.steps[rank] == 1 {
            state.since[rank] = Some(Instant::now());
            self.0.running.fetch_or(1 << rank, Ordering::Relaxed);
        }
        drop(state);
        Running { priorities: self.clone(), rank }
    }

    /// Pauses so far.
    pub fn pauses(&self) -> Pauses {
        self.lock().pauses
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Inner { running, changed, .. } = &*self.priorities.0;
        let mut state = self.priorities.lock();
        let steps = &mut state.steps[self.rank];
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            state.since[self.rank] = None;
            running.fetch_and(!(1 << self.rank), Ordering::Relaxed);
            changed.notify_all();
        }
    }
}

/// The point that work does not pass while what it gives way to runs.
#[derive(Clone, Debug)]
pub(super) struct Turnstile {
    priorities: Priorities,
    urgency: Urgency,
    /// Bits of the ranks that it gives way to.
    gives_way: u8,
}

impl Turnstile {
    /// For work that gives way to more urgent work.
    pub(super) fn new(priorities: &Priorities, urgency: Urgency) -> Turnstile {
        Turnstile { priorities: priorities.clone(), urgency, gives_way: before(finishing(urgency)) }
    }

    /// The same, for work that also gives way to finishing steps as urgent as it is.
    pub(super) fn behind_finishing(&self) -> Turnstile {
        Turnstile { gives_way: before(working(self.urgency)), ..self.clone() }
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.running() & self.gives_way != 0
    }

    #[inline]
    fn running(&self) -> u8 {
        self.priorities.0.running.load(Ordering::Relaxed)
    }

    /// Wakes what waits here, so that it sees its flag.
    pub(super) fn wake(&self) {
        // Under the lock: a thread that has looked at its flag and does not wait yet is not missed.
        let _state = self.priorities.lock();
        self.priorities.0.changed.notify_all();
    }

    /// Waits until the turnstile opens or the flag is set.
    #[cold]
    pub(super) fn wait(&self, cancelled: &AtomicBool) {
        drop(self.wait_from(self.priorities.lock(), cancelled));
    }

    /// As `wait`; where more urgent work runs, counted as a pause of running work.
    #[cold]
    pub(super) fn pause(&self, cancelled: &AtomicBool) {
        let mut state = self.priorities.lock();
        let urgent = finishing(self.urgency);
        if self.running() & before(urgent) == 0 {
            drop(self.wait_from(state, cancelled));
            return;
        }
        if cancelled.load(Ordering::Relaxed) {
            return;
        }
        let stopped = Instant::now();
        let since = state.since.iter().take(urgent).flatten().min();
        let delay = since.map_or(Duration::ZERO, |since| stopped.saturating_duration_since(*since));
        let pauses = &mut state.pauses;
        pauses.count += 1;
        pauses.now += 1;
        pauses.longest_delay = pauses.longest_delay.max(delay);
        let mut state = self.wait_from(state, cancelled);
        state.pauses.now -= 1;
        state.pauses.paused += stopped.elapsed();
    }

    fn wait_from<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        cancelled: &AtomicBool,
    ) -> MutexGuard<'a, State> {
        let closed = |_: &mut State| self.is_closed() && !cancelled.load(Ordering::Relaxed);
        self.priorities.0.changed.wait_while(state, closed).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Priorities {
    /// Waits until so many threads are stopped.
    pub(crate) fn wait_for_paused(&self, threads: usize) {
        let late = Instant::now() + Duration::from_secs(60);
        while self.pauses().now != threads {
            assert!(Instant::now() < late, "{threads} threads should be paused: {:?}", self.pauses());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
