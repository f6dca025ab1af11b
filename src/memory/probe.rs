//! What the machine and our control groups leave for us, and what this process holds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// Resident bytes of this process, the host that loaded the library included.
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

/// What limits us now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// `MemAvailable` of the machine; swap is not counted.
    pub machine: Bytes,
    /// The smallest remainder (limit less non-reclaimable use) of our control groups, where one is limited.
    pub group: Option<Bytes>,
}

impl Available {
    /// What both leave.
    pub fn bytes(&self) -> Bytes {
        self.group.map_or(self.machine, |group| group.min(self.machine))
    }

    /// A budget that leaves a margin: a sixteenth for the heap that is not booked, 256 MiB at least,
    /// and never more than half.
    pub fn budget(&self) -> Bytes {
        let all = self.bytes();
        let margin = Bytes(all.0 / 16).max(Bytes::mib(256)).min(Bytes(all.0 / 2));
        all.saturating_sub(margin)
    }
}

/// Reads `/proc` and `/sys` (or copies of them, for tests).
#[derive(Clone, Debug)]
pub struct Probe {
    root: PathBuf,
}

impl Default for Probe {
    fn default() -> Self {
        Probe::at("/")
    }
}

impl Probe {
    /// A probe of the files under `root`.
    pub fn at(root: impl Into<PathBuf>) -> Probe {
        Probe { root: root.into() }
    }

    /// What machine and control groups leave now.
    pub fn available(&self) -> Result<Available> {
        let meminfo = self.read("proc/meminfo")?;
        let machine = field(&meminfo, "MemAvailable:").ok_or_else(|| {
            Error::new(Code::System, "/proc/meminfo has no MemAvailable line; set memory.limit")
        })?;
        Ok(Available { machine, group: self.group() })
    }

    /// What this process holds; zeros where `/proc` cannot be read.
    pub fn resident(&self) -> Resident {
        let status = self.read("proc/self/status").unwrap_or_default();
        let get = |name| field(&status, name).unwrap_or_default();
        Resident {
            total: get("VmRSS:"),
            anonymous: get("RssAnon:"),
            file: get("RssFile:").saturating_add(get("RssShmem:")),
            peak: get("VmHWM:"),
        }
    }

    fn read(&self, path: &str) -> Result<String> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|e| Error::system(format!("reading {}", path.display()), e))
    }

    fn group(&self) -> Option<Bytes> {
        let groups = self.read("proc/self/cgroup").ok()?;
        groups.lines().filter_map(|line| self.group_of(line)).min()
    }

    /// The smallest remainder from the group of one `id:controllers:path` line up to its root.
    fn group_of(&self, line: &str) -> Option<Bytes> {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (mounts, files): (&[&str], _) = if id == "0" && controllers.is_empty() {
            (&["sys/fs/cgroup", "sys/fs/cgroup/unified"], Files::V2)
        } else if controllers.split(',').any(|c| c == "memory") {
            (&["sys/fs/cgroup/memory"], Files::V1)
        } else {
            return None;
        };
        mounts.iter().filter_map(|mount| walk(&self.root.join(mount), path, files)).min()
    }
}

#[derive(Clone, Copy)]
enum Files {
    V1,
    V2,
}

impl Files {
    fn remainder(self, group: &Path) -> Option<Bytes> {
        let (limit, usage, reclaimable) = match self {
            Files::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            Files::V2 => ("memory.max", "memory.current", "inactive_file"),
        };
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let limit = number(limit).filter(|limit| *limit < UNLIMITED)?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache = stat.lines().find_map(|l| l.strip_prefix(reclaimable)?.trim().parse::<u64>().ok());
        let used = number(usage).unwrap_or(0).saturating_sub(cache.unwrap_or(0));
        Some(Bytes(limit.saturating_sub(used)))
    }
}

/// Version 1 writes "no limit" as a number near 2⁶³.
const UNLIMITED: u64 = 1 << 60;

/// Inside a container the path may name the host's tree; then only the mount's root is ours.
fn walk(mount: &Path, path: &str, files: Files) -> Option<Bytes> {
    let mut least = files.remainder(mount);
    let mut group = mount.to_path_buf();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != "..") {
        group.push(part);
        least = least.into_iter().chain(files.remainder(&group)).min();
    }
    least
}

/// The bytes of a `Name:   123 kB` line.
fn field(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(files: &[(&str, &str)]) -> (tempfile::TempDir, Probe) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let probe = Probe::at(dir.path());
        (dir, probe)
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable:    3000 kB\n");

    #[test]
    fn this_machine_has_memory_and_this_process_holds_some() {
        let probe = Probe::default();
        assert!(probe.available().unwrap().budget() > Bytes::mib(16));
        let resident = probe.resident();
        assert!(resident.anonymous > Bytes::ZERO && resident.total >= resident.anonymous);
        assert!(resident.peak >= resident.total);
    }

    #[test]
    fn the_smallest_group_up_to_the_root_holds() {
        let (_dir, v2) = fixture(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "1000000\n"),
            ("sys/fs/cgroup/a/memory.current", "700000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 200000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ]);
        assert_eq!(v2.available().unwrap().group, Some(Bytes(500_000)));
        assert_eq!(v2.available().unwrap().bytes(), Bytes(500_000));
        let (_dir, v1) = fixture(&[
            MEMINFO,
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n3:memory:/host/only\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n"),
        ]);
        assert_eq!(v1.available().unwrap().group, Some(Bytes(800_000)));
    }

    #[test]
    fn without_a_limited_group_the_machine_holds() {
        let (_dir, probe) = fixture(&[
            MEMINFO,
            ("proc/self/cgroup", "3:memory:/a\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let available = probe.available().unwrap();
        assert_eq!(available.group, None);
        assert_eq!(available.bytes(), Bytes(3000 * 1024));
        assert_eq!(available.budget(), Bytes(1500 * 1024));
    }

    #[test]
    fn an_unreadable_machine_is_an_error_not_a_guess() {
        let (_dir, probe) = fixture(&[("proc/meminfo", "nothing\n")]);
        assert_eq!(probe.available().unwrap_err().code(), Code::System);
        assert_eq!(probe.resident(), Resident::default());
    }
}
