//! What the probe sees inside real control groups. Needs root and a writable hierarchy of the memory controller;
//! elsewhere each test says why it cannot run.
//!
//! A test starts this program again inside its group, where the same test finds itself asked to be the observer.

#[path = "support/group.rs"]
mod group;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use forebay::cancel::Cancel;
use forebay::memory::{probe, Class, FileMap, Probe, Region, Stage};
use forebay::units::Bytes;
use group::Group;

const MIB: u64 = 1 << 20;
const TOUCHED: u64 = 64 * MIB;
const OBSERVER: &str = "FOREBAY_TEST_OBSERVER";
/// What the group's own use may move between two looks: the kernel charges in batches for each processor.
const NOISE: u64 = 8 * MIB;

#[test]
fn the_limit_of_our_group_is_seen_and_what_is_left_shrinks_as_we_fill_it() {
    if observe_where_asked() {
        return;
    }
    let Some(group) = make(|| Group::create("probe", 256 * MIB)) else { return };
    let seen = observer(&group, "the_limit_of_our_group_is_seen_and_what_is_left_shrinks_as_we_fill_it");
    assert_eq!(seen["limit"], 256 * MIB);
    assert_eq!(seen["smallest"], 256 * MIB);
    assert!(seen["left"] > 160 * MIB && seen["left"] < 256 * MIB, "{seen:?}");
    near(seen["left"] - TOUCHED, seen["left touched"], &seen);
    near(seen["left"], seen["left dropped"], &seen);
    assert!(seen["usage with file pages"] > seen["usage dropped"] + TOUCHED - NOISE, "{seen:?}");
    near(seen["file"] + TOUCHED, seen["file populated"], &seen);
    near(seen["left"], seen["left with file pages"], &seen);
    // What is ours is not taken from the budget: it stays as it was.
    near(seen["budget"], seen["budget touched"], &seen);
    assert_eq!(seen["ceiling"], (256 - 32) * MIB);
    println!("{seen:?}");
    assert!(group.peak() >= TOUCHED && group.peak() <= 256 * MIB);
    assert_eq!(group.killed(), 0);
}

#[test]
fn a_smaller_group_above_ours_holds() {
    if observe_where_asked() {
        return;
    }
    let Some(parent) = make(|| Group::create("parent", 192 * MIB)) else { return };
    let Some(own) = make(|| parent.nested("own", 512 * MIB)) else { return };
    let seen = observer(&own, "a_smaller_group_above_ours_holds");
    assert_eq!(seen["smallest"], 192 * MIB);
    assert!(seen["left"] < 192 * MIB, "{seen:?}");
    near(seen["left"] - TOUCHED, seen["left touched"], &seen);
    assert_eq!(seen["ceiling"], (192 - 32) * MIB);
}

#[test]
fn a_process_above_its_limit_is_killed_and_counted() {
    let Some(group) = make(|| Group::create("killed", 48 * MIB)) else { return };
    let nested = group.nested("inner", 128 * MIB).expect("a nested group");
    let streamed = nested.command("head").args(["-c", "96M", "/dev/zero"]).stdout(Stdio::null()).status();
    assert!(streamed.expect("head runs").success() && group.killed() == 0, "streaming holds nothing");
    // A line without an end; the shell's own limit only saves the machine were there no other.
    let hoard = "ulimit -v 1048576; exec tail /dev/zero";
    let status = nested.command("sh").args(["-c", hoard]).status().expect("sh runs");
    assert!(!status.success());
    assert_eq!(group.killed(), 1);
    assert!(group.peak() <= 48 * MIB);
    let path = group.path().to_owned();
    drop(nested);
    drop(group);
    assert!(!path.exists());
}

fn make(group: impl FnOnce() -> Result<Group, String>) -> Option<Group> {
    group().inspect_err(|reason| eprintln!("skipped, no control group: {reason}")).ok()
}

#[track_caller]
fn near(expected: u64, found: u64, seen: &HashMap<String, u64>) {
    assert!(
        expected.abs_diff(found) <= NOISE,
        "expected {}, found {}: {seen:?}",
        Bytes(expected),
        Bytes(found)
    );
}

/// Runs one test of this program in the group and returns what it observed.
fn observer(group: &Group, test: &str) -> HashMap<String, u64> {
    let program = std::env::current_exe().expect("this program");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
    let output = group
        .command(program)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(OBSERVER, &file)
        .output()
        .expect("the observer runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the observer ended with {}: {told}", output.status);
    let told = told.lines().filter_map(|line| line.strip_prefix("observed ")?.split_once('='));
    told.map(|(name, bytes)| (name.to_string(), bytes.parse().expect("bytes"))).collect()
}

/// True in the observer, once it has told what it sees.
fn observe_where_asked() -> bool {
    let Some(file) = std::env::var_os(OBSERVER) else {
        return false;
    };
    let probe = Probe::default();
    let left = |when: &str| {
        let seen = probe.observe().expect("an observation");
        let group = seen.group.as_ref().expect("a limited group");
        tell(&format!("left{when}"), group.left);
        let usage = ["memory.usage_in_bytes", "memory.current"].map(|file| group.path.join(file));
        let usage = usage.iter().find_map(|file| std::fs::read_to_string(file).ok()).expect("its usage");
        tell(&format!("usage{when}"), Bytes(usage.trim().parse().expect("bytes")));
        let ours = probe::ours(&seen.resident);
        tell(&format!("budget{when}"), probe::budget(None, Bytes::mib(32), ours, &seen));
        seen
    };
    let seen = left("");
    tell("limit", seen.group.as_ref().expect("a limited group").limit);
    tell("smallest", seen.group_limit.expect("a limit"));
    tell("ceiling", probe::ceiling(Some(Bytes::gib(64)), Bytes::mib(32), &seen));
    let mut region =
        Region::zeroed(Class::WorkingSet, Stage::Proving, TOUCHED as usize).expect("address space");
    region.as_mut_slice::<u8>().fill(1);
    left(" touched");
    drop(region);
    left(" dropped");
    fill_cache(Path::new(&file));
    let key = std::fs::File::open(&file).expect("the file");
    let key = FileMap::open(Class::Srs, &key).expect("address space");
    tell("file", probe.resident().file);
    key.populate(&Cancel::new()).expect("a file that can be read");
    tell("file populated", probe.resident().file);
    left(" with file pages");
    std::fs::remove_file(file).expect("removed");
    true
}

fn tell(name: &str, bytes: Bytes) {
    eprintln!("observed {name}={}", bytes.0);
}

/// Has the kernel keep 64 MiB of a file's pages for our group, written back and read again.
fn fill_cache(path: &Path) {
    let mut file = std::fs::File::create(path).expect("a file");
    file.write_all(&vec![1; TOUCHED as usize]).expect("room on the disk");
    file.sync_all().expect("written back");
    let mut read = std::fs::File::open(path).expect("the file");
    std::io::copy(&mut read, &mut std::io::sink()).expect("read again");
}
