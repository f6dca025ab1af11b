//! A counting semaphore.

use std::sync::{Condvar, Mutex, PoisonError};

/// Permits to synthesise.
pub struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// One permit; its drop returns it.
pub struct Permit<'a>(&'a Permits);

impl Permits {
    pub fn new(count: usize) -> Permits {
        Permits { free: Mutex::new(count), returned: Condvar::new() }
    }

    /// Waits for a permit.
    pub fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.returned.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}
