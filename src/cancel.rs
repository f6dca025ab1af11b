//! A flag that asks running work to stop at its next chunk boundary.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::error::{Code, Error, Result};

/// Shared cancellation flag of one job. Clones see the same flag; once set it stays set.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once somebody asked; called between chunks of work.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "the job was cancelled"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag() {
        let a = Cancel::new();
        let b = a.clone();
        assert!(a.check().is_ok());
        b.cancel();
        assert_eq!(a.check().unwrap_err().code(), Code::Cancelled);
    }
}
