//! Facts that are planted, and what must be found.

use std::path::PathBuf;

use forebay::engine::{BackendChoice, Config};
use forebay::kind::CircuitId;
use forebay::memory::Observation;

use super::super::facts::Need;
use super::super::finding::State;
use super::super::gpu::Gpus;
use super::*;

fn observation() -> Observation {
    Observation { machine_left: Bytes::gib(120), machine_total: Bytes::gib(128), ..Observation::default() }
}

fn known(kind: ProofKind) -> Parameters {
    let circuit = CircuitId::new(kind, 32 << 30).unwrap();
    Parameters { circuit, params: Some(Bytes::gib(1)), native: true, checked: true, development: false }
}

fn sound(path: &str) -> Folder {
    Folder { path: PathBuf::from(path), refused: None, free: Some(Bytes::gib(500)) }
}

/// A machine on which everything is well.
fn good() -> Facts {
    let config = Config { memory_limit: Some(Bytes::gib(96)), threads: 32, ..Config::default() };
    Facts {
        cores: 32,
        features: vec!["avx2", "avx512ifma"],
        kernels: Ok("ifma"),
        memory: Ok(observation()),
        swap: Bytes::ZERO,
        psi: true,
        huge_pages: Some("madvise".into()),
        memlock: None,
        open_files: Some(65536),
        overcommit: Some(0),
        gpus: Gpus::default(),
        parameters: ProofKind::ALL.map(known).to_vec(),
        needs: vec![Need { circuit: known(ProofKind::PorepC2).circuit, bytes: Bytes::gib(62) }],
        cache: sound("/cache"),
        journal: Some(sound("/journal")),
        clock: Some(true),
        config,
    }
}

fn state_of(findings: &[Finding], check: &str) -> State {
    findings.iter().find(|finding| finding.check == check).expect("the check is made").state
}

/// The one finding that is not ok.
fn only(facts: &Facts) -> (String, State) {
    let mut found: Vec<_> = all(facts).into_iter().filter(|finding| finding.state != State::Ok).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = found.remove(0);
    assert!(!finding.remedy.is_empty(), "{finding:?}");
    (finding.check, finding.state)
}

#[test]
fn a_good_machine_has_nothing_to_mend() {
    let found = all(&good());
    assert!(found.iter().all(|finding| finding.state == State::Ok && finding.remedy.is_empty()), "{found:?}");
    assert_eq!(found.len(), 20);
}

#[test]
fn each_fault_is_found_and_nothing_else() {
    use State::{Problem, Warning};
    type Fault = (&'static str, State, fn(&mut Facts));
    let faults: [Fault; 22] = [
        ("configuration", Problem, |f| f.config.keep_results = 0),
        ("processor", Problem, |f| f.kernels = Err("this processor does not run ifma".into())),
        ("processor", Warning, |f| f.kernels = Ok("portable")),
        ("threads", Warning, |f| f.cores = 16),
        ("memory", Problem, |f| f.memory = Err("no /proc".into())),
        ("memory", Warning, |f| f.memory.as_mut().unwrap().machine_left = Bytes::gib(20)),
        ("swap", Warning, |f| f.swap = Bytes::gib(8)),
        ("memory pressure", Warning, |f| f.psi = false),
        ("memory pressure", Warning, |f| f.memory.as_mut().unwrap().pressure = 55.0),
        ("huge pages", Warning, |f| f.huge_pages = Some("never".into())),
        ("huge pages", Warning, |f| f.huge_pages = None),
        ("open files", Warning, |f| f.open_files = Some(1024)),
        ("overcommit", Warning, |f| f.overcommit = Some(2)),
        ("gpu", Problem, |f| f.config.backend = BackendChoice::Gpu),
        ("parameters snap_update", Problem, |f| {
            f.parameters.retain(|p| p.circuit.kind != ProofKind::SnapUpdate);
        }),
        ("parameters winning_post", Problem, |f| f.parameters[0].development = true),
        ("parameters winning_post", Warning, |f| f.parameters[0].native = false),
        ("circuits fit", Problem, |f| f.needs[0].bytes = Bytes::gib(97)),
        ("cache folder", Problem, |f| f.cache.refused = Some("read-only".into())),
        ("cache folder", Problem, |f| f.cache.free = Some(Bytes::mib(900))),
        ("journal folder", Problem, |f| f.journal.as_mut().unwrap().free = Some(Bytes::kib(4))),
        ("clock", Problem, |f| f.clock = Some(false)),
    ];
    for (check, state, plant) in faults {
        let mut facts = good();
        plant(&mut facts);
        assert_eq!(only(&facts), (check.to_owned(), state));
    }
}

#[test]
fn a_group_below_the_limit_is_a_problem() {
    let mut facts = good();
    let seen = facts.memory.as_mut().unwrap();
    let group =
        probe::Group { path: "/sys/fs/cgroup/miner".into(), limit: Bytes::gib(64), left: Bytes::gib(60) };
    (seen.group, seen.group_limit) = (Some(group), Some(Bytes::gib(64)));
    let found = all(&facts);
    assert_eq!(state_of(&found, "control group"), State::Problem);
    assert_eq!(state_of(&found, "memory"), State::Problem);
}

#[test]
fn only_a_gpu_needs_locked_memory() {
    let mut facts = good();
    facts.memlock = Some(64 << 10);
    assert_eq!(state_of(&all(&facts), "locked memory"), State::Ok);
    facts.gpus = Gpus {
        names: vec!["NVIDIA H200".into()],
        driver: Some("550.54.15".into()),
        device_file: true,
        nvcc: Some((12, 4)),
        gcc: Some(12),
    };
    assert_eq!(only(&facts), ("locked memory".into(), State::Warning));
}
