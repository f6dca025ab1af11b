//! An eventfd that counts answers, so that an event loop can wait for many jobs without a thread each.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use crate::error::{Error, Result};

/// The counter; every duplicate of its descriptor sees the same one.
pub(super) struct Completion(Arc<OwnedFd>);

impl Completion {
    pub(super) fn new() -> Result<Completion> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(Error::system("making an eventfd", io::Error::last_os_error()));
        }
        // SAFETY: the kernel just made this descriptor; nobody else owns it.
        Ok(Completion(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Adds one to the counter.
    pub(super) fn signal(&self) {
        add_one(&self.0);
    }

    /// What the engine calls after every answer.
    pub(super) fn hook(&self) -> Arc<dyn Fn() + Send + Sync> {
        let fd = Arc::clone(&self.0);
        Arc::new(move || add_one(&fd))
    }

    /// A descriptor of the same counter that the caller owns.
    pub(super) fn duplicate(&self) -> Result<i32> {
        let copy = self.0.try_clone().map_err(|e| Error::system("duplicating the eventfd", e))?;
        Ok(copy.into_raw_fd())
    }
}

fn add_one(fd: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight readable bytes, as an eventfd takes them. A counter that is full stays readable, which
    // is all that a waiter needs.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;

    #[test]
    fn signals_add_up_and_outlive_the_engine() {
        let completion = Completion::new().unwrap();
        // SAFETY: `duplicate` gives the descriptor away.
        let mut reader = File::from(unsafe { OwnedFd::from_raw_fd(completion.duplicate().unwrap()) });
        let mut count = [0; 8];
        assert_eq!(reader.read(&mut count).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        completion.hook()();
        completion.signal();
        drop(completion);
        assert_eq!(reader.read(&mut count).unwrap(), 8);
        assert_eq!(u64::from_ne_bytes(count), 2);
    }
}
