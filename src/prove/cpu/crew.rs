//! The guarded parallel loop: C++ work on a rayon pool.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rayon::ThreadPool;

use super::bridge::{run_task, KernelTable, Task};
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};

/// The pool's threads at the service of one call into C++.
pub(super) struct Crew {
    pool: Arc<ThreadPool>,
    kernels: &'static KernelTable,
    cancel: Cancel,
    /// The first failure of any loop of this call.
    failure: OnceLock<Error>,
}

impl Crew {
    pub(super) fn new(pool: &Arc<ThreadPool>, kernels: &'static KernelTable, cancel: &Cancel) -> Crew {
        Crew { pool: pool.clone(), kernels, cancel: cancel.clone(), failure: OnceLock::new() }
    }

    /// How many indices of a loop can run at the same time.
    pub(super) fn lanes(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// What the work is done with.
    pub(super) fn kernels(&self) -> &'static KernelTable {
        self.kernels
    }

    /// Runs every index below `count` on at most `lanes` lanes; stops at the first failure.
    pub(super) fn run(&self, lanes: usize, count: usize, task: &Task) -> Result<()> {
        let lanes = lanes.min(count).max(1);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            if lanes == 1 {
                return self.pool.install(|| self.run_lane(0, &AtomicUsize::new(0), count, task));
            }
            let next = AtomicUsize::new(0);
            self.pool.install(|| {
                (0..lanes)
                    .into_par_iter()
                    .with_max_len(1)
                    .try_for_each(|lane| self.run_lane(lane, &next, count, task))
            })
        }));
        caught.unwrap_or_else(|panic| Err(self.failed(panic_error(panic.as_ref()))))
    }

    /// What a call into C++ came to: the first failure of its loops in preference to C++'s own words.
    pub(super) fn outcome<T>(&self, result: std::result::Result<T, cxx::Exception>) -> Result<T> {
        result.map_err(|exception| match self.failure.get() {
            Some(error) => error.clone(),
            None => Error::new(Code::Backend, format!("the CPU core failed: {}", exception.what())),
        })
    }

    /// Takes indices until none is left, the job is cancelled or another lane failed.
    fn run_lane(&self, lane: usize, next: &AtomicUsize, count: usize, task: &Task) -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(());
            }
            if let Some(error) = self.failure.get() {
                return Err(error.clone());
            }
            self.cancel.check().map_err(|error| self.failed(error))?;
            run_task(task, lane, index).map_err(|exception| {
                self.failed(Error::new(Code::Backend, format!("the CPU core failed: {}", exception.what())))
            })?;
        }
    }

    fn failed(&self, error: Error) -> Error {
        self.failure.get_or_init(|| error).clone()
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string());
    Error::internal(format!("a parallel loop panicked: {text}"))
}
