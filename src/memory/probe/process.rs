//! The machine's and this process's lines in `/proc`.

use crate::units::Bytes;

/// Resident bytes of this process, the host that loaded the library included.
///
/// Kernels from 6.2 on count them by processor and `/proc` adds up what was handed in: on a machine with `n`
/// processors each figure may be off by up to `n · max(32, 2n)` pages: 8 MiB with 32 processors, 128 MiB with 128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub total: Bytes,
    /// Anonymous memory.
    pub anonymous: Bytes,
    /// Mapped files and shared memory.
    pub file: Bytes,
    /// The most there ever was.
    pub peak: Bytes,
}

impl Resident {
    /// From the text of `/proc/self/status` (`statm` is no cheaper to read and knows neither peak nor anonymous memory).
    pub(super) fn parse(status: &str) -> Resident {
        let get = |name| field(status, name).unwrap_or_default();
        Resident {
            total: get("VmRSS:"),
            anonymous: get("RssAnon:"),
            file: get("RssFile:").saturating_add(get("RssShmem:")),
            peak: get("VmHWM:"),
        }
    }
}

/// The bytes of a `Name:   123 kB` line.
pub(super) fn field(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}
