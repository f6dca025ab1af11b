//! The same work by ours and by the peers, in turns: what disturbs the machine disturbs all, and what differs in
//! its result fails.

use std::time::Instant;

use crate::Failure;

/// Seconds of rounds after the first.
const BUDGET: f64 = 6.0;
const MOST_ROUNDS: usize = 7;

type Turn<'a, A> = Box<dyn FnMut() -> Result<(f64, A), Failure> + 'a>;

/// Who takes turns. A turn gives its own seconds, and what it computed.
pub struct Contest<'a, A> {
    entrants: Vec<(String, Turn<'a, A>)>,
}

/// Who took part, and the least seconds of each; the first is ours.
pub struct Standings(Vec<(String, f64)>);

impl<'a, A: PartialEq> Contest<'a, A> {
    /// Ours takes the first turn.
    pub fn new(ours: impl FnMut() -> Result<(f64, A), Failure> + 'a) -> Self {
        Contest { entrants: vec![("ours".into(), Box::new(ours))] }
    }

    /// Adds a peer.
    pub fn add(&mut self, name: &str, turn: impl FnMut() -> Result<(f64, A), Failure> + 'a) {
        self.entrants.push((name.into(), Box::new(turn)));
    }

    /// Takes turns, at least so many, until the time is used up; fails where results differ.
    pub fn run(mut self, least: usize) -> Result<Standings, Failure> {
        let started = Instant::now();
        let mut best = self.round(vec![f64::INFINITY; self.entrants.len()])?;
        let rounds = (BUDGET / started.elapsed().as_secs_f64()) as usize;
        for _ in 1..(rounds + 1).clamp(least, MOST_ROUNDS.max(least)) {
            best = self.round(best)?;
        }
        let names = self.entrants.into_iter().map(|(name, _)| name);
        Ok(Standings(names.zip(best).collect()))
    }

    fn round(&mut self, best: Vec<f64>) -> Result<Vec<f64>, Failure> {
        let mut expected = None;
        let mut least = Vec::with_capacity(best.len());
        for ((name, turn), best) in self.entrants.iter_mut().zip(best) {
            let (seconds, answer) = turn()?;
            match &expected {
                None => expected = Some(answer),
                Some(ours) if *ours == answer => {}
                Some(_) => return Err(format!("{name} computes something else than ours").into()),
            }
            least.push(best.min(seconds));
        }
        Ok(least)
    }
}

impl Standings {
    /// Our least seconds.
    pub fn ours(&self) -> f64 {
        self.0.first().map_or(f64::NAN, |ours| ours.1)
    }

    /// The peers and their least seconds.
    pub fn peers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().skip(1).map(|(name, seconds)| (name.as_str(), *seconds))
    }
}
