//! The thread that looks at the machine's memory again and again.

use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError};

use super::entry::lock;
use super::shared::Shared;
use super::work::Message;
use crate::kind::{CircuitId, ProofKind};

/// How often machine and control groups are looked at. One look takes some 0.1 ms.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks between two sortings of what histograms were given.
const UPKEEP: u64 = 20;
/// Looks between two at the parameter folders.
const PARAMETERS: u64 = 240;

/// Enabled kinds that have no parameters of any sector size.
pub(super) fn missing(shared: &Shared) -> Vec<ProofKind> {
    let there = |kind: &ProofKind| {
        CircuitId::all().filter(|id| id.kind == *kind).any(|id| shared.catalog.available(id).is_ok())
    };
    shared.config.kinds.iter().copied().filter(|kind| !there(kind)).collect()
}

/// Looks until `stop` is closed; the scheduler's thread hears of every look.
pub(super) fn watch(shared: &Arc<Shared>, stop: &Receiver<()>) {
    let mut failing = false;
    for look in 0_u64.. {
        if look % UPKEEP == 0 {
            shared.instruments.exporter.upkeep();
        }
        if look % PARAMETERS == 0 {
            *lock(&shared.missing) = missing(shared);
        }
        if stop.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        match shared.probe.observe() {
            Ok(observation) => {
                failing = false;
                *lock(&shared.observed) = observation.clone();
                if shared.send(Message::Observed(Box::new(observation))).is_err() {
                    return;
                }
            }
            // The last budget holds on; said once, not four times a second.
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%error, "the machine's memory cannot be read; the budget stays as it is");
            }
            Err(_) => {}
        }
    }
}
