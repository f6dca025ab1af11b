//! Published runs of the prior art beside the simulator's.
//!
//! Source: the documents of the cuzk prover of Curio; 32 GiB PoRep, ten partitions a proof, on one RTX 5070 Ti
//! with 96 Zen 4 cores and 755 GiB.

use serde::Serialize;

use super::mix::{Entry, Mix};
use super::outcome::Outcome;
use super::prior::{Channel, Permit, Pipeline};
use super::profile::Profile;
use super::scenario::{Policy, Scenario};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::units::Bytes;

/// The profile of the machine that they ran on.
pub const PROFILE: &str = "rtx5070ti-96c";

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// The profile's parameters were fitted to it.
    Fitted,
    /// Nothing was fitted to it; the simulator must come within [`TOLERANCE`].
    Tested,
    /// Shown: the number of proofs was not published, or no figure to compare with.
    Shown,
}

/// How far a tested row may be off, as a share of what was published.
pub const TOLERANCE: f64 = 0.10;

/// A published run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was run.
    pub run: &'static str,
    /// The pipeline.
    #[serde(skip)]
    pub pipeline: Pipeline,
    /// Partitions synthesised at once (pw).
    pub workers: usize,
    /// Workers of the GPU (gw).
    pub slots: usize,
    /// Proofs, all queued from the start; where it was not published, what is simulated.
    pub proofs: usize,
    /// Seconds a proof.
    pub seconds: Option<f64>,
    /// Most resident memory, GiB.
    pub peak: Option<f64>,
    /// Partitions that were synthesised and waited when it ran out of memory.
    pub waiting: Option<usize>,
    /// What it is for.
    pub used: Use,
}

const EARLY: Pipeline =
    Pipeline { permit: Permit::UntilSynthesised, channel: Channel::One, frees_early: true };
const KEPT: Pipeline = Pipeline { frees_early: false, ..EARLY };
const NARROW: Pipeline = Pipeline { permit: Permit::UntilTaken, ..EARLY };
const WIDE: Pipeline = Pipeline { channel: Channel::Workers, ..NARROW };

const HELD: &str = "permit held, channel of pw";
/// Where the machine ran out of memory, GiB: others hold the rest of its 755.
pub const OUT_OF_MEMORY: f64 = 668.0;

const fn measured(workers: usize, slots: usize, proofs: usize, seconds: f64, peak: f64, used: Use) -> Row {
    let (seconds, peak) = (Some(seconds), Some(peak));
    Row { run: HELD, pipeline: WIDE, workers, slots, proofs, seconds, peak, waiting: None, used }
}

const fn shown(run: &'static str, pipeline: Pipeline, workers: usize, peak: Option<f64>) -> Row {
    let (slots, proofs, seconds, waiting, used) = (2, 20, None, None, Use::Shown);
    Row { run, pipeline, workers, slots, proofs, seconds, peak, waiting, used }
}

/// Every published run.
pub const ROWS: [Row; 18] = [
    shown("permit until synthesised, channel of 1", EARLY, 10, Some(367.0)),
    Row {
        waiting: Some(28),
        ..shown("the same, nothing freed early: out of memory", KEPT, 12, Some(OUT_OF_MEMORY))
    },
    shown("permit until synthesised, a, b, c freed early", EARLY, 12, Some(650.0)),
    shown("permit held, channel of 1", NARROW, 12, None),
    Row { proofs: 3, ..shown("permit held, channel of pw: first report", WIDE, 12, Some(294.7)) },
    measured(10, 2, 20, 38.5, 321.0, Use::Tested),
    measured(12, 2, 20, 37.7, 400.0, Use::Tested),
    measured(14, 2, 20, 37.8, 457.0, Use::Tested),
    measured(16, 2, 20, 38.4, 510.0, Use::Fitted),
    measured(1, 1, 5, 290.0, 104.0, Use::Fitted),
    measured(2, 1, 5, 152.0, 110.0, Use::Tested),
    measured(5, 1, 5, 68.4, 170.0, Use::Tested),
    measured(7, 1, 5, 53.3, 208.0, Use::Tested),
    measured(10, 1, 5, 45.4, 310.0, Use::Fitted),
    measured(5, 2, 5, 68.6, 170.0, Use::Tested),
    measured(7, 2, 5, 51.2, 204.0, Use::Tested),
    measured(10, 2, 5, 42.5, 271.0, Use::Tested),
    measured(12, 2, 5, 42.5, 373.0, Use::Tested),
];

/// A published run beside the simulator's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// What was published.
    #[serde(flatten)]
    pub row: Row,
    /// Seconds a proof; `None`: the process was killed.
    pub simulated_seconds: Option<f64>,
    /// Most memory, GiB.
    pub simulated_peak: f64,
    /// Most partitions that waited.
    pub simulated_waiting: usize,
}

impl Compared {
    /// Simulated over published seconds, less one.
    pub fn seconds_off(&self) -> Option<f64> {
        Some(self.simulated_seconds? / self.row.seconds? - 1.0)
    }

