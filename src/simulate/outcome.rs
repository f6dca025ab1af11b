//! What a simulated run came to.

use serde::Serialize;

use super::floor::Busy;
use super::recorder::Timeline;
use crate::kind::{CircuitId, ProofKind};
use crate::memory::Class;
use crate::units::Bytes;

/// The requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindOutcome {
    /// The kind.
    pub kind: ProofKind,
    /// Its circuit.
    pub circuit: CircuitId,
    /// Requests answered.
    pub proofs: usize,
    /// Requests an hour, from the first arrival of any kind to the last answer of this one.
    pub an_hour: f64,
    /// Seconds of the whole run over its requests of this kind.
    pub seconds_a_proof: f64,
    /// Seconds from arrival to answer: mean.
    pub mean_latency: f64,
    /// Seconds from arrival to answer: median, 99 of 100, longest.
    pub latency: [f64; 3],
}

/// The prior art's process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Killed {
    /// Seconds since the start.
    pub at: f64,
    /// What it held.
    pub held: Bytes,
}

/// How much of the time what was busy, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Synthesis workers, with PoSt's own where the mix has PoSt.
    pub workers: f64,
    /// Threads of the processor.
    pub cores: f64,
    /// Devices, on average.
    pub devices: f64,
    /// The processor's prover slot, where it is one.
    pub slots: f64,
    /// The disk.
    pub disk: f64,
    /// Some partition waited for memory that others held: to be synthesised, or for a slot that was free.
    pub memory: f64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// From the first arrival to the last answer.
    pub seconds: f64,
    /// By kind, in the order of the mix.
    pub kinds: Vec<KindOutcome>,
    /// The most that was promised; of the prior art, which promises nothing, the most that was held.
    pub peak: Bytes,
    /// What it was made of, in the order of [`crate::memory::Class::ALL`].
    pub peak_classes: [Bytes; Class::ALL.len()],
    /// The most that buffers held.
    pub held: Bytes,
    /// The most requests that were unfinished at the same time.
    pub unfinished: usize,
    /// The most partitions that were synthesised and waited for a slot at the same time.
    pub waiting: usize,
    /// What was busy.
    pub busy: Shares,
    /// Times that parameters were read.
    pub loads: usize,
    /// Where the process was killed for memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<Killed>,
    /// What happened when, where it was asked for.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
}

/// Request by request, until the end.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    kinds: Vec<(CircuitId, Vec<f64>, f64)>,
}

impl Tally {
    pub fn new(circuits: impl IntoIterator<Item = CircuitId>) -> Tally {
        Tally { kinds: circuits.into_iter().map(|circuit| (circuit, Vec::new(), 0.0)).collect() }
    }

    /// A request was answered.
    pub fn answered(&mut self, circuit: CircuitId, arrived: f64, now: f64) {
        if let Some((_, latencies, last)) = self.kinds.iter_mut().find(|(id, ..)| *id == circuit) {
            latencies.push(now - arrived);
            *last = now;
        }
    }

    pub fn kinds(self, seconds: f64) -> Vec<KindOutcome> {
        let of = |(circuit, mut latencies, last): (CircuitId, Vec<f64>, f64)| {
            latencies.sort_unstable_by(f64::total_cmp);
            let end = latencies.len().saturating_sub(1) as f64;
            let at = |share: f64| latencies.get((end * share).round() as usize).copied().unwrap_or_default();
            let proofs = latencies.len();
            KindOutcome {
                kind: circuit.kind,
                circuit,
                proofs,
                an_hour: if last > 0.0 { proofs as f64 * 3600.0 / last } else { 0.0 },
                seconds_a_proof: seconds / proofs.max(1) as f64,
                mean_latency: latencies.iter().sum::<f64>() / proofs.max(1) as f64,
                latency: [at(0.5), at(0.99), at(1.0)],
            }
        };
        self.kinds.into_iter().map(of).collect()
    }
}

impl Shares {
    pub(super) fn of(busy: &Busy, seconds: f64, workers: usize, cores: usize) -> Shares {
        let seconds = seconds.max(f64::MIN_POSITIVE);
        let devices = busy.devices.len().max(1) as f64;
        Shares {
            workers: busy.workers / seconds / workers as f64,
            cores: busy.cores / seconds / cores as f64,
            devices: busy.devices.iter().sum::<f64>() / seconds / devices,
            disk: busy.disk / seconds,
            ..Shares::default()
        }
    }
}
