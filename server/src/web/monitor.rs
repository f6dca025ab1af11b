//! One look a second at the engine, for however many watch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use forebay::engine::Status;
use forebay::memory::Class;
use forebay::Error;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::events::event;
use crate::work::{Purpose, Work};

/// Between two looks.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Samples that are kept: ten minutes.
const KEPT: usize = 600;

/// The newest snapshot.
#[derive(Clone)]
pub struct Snapshot {
    /// The engine's state.
    pub state: &'static str,
    /// When it was taken.
    pub at: Instant,
    /// The status document, as an event.
    pub event: Bytes,
}

/// Memory at one moment, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Milliseconds since 1970.
    t: u64,
    limit: u64,
    reserved: u64,
    resident: u64,
    unbooked: u64,
    /// Promised, by class.
    classes: Classes,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Classes {
    intake: u64,
    witness: u64,
    working_set: u64,
    srs: u64,
    matrices: u64,
}

#[derive(Serialize)]
struct History<'a> {
    interval_ms: u64,
    samples: &'a VecDeque<Sample>,
}

/// What was seen, and who hears of what is seen next.
pub struct Monitor {
    newest: watch::Sender<Snapshot>,
    history: Mutex<VecDeque<Sample>>,
}

impl Sample {
    fn of(status: &Status, t: u64) -> Sample {
        let of = |class: Class| {
            let cells = status.cells.iter().filter(|cell| cell.class == class.name());
            cells.map(|cell| cell.reserved).sum()
        };
        Sample {
            t,
            limit: status.memory.limit,
            reserved: status.memory.reserved,
            resident: status.process.resident,
            unbooked: status.process.unbooked,
            classes: Classes {
                intake: of(Class::Intake),
                witness: of(Class::Witness),
                working_set: of(Class::WorkingSet),
                srs: of(Class::Srs),
                matrices: of(Class::Matrices),
            },
        }
    }
}

/// A document as JSON.
pub fn document(document: &impl Serialize) -> forebay::Result<String> {
    serde_json::to_string(document).map_err(|e| Error::internal(format!("writing JSON: {e}")))
}

impl Monitor {
    /// Nothing is seen yet.
    pub fn new() -> Arc<Monitor> {
        let nothing = Snapshot { state: "starting", at: Instant::now(), event: event("status", "{}") };
        Arc::new(Monitor { newest: watch::Sender::new(nothing), history: Mutex::default() })
    }

    /// The newest snapshot.
    pub fn now(&self) -> Snapshot {
        self.newest.borrow().clone()
    }

    /// Hears of every snapshot from now on; one that is slow hears of the newest only.
    pub fn watch(&self) -> watch::Receiver<Snapshot> {
        self.newest.subscribe()
    }

    /// The samples so far, in JSON, oldest first.
    pub fn history(&self) -> forebay::Result<String> {
        let samples = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        document(&History { interval_ms: INTERVAL.as_millis() as u64, samples: &samples })
    }

    /// Looks until the engine is closed.
    pub async fn run(self: Arc<Monitor>, work: Work) {
        let mut tick = tokio::time::interval(INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let look = work.run(Purpose::Look, |engine| {
                let status = engine.status();
                Ok((status.state, Sample::of(&status, unix_ms()), document(&status)?))
            });
            match look.await {
                Ok((state, sample, json)) => {
                    self.keep(sample);
                    let event = event("status", &json);
                    self.newest.send_replace(Snapshot { state, at: Instant::now(), event });
                    if state == "closed" {
                        return;
                    }
                }
                Err(status) => tracing::warn!(error = status.message(), "a look at the engine failed"),
            }
        }
    }

    fn keep(&self, sample: Sample) {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if history.len() >= KEPT {
            history.pop_front();
        }
        history.push_back(sample);
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_are_kept() {
        let monitor = Monitor::new();
        for t in 0..1000 {
            monitor.keep(Sample::of(&Status::default(), t));
        }
        let history: serde_json::Value = serde_json::from_str(&monitor.history().unwrap()).unwrap();
        let times: Vec<_> = history["samples"].as_array().unwrap().iter().map(|s| s["t"].as_u64()).collect();
        assert_eq!(times, (400..1000).map(Some).collect::<Vec<_>>());
        assert_eq!(history["interval_ms"], 1000);
    }

    #[tokio::test]
    async fn a_slow_watcher_hears_of_the_newest_only() {
        let monitor = Monitor::new();
        let mut watcher = monitor.watch();
        for n in 0..100 {
            let event = n.to_string().into();
            monitor.newest.send_replace(Snapshot { state: "running", at: Instant::now(), event });
        }
        watcher.changed().await.unwrap();
        assert_eq!(watcher.borrow_and_update().event, "99");
        assert!(!watcher.has_changed().unwrap());
    }
}
