//! The highest resident memory of this process, and what was counted and promised then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use forebay::engine::Engine;
use forebay::memory::{usage, Class, Stage};

use crate::process::Resident;

/// Bytes by class.
pub type ByClass = BTreeMap<String, u64>;

const PERIOD: Duration = Duration::from_micros(500);
/// Looks at the kernel's counters between two looks at the ledger.
const LEDGER_EVERY: u32 = 20;

/// The peaks, which need not be of one moment.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    /// Resident bytes of the process.
    pub resident: Resident,
    /// The most that large buffers counted.
    pub buffers: u64,
    /// The most resident bytes beside the buffers that were counted then, above those of the beginning.
    pub beside: u64,
    /// What large buffers counted when resident memory was highest.
    pub counted: ByClass,
    /// What was promised when most was promised, as far as it was seen.
    pub promised: ByClass,
}

impl Peaks {
    fn see(&mut self, before: Resident) {
        let (resident, counted) = (Resident::now(), counted());
        let buffers = counted.values().sum();
        self.buffers = self.buffers.max(buffers);
        self.beside = self.beside.max(resident.total().saturating_sub(before.total() + buffers));
        if resident.total() > self.resident.total() {
            (self.resident, self.counted) = (resident, counted);
        }
    }
}

/// A thread that looks again and again.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Peaks>,
}

impl Sampler {
    /// `before`: resident bytes before the engine was opened.
    pub fn start(engine: &Arc<Engine>, before: Resident) -> Sampler {
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, engine) = (stop.clone(), engine.clone());
        let thread = std::thread::spawn(move || {
            let (mut peaks, mut most) = (Peaks::default(), 0);
            for turn in 0_u32.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                peaks.see(before);
                if turn % LEDGER_EVERY == 0 {
                    promised(&engine, &mut most, &mut peaks.promised);
                }
                std::thread::sleep(PERIOD);
            }
            peaks
        });
        Sampler { stop, thread }
    }

    pub fn finish(self) -> Peaks {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn counted() -> ByClass {
    let of = |class| Stage::ALL.into_iter().map(|stage| usage::mapped(class, stage).1 .0).sum();
    Class::ALL.into_iter().map(|class| (class.name().to_owned(), of(class))).collect()
}

fn promised(engine: &Engine, most: &mut u64, by_class: &mut ByClass) {
    let status = engine.status();
    if status.memory.reserved <= *most {
        return;
    }
    *most = status.memory.reserved;
    by_class.clear();
    for cell in status.cells {
        *by_class.entry(cell.class.to_owned()).or_default() += cell.reserved;
    }
}
