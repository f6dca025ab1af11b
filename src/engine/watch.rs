//! The thread that looks at the machine's memory again and again.

use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError};

use super::entry::lock;
use super::shared::Shared;
use super::work::Message;

/// How often machine and control groups are looked at. One look takes some 0.1 ms.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks until `stop` is closed; the scheduler's thread hears of every look.
pub(super) fn watch(shared: &Arc<Shared>, stop: &Receiver<()>) {
    let mut failing = false;
    while stop.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
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
