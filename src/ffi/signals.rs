//! Signals are the host's: the library installs no handler, and its threads take none.

use std::mem::MaybeUninit;

/// What a thread gets by its own doing, and what profilers time each thread with.
const LEFT: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGPROF];

/// While it lives, threads that this one starts inherit a mask that blocks the host's signals.
pub(super) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(super) fn new() -> Option<Blocked> {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the first call initialises `all`, which the next ones change; the last one initialises `before`
        // where it succeeds.
        unsafe {
            if libc::sigfillset(all.as_mut_ptr()) != 0 {
                return None;
            }
            for signal in LEFT {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            let set = libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            (set == 0).then(|| Blocked { before: before.assume_init() })
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask that was read before, of this same thread: the type holds a raw set and stays where
        // it was made.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(thread: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    #[test]
    fn threads_started_meanwhile_take_no_signals_and_the_starter_does_again() {
        let bit = |signal: libc::c_int| 1u64 << (signal - 1);
        let before = blocked("thread-self");
        let guard = Blocked::new().unwrap();
        let inside = std::thread::spawn(|| blocked("thread-self")).join().unwrap();
        drop(guard);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGURG, libc::SIGPIPE, libc::SIGALRM] {
            assert_ne!(inside & bit(signal), 0, "{signal}");
        }
        for signal in LEFT {
            assert_eq!(inside & bit(signal), before & bit(signal), "{signal}");
        }
        assert_eq!(blocked("thread-self"), before);
    }
}