    /// Simulated over published peak, less one; `None` where the process was killed: the peak is then the
    /// threshold's.
    pub fn peak_off(&self) -> Option<f64> {
        self.simulated_seconds?;
        Some(self.simulated_peak / self.row.peak? - 1.0)
    }

    /// Whether both are within [`TOLERANCE`].
    pub fn near(&self) -> bool {
        [self.seconds_off(), self.peak_off()].into_iter().flatten().all(|off| off.abs() <= TOLERANCE)
    }
}

/// Simulates every published run with these seeds; figures are means over them.
pub fn compare(profile: &Profile, seeds: u64) -> Result<Vec<Compared>> {
    ROWS.iter().map(|row| compare_row(profile, row, seeds.max(1))).collect()
}

fn compare_row(profile: &Profile, row: &Row, seeds: u64) -> Result<Compared> {
    let outcomes = (1..=seeds).map(|seed| simulate(profile, row, seed)).collect::<Result<Vec<_>>>()?;
    let mean = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64;
    let killed = outcomes.iter().any(|outcome| outcome.killed.is_some());
    let seconds = mean(&|outcome| outcome.seconds / row.proofs as f64);
    const GIB: f64 = (1u64 << 30) as f64;
    Ok(Compared {
        row: *row,
        simulated_seconds: (!killed).then_some(seconds),
        simulated_peak: mean(&|outcome| outcome.peak.0 as f64 / GIB),
        simulated_waiting: mean(&|outcome| outcome.waiting as f64).round() as usize,
    })
}

/// Simulates one published run.
pub fn simulate(profile: &Profile, row: &Row, seed: u64) -> Result<Outcome> {
    let circuit = CircuitId::new(ProofKind::PorepC2, 32 << 30)?;
    let mix = Mix { entries: vec![Entry { circuit, count: row.proofs, every: None }], queued: row.proofs };
    let memory = Bytes((OUT_OF_MEMORY * (1u64 << 30) as f64) as u64);
    let scenario = Scenario {
        policy: Policy::Prior(row.pipeline),
        workers: row.workers,
        slots: row.slots,
        seed,
        ..Scenario::new(profile, &mix, memory)
    };
    scenario.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared() -> Vec<Compared> {
        compare(&Profile::find(PROFILE).unwrap(), 5).unwrap()
    }

    #[test]
    fn ten_published_runs_that_nothing_was_fitted_to_are_within_a_tenth() {
        let tested: Vec<_> = compared().into_iter().filter(|c| c.row.used == Use::Tested).collect();
        assert!(tested.len() >= 10, "{}", tested.len());
        for run in tested {
            assert!(run.seconds_off().is_some() && run.peak_off().is_some(), "{run:?}");
            assert!(run.near(), "{run:?}");
        }
    }

    #[test]
    fn the_permit_returned_early_lets_28_partitions_pile_up_until_the_kill() {
        let profile = Profile::find(PROFILE).unwrap();
        let row = ROWS.iter().find(|row| row.waiting.is_some()).unwrap();
        for seed in 1..=8 {
            let outcome = simulate(&profile, row, seed).unwrap();
            assert!(outcome.killed.is_some(), "{outcome:?}");
            assert!(outcome.waiting.abs_diff(28) <= 2, "{outcome:?}");
        }
    }

    #[test]
    fn the_permit_returned_early_passes_640_gib_where_nobody_kills_it() {
        let profile = Profile::find(PROFILE).unwrap();
        let mix = Mix::parse("porep_c2=20", 32 << 30, 20).unwrap();
        let unlimited = Scenario::new(&profile, &mix, Bytes::gib(4096));
        let outcome = Scenario { policy: Policy::Prior(KEPT), ..unlimited }.run().unwrap();
        assert!(outcome.peak > Bytes::gib(640) && outcome.killed.is_none(), "{outcome:?}");
    }

    /// Means over runs of 20 proofs: seconds, and the peak in bytes.
    fn mean(workers: usize, pipeline: Pipeline) -> (f64, f64) {
        const RUNS: u64 = 8;
        let profile = Profile::find(PROFILE).unwrap();
        let row = Row { workers, ..shown("", pipeline, 12, None) };
        let runs: Vec<_> = (1..=RUNS).map(|seed| simulate(&profile, &row, seed).unwrap()).collect();
        let sum = |of: fn(&Outcome) -> f64| runs.iter().map(of).sum::<f64>() / RUNS as f64;
        (sum(|run| run.seconds), sum(|run| run.peak.0 as f64))
    }

    #[test]
    fn a_channel_of_one_bounds_memory_and_costs_throughput_where_workers_are_scarce() {
        let ((scarce_narrow, _), (scarce_wide, _)) = (mean(9, NARROW), mean(9, WIDE));
        assert!(scarce_narrow > scarce_wide * 1.003, "{scarce_narrow} {scarce_wide}");
        let ((narrow, low), (wide, high)) = (mean(12, NARROW), mean(12, WIDE));
        assert!(narrow > wide * 0.9999, "{narrow} {wide}");
        assert!(low < high * 0.8, "{low} {high}");
    }
}
