//! What the machine and our control groups leave for us, and what this process holds.

mod budget;
mod groups;
mod pressure;
mod process;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use budget::{budget, ceiling, ours};
pub use groups::Group;
pub use process::Resident;

use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// What is left for us, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// `MemAvailable` of the machine: free memory and what the kernel can take back without swapping.
    pub machine_left: Bytes,
    /// `MemTotal` of the machine.
    pub machine_total: Bytes,
    /// The control group, ours or one above it, that leaves the least; none where none is limited.
    pub group: Option<Group>,
    /// The smallest limit of those groups, which need not be that of the fullest.
    pub group_limit: Option<Bytes>,
    /// What this process holds.
    pub resident: Resident,
    /// What of it are counted buffers, see [`ours`].
    pub ours: Bytes,
    /// Percent of the last ten seconds in which some task waited for memory: the larger of the machine's and of
    /// our control groups', 0 where the kernel does not tell.
    pub pressure: f64,
}

impl Observation {
    /// What machine and control groups leave, the smaller.
    pub fn left(&self) -> Bytes {
        self.group.as_ref().map_or(self.machine_left, |group| group.left.min(self.machine_left))
    }

    /// The most that could be left were the machine empty.
    pub fn total(&self) -> Bytes {
        self.group_limit.map_or(self.machine_total, |limit| limit.min(self.machine_total))
    }
}

/// Reads `/proc` and `/sys` (or copies of them, for tests). One observation takes some 0.1 ms, a little more
/// for each level of control groups.
#[derive(Clone, Debug)]
pub struct Probe {
    root: PathBuf,
    /// Where control groups are mounted does not change while a process lives, and the list may be long.
    mounts: Arc<OnceLock<Vec<groups::Mount>>>,
}

impl Default for Probe {
    fn default() -> Self {
        Probe::at("/")
    }
}

impl Probe {
    /// A probe of the files under `root`.
    pub fn at(root: impl Into<PathBuf>) -> Probe {
        Probe { root: root.into(), mounts: Arc::default() }
    }

    /// What is left for us now. Swap is ignored: a prover that swaps is as good as dead.
    ///
    /// An error where the machine's memory, or the use of a group that has a limit, cannot be read: a guess
    /// would get the process killed.
    pub fn observe(&self) -> Result<Observation> {
        let meminfo = read(&self.root.join("proc/meminfo"))?.unwrap_or_default();
        let get = |name: &str| {
            process::field(&meminfo, name).ok_or_else(|| {
                let file = self.root.join("proc/meminfo");
                Error::new(
                    Code::System,
                    format!("{} has no line \"{name} <number> kB\": is /proc mounted?", file.display()),
                )
            })
        };
        let (machine_left, machine_total) = (get("MemAvailable:")?, get("MemTotal:")?);
        let chains = self.chains()?;
        let resident = self.resident();
        let mut observation = Observation {
            machine_left,
            machine_total,
            ours: ours(&resident),
            resident,
            pressure: pressure::most(&self.root, &chains),
            ..Default::default()
        };
        groups::fill(&chains, &mut observation)?;
        Ok(observation)
    }

    /// What this process holds; zeros where `/proc` cannot be read.
    pub fn resident(&self) -> Resident {
        Resident::parse(&fs::read_to_string(self.root.join("proc/self/status")).unwrap_or_default())
    }

    /// Our groups in every hierarchy that can limit memory.
    fn chains(&self) -> Result<Vec<groups::Chain>> {
        let Some(ours) = read(&self.root.join("proc/self/cgroup"))? else {
            return Ok(Vec::new());
        };
        let mounts = self.mounts.get_or_init(|| {
            let text = fs::read_to_string(self.root.join("proc/self/mountinfo")).unwrap_or_default();
            groups::mounts(&text)
        });
        Ok(groups::chains(&self.root, mounts, &ours))
    }
}

/// A file's text; none where there is no such file.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::system(format!("reading {}", path.display()), e)),
    }
}
