//! One random mix of requests.

use std::collections::BTreeMap;

use forebay::kind::ProofKind;
use forebay::units::Bytes;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::load;
use crate::world::World;
use crate::Failure;

/// Of so many mixes one has PoReps, and one updates of a sector: their proofs take longest.
const EVERY: u64 = 12;
const WITH_POREP: u64 = 5;
const WITH_UPDATE: u64 = 9;
/// Synthesis workers at most.
const WORKERS: usize = 4;

/// Requests in the order of their submission, and what the engine has for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    pub kinds: Vec<ProofKind>,
    pub workers: usize,
    /// 0: just enough memory for the largest circuit; 1: enough for everything at once, and more.
    pub room: f64,
}

impl Mix {
    /// The mix of this number under a seed.
    pub fn draw(seed: u64, number: u64) -> Mix {
        let mut random = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut kinds = Vec::new();
        let mut add = |kind, count| kinds.extend(std::iter::repeat_n(kind, count));
        add(ProofKind::WindowPost, random.gen_range(0..=3));
        add(ProofKind::WinningPost, random.gen_range(0..=2));
        match number % EVERY {
            WITH_POREP => add(ProofKind::PorepC2, if random.gen_bool(0.2) { 2 } else { 1 }),
            WITH_UPDATE => add(ProofKind::SnapUpdate, 1),
            _ => {}
        }
        if kinds.is_empty() {
            kinds.push(ProofKind::WindowPost);
        }
        kinds.shuffle(&mut random);
        let room = if random.gen_bool(0.25) { 0.0 } else { random.gen::<f64>().powi(2) };
        Mix { kinds, workers: random.gen_range(1..=WORKERS), room }
    }

    /// How many requests of each kind there are.
    pub fn counts(&self) -> BTreeMap<ProofKind, usize> {
        let mut counts = BTreeMap::new();
        self.kinds.iter().for_each(|kind| *counts.entry(*kind).or_default() += 1);
        counts
    }

    /// Serialized requests.
    pub fn messages(&self, world: &World) -> Result<Vec<Vec<u8>>, Failure> {
        let mut messages = BTreeMap::new();
        for (kind, count) in self.counts() {
            messages.insert(kind, world.messages(kind, count)?);
        }
        let next = |kind| messages.get_mut(kind).and_then(Vec::pop).ok_or("a request is missing");
        Ok(self.kinds.iter().map(next).collect::<Result<_, _>>()?)
    }

    /// `memory.limit` of the engine.
    pub fn limit(&self, world: &World, messages: &[Vec<u8>]) -> Result<Bytes, Failure> {
        let mut intake = 0;
        for message in messages {
            intake += World::decode(message)?.intake_bytes().0;
        }
        let (mut least, mut most) = (0, 0);
        for (kind, count) in self.counts() {
            let needs = world.needs(kind)?;
            let witnesses = needs.witness.0 * count.min(self.workers + 2) as u64;
            least = least.max(needs.alone().0);
            most += needs.shared.0 + witnesses + needs.turn.0 + 2 * needs.finish.0;
        }
        let margin = load::config(world, Bytes::ZERO, 1).memory_margin.0;
        let more = (most + most / 4).saturating_sub(least) as f64 * self.room;
        Ok(Bytes(least + intake + margin + more as u64))
    }

    /// Such as `2 window_post, 1 porep_c2`.
    pub fn name(&self) -> String {
        let counts = self.counts();
        counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_is_the_same_mix_and_every_run_of_twelve_has_a_porep() {
        let mixes: Vec<_> = (0..EVERY).map(|number| Mix::draw(7, number)).collect();
        assert!(mixes.iter().enumerate().all(|(number, mix)| *mix == Mix::draw(7, number as u64)));
        assert!(mixes.iter().any(|mix| mix.kinds.contains(&ProofKind::PorepC2)));
        assert!(mixes.iter().all(|mix| !mix.kinds.is_empty() && mix.workers > 0));
    }
}
