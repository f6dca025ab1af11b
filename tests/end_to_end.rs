//! All four kinds on the inputs of a real sector, in one engine at once and in a tight budget, verified by
//! filecoin-proofs-api.

mod support;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use forebay::engine::{Config, Engine, Shutdown, Status};
use forebay::kind::ProofKind::{self, WindowPost, WinningPost};
use forebay::memory::Probe;
use forebay::wire::await_proof_response::Status as Answer;
use prost::Message;
use support::host::{Host, PATIENCE};
use support::{cache, request};

/// PoRep's key of 1.1 GB and its working set fit, nothing that is as large beside them: keys take turns.
const LIMIT: &str = "1500MiB";

/// What small allocations that are not booked, and the allocator's own, may add.
const ALLOCATOR: u64 = 4 << 20;

/// One test at a time: each needs most of a small machine's memory, and one measures it.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn four_kinds_at_once_through_the_c_abi() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    cache::need_keys(&ProofKind::ALL);
    let host = Host::open(&cache::config(LIMIT)).expect("an engine");
    // The most patient first, so that the others have something to overtake.
    let kinds: Vec<_> = ProofKind::ALL.into_iter().rev().collect();
    let jobs: HashMap<_, _> =
        kinds.iter().map(|kind| (*kind, host.submit(&request::good(*kind)).expect("accepted"))).collect();
    std::thread::scope(|scope| {
        for (kind, job) in &jobs {
            let host = &host;
            scope.spawn(move || host.proves(job, *kind));
        }
    });
    for (kind, job) in &jobs {
        let report = host.report(job).expect("a kept job");
        assert_eq!(report["state"], "completed", "{kind}: {report}");
        assert_eq!((&report["partitions"], &report["partitions_done"]), (&1.into(), &1.into()), "{report}");
        assert_eq!(report["reproved"], 0, "{report}");
    }
    let status = host.status();
    let totals = |name: &str| status["totals"][name].as_u64();
    assert_eq!((totals("accepted"), totals("completed"), totals("proofs")), (Some(4), Some(4), Some(4)));
    assert_eq!(
        (totals("failed"), totals("cancelled"), totals("verification_failures")),
        (Some(0), Some(0), Some(0))
    );
    assert_eq!(status["memory"]["limit"], (1500_u64 - 32) << 20, "the limit less the margin");
    assert!(status["memory"]["peak"].as_u64() > Some(1 << 30), "PoRep's key was booked: {status}");
    host.holds_nothing();
}

fn engine(limit: &str, kinds: &[ProofKind]) -> std::sync::Arc<Engine> {
    let mut config = Config::from_toml(&cache::config(limit)).expect("a configuration");
    config.kinds = kinds.to_vec();
    Engine::open(config).expect("an engine")
}

#[test]
fn the_same_requests_again_have_the_same_answers() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let kinds = ProofKind::ALL;
    cache::need_keys(&kinds);
    let engine = engine(LIMIT, &kinds);
    let messages = kinds.map(|kind| request::good(kind).encode_to_vec());
    let submit = || messages.each_ref().map(|message| engine.submit(message).expect("accepted").job_id);
    let answers = |jobs: &[String]| -> Vec<_> {
        jobs.iter().map(|job| engine.wait(job, Some(PATIENCE)).expect("an answer")).collect()
    };
    let jobs = submit();
    let first = answers(&jobs);
    for (kind, answer) in kinds.into_iter().zip(&first) {
        assert_eq!((answer.status(), answer.error_message.as_str()), (Answer::Completed, ""), "{kind}");
        let verified = cache::sector().verify(request::of_sector(kind), &answer.proof);
        assert!(verified.expect("Filecoin's verifier"), "{kind}");
    }
    assert_eq!(submit(), jobs, "the same requests are the same jobs");
    assert_eq!(answers(&jobs), first);
    assert_eq!(engine.status().totals.proofs, 4, "nothing was proved twice");
    for kind in kinds {
        engine.evict(cache::circuit(kind)).expect("idle");
    }
    assert_eq!(engine.status().memory.reserved, 0);
    engine.shutdown(Shutdown::Drain);
}

/// The process must not grow by more than the engine says it had booked. Both kinds are proved once before the
/// measurement, which leaves behind what threads and allocators keep for good.
#[test]
fn the_process_holds_no_more_than_is_booked() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let kinds = [WindowPost, WinningPost];
    cache::need_keys(&kinds);
    let engine = engine("512MiB", &kinds);
    let prove = || {
        let requests = (0..2).flat_map(|_| kinds).map(request::good);
        let jobs: Vec<_> =
            requests.map(|r| engine.submit(&r.encode_to_vec()).expect("accepted").job_id).collect();
        let mut highest = 0;
        for job in jobs {
            while engine.wait(&job, Some(Duration::from_millis(2))).expect("a job").status()
                != Answer::Completed
            {
                highest = highest.max(anonymous());
            }
        }
        highest
    };
    prove();
    let before = anonymous();
    let grown = prove().saturating_sub(before);
    let status = engine.status();
    let peak = status.memory.peak;
    // Keys are mapped files, in memory all the time.
    let keys: u64 = kinds.map(|kind| key_bytes(&status, kind)).iter().sum();
    assert!(grown <= peak - keys + ALLOCATOR, "grown by {grown}, booked {peak}, of which keys {keys}");
    assert!(grown > 1 << 20, "the measurement sees the working set: {grown}");
    assert!(peak <= 512 << 20);
}

fn key_bytes(status: &Status, kind: ProofKind) -> u64 {
    let jobs: Vec<_> = status.recent.iter().filter(|job| job.kind == kind.name()).collect();
    assert!(jobs.iter().all(|job| job.state == "completed" && job.srs_bytes > 0), "{status:?}");
    jobs[0].srs_bytes
}

fn anonymous() -> u64 {
    Probe::default().resident().anonymous.0
}
