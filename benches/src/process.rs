//! What this process holds, read from the kernel.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// Resident anonymous bytes of this process: heap, stacks and anonymous mappings, not mapped files.
pub fn anonymous() -> u64 {
    status(["RssAnon:"])[0]
}

/// Resident bytes of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Resident {
    /// Heap, stacks and anonymous mappings.
    pub anonymous: u64,
    /// Mapped files: keys, and the program itself.
    pub file: u64,
}

impl Resident {
    /// As it is now.
    pub fn now() -> Resident {
        let [anonymous, file] = status(["RssAnon:", "RssFile:"]);
        Resident { anonymous, file }
    }

    /// Both together.
    pub fn total(self) -> u64 {
        self.anonymous + self.file
    }

    /// What has come since then.
    pub fn since(self, before: Resident) -> Resident {
        let anonymous = self.anonymous.saturating_sub(before.anonymous);
        Resident { anonymous, file: self.file.saturating_sub(before.file) }
    }
}

/// These lines of the process' status, in bytes.
fn status<const N: usize>(names: [&str; N]) -> [u64; N] {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name| {
        let rest = text.lines().find_map(|line: &str| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    names.map(|name| value(name).unwrap_or_default() << 10)
}

/// Samples anonymous resident bytes every millisecond and keeps the peak.
pub struct PeakSampler {
    stop: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl PeakSampler {
    /// Starts sampling.
    pub fn start() -> PeakSampler {
        let stop = Arc::new(AtomicBool::new(false));
        let peak = Arc::new(AtomicU64::new(anonymous()));
        let (stop_flag, highest) = (stop.clone(), peak.clone());
        let thread = std::thread::spawn(move || {
            while !stop_flag.load(Ordering::Relaxed) {
                highest.fetch_max(anonymous(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        PeakSampler { stop, peak, thread }
    }

    /// Stops and returns the highest sample, in bytes.
    pub fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        self.peak.fetch_max(anonymous(), Ordering::Relaxed).max(anonymous())
    }
}

/// Whether `timed` counts this process' processor time, not the time that passes.
static PROCESSOR_TIME: AtomicBool = AtomicBool::new(false);

/// From now on `timed` counts the time that this process' threads run: for one thread on a busy machine.
pub fn count_processor_time() {
    PROCESSOR_TIME.store(true, Ordering::Relaxed);
}

/// Whether `timed` counts processor time.
pub fn counts_processor_time() -> bool {
    PROCESSOR_TIME.load(Ordering::Relaxed)
}

/// A stopwatch for what `timed` cannot enclose.
pub enum Time {
    /// Of the clock.
    Passed(Instant),
    /// Of this process' threads.
    Ran(ProcessTime),
}

impl Time {
    /// Starts it.
    pub fn start() -> Time {
        if PROCESSOR_TIME.load(Ordering::Relaxed) {
            Time::Ran(ProcessTime::now())
        } else {
            Time::Passed(Instant::now())
        }
    }

    /// Seconds since then.
    pub fn seconds(&self) -> f64 {
        match self {
            Time::Passed(start) => start.elapsed().as_secs_f64(),
            Time::Ran(start) => start.elapsed().as_secs_f64(),
        }
    }
}

/// Runs `f` and returns its result and the seconds it took.
pub fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let time = Time::start();
    let value = f();
    (value, time.seconds())
}

/// Runs `f` and returns its result and the seconds that all threads of this process ran meanwhile.
pub fn on_cores<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let start = ProcessTime::now();
    let value = f();
    (value, start.elapsed().as_secs_f64())
}
