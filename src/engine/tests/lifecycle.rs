//! Waiting, timeouts, completion and shutdown.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::world::{config, reached, World};
use crate::engine::{BackendChoice, Config, Engine, Shutdown};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fault, Gate};
use crate::wire::await_proof_response::Status;

fn stalled(world: &World) -> (Gate, String) {
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let job = world.start("stalled", ProofKind::PorepC2, 2);
    reached(&gate);
    (gate, job)
}

#[test]
fn a_wait_ends_at_its_timeout_and_the_job_goes_on() {
    let world = World::new();
    let (gate, job) = stalled(&world);
    let before = Instant::now();
    let answer = world.engine.wait(&job, Some(Duration::from_millis(50))).unwrap();
    assert_eq!((answer.status(), answer.job_id.as_str()), (Status::Timeout, job.as_str()));
    assert!(before.elapsed() >= Duration::from_millis(50));
    assert_eq!(world.engine.wait(&job, Some(Duration::ZERO)).unwrap().status(), Status::Timeout);
    assert_eq!(world.engine.poll(&job).unwrap().status(), Status::Unknown);
    gate.open();
    world.proved(&job, 2);
    assert_eq!(world.engine.poll(&job).unwrap().status(), Status::Completed);
    world.nothing_is_booked();
}

#[test]
fn a_job_whose_time_runs_out_fails_and_frees_its_memory() {
    let mut config = config();
    config.timeouts.insert(ProofKind::PorepC2, Duration::from_millis(100));
    let world = World::with(config, &[]);
    let (_gate, job) = stalled(&world);
    world.failed(&job, Code::Timeout);
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn every_answer_calls_the_hook_and_its_panic_goes_no_further() {
    let world = World::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    world.engine.on_completion(Arc::new(move || {
        assert!(counted.fetch_add(1, Ordering::SeqCst) > 0, "the first call panics");
    }));
    for i in 0..3 {
        world.proved(&world.start(&i.to_string(), ProofKind::WinningPost, 1), 1);
    }
    world.engine.shutdown(Shutdown::Drain);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

/// In a thread of its own, so that a call that hangs fails the test instead.
fn within_patience(what: &str, body: impl FnOnce() + Send + 'static) {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    ended.recv_timeout(super::world::PATIENCE).unwrap_or_else(|e| panic!("{what}: {e}"));
}

#[test]
fn the_hook_may_shut_the_engine_down() {
    for mode in [Shutdown::Abort, Shutdown::Drain] {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { journal_file: Some(folder.path().join("journal")), ..config() };
        let world = World::with(config, &[]);
        let engine = Arc::downgrade(&world.engine);
        world.engine.on_completion(Arc::new(move || {
            if let Some(engine) = engine.upgrade() {
                engine.shutdown(mode);
            }
        }));
        let jobs: Vec<_> = (0..3).map(|i| world.start(&i.to_string(), ProofKind::WinningPost, 1)).collect();
        within_patience("a shutdown beside the hook's", move || {
            jobs.iter().for_each(|job| {
                world.answer(job);
            });
            world.engine.shutdown(Shutdown::Drain);
            closed(&world);
        });
    }
}

#[test]
fn the_hook_may_be_the_last_to_hold_the_engine() {
    let world = World::new();
    let last = Arc::new(std::sync::Mutex::new(Some(world.engine.clone())));
    let (held, dropped) = (last.clone(), Arc::new(AtomicUsize::new(0)));
    let count = dropped.clone();
    let (go, gone) = std::sync::mpsc::channel();
    let gone = std::sync::Mutex::new(gone);
    world.engine.on_completion(Arc::new(move || {
        let _ = gone.lock().unwrap().recv();
        drop(held.lock().unwrap().take());
        count.fetch_add(1, Ordering::SeqCst);
    }));
    let job = world.start("a", ProofKind::WinningPost, 1);
    world.proved(&job, 1);
    let watch = Arc::downgrade(&world.engine);
    drop(world);
    go.send(()).unwrap();
    within_patience("the hook", move || {
        while dropped.load(Ordering::SeqCst) == 0 || watch.strong_count() > 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    assert!(last.lock().unwrap().is_none());
}

#[test]
fn drain_finishes_what_was_accepted() {
    let world = World::new();
    let jobs: Vec<_> = (0..6).map(|i| world.start(&i.to_string(), ProofKind::ALL[i % 4], 2)).collect();
    world.engine.shutdown(Shutdown::Drain);
    jobs.iter().for_each(|job| world.proved(job, 2));
    closed(&world);
}

#[test]
fn abort_answers_every_job_and_wakes_every_waiter() {
    let world = World::new();
    let (_gate, job) = stalled(&world);
    let queued: Vec<_> = (0..5).map(|i| world.start(&i.to_string(), ProofKind::SnapUpdate, 4)).collect();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| world.engine.wait(&job, None).unwrap());
        scope.spawn(|| world.engine.shutdown(Shutdown::Drain));
        world.engine.shutdown(Shutdown::Abort);
        assert_eq!(waiter.join().unwrap().status(), Status::Cancelled);
    });
    for job in &queued {
        let answer = world.answer(job);
        assert_eq!(answer.status(), Status::Cancelled);
        assert!(answer.error_message.starts_with("closed: "), "{}", answer.error_message);
    }
    closed(&world);
}

fn closed(world: &World) {
    world.engine.shutdown(Shutdown::Abort);
    assert_eq!(world.submit("late", ProofKind::PorepC2, 1).unwrap_err().code(), Code::Closed);
    assert_eq!(
        world.engine.preload(super::world::circuit_id(ProofKind::PorepC2)).unwrap_err().code(),
        Code::Closed
    );
    assert_eq!(world.engine.headroom(ProofKind::PorepC2), 0);
    let status = world.engine.status();
    assert_eq!((status.state, status.memory.reserved), ("closed", 0));
    serde_json::to_string(&status).unwrap();
}

#[test]
fn two_engines_in_one_process_share_nothing() {
    let (one, two) = (World::new(), World::new());
    let job = one.start("a", ProofKind::WinningPost, 1);
    one.proved(&job, 1);
    assert_eq!(two.engine.poll(&job).unwrap_err().code(), Code::NotFound);
    assert_eq!(two.engine.status().totals.proofs, 0);
    one.engine.shutdown(Shutdown::Abort);
    two.still_works();
}

#[test]
fn a_gpu_that_this_build_lacks_is_a_typed_error() {
    let config = Config { backend: BackendChoice::Gpu, ..config() };
    let error = Engine::open(config).err().unwrap();
    assert_eq!(error.code(), Code::Backend);
    assert!(error.message().contains("this build"), "{error}");
}
