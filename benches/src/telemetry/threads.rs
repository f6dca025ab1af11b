//! Processor time of this process' threads, by name.

use std::collections::BTreeMap;

use crate::Failure;

/// Seconds by the beginning of threads' names; a thread that has ended is missed.
#[derive(Default)]
pub struct Threads(BTreeMap<String, f64>);

impl Threads {
    /// As it is now.
    pub fn now() -> Result<Threads, Failure> {
        // SAFETY: takes no pointers.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let mut threads = Threads::default();
        for task in std::fs::read_dir("/proc/self/task")? {
            // Threads may end meanwhile.
            let Ok(stat) = std::fs::read_to_string(task?.path().join("stat")) else { continue };
            if let Some((name, used)) = parse(&stat) {
                *threads.0.entry(name.to_owned()).or_default() += used as f64 / ticks;
            }
        }
        Ok(threads)
    }

    /// Adds what was used between two looks.
    pub fn add(&mut self, after: &Threads, before: &Threads) {
        for (name, seconds) in &after.0 {
            let used = seconds - before.0.get(name).copied().unwrap_or_default();
            *self.0.entry(name.clone()).or_default() += used.max(0.0);
        }
    }

    /// Seconds of threads of this name.
    pub fn seconds(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// Name, and user and system time in ticks.
fn parse(stat: &str) -> Option<(&str, u64)> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let mut fields = rest.split_whitespace().skip(11);
    let mut field = || fields.next()?.parse::<u64>().ok();
    Some((name, field()? + field()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let stat = "7 (a) (b) R 1 1 1 0 -1 4194304 10 0 0 0 30 12 0 0 20 0 1 0 5 1 1 1";
        assert_eq!(parse(stat), Some(("a) (b", 42)));
    }

    #[test]
    fn a_busy_thread_is_seen() {
        let before = Threads::now().unwrap();
        let busy = std::thread::Builder::new().name("busy-one".into()).spawn(|| {
            let begun = std::time::Instant::now();
            while begun.elapsed().as_millis() < 200 {
                std::hint::spin_loop();
            }
            let mut used = Threads::default();
            used.add(&Threads::now().unwrap(), &Threads::default());
            used.seconds("busy-one")
        });
        assert!(busy.unwrap().join().unwrap() > 0.02);
        assert_eq!(before.seconds("busy-one"), 0.0);
    }
}
