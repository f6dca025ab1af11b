//! Proofs that outlive their engine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::world::{config, fake, Script, Setup, World};
use crate::engine::{Config, Shutdown};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::Fault;
use crate::wire::await_proof_response::Status;

const KIND: ProofKind = ProofKind::PorepC2;

fn journaled(folder: &Path) -> Config {
    Config { journal_file: Some(file(folder)), ..config() }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("proofs.journal")
}

fn restart(world: World, folder: &Path) -> World {
    world.engine.shutdown(Shutdown::Drain);
    drop(world);
    World::with(journaled(folder), &[])
}

#[test]
fn a_request_that_comes_again_after_a_restart_has_its_proof_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    let job = world.start("a", KIND, 2);
    world.proved(&job, 2);
    let (before, report) = (world.answer(&job), world.engine.report(&job).unwrap());
    assert!(!report.from_journal);

    let world = restart(world, folder.path());
    let hooked = Arc::new(AtomicUsize::new(0));
    let hook = hooked.clone();
    world.engine.on_completion(Arc::new(move || {
        hook.fetch_add(1, Ordering::SeqCst);
    }));
    let again = world.start("a", KIND, 2);
    assert_ne!(again, job, "it is a job of its own");
    let after = world.engine.poll(&again).unwrap();
    assert_eq!((after.status(), &after.proof), (Status::Completed, &before.proof));
    assert_eq!(after.total_ms, before.total_ms);
    let kept = world.engine.report(&again).unwrap();
    assert!(kept.from_journal && kept.state == "completed");
    assert_eq!((kept.partitions_done, kept.constraints), (2, report.constraints));
    assert_eq!((kept.finish_ms, kept.device), (report.finish_ms, report.device));
    assert_eq!(hooked.load(Ordering::SeqCst), 1, "its answer is told like any other");
    assert_eq!(world.start("a", KIND, 2), again);
    assert!(!world.engine.cancel(&again).unwrap());
    let status = world.engine.status();
    assert_eq!((status.totals.proofs, status.totals.accepted), (0, 0));
    assert!(status.recent[0].from_journal);
    assert_eq!(world.metric("forebay_journal_answered_total{proof_kind=\"porep_c2\"}"), 1.0);
    assert_eq!(world.metric("forebay_journal_proofs"), 1.0);
    world.nothing_is_booked();
}

#[test]
fn other_content_under_the_same_id_is_a_new_job() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    world.proved(&world.start("a", KIND, 1), 1);
    let world = restart(world, folder.path());
    let other = world.start("a", KIND, 2);
    world.proved(&other, 2);
    assert!(!world.engine.report(&other).unwrap().from_journal);
    let first = world.start("a", KIND, 1);
    assert!(world.engine.report(&first).unwrap().from_journal, "both are kept");
    world.proved(&first, 1);
}

#[test]
fn failed_and_cancelled_jobs_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    world.script("bad", Script { synthesis: Some(Fault::Fail), ..Script::default() });
    world.failed(&world.start("bad", KIND, 1), Code::InvalidRequest);
    world.script("false", Script { false_statement: true, ..Script::default() });
    world.failed(&world.start("false", KIND, 1), Code::Unsatisfied);
    world.script("lost", Script { assembly_panics: true, ..Script::default() });
    world.failed(&world.start("lost", KIND, 1), Code::Internal);
    let world = restart(world, folder.path());
    assert_eq!(world.metric("forebay_journal_proofs"), 0.0);
    for id in ["bad", "false", "lost"] {
        let job = world.start(id, KIND, 1);
        assert!(!world.engine.report(&job).unwrap().from_journal);
        world.proved(&job, 1);
    }
}

#[test]
fn a_proof_of_another_key_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    world.proved(&world.start("a", KIND, 1), 1);
    let world = restart(world, folder.path());
    *world.catalog.key.lock().unwrap() = Some([1; 64]);
    let job = world.start("a", KIND, 1);
    assert!(!world.engine.report(&job).unwrap().from_journal);
    world.proved(&job, 1);
}

#[test]
fn an_unreadable_or_locked_journal_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(file(folder.path()), "nonsense").unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    assert_eq!(world.metric("forebay_journal_set_aside_total"), 1.0);
    world.proved(&world.start("a", KIND, 1), 1);
    let second = World::with(journaled(folder.path()), &[]);
    second.proved(&second.start("b", KIND, 1), 1);
    second.engine.shutdown(Shutdown::Drain);
    assert_eq!(second.metric("forebay_journal_dropped_total"), 1.0);
    drop(second);
    let world = restart(world, folder.path());
    assert_eq!(world.metric("forebay_journal_proofs"), 1.0);
    assert_eq!(std::fs::read(folder.path().join("proofs.journal.unreadable")).unwrap(), b"nonsense");
}

#[test]
fn concurrent_retries_are_one_job() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(journaled(folder.path()), &[]);
    world.proved(&world.start("a", KIND, 1), 1);
    let world = restart(world, folder.path());
    let jobs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| world.start("a", KIND, 1))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
    world.proved(&jobs[0], 1);
}

#[test]
fn an_engine_that_is_dropped_without_a_drain_writes_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(journaled(folder.path()));
    let world = setup.on(fake("cpu")).unwrap();
    let jobs: Vec<_> = (0..20).map(|n| world.start(&n.to_string(), ProofKind::WinningPost, 1)).collect();
    jobs.iter().for_each(|job| world.proved(job, 1));
    drop(world);
    let world = World::with(journaled(folder.path()), &[]);
    assert_eq!(world.metric("forebay_journal_proofs"), 20.0);
}
