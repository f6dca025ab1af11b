//! Less urgent work stops while more urgent work runs.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::Histogram;

use crate::kind::Urgency;

const LEVELS: usize = Urgency::ALL.len();

/// The steps that run now, by urgency. Clones are the same.
///
/// Paused work blocks its threads, those of a pool included. So a step must not need a thread of a pool
/// that less urgent work runs on: each urgency has a pool of its own.
#[derive(Clone, Debug, Default)]
pub struct Priorities(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// A bit for each urgency that has a step running; written under the lock.
    running: AtomicU8,
    state: Mutex<State>,
    changed: Condvar,
    /// Told how long each pause was.
    lengths: Option<Histogram>,
}

#[derive(Debug, Default)]
struct State {
    steps: [usize; LEVELS],
    /// Since when an urgency has had a step running without a break.
    since: [Option<Instant>; LEVELS],
    pauses: Pauses,
}

/// What pauses came to.
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

/// A step that runs; less urgent work is paused until it is dropped.
#[must_use = "less urgent work goes on as soon as this is dropped"]
#[derive(Debug)]
pub struct Running {
    priorities: Priorities,
    urgency: Urgency,
}

fn bit(urgency: Urgency) -> u8 {
    1 << urgency as u8
}

/// The more urgent ones.
fn above(urgency: Urgency) -> u8 {
    bit(urgency) - 1
}

impl Priorities {
    /// Nothing runs.
    pub fn new() -> Priorities {
        Priorities::default()
    }

    /// Nothing runs; how long each pause takes is recorded.
    pub fn recording(lengths: Histogram) -> Priorities {
        Priorities(Arc::new(Inner { lengths: Some(lengths), ..Inner::default() }))
    }

    /// A step of this urgency begins to run.
    pub fn enter(&self, urgency: Urgency) -> Running {
        let mut state = self.lock();
        state.steps[urgency as usize] += 1;
        if state.steps[urgency as usize] == 1 {
            state.since[urgency as usize] = Some(Instant::now());
            self.0.running.fetch_or(bit(urgency), Ordering::Relaxed);
        }
        drop(state);
        Running { priorities: self.clone(), urgency }
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
        let steps = &mut state.steps[self.urgency as usize];
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            state.since[self.urgency as usize] = None;
            running.fetch_and(!bit(self.urgency), Ordering::Relaxed);
            changed.notify_all();
        }
    }
}

/// The point that less urgent work does not pass while more urgent work runs.
#[derive(Debug)]
pub(super) struct Turnstile {
    priorities: Priorities,
    /// Bits of the urgencies that it gives way to.
    above: u8,
}

impl Turnstile {
    pub(super) fn new(priorities: &Priorities, urgency: Urgency) -> Turnstile {
        Turnstile { priorities: priorities.clone(), above: above(urgency) }
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.priorities.0.running.load(Ordering::Relaxed) & self.above != 0
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

    /// As `wait`, counted as a pause of running work.
    #[cold]
    pub(super) fn pause(&self, cancelled: &AtomicBool) {
        let mut state = self.priorities.lock();
        if !self.is_closed() || cancelled.load(Ordering::Relaxed) {
            return;
        }
        let stopped = Instant::now();
        let urgent = Urgency::ALL.into_iter().filter(|urgency| bit(*urgency) & self.above != 0);
        let since = urgent.filter_map(|urgency| state.since[urgency as usize]).min();
        let delay = since.map_or(Duration::ZERO, |since| stopped.saturating_duration_since(since));
        let pauses = &mut state.pauses;
        pauses.count += 1;
        pauses.now += 1;
        pauses.longest_delay = pauses.longest_delay.max(delay);
        let mut state = self.wait_from(state, cancelled);
        let paused = stopped.elapsed();
        state.pauses.now -= 1;
        state.pauses.paused += paused;
        drop(state);
        if let Some(lengths) = &self.priorities.0.lengths {
            lengths.record(paused.as_secs_f64());
        }
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
