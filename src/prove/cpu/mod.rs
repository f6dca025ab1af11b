//! The CPU backend: the safe side of the C++ core (`cpp/`).

mod arithmetic;
mod backend;
mod bridge;
mod crew;
mod limbs;
mod multiply;

#[cfg(test)]
mod tests;

pub use backend::CpuBackend;

/// The kernels that the core chose for this processor.
pub fn kernel_name() -> &'static str {
    bridge::kernel_name()
}
