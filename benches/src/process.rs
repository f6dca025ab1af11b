//! What this process holds, read from the kernel.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// Resident anonymous bytes of this process: heap, stacks and anonymous mappings, not mapped files.
pub fn anonymous() -> u64 {
    status(&["RssAnon:"])
}

/// Resident bytes of this process, mapped files included.
pub fn resident() -> u64 {
    status(&["RssAnon:", "RssFile:"])
}

/// The sum of these lines of the process' status, in bytes.
fn status(names: &[&str]) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ours = text.lines().filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    ours.filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).sum::<u64>() << 10
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
