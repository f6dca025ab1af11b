//! Every layout of control groups, from copies of the kernel's files.

use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::memory::{usage, Class, Region, Stage};

const MIB: u64 = 1 << 20;

fn fixture(files: &[(&str, &str)]) -> (tempfile::TempDir, Probe) {
    let dir = tempfile::tempdir().unwrap();
    let meminfo =
        ("proc/meminfo", "MemTotal: 4096 kB\nMemFree: 1 kB\nMemAvailable:    3072 kB\nSwapFree: 99 kB\n");
    for (path, text) in std::iter::once(&meminfo).chain(files) {
        let path = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let probe = Probe::at(dir.path());
    (dir, probe)
}

fn observe(files: &[(&str, &str)]) -> Observation {
    let (dir, probe) = fixture(files);
    let mut seen = probe.observe().unwrap();
    if let Some(group) = &mut seen.group {
        group.path = Path::new("/").join(group.path.strip_prefix(dir.path()).unwrap());
    }
    seen
}

fn refusal(files: &[(&str, &str)]) -> Error {
    let (_dir, probe) = fixture(files);
    probe.observe().unwrap_err()
}

/// Path, limit and rest of the tightest group.
fn tightest(seen: &Observation) -> Option<(&str, u64, u64)> {
    let group = seen.group.as_ref()?;
    Some((group.path.to_str().unwrap(), group.limit.0, group.left.0))
}

const MOUNT_V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
const MOUNT_V2: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const UNLIMITED_V1: &str = "9223372036854771712\n";

#[test]
fn version_1_leaves_the_limit_less_what_cannot_be_reclaimed() {
    let seen = observe(&[
        ("proc/self/mountinfo", MOUNT_V1),
        ("proc/self/cgroup", "5:cpu,cpuacct:/x\n3:memory:/prover\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED_V1),
        ("sys/fs/cgroup/memory/prover/memory.limit_in_bytes", "900000\n"),
        ("sys/fs/cgroup/memory/prover/memory.usage_in_bytes", "500000\n"),
        (
            "sys/fs/cgroup/memory/prover/memory.stat",
            "inactive_file 1\nactive_file 2\nhierarchical_memory_limit 900000\ntotal_cache 9\n\
             total_inactive_file 300000\ntotal_active_file 50000\n",
        ),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/memory/prover", 900_000, 750_000)));
    assert_eq!((seen.left(), seen.total()), (Bytes(750_000), Bytes(900_000)));
}

#[test]
fn version_2_leaves_the_limit_less_what_cannot_be_reclaimed() {
    let seen = observe(&[
        ("proc/self/mountinfo", MOUNT_V2),
        ("proc/self/cgroup", "0::/system.slice/prover.service\n"),
        ("sys/fs/cgroup/system.slice/memory.max", "max\n"),
        ("sys/fs/cgroup/system.slice/prover.service/memory.max", "1000000\n"),
        ("sys/fs/cgroup/system.slice/prover.service/memory.high", "max\n"),
        ("sys/fs/cgroup/system.slice/prover.service/memory.current", "700000\n"),
        (
            "sys/fs/cgroup/system.slice/prover.service/memory.stat",
            "anon 1\ninactive_file 150000\nactive_file 50000\n",
        ),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/system.slice/prover.service", 1_000_000, 500_000)));
}

#[test]
fn the_smallest_group_up_to_the_root_holds() {
    let group = |limit, usage| [("memory.max", limit), ("memory.current", usage)];
    let mut files =
        vec![("proc/self/mountinfo".to_string(), MOUNT_V2), ("proc/self/cgroup".to_string(), "0::/a/b/c\n")];
    // The outer group is larger, but others have filled it; the innermost is the largest of all.
    for (path, files_of) in [
        ("a", group("2000000", "1900000")),
        ("a/b", group("1500000", "1100000")),
        ("a/b/c", group("3000000", "0")),
    ] {
        files.extend(files_of.map(|(name, text)| (format!("sys/fs/cgroup/{path}/{name}"), text)));
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let seen = observe(&files);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/a", 2_000_000, 100_000)));
    assert_eq!(seen.group_limit, Some(Bytes(1_500_000)));
    assert_eq!((seen.left(), seen.total()), (Bytes(100_000), Bytes(1_500_000)));
}

#[test]
fn memory_high_is_a_limit_too() {
    let seen = observe(&[
        ("proc/self/mountinfo", MOUNT_V2),
        ("proc/self/cgroup", "0::/a\n"),
        ("sys/fs/cgroup/a/memory.max", "1000000\n"),
        ("sys/fs/cgroup/a/memory.high", "600000\n"),
        ("sys/fs/cgroup/a/memory.current", "700000\n"),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/a", 600_000, 0)));
}

#[test]
fn in_a_hybrid_layout_both_versions_limit() {
    let unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let files = |v1: &str, v2: &str| {
        observe(&[
            ("proc/self/mountinfo", &[MOUNT_V1, unified].concat()),
            ("proc/self/cgroup", "4:memory:/one\n1:cpu:/elsewhere\n0::/two\n"),
            ("sys/fs/cgroup/memory/one/memory.limit_in_bytes", v1),
            ("sys/fs/cgroup/memory/one/memory.usage_in_bytes", "1000\n"),
            ("sys/fs/cgroup/unified/two/memory.max", v2),
            ("sys/fs/cgroup/unified/two/memory.current", "1000\n"),
        ])
    };
    assert_eq!(tightest(&files("9000", "8000")), Some(("/sys/fs/cgroup/unified/two", 8000, 7000)));
    assert_eq!(tightest(&files("7000", "8000")), Some(("/sys/fs/cgroup/memory/one", 7000, 6000)));
    assert_eq!(tightest(&files(UNLIMITED_V1, "max")), None);
}

#[test]
fn a_container_sees_its_own_group_as_the_mount() {
    let mounted = "700 690 0:32 /docker/4f\\040x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                   701 690 0:32 /docker/other /somewhere ro - cgroup cgroup rw,memory\n";
    let seen = observe(&[
        ("proc/self/mountinfo", mounted),
        ("proc/self/cgroup", "4:memory:/docker/4f x/inner\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "800000\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n"),
        ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "300000\n"),
        ("sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "50000\n"),
        // A group of others that happens to be mounted limits others.
        ("somewhere/memory.limit_in_bytes", "1000\n"),
        ("somewhere/memory.usage_in_bytes", "1000\n"),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/memory/inner", 300_000, 250_000)));
}

#[test]
fn a_limit_above_what_a_container_sees_is_known_in_version_1() {
    let seen = observe(&[
        ("proc/self/mountinfo", MOUNT_V1),
        ("proc/self/cgroup", "4:memory:/\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED_V1),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n"),
        ("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 400000\ntotal_active_file 10000\n"),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/memory", 400_000, 310_000)));
}

#[test]
fn where_our_path_has_foreign_names_the_mounted_group_holds() {
    for (root, ours) in [("/docker/4f", "/kubepods/77"), ("/../..", "/"), ("/", "/../sibling")] {
        let mounted = format!("700 690 0:32 {root} /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
        let seen = observe(&[
            ("proc/self/mountinfo", &mounted),
            ("proc/self/cgroup", &format!("0::{ours}\n")),
            ("sys/fs/cgroup/memory.max", "500000\n"),
            ("sys/fs/cgroup/memory.current", "1\n"),
        ]);
        assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup", 500_000, 499_999)), "{root} {ours}");
    }
}

#[test]
fn without_a_mount_table_the_usual_places_are_looked_at() {
    let seen = observe(&[
        ("proc/self/cgroup", "3:memory:/host/only\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n"),
    ]);
    assert_eq!(tightest(&seen), Some(("/sys/fs/cgroup/memory", 900_000, 800_000)));
}

#[test]
fn without_a_limited_group_the_machine_holds() {
    let unlimited: [&[(&str, &str)]; 3] = [
        &[],
        &[("proc/self/cgroup", "0::/gone (deleted)\n"), ("proc/self/mountinfo", MOUNT_V2)],
        &[
            ("proc/self/mountinfo", MOUNT_V1),
            ("proc/self/cgroup", "3:memory:/a\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", UNLIMITED_V1),
            ("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 9223372036854771712\n"),
        ],
    ];
    for files in unlimited {
        let seen = observe(files);
        assert_eq!((&seen.group, seen.group_limit), (&None, None));
        assert_eq!((seen.left(), seen.total()), (Bytes(3 * MIB), Bytes(4 * MIB)));
        assert_eq!((seen.resident, seen.pressure), (Resident::default(), 0.0));
    }
}

#[test]
fn what_cannot_be_read_is_an_error_not_a_guess() {
    for meminfo in
        ["", "nothing\n", "MemTotal: 5 kB\nMemAvailable: 3\n", "MemAvailable: 99999999999999999 kB\n"]
    {
        let error = refusal(&[("proc/meminfo", meminfo)]);
        assert!(error.code() == Code::System && error.message().contains("proc/meminfo"), "{error}");
    }
    let group = |files: &[(&str, &str)]| {
        refusal(&[&[("proc/self/mountinfo", MOUNT_V2), ("proc/self/cgroup", "0::/a\n")], files].concat())
    };
    let error = group(&[("sys/fs/cgroup/a/memory.max", "plenty\n")]);
    assert!(error.message().contains("a/memory.max holds \"plenty\""), "{error}");
    let error = group(&[("sys/fs/cgroup/a/memory.max", "1000\n")]);
    assert!(error.message().contains("a/memory.current has no number"), "{error}");
    assert_eq!(group(&[("sys/fs/cgroup/a/memory.max/folder", "")]).code(), Code::System);
}

#[test]
fn the_largest_pressure_of_machine_and_groups_is_told() {
    let seen = |machine: &str, parent: &str, own: &str| {
        let (_dir, probe) = fixture(&[
            ("proc/self/mountinfo", MOUNT_V2),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/pressure/memory", machine),
            ("sys/fs/cgroup/a/memory.pressure", parent),
            ("sys/fs/cgroup/a/b/memory.pressure", own),
        ]);
        probe.observe().unwrap().pressure
    };
    let line =
        |share| format!("some avg10={share} avg60=77.00 avg300=88.00 total=9\nfull avg10=99.00 avg60=0.00\n");
    assert_eq!(seen(&line("1.50"), &line("0.25"), &line("0.00")), 1.5);
    assert_eq!(seen(&line("1.50"), &line("12.25"), "full avg10=3.00\n"), 12.25);
    assert_eq!(seen("garbage", &line("NaN"), &line("1e9")), 0.0);
}

#[test]
fn this_machine_has_memory_and_this_process_holds_some() {
    let probe = Probe::default();
    let seen = probe.observe().unwrap();
    assert!(seen.left() > Bytes::mib(16) && seen.machine_left < seen.machine_total);
    let resident = seen.resident;
    assert!(resident.anonymous > Bytes::ZERO && resident.total >= resident.anonymous);
    assert!(resident.peak >= resident.total);
}

#[test]
fn looking_takes_well_under_a_millisecond() {
    let probe = Probe::default();
    let mut times: Vec<_> = (0..101)
        .map(|_| {
            let start = Instant::now();
            probe.observe().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("one observation: median {:?}, best {:?}", times[50], times[0]);
    assert!(times[0].as_micros() < 1000, "{times:?}");
}

fn seen(left: u64, total: u64, limit: Option<u64>) -> Observation {
    let group = |limit| Group { path: "/g".into(), limit: Bytes(limit), left: Bytes(limit / 2) };
    Observation {
        machine_left: Bytes(left),
        machine_total: Bytes(total),
        group: limit.map(group),
        group_limit: limit.map(Bytes),
        ..Default::default()
    }
}

#[test]
fn the_budget_is_what_is_left_and_ours_less_the_margin() {
    let there = seen(1000 * MIB, 4000 * MIB, None);
    let margin = Bytes::mib(32);
    assert_eq!(budget(Some(Bytes::mib(500)), margin, Bytes::ZERO, &there), Bytes::mib(468));
    assert_eq!(budget(Some(Bytes::gib(8)), margin, Bytes::mib(100), &there), Bytes::mib(1068));
    assert_eq!(budget(None, margin, Bytes::mib(100), &there), Bytes::mib(1100 - 256));
    assert_eq!(budget(None, Bytes::mib(300), Bytes::mib(100), &there), Bytes::mib(800));
    assert_eq!(budget(None, margin, Bytes::ZERO, &seen(300 * MIB, 4000 * MIB, None)), Bytes::mib(150));
    assert_eq!(
        budget(None, margin, Bytes::ZERO, &seen(32_000 * MIB, 64_000 * MIB, None)),
        Bytes::mib(30_000)
    );
    assert_eq!(
        budget(None, margin, Bytes::ZERO, &seen(1000 * MIB, 4000 * MIB, Some(800 * MIB))),
        Bytes::mib(200)
    );
    assert_eq!(budget(Some(Bytes::mib(16)), margin, Bytes::ZERO, &there), Bytes::ZERO);
    assert_eq!(ceiling(None, margin, &there), Bytes::mib(3744));
    assert_eq!(ceiling(Some(Bytes::gib(1)), margin, &there), Bytes::mib(992));
    assert_eq!(ceiling(Some(Bytes::gib(1)), margin, &seen(1, 4000 * MIB, Some(800 * MIB))), Bytes::mib(768));
}

proptest! {
    #[test]
    fn the_budget_never_passes_its_ceiling_and_grows_with_what_is_left(
        left in any::<u64>(), more in any::<u64>(), total in any::<u64>(), ours_ in any::<u64>(),
        limit in any::<Option<u64>>(), group in any::<Option<u64>>(), margin in any::<u64>(),
    ) {
        let (limit, margin, ours_) = (limit.map(Bytes), Bytes(margin), Bytes(ours_));
        let now = budget(limit, margin, ours_, &seen(left, total, group));
        let then = budget(limit, margin, ours_, &seen(left.saturating_add(more), total, group));
        prop_assert!(now <= then);
        prop_assert!(then <= ceiling(limit, margin, &seen(left, total, group)));
        prop_assert!(now.0 <= left.saturating_add(ours_.0).saturating_sub(margin.0));
    }
}

#[test]
fn ours_is_what_is_counted_and_resident() {
    let mut region = Region::zeroed(Class::WorkingSet, Stage::Proving, 8 << 20).unwrap();
    region.as_mut_slice::<u8>().fill(1);
    assert!(usage::anonymous() >= Bytes::mib(8));
    let resident = Probe::default().resident();
    let ours = ours(&resident);
    assert!(ours >= Bytes::mib(8) && ours <= resident.anonymous);
    assert_eq!(super::ours(&Resident::default()), Bytes::ZERO);
}
