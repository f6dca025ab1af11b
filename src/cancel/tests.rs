use std::sync::mpsc;

use super::*;
use Urgency::{Critical, Patient, Urgent};

#[test]
fn clones_share_the_flag() {
    let a = Cancel::new();
    let b = a.clone();
    assert!(a.check().is_ok());
    b.cancel();
    assert_eq!(a.check().unwrap_err().code(), Code::Cancelled);
}

/// A thread that works in chunks, one for each message, and says after each check that it passed.
struct Worker {
    chunks: mpsc::Sender<()>,
    passed: mpsc::Receiver<Result<()>>,
}

impl Worker {
    fn of(cancel: &Cancel) -> Worker {
        let (chunks, next) = mpsc::channel();
        let (tell, passed) = mpsc::channel();
        let cancel = cancel.clone();
        std::thread::spawn(move || while next.recv().is_ok() && tell.send(cancel.check()).is_ok() {});
        Worker { chunks, passed }
    }

    fn chunk(&self) {
        self.chunks.send(()).unwrap();
    }

    fn passed(&self) -> Result<()> {
        self.passed.recv_timeout(std::time::Duration::from_secs(60)).unwrap()
    }

    fn waits(&self) -> bool {
        self.passed.try_recv().is_err()
    }
}

#[test]
fn work_stops_for_a_more_urgent_step_and_goes_on_after_the_last() {
    let priorities = Priorities::new();
    let worker = Worker::of(&Cancel::yielding(&priorities, Patient));
    worker.chunk();
    worker.passed().unwrap();
    let (first, second) = (priorities.enter(Critical), priorities.enter(Critical));
    worker.chunk();
    priorities.wait_for_paused(1);
    drop(first);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(worker.waits());
    drop(second);
    worker.passed().unwrap();
    let pauses = priorities.pauses();
    assert_eq!((pauses.count, pauses.now), (1, 0));
    assert!(pauses.paused >= std::time::Duration::from_millis(20), "{pauses:?}");
    assert!(pauses.longest_delay < pauses.paused, "{pauses:?}");
}

#[test]
fn urgencies_nest() {
    let priorities = Priorities::new();
    let patient = Worker::of(&Cancel::yielding(&priorities, Patient));
    let urgent = Worker::of(&Cancel::yielding(&priorities, Urgent));
    let critical = Worker::of(&Cancel::yielding(&priorities, Critical));
    let urgent_step = priorities.enter(Urgent);
    patient.chunk();
    priorities.wait_for_paused(1);
    let critical_step = priorities.enter(Critical);
    urgent.chunk();
    priorities.wait_for_paused(2);
    critical.chunk();
    critical.passed().unwrap();
    drop(critical_step);
    urgent.passed().unwrap();
    priorities.wait_for_paused(1);
    assert!(patient.waits(), "the urgent step still runs");
    drop(urgent_step);
    patient.passed().unwrap();
}

#[test]
fn nothing_stops_for_work_that_is_as_urgent_or_less() {
    let priorities = Priorities::new();
    for step in Urgency::ALL {
        let _step = priorities.enter(step);
        for worker in Urgency::ALL.into_iter().filter(|worker| *worker <= step) {
            Cancel::yielding(&priorities, worker).check().unwrap();
        }
        Cancel::new().check().unwrap();
        Cancel::yielding(&Priorities::new(), Patient).check().unwrap();
    }
    assert_eq!(priorities.pauses(), Pauses::default());
}

#[test]
fn cancelled_work_does_not_stay_paused() {
    let priorities = Priorities::new();
    let cancel = Cancel::yielding(&priorities, Patient);
    let (worker, other) = (Worker::of(&cancel), Worker::of(&Cancel::yielding(&priorities, Patient)));
    let _step = priorities.enter(Urgent);
    worker.chunk();
    other.chunk();
    priorities.wait_for_paused(2);
    cancel.cancel();
    assert_eq!(worker.passed().unwrap_err().code(), Code::Cancelled);
    priorities.wait_for_paused(1);
    assert!(other.waits());
    let early = Cancel::yielding(&priorities, Patient);
    early.cancel();
    assert_eq!(early.check().unwrap_err().code(), Code::Cancelled);
    assert_eq!(early.begin().unwrap_err().code(), Code::Cancelled);
}

#[test]
fn a_step_that_has_not_begun_waits_without_being_counted() {
    let priorities = Priorities::new();
    let cancel = Cancel::yielding(&priorities, Patient);
    let step = priorities.enter(Critical);
    std::thread::scope(|scope| {
        let begun = scope.spawn(|| cancel.begin());
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!begun.is_finished());
        drop(step);
        begun.join().unwrap().unwrap();
    });
    assert_eq!(priorities.pauses(), Pauses::default());
}

#[test]
fn a_step_that_panics_pauses_nobody_any_more() {
    let priorities = Priorities::new();
    let entered = priorities.clone();
    let panicked = std::thread::spawn(move || {
        let _step = entered.enter(Critical);
        panic!("as scripted");
    });
    assert!(panicked.join().is_err());
    Cancel::yielding(&priorities, Patient).check().unwrap();
}
