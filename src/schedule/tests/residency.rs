//! Which circuits come, stay and leave.

use super::{circuit, one_cpu};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::schedule::{Action, Event};
use crate::units::Bytes;

#[test]
fn idle_circuits_leave_oldest_first_when_memory_is_needed() {
    let mut world = one_cpu(60);
    for kind in [ProofKind::WinningPost, ProofKind::WindowPost] {
        world.ask(kind, 1);
        world.settle().unwrap();
        world.now += 1;
    }
    world.ask(ProofKind::PorepC2, 1);
    world.settle().unwrap();
    let circuits = world.scheduler.circuits();
    let present = circuits.iter().filter(|c| c.state != "absent");
    let left: Vec<_> = present.map(|c| c.circuit.kind).collect();
    assert_eq!(left, [ProofKind::WindowPost, ProofKind::PorepC2]);
    world.shut().unwrap();
}

#[test]
fn preload_and_evict_answer_what_happened() {
    let mut world = one_cpu(64);
    let id = circuit(ProofKind::PorepC2);
    world.preload(id).unwrap();
    world.settle().unwrap();
    assert_eq!(world.replies.last(), Some(&Action::Preloaded { circuit: id, result: Ok(false) }));
    world.preload(id).unwrap();
    assert_eq!(world.replies.last(), Some(&Action::Preloaded { circuit: id, result: Ok(true) }));
    world.tell(Event::Evict { circuit: id }).unwrap();
    world.settle().unwrap();
    assert_eq!(world.replies.last(), Some(&Action::Evicted { circuit: id, result: Ok(Some(Bytes(30))) }));
    world.tell(Event::Evict { circuit: id }).unwrap();
    assert_eq!(world.replies.last(), Some(&Action::Evicted { circuit: id, result: Ok(None) }));
    world.ask(ProofKind::PorepC2, 1);
    world.tell(Event::Evict { circuit: id }).unwrap();
    let refused = world.replies.last();
    assert!(matches!(refused, Some(Action::Evicted { result: Err(e), .. }) if e.code() == Code::Busy));
    world.shut().unwrap();
}
