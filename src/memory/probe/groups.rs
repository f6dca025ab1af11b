//! The control groups that limit this process: version 1, version 2 or both, nested, seen from the host or from
//! inside a container.

use std::path::{Path, PathBuf};

use super::{read, Observation};
use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// A control group with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its folder.
    pub path: PathBuf,
    /// What its processes may hold: in version 2 the smaller of `memory.max` and `memory.high`, above which they are
    /// held up; in version 1 also the smallest limit of groups above that cannot be seen from a container.
    pub limit: Bytes,
    /// The limit less what they hold and the kernel cannot take back: all but pages of files.
    ///
    /// Pages of files, ours among them, count as left because the kernel drops or writes them back before it kills.
    /// The ledger books the keys that we map on its own, so they must not be missing here as well.
    pub left: Bytes,
}

/// The two interfaces of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// A hierarchy's place in the file system.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    version: Version,
    /// Where it is mounted.
    point: String,
    /// The group that is mounted there, as `/proc/self/cgroup` would name it; not "/" in many containers.
    root: String,
}

/// Our groups in one hierarchy, from the topmost that can be seen down to our own.
#[derive(Debug)]
pub(super) struct Chain {
    pub version: Version,
    pub groups: Vec<PathBuf>,
}

/// Version 1 writes "no limit" as a number near 2⁶³.
const UNLIMITED: u64 = 1 << 60;

/// The hierarchies that can limit memory in the text of `/proc/self/mountinfo`; the usual places where it has none.
pub(super) fn mounts(mountinfo: &str) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for mount in mountinfo.lines().filter_map(mount) {
        // A later mount hides an earlier one at the same place.
        mounts.retain(|earlier| earlier.point != mount.point);
        mounts.push(mount);
    }
    if mounts.is_empty() {
        use Version::{V1, V2};
        let usual = [(V1, "/sys/fs/cgroup/memory"), (V2, "/sys/fs/cgroup"), (V2, "/sys/fs/cgroup/unified")];
        mounts = usual.map(|(version, at)| Mount { version, point: at.into(), root: "/".into() }).into();
    }
    mounts
}

/// A line `id parent device root point options [optional…] - type source super-options`.
fn mount(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, point) = (unescape(front.next()?), unescape(front.next()?));
    let mut back = back.split(' ');
    let (kind, options) = (back.next()?, back.nth(1).unwrap_or_default());
    let version = match kind {
        "cgroup" if options.split(',').any(|option| option == "memory") => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    Some(Mount { version, point, root })
}

/// Undoes the kernel's `\040` for a space and the like.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte as char);
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Our groups, from the text of `/proc/self/cgroup`.
pub(super) fn chains(root: &Path, mounts: &[Mount], ours: &str) -> Vec<Chain> {
    let mut chains = Vec::new();
    for version in [Version::V1, Version::V2] {
        let Some(ours) = ours.lines().find_map(|line| own_path(line, version)) else {
            continue;
        };
        let mounts: Vec<_> = mounts.iter().filter(|mount| mount.version == version).collect();
        let chain = |mount: &Mount, below: &str| Chain { version, groups: walk(root, &mount.point, below) };
        let known = mounts.iter().filter_map(|mount| Some(chain(mount, below(ours, &mount.root)?)));
        let found = chains.len();
        chains.extend(known);
        if chains.len() == found {
            // Our path is told in names of another place: what is mounted is then most likely a group above ours.
            chains.extend(mounts.iter().map(|mount| chain(mount, "")));
        }
    }
    chains
}

/// Our path in a line `id:controllers:path` of this version's hierarchy.
fn own_path(line: &str, version: Version) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let matches = match version {
        Version::V1 => controllers.split(',').any(|controller| controller == "memory"),
        Version::V2 => id == "0" && controllers.is_empty(),
    };
    matches.then_some(path)
}

/// The part of `path` below `root`; none where it is not below.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let inside = rest.is_empty() || rest.starts_with('/');
    (inside && !rest.split('/').any(|part| part == "..")).then_some(rest)
}

fn walk(root: &Path, point: &str, below: &str) -> Vec<PathBuf> {
    let mut group = root.join(point.trim_start_matches('/'));
    let mut groups = vec![group.clone()];
    for part in below.split('/').filter(|part| !part.is_empty()) {
        group.push(part);
        groups.push(group.clone());
    }
    groups
}

/// Sets what the groups leave and the smallest of their limits.
pub(super) fn fill(chains: &[Chain], observation: &mut Observation) -> Result<()> {
    for chain in chains {
        for (depth, path) in chain.groups.iter().enumerate() {
            let Some(group) = limited(chain.version, path, depth == 0)? else {
                continue;
            };
            let limit = observation.group_limit.map_or(group.limit, |least| least.min(group.limit));
            observation.group_limit = Some(limit);
            if observation.group.as_ref().is_none_or(|least| group.left < least.left) {
                observation.group = Some(group);
            }
        }
    }
    Ok(())
}

/// The group at `path`, where it has a limit.
fn limited(version: Version, path: &Path, topmost: bool) -> Result<Option<Group>> {
    let (limits, usage, files): (&[&str], _, _) = match version {
        Version::V1 => (
            &["memory.limit_in_bytes"],
            "memory.usage_in_bytes",
            ["total_active_file", "total_inactive_file"],
        ),
        Version::V2 => (&["memory.max", "memory.high"], "memory.current", ["active_file", "inactive_file"]),
    };
    let mut limit = None;
    for file in limits {
        limit = limit.into_iter().chain(bytes(&path.join(file))?).min();
    }
    let stat = || Ok::<_, Error>(read(&path.join("memory.stat"))?.unwrap_or_default());
    let mut known = None;
    if version == Version::V1 && topmost {
        let stat = known.insert(stat()?);
        let above = keyed(stat, "hierarchical_memory_limit").filter(|limit| *limit < UNLIMITED);
        limit = limit.into_iter().chain(above.map(Bytes)).min();
    }
    let Some(limit) = limit else {
        return Ok(None);
    };
    let usage = path.join(usage);
    let used = bytes(&usage)?.ok_or_else(|| {
        let path = usage.display();
        Error::new(Code::System, format!("{path} has no number, though its group has a limit of {limit}"))
    })?;
    let stat = match known {
        Some(stat) => stat,
        None => stat()?,
    };
    let reclaimable = files.iter().filter_map(|key| keyed(&stat, key)).fold(0, u64::saturating_add);
    let left = limit.saturating_sub(used.saturating_sub(Bytes(reclaimable)));
    Ok(Some(Group { path: path.into(), limit, left }))
}

/// The number in a group's file; none where there is no file, or no limit in it.
fn bytes(path: &Path) -> Result<Option<Bytes>> {
    let Some(text) = read(path)? else {
        return Ok(None);
    };
    match text.trim() {
        "max" => Ok(None),
        number => number.parse().map(|n| Some(Bytes(n)).filter(|n| n.0 < UNLIMITED)).map_err(|_| {
            let path = path.display();
            Error::new(Code::System, format!("{path} holds {number:?}; expected bytes or \"max\""))
        }),
    }
}

/// The number behind `key` in the text of a `memory.stat`.
fn keyed(stat: &str, key: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}
