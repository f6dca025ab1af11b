//! A memory control group for one test: a limit that the kernel enforces on the processes started in it.
//! Needs root and a writable hierarchy, version 1 or 2; where there is none, `create` says why.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// A group that is removed when dropped; its processes must have ended by then, its nested groups been dropped.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    version: Version,
}

impl Group {
    /// A group beside (version 2) or below (version 1) our own that may hold `limit` bytes, swap included.
    pub fn create(name: &str, limit: u64) -> Result<Group, String> {
        let name = format!("forebay-{name}-{}", std::process::id());
        let mut reasons = Vec::new();
        for place in places()? {
            match Group::at(place.path.join(&name), place.version, limit) {
                Ok(group) => return Ok(group),
                Err(reason) => reasons.push(reason),
            }
        }
        if reasons.is_empty() {
            reasons.push("no hierarchy of the memory controller is mounted".into());
        }
        Err(reasons.join("; "))
    }

    /// A group inside this one. In version 2 this one can start no processes of its own from then on.
    pub fn nested(&self, name: &str, limit: u64) -> Result<Group, String> {
        if self.version == Version::V2 {
            write(&self.path.join("cgroup.subtree_control"), "+memory")?;
        }
        Group::at(self.path.join(name), self.version, limit)
    }

    fn at(path: PathBuf, version: Version, limit: u64) -> Result<Group, String> {
        fs::create_dir(&path).map_err(|e| format!("creating {}: {e}", path.display()))?;
        let group = Group { path, version };
        group.set_limit(limit)?;
        let entered = group.command("true").status().map_err(|e| format!("starting sh: {e}"))?;
        if !entered.success() {
            return Err(format!("no process can enter {}", group.path.display()));
        }
        Ok(group)
    }

    /// Changes the limit; memory that is held already is reclaimed, or its holder killed.
    pub fn set_limit(&self, limit: u64) -> Result<(), String> {
        let (memory, swap, swapped) = match self.version {
            Version::V1 => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", limit),
            Version::V2 => ("memory.max", "memory.swap.max", 0),
        };
        let (memory, swap) = (self.path.join(memory), self.path.join(swap));
        let set_swap = || if swap.exists() { write(&swap, &swapped.to_string()) } else { Ok(()) };
        // Version 1 refuses a limit of memory above that of memory and swap, so the order depends on the direction.
        if write(&memory, &limit.to_string()).is_ok() {
            return set_swap();
        }
        set_swap()?;
        write(&memory, &limit.to_string())
    }

    /// `program`, to be started inside the group; arguments, environment and pipes may be added as usual.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ > "$0/cgroup.procs" && exec "$@""#).arg(&self.path).arg(program);
        command
    }

    /// The most bytes the group ever held: anonymous memory, and file pages that its processes brought in.
    pub fn peak(&self) -> u64 {
        self.number(match self.version {
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
        })
    }

    /// Bytes the group holds now, counted as in [`Group::peak`].
    pub fn usage(&self) -> u64 {
        self.number(match self.version {
            Version::V1 => "memory.usage_in_bytes",
            Version::V2 => "memory.current",
        })
    }

    /// Processes of this group, and of those nested in it, that the kernel killed for their memory.
    pub fn killed(&self) -> u64 {
        match self.version {
            Version::V1 => killed_below(&self.path),
            Version::V2 => keyed(&self.path.join("memory.events"), "oom_kill"),
        }
    }

    /// Where the group's files are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn number(&self, file: &str) -> u64 {
        let path = self.path.join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("reading {}: {e}", path.display()));
        text.trim().parse().unwrap_or_else(|_| panic!("{} holds {text:?}, not a number", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be leaving.
        for _ in 0..200 {
            match fs::remove_dir(&self.path) {
                Err(e) if e.raw_os_error() == Some(16) => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        eprintln!("{} is still in use and stays", self.path.display());
    }
}

struct Place {
    path: PathBuf,
    version: Version,
}

/// Where a group may be made, the best first.
fn places() -> Result<Vec<Place>, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|e| format!("reading {path}: {e}"));
    let (mounts, groups) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
    let mut places = Vec::new();
    for (version, mount) in mounts.lines().filter_map(hierarchy) {
        let ours = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let matches = match version {
                Version::V1 => controllers.split(',').any(|c| c == "memory"),
                Version::V2 => id == "0",
            };
            matches.then(|| mount.join(path.trim_start_matches('/')))
        });
        let ours = ours.filter(|path| path.is_dir()).unwrap_or_else(|| mount.clone());
        // In version 2 only a group whose processes are all in groups below it hands a controller down.
        let hands_down = |path: &&Path| match version {
            Version::V1 => true,
            Version::V2 => fs::read_to_string(path.join("cgroup.subtree_control"))
                .is_ok_and(|text| text.split_whitespace().any(|c| c == "memory")),
        };
        let up = ours.ancestors().take_while(|path| path.starts_with(&mount)).filter(hands_down);
        places.extend(up.map(|path| Place { path: path.into(), version }));
    }
    Ok(places)
}

/// The version and mount point where a line of mountinfo is a hierarchy with the memory controller.
fn hierarchy(line: &str) -> Option<(Version, PathBuf)> {
    let (front, back) = line.split_once(" - ")?;
    let mount = PathBuf::from(front.split(' ').nth(4)?);
    let mut back = back.split(' ');
    let (kind, options) = (back.next()?, back.nth(1)?);
    match kind {
        "cgroup" if options.split(',').any(|o| o == "memory") => Some((Version::V1, mount)),
        "cgroup2" => Some((Version::V2, mount)),
        _ => None,
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("writing {text} to {}: {e}", path.display()))
}

/// The number behind `key` in a file of `key number` lines; 0 where there is none.
fn keyed(path: &Path, key: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok();
    text.lines().find_map(value).unwrap_or(0)
}

/// Version 1 counts a kill in the victim's group only.
fn killed_below(group: &Path) -> u64 {
    let nested = fs::read_dir(group).into_iter().flatten().flatten();
    let nested = nested.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    keyed(&group.join("memory.oom_control"), "oom_kill")
        + nested.map(|e| killed_below(&e.path())).sum::<u64>()
}
