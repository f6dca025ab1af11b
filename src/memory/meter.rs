//! What one step of a partition really takes of memory, beside what it was promised.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::units::Bytes;

/// Bytes of the regions that one step holds. Clones are the same meter.
#[derive(Clone)]
pub struct Meter(Arc<Inner>);

struct Inner {
    promised: Bytes,
    held: AtomicU64,
    peak: AtomicU64,
    exceeded: Box<dyn Fn(Bytes) + Send + Sync>,
}

impl Meter {
    /// A meter of a step that was promised so much; `exceeded` is called with each new peak above it.
    pub fn new(promised: Bytes, exceeded: impl Fn(Bytes) + Send + Sync + 'static) -> Meter {
        let (held, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        Meter(Arc::new(Inner { promised, held, peak, exceeded: Box::new(exceeded) }))
    }

    /// A meter without a promise.
    pub fn unlimited() -> Meter {
        Meter::new(Bytes(u64::MAX), |_| ())
    }

    /// The most bytes held at once so far.
    pub fn peak(&self) -> Bytes {
        Bytes(self.0.peak.load(Ordering::Relaxed))
    }

    pub(super) fn add(&self, bytes: u64) {
        let held = self.0.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let before = self.0.peak.fetch_max(held, Ordering::Relaxed);
        if held > before && held > self.0.promised.0 {
            (self.0.exceeded)(Bytes(held));
        }
    }

    pub(super) fn sub(&self, bytes: u64) {
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("promised", &self.0.promised).field("peak", &self.peak()).finish()
    }
}
