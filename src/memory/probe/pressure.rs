//! Pressure stall information: how much of the time tasks wait for memory.

use std::fs;
use std::path::Path;

use super::groups::{Chain, Version};

/// The largest share, in percent, of the machine and of our groups of version 2 up to the root; 0 where the
/// kernel tells none.
pub(super) fn most(root: &Path, chains: &[Chain]) -> f64 {
    let machine = root.join("proc/pressure/memory");
    let groups = chains.iter().filter(|chain| chain.version == Version::V2);
    let groups = groups.flat_map(|chain| &chain.groups).map(|group| group.join("memory.pressure"));
    let shares = std::iter::once(machine).chain(groups);
    shares.filter_map(|path| some(&fs::read_to_string(path).ok()?)).fold(0.0, f64::max)
}

/// The `avg10` of the line `some avg10=1.25 avg60=… avg300=… total=…`.
fn some(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let share: f64 = line.split(' ').find_map(|part| part.strip_prefix("avg10="))?.parse().ok()?;
    (0.0..=100.0).contains(&share).then_some(share)
}
