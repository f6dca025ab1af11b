//! Random worlds: any mix of requests, any order of what ends, any fault, budgets that move.

use proptest::prelude::*;

use super::model::Fault;
use super::world::{Checked, World};
use super::{circuit, settings, world};
use crate::kind::{ProofKind, Urgency};
use crate::schedule::{Event, JobId, Settings, SlotKind, SlotSettings};
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
    fn happens(&mut self, happening: Happening) -> Checked {
        let Happening { what, pick, fault } = happening;
        let kind = ProofKind::ALL[pick % 4];
        self.now += 1;
        match what {
            0..=2 => {
                self.deliver_all()?;
                let deadline = (pick % 7 == 0).then_some(self.now + 200);
                self.submit(JobId(self.submitted), circuit(kind), pick % 5 + 1, deadline)
            }
            3 => {
                let job = self.jobs.keys().nth(pick % self.jobs.len().max(1)).copied();
                job.map_or(Ok(()), |job| self.tell(Event::Cancelled { job }))
            }
            4 => self.tell(Event::Evict { circuit: circuit(kind) }),
            5 if pick % 4 == 0 => self.preload(circuit(kind)),
            6 => {
                let part = [1, 2, 3, 4, 4, 4][pick % 6];
                self.budget(Bytes(self.settings.budget.0 / 4 * part), pick % 5 == 0)
            }
            7 => self.check_headroom(kind),
            8..=14 => self.deliver(),
            _ => {
                self.step(pick, fault);
                Ok(())
            }
        }
    }

    fn step(&mut self, pick: usize, fault: u8) {
        if !self.work.is_empty() {
            let fault = match fault {
                0 => Fault::Fails,
                1 => Fault::WrongProof,
                2..=4 if self.lies => Fault::Oversized,
                _ => Fault::None,
            };
            self.end(pick % self.work.len(), fault);
        }
    }

    /// All of it happens, and then everything is answered and given back.
    fn lives(&mut self, happenings: impl IntoIterator<Item = Happening>) -> Checked {
        self.know_all()?;
        for (i, happening) in happenings.into_iter().enumerate() {
            self.happens(happening)?;
            if i % 16 == 0 {
                self.check_counts()?;
            }
        }
        self.check_counts()?;
        self.budget(self.settings.budget, false)?;
        self.shut()
    }

    /// What happened, where a rule was broken.
    fn end_of_story(&self, checked: Checked) {
        if let Err(why) = checked {
            let story = self.story.as_deref().unwrap_or_default();
            let tail = story.get(story.len().saturating_sub(200)..).unwrap_or_default();
            panic!("{why}\nafter\n{}", tail.join("\n"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_doubled_or_over_the_budget(
        budget in 56u64..200,
        slots in 0..LAYOUTS,
        (min_idle, patience, urgent_workers) in (0u64..40, 1u64..80, 0usize..3),
        (pinned, lies) in any::<(bool, bool)>(),
        happenings in happenings(400),
    ) {
        let pinned = if pinned { [circuit(ProofKind::WinningPost)].into() } else { Default::default() };
        let limits = Settings { min_idle, patience, urgent_workers, pinned, ..settings(budget, &[SlotKind::Cpu]) };
        let mut world = world(Settings { slots: layout(slots), ..limits });
        (world.lies, world.tells_sizes, world.story) = (lies, true, Some(Vec::new()));
        let checked = world.lives(happenings);
        world.end_of_story(checked);
    }
}

/// Requests by the thousand, from one number.
fn many(seed: u64, happenings: usize) -> impl Iterator<Item = Happening> {
    let mut state = seed;
    (0..happenings).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (state >> 33) as usize;
        Happening { what: (pick % 24) as u8, pick: pick / 24 % 64, fault: (pick / 1536 % 16) as u8 }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 0, ..ProptestConfig::default() })]
    #[test]
    fn thousands_of_requests_are_answered_once_each(
        budget in 80u64..300,
        slots in 0..LAYOUTS,
        seed in any::<u64>(),
    ) {
        let limits = Settings {
            max_requests: 4000,
            max_intake: Bytes(4000),
            ..settings(budget + 4000, &[SlotKind::Cpu])
        };
        let mut world = world(Settings { slots: layout(slots), ..limits });
        world.tells_sizes = true;
        let checked = world.lives(many(seed, 20_000));
        world.end_of_story(checked);
        prop_assert!(world.submitted > 2000);
    }
}
