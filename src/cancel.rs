//! Where running work stops between its chunks: for good when its job is cancelled, for a while when more
//! urgent work runs.

mod priorities;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

pub use priorities::{Pauses, Priorities, Running};

use crate::error::{Code, Error, Result};
use crate::kind::Urgency;
use priorities::Turnstile;

/// Shared cancellation flag of one job. Clones see the same flag; once set it stays set.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    turnstile: Option<Turnstile>,
    /// Chunks that were let begin.
    #[cfg(test)]
    begun: std::sync::atomic::AtomicUsize,
}

impl Cancel {
    /// A flag that is not set, of work that gives way to nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that is not set, of work this urgent: while a more urgent step runs under the same
    /// priorities, [`Cancel::check`] does not return.
    pub fn yielding(priorities: &Priorities, urgency: Urgency) -> Self {
        let turnstile = Some(Turnstile::new(priorities, urgency));
        Cancel(Arc::new(Flag { turnstile, ..Flag::default() }))
    }

    /// Asks the work to stop, also where it is paused.
    pub fn cancel(&self) {
        self.0.set.store(true, Ordering::Relaxed);
        if let Some(turnstile) = &self.0.turnstile {
            turnstile.wake();
        }
    }

    /// True once somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::Relaxed)
    }

    /// Called between chunks of work: waits while more urgent work runs; an error once somebody asked the
    /// work to stop.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if let Some(turnstile) = self.0.turnstile.as_ref().filter(|turnstile| turnstile.is_closed()) {
            turnstile.pause(&self.0.set);
        }
        self.outcome()
    }

    /// An error once somebody asked the work to stop; never waits. For loops on threads that others need too.
    pub fn wanted(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }

    /// As [`Cancel::check`], called before a step begins: waiting here pauses nothing that runs.
    pub fn begin(&self) -> Result<()> {
        if let Some(turnstile) = self.0.turnstile.as_ref().filter(|turnstile| turnstile.is_closed()) {
            turnstile.wait(&self.0.set);
        }
        self.outcome()
    }

    #[inline]
    fn outcome(&self) -> Result<()> {
        self.wanted()?;
        #[cfg(test)]
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }
}

fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the job was cancelled")
}
