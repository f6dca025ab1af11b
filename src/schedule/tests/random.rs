//! Random worlds: any mix of requests, any order of what ends, any fault, budgets that move.

use proptest::prelude::*;

use super::world::{Fault, World};
use super::{circuit, settings, world};
use crate::kind::{ProofKind, Urgency};
use crate::schedule::{Event, Settings, SlotKind, SlotSettings};
use crate::units::Bytes;

/// Something that happens; numbers pick among what there is.
#[derive(Clone, Copy, Debug)]
struct Happening {
    what: u8,
    pick: usize,
    fault: u8,
}

fn happenings(most: usize) -> impl Strategy<Value = Vec<Happening>> {
    let one = (0u8..24, 0usize..64, 0u8..16);
    proptest::collection::vec(one.prop_map(|(what, pick, fault)| Happening { what, pick, fault }), 1..most)
}

const LAYOUTS: usize = 6;

fn layout(number: usize) -> Vec<SlotSettings> {
    let device = SlotSettings::device(Bytes(u64::MAX));
    let cpu = SlotSettings::CPU;
    match number % LAYOUTS {
        0 => vec![cpu],
        1 => vec![cpu, device],
        2 => vec![device, cpu],
        3 => vec![device, device, cpu],
        4 => vec![cpu, SlotSettings::cpu_lane(Urgency::Critical)],
        _ => vec![device, cpu, SlotSettings::cpu_lane(Urgency::Urgent)],
    }
}

impl World {
    fn happens(&mut self, happening: Happening) {
        let Happening { what, pick, fault } = happening;
        let kind = ProofKind::ALL[pick % 4];
        self.now += 1;
        match what {
            0..=2 => {
                let deadline = (pick % 7 == 0).then_some(self.now + 200);
                self.ask_within(kind, pick % 5 + 1, deadline);
            }
            3 => {
                let job = self.jobs.keys().nth(pick % self.jobs.len().max(1)).copied();
                job.into_iter().for_each(|job| self.tell(Event::Cancelled { job }).unwrap());
            }
            4 => self.tell(Event::Evict { circuit: circuit(kind) }).unwrap(),
            5 if pick % 4 == 0 => self.preload(circuit(kind)).unwrap(),
            6 => {
                let part = [1, 2, 3, 4, 4, 4][pick % 6];
                self.budget(Bytes(self.settings.budget.0 / 4 * part), pick % 5 == 0).unwrap();
            }
            7 if self.limit == self.settings.budget => self.check_headroom(kind),
            8..=14 => self.deliver().unwrap(),
            _ => self.step(pick, fault),
        }
    }

    fn step(&mut self, pick: usize, fault: u8) {
        if !self.work.is_empty() {
            let fault = match fault {
                0 => Fault::Fails,
                1 => Fault::WrongProof,
                2 if self.lies => Fault::Oversized,
                _ => Fault::None,
            };
            self.end(pick % self.work.len(), fault);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_doubled_or_over_the_budget(
        budget in 70u64..260,
        slots in 0..LAYOUTS,
        (min_idle, patience, urgent_workers) in (0u64..40, 1u64..80, 0usize..3),
        (pinned, lies) in any::<(bool, bool)>(),
        happenings in happenings(400),
    ) {
        let pinned = if pinned { [circuit(ProofKind::WinningPost)].into() } else { Default::default() };
        let limits = Settings { min_idle, patience, urgent_workers, pinned, ..settings(budget, &[SlotKind::Cpu]) };
        let mut world = world(Settings { slots: layout(slots), ..limits });
        world.lies = lies;
        world.know_all();
        world.tells_sizes = true;
        for happening in happenings {
            world.happens(happening);
            world.check_counts().unwrap();
        }
        world.budget(world.settings.budget, false).unwrap();
        world.shut().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn thousands_of_requests_are_answered_once_each(
        budget in 80u64..300,
        slots in 0..LAYOUTS,
        happenings in happenings(2),
        seed in any::<u64>(),
    ) {
        let slots = layout(slots);
        let limits = Settings { max_requests: 4000, max_intake: Bytes(4000), ..settings(budget + 4000, &[SlotKind::Cpu]) };
        let mut world = world(Settings { slots, ..limits });
        world.know_all();
        world.tells_sizes = true;
        let mut state = seed;
        while world.submitted < 2500 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let pick = (state >> 33) as usize;
            let happening = Happening { what: (pick % 24) as u8, pick: pick / 24 % 64, fault: (pick / 1536 % 16) as u8 };
            world.happens(happening);
        }
        for happening in happenings {
            world.happens(happening);
        }
        world.check_counts().unwrap();
        world.budget(world.settings.budget, false).unwrap();
        world.shut().unwrap();
    }
}
