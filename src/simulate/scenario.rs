//! One question to the simulator.

use super::floor::{Phase, Place, Resources};
use super::forebay;
use super::mix::Mix;
use super::outcome::Outcome;
use super::prior::{self, Pipeline};
use super::profile::{CircuitProfile, Core, Profile, Threads};
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::units::Bytes;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};

/// Who decides what runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The library's own scheduler.
    Forebay,
    /// A pipeline of the prior art.
    Prior(Pipeline),
}

/// A machine, what is asked of it, and who decides.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// Stage times and sizes.
    pub profile: &'a Profile,
    /// Who decides.
    pub policy: Policy,
    /// Bytes that the pipeline may hold: forebay's budget; where the kernel would kill the prior art.
    pub memory: Bytes,
    /// Threads that run at once.
    pub cores: usize,
    /// Devices; none: the heavy steps run on the processor.
    pub devices: usize,
    /// Prover slots of one device.
    pub slots: usize,
    /// What a device's slot holds on the host.
    pub core: Core,
    /// Partitions synthesised at once.
    pub workers: usize,
    /// What is asked for.
    pub mix: &'a Mix,
    /// Of the stage times.
    pub seed: u64,
    /// Whether the outcome has a timeline.
    pub record: bool,
}

impl<'a> Scenario<'a> {
    /// The profile's own machine with the library's own scheduler, as an engine would configure itself there.
    pub fn new(profile: &'a Profile, mix: &'a Mix, memory: Bytes) -> Scenario<'a> {
        let device = profile.device.as_ref();
        let workers = profile.workers.unwrap_or_else(|| profile.cores.div_ceil(4));
        Scenario {
            profile,
            policy: Policy::Forebay,
            memory,
            cores: profile.cores,
            devices: usize::from(device.is_some()),
            slots: device.map_or(1, |device| device.slots),
            core: device.map_or(Core::Compact, |device| device.core),
            workers,
            mix,
            seed: 1,
            record: false,
        }
    }

    /// Runs it.
    pub fn run(&self) -> Result<Outcome> {
        self.check()?;
        match self.policy {
            Policy::Forebay => forebay::run(self),
            Policy::Prior(pipeline) => prior::run(self, pipeline),
        }
    }

    fn check(&self) -> Result<()> {
        let invalid = |text: String| Err(Error::new(Code::InvalidArgument, text));
        if self.memory == Bytes::ZERO {
            return invalid("no memory: expected a size above zero, such as 128GiB".into());
        }
        if self.workers == 0 || self.cores == 0 || self.slots == 0 {
            return invalid("expected one worker, one processor and one slot at least".into());
        }
        const MOST: usize = 4096;
        if [self.workers, self.cores, self.slots, self.devices].into_iter().any(|n| n > MOST) {
            return invalid(format!("expected no more than {MOST} workers, processors, slots or devices"));
        }
        if self.mix.requests() == 0 {
            return invalid("the mix sums to nothing: there is nothing to prove".into());
        }
        let mut partitions = 0usize;
        for entry in &self.mix.entries {
            let circuit = self.profile.circuit(entry.circuit)?;
            partitions = partitions.saturating_add(entry.count.saturating_mul(circuit.partitions));
            let on_device = circuit.seconds.kernels > 0.0;
            let name = &self.profile.name;
            match (self.devices > 0, on_device) {
                (true, false) => {
                    return invalid(format!("profile {name} was measured without a GPU: plan with --gpus 0"))
                }
                (false, true) => {
                    return invalid(format!(
                        "profile {name} has the times of a GPU only: plan with one GPU at least, or with a profile of \
                         the processor"
                    ))
                }
                _ => {}
            }
        }
        const MOST_PARTITIONS: usize = 2_000_000;
        if partitions > MOST_PARTITIONS {
            return invalid(format!("{partitions} partitions; a plan has at most {MOST_PARTITIONS}"));
        }
        Ok(())
    }

    pub(super) fn resources(&self) -> Resources {
        let synthesis_slowdown = self.profile.synthesis_slowdown;
        Resources { cores: self.cores as f64, synthesis_slowdown }
    }

    pub(super) fn circuit(&self, id: CircuitId) -> Result<&CircuitProfile> {
        self.profile.circuit(id)
    }
}

/// The stages of one partition, drawn from their distributions: the same for the same seed and partition,
/// whoever decides.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    pub synthesis: f64,
    pub start: Phase,
    pub kernels: f64,
    pub finish: Phase,
    pub verify: Phase,
    /// Which device works on it, once that is decided.
    pub device: usize,
}

/// Which partition stages are drawn for: the same draw, whatever else runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// Which kind of the mix.
    pub kind: usize,
    /// Which of its requests.
    pub request: usize,
    /// Which partition of that.
    pub partition: usize,
}

impl Drawn {
    fn stream(self) -> u64 {
        (self.kind as u64) << 60 | (self.request as u64) << 16 | self.partition as u64
    }
}

impl Stages {
    pub fn draw(scenario: &Scenario, circuit: &CircuitProfile, place: Drawn) -> Stages {
        let spread = scenario.profile.spread;
        // A log-normal factor with mean 1 and this coefficient of variation.
        let variance = (1.0 + spread * spread).ln();
        let factors = LogNormal::new(-variance / 2.0, variance.sqrt()).ok();
        let mut random = ChaCha8Rng::seed_from_u64(scenario.seed);
        random.set_stream(place.stream());
        let mut drawn = |seconds: f64| seconds * factors.map_or(1.0, |f| f.sample(&mut random));
        let seconds = &circuit.seconds;
        let Threads { start, finish } = circuit.threads;
        // With another number of processors the same work is spread over them.
        let more = match scenario.devices {
            0 => scenario.cores as f64 / scenario.profile.cores as f64,
            _ => 1.0,
        };
        let stage = |seconds: f64, threads: f64| Phase {
            place: Place::Processor((threads * more).max(1.0)),
            seconds: seconds * threads / (threads * more).max(1.0),
        };
        Stages {
            synthesis: drawn(seconds.synthesis),
            start: stage(drawn(seconds.start), start),
            kernels: drawn(seconds.kernels),
            finish: stage(drawn(seconds.finish), finish),
            verify: Phase { place: Place::Processor(1.0), seconds: drawn(seconds.verify) },
            device: 0,
        }
    }
}
