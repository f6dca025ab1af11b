//! The CPU backend: the C++ core on the library's pool.

use std::sync::Arc;

use rayon::ThreadPool;

/// Proves on the processor, on the pool it is given.
pub struct CpuBackend {
    pub(super) pool: Arc<ThreadPool>,
}

impl CpuBackend {
    /// A backend whose work runs on `pool`.
    pub fn new(pool: Arc<ThreadPool>) -> CpuBackend {
        CpuBackend { pool }
    }

    /// Threads of its pool.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}
