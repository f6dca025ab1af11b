//! A real sector through the engine that `open` gives.

use std::path::Path;

use forebay_sector::Kind;
use prost::Message as _;

use super::world::PATIENCE;
use crate::cancel::Cancel;
use crate::engine::{open, Config, Engine, Shutdown};
use crate::error::Code;
use crate::filecoin::{develop, testing::default_request};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::cpu::CpuBackend;
use crate::prove::Proof;
use crate::srs::{develop::ToxicWaste, Work};
use crate::units::Bytes;
use crate::wire::await_proof_response::Status;

/// KiB of this process's mappings of keys in a folder, and how many of them are resident.
fn mapped_key(folder: &Path) -> (u64, u64) {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut ours, mut sizes) = (false, (0, 0));
    for line in maps.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["Size:", kib, _] if ours => sizes.0 += kib.parse::<u64>().unwrap(),
            ["Rss:", kib, _] if ours => sizes.1 += kib.parse::<u64>().unwrap(),
            [range, _, _, _, _, ..] if range.contains('-') => {
                ours = words.last().is_some_and(|path| path.starts_with(folder.to_str().unwrap()))
            }
            _ => {}
        }
    }
    sizes
}

#[test]
fn a_window_post_of_a_real_sector_is_proved_within_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let circuit = CircuitId::new(ProofKind::WindowPost, 2048).unwrap();
    let config = Config {
        memory_limit: Some(Bytes::mib(256)),
        threads: 2,
        synthesis_workers: 1,
        parameter_directories: vec![folder.path().into()],
        cache_directory: folder.path().join("cache"),
        allow_development_parameters: true,
        ..Config::default()
    };
    let engine = Engine::open(config).unwrap();
    let message = default_request(Kind::WindowPost).encode_to_vec();
    let missing = engine.submit(&message).unwrap_err();
    assert_eq!(missing.code(), Code::ParametersMissing);
    assert!(missing.message().contains(folder.path().to_str().unwrap()), "{missing}");

    let core = CpuBackend::new(open::pool("test", 2).unwrap()).unwrap();
    let work = Work { arithmetic: &core, progress: &|_| {}, cancel: &Cancel::new() };
    develop(circuit, folder.path(), &ToxicWaste::random(&mut rand::rngs::OsRng), &work).unwrap();
    assert!(!engine.preload(circuit).unwrap().already_loaded);
    let (mapped, resident) = mapped_key(folder.path());
    assert!(mapped > 0 && resident == mapped, "{resident} KiB of {mapped} are in memory");
    let job = engine.submit(&message).unwrap().job_id;
    let answer = engine.wait(&job, Some(PATIENCE)).unwrap();
    assert_eq!((answer.status(), answer.error_message.as_str()), (Status::Completed, ""));
    assert_eq!(answer.proof.len(), Proof::LEN);

    let report = engine.report(&job).unwrap();
    assert_eq!((report.circuit.as_str(), report.constraints), ("wpost-2k", 21_866));
    let status = engine.status();
    assert_eq!(status.memory.overruns, 0, "{status:?}");
    assert_eq!(status.memory.reserved, status.circuits[0].bytes, "only the idle circuit stays booked");
    assert!(report.srs_bytes + report.matrices_bytes <= status.circuits[0].bytes, "{report:?} {status:?}");
    engine.evict(circuit).unwrap();
    assert_eq!(engine.status().memory.reserved, 0);
    engine.shutdown(Shutdown::Abort);
}
