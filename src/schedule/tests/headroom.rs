//! How many more requests may come.

use super::one_cpu;
use super::world::{Checked, World};
use crate::kind::{ProofKind, Urgency};
use crate::schedule::JobId;
use crate::units::Bytes;

#[test]
fn headroom_for_post_is_not_lost_to_porep() {
    let mut world = one_cpu(60);
    world.ask(ProofKind::WinningPost, 1);
    world.settle().unwrap();
    for _ in 0..3 {
        world.ask(ProofKind::PorepC2, 10);
    }
    assert_eq!(world.scheduler.headroom(ProofKind::PorepC2), 0);
    assert!(world.scheduler.headroom(ProofKind::WinningPost) >= 1);
    world.shut().unwrap();
}

impl World {
    /// What headroom says can be taken at its word: so many more requests are accepted now, their own bytes
    /// aside, and while there is only patient work, one of PoSt always is.
    pub fn check_headroom(&self, kind: ProofKind) -> Checked {
        let circuit = *self.costs.keys().find(|id| id.kind == kind).unwrap();
        let headroom = self.scheduler.headroom(kind);
        let mut world = self.clone();
        for _ in 0..headroom.min(20) {
            let job = JobId(world.submitted);
            world.submit_bytes(job, circuit, 1, None, Bytes::ZERO)?;
            if let Some(error) = world.refusals.get(&job) {
                return Err(format!("{kind}: headroom is {headroom}, and a request is refused: {error}"));
            }
        }
        let patient = |urgency| urgency == Urgency::Patient;
        let only_patient = self.jobs.values().all(|request| patient(request.urgency()));
        let post_fits = self.calm && !self.scheduler.is_draining() && !patient(kind.urgency());
        if post_fits && only_patient && headroom == 0 {
            return Err(format!("{kind} has no headroom because of patient work"));
        }
        Ok(())
    }
}
