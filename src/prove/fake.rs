//! A scripted backend: a real one that fails, stalls, panics, lies about its size or returns wrong proofs
//! when told to.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use group::Group;

use super::{Backend, Blinding, Proof, Started, Step};
use crate::cancel::Cancel;
use crate::circuit::Shape;
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Region, Stage};
use crate::units::Bytes;

/// What one call does instead of only working.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Works as it should.
    None,
    /// Returns a `Backend` error.
    Fail,
    /// Panics.
    Panic,
    /// Waits until the gate opens or the job is cancelled, then works as it should.
    Stall(Gate),
    /// Waits until the gate opens, whatever happens: a step that cannot be interrupted.
    Hold(Gate),
    /// Returns a proof that does not verify.
    Wrong,
}

/// Where calls wait, and where a test waits for them.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Debug, Default)]
struct GateState {
    open: bool,
    inside: usize,
}

impl Gate {
    /// Lets everything through from now on.
    pub fn open(&self) {
        self.lock().open = true;
        self.0 .1.notify_all();
    }

    /// Waits until a call waits here; false after `timeout`.
    pub fn reached(&self, timeout: Duration) -> bool {
        let state = self.lock();
        let waited = self.0 .1.wait_timeout_while(state, timeout, |state| state.inside == 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.inside > 0
    }

    /// Waits until the gate opens; with a flag, also until that is set.
    pub fn pass(&self, cancel: Option<&Cancel>) {
        let mut state = self.lock();
        state.inside += 1;
        self.0 .1.notify_all();
        while !state.open && !cancel.is_some_and(Cancel::is_cancelled) {
            let waited = self.0 .1.wait_timeout(state, Duration::from_millis(2));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.inside -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.0 .0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The scripted backend. Calls take their faults in the order in which these were put in; without one they
/// do what the real backend does.
pub struct Fake {
    name: String,
    inner: Arc<dyn Backend>,
    starts: Mutex<VecDeque<Fault>>,
    finishes: Mutex<VecDeque<Fault>>,
    working_set: Option<Bytes>,
    device_set: Bytes,
    excess: Bytes,
}

impl Fake {
    /// A backend of this name that works as `inner` does.
    pub fn new(name: &str, inner: Arc<dyn Backend>) -> Fake {
        Fake {
            name: name.into(),
            inner,
            starts: Mutex::default(),
            finishes: Mutex::default(),
            working_set: None,
            device_set: Bytes::ZERO,
            excess: Bytes::ZERO,
        }
    }

    /// The same, with this projected working set.
    pub fn with_working_set(self, bytes: Bytes) -> Fake {
        Fake { working_set: Some(bytes), ..self }
    }

    /// The same, with this projection of its device's memory.
    pub fn with_device_set(self, bytes: Bytes) -> Fake {
        Fake { device_set: bytes, ..self }
    }

    /// The same, holding so many resident bytes in each step beside what the real backend holds and what is
    /// projected.
    pub fn with_excess(self, bytes: Bytes) -> Fake {
        Fake { excess: bytes, ..self }
    }

    /// Faults of the next calls of `start`.
    pub fn on_start(&self, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.starts).extend(faults);
    }

    /// Faults of the next calls of `finish`.
    pub fn on_finish(&self, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.finishes).extend(faults);
    }

    /// Carries out the next fault; true where the result has to be wrong.
    fn suffer(&self, faults: &Mutex<VecDeque<Fault>>, step: &str, cancel: &Cancel) -> Result<bool> {
        let fault = lock(faults).pop_front().unwrap_or(Fault::None);
        match fault {
            Fault::None => {}
            Fault::Fail => {
                return Err(Error::new(Code::Backend, format!("{step} of {} failed as scripted", self.name)))
            }
            Fault::Panic => std::panic::panic_any(format!("{step} of {} panics as scripted", self.name)),
            Fault::Stall(gate) => {
                gate.pass(Some(cancel));
                cancel.check()?;
            }
            Fault::Hold(gate) => gate.pass(None),
            Fault::Wrong => return Ok(true),
        }
        Ok(false)
    }

    fn hold_excess(&self, step: &Step, stage: Stage) -> Result<Region> {
        let len = usize::try_from(self.excess.0).unwrap_or(usize::MAX);
        let mut region = Region::zeroed_for(step.meter, Class::WorkingSet, stage, len)?;
        region.as_mut_slice::<u8>().fill(1);
        Ok(region)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backend for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn working_set(&self, shape: &Shape) -> Bytes {
        self.working_set.unwrap_or_else(|| self.inner.working_set(shape))
    }

    fn finishing_set(&self, shape: &Shape, wide: u64) -> Bytes {
        self.working_set.unwrap_or_else(|| self.inner.finishing_set(shape, wide))
    }

    fn device_set(&self, _shape: &Shape, _wide: u64) -> Bytes {
        self.device_set
    }

    fn start(&self, step: &Step) -> Result<Started> {
        let _excess = self.hold_excess(step, Stage::Proving)?;
        let wrong = self.suffer(&self.starts, "start", step.cancel)?;
        let mut started = self.inner.start(step)?;
        if wrong {
            started.h += blstrs::G1Projective::generator();
        }
        Ok(started)
    }

    fn finish(&self, step: &Step, mut started: Started, blinding: Blinding) -> Result<Proof> {
        let _excess = self.hold_excess(step, Stage::Finishing)?;
        if self.suffer(&self.finishes, "finish", step.cancel)? {
            started.h += blstrs::G1Projective::generator();
        }
        self.inner.finish(step, started, blinding)
    }
}
