//! What is typed, and the question that it asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay::kind::{CircuitId, SECTOR_SIZES};
use forebay::memory::Probe;
use forebay::simulate::{Core, Mix, Profile};
use forebay::units::Bytes;
use forebay::{Code, Error, Result};

use super::policy::Choice;
use super::question::{Question, Room};
use super::range::{Range, Variable};
use crate::measure;
use crate::setup::sector_size;

const EXAMPLES: &str = "\
Examples:
  forebay plan --ram 128GiB --gpus 1 --profile rtx5070ti-96c --mix porep_c2=100
  forebay plan --ram 208GiB --profile rtx5070ti-96c --mix porep_c2=60,winning_post=40@45s
  forebay plan --profile rtx5070ti-96c --mix porep_c2=100 --sweep ram=96GiB..768GiB --plot ram.svg
  forebay plan --ram 96GiB --profile rtx5070ti-96c --mix porep_c2=8 --timeline memory.svg
  forebay plan --published";

/// Options that say what is planned, or how it is shown.
pub const PLANNING: [&str; 16] = [
    "profile", "mix", "sector", "queued", "seed", "policy", "ram", "reserve", "limit", "gpus", "slots",
    "core", "cores", "workers", "sweep", "timeline",
];
/// Unfinished requests that a miner keeps queued of a kind.
const QUEUED: usize = 5;

/// Simulates a machine before it is bought: proofs an hour, peak memory, the bottleneck, what more would bring.
///
/// The simulator runs the library's own scheduler in virtual time, on the stage times of a profile: one that comes with
/// forebay, or one that was measured. --published shows how near it comes to runs that others published.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[group(id = "planning")]
pub struct Args {
    /// Stage times: a profile's name, or the TOML file of one. Without it the error lists those there are.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Question")]
    profile: Option<String>,
    /// What to prove: KIND=COUNT, separated by commas. Requests of a kind are queued without a pause, or come at
    /// intervals: winning_post=40@45s (ms, s, min, h).
    #[arg(long, value_name = "MIX", help_heading = "Question")]
    mix: Option<String>,
    /// Sector size of all requests: 2k, 8m, 512m, 32g or 64g [default: the profile's largest that has every kind of
    /// the mix]
    #[arg(long, value_name = "SIZE", value_parser = sector_size, help_heading = "Question")]
    sector: Option<u64>,
    /// Unfinished requests that the miner keeps queued of each kind that has no interval.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = QUEUED, help_heading = "Question")]
    queued: usize,
    /// Seed of the stage times: the same seed has the same answer.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Question")]
    seed: u64,
    /// Who decides what runs: forebay, or a pipeline of the prior art (simulator only, one kind, with a GPU): early
    /// (a permit for each worker, returned when synthesis ends), held-1 and held (returned when a channel of one, or
    /// of all workers, has taken the partition), bytes=SIZE (a budget of materialised partitions).
    #[arg(long, value_name = "POLICY", default_value = "forebay", help_heading = "Question")]
    policy: String,

    /// Memory of the machine, such as 128GiB [default: this machine's]
    #[arg(long, value_name = "SIZE", conflicts_with = "limit", help_heading = "Machine")]
    ram: Option<Bytes>,
    /// What the system and other processes take of it [default: 4GiB, or a sixteenth where that is less]
    #[arg(long, value_name = "SIZE", conflicts_with = "limit", help_heading = "Machine")]
    reserve: Option<Bytes>,
    /// Plan with this memory.limit, whatever the machine has.
    #[arg(long, value_name = "SIZE", help_heading = "Machine")]
    limit: Option<Bytes>,
    /// GPUs of the profile's model [default: 1, or 0 where the profile is of a processor]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    gpus: Option<usize>,
    /// Prover slots of one GPU: the processor's part of one overlaps the kernels of another [default: the profile's]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    slots: Option<usize>,
    /// What a GPU's slot holds in the machine's memory: supraseal (a, b, c and the private variables as scalars) or
    /// compact (two evaluation vectors, computed from the compact witness) [default: the profile's]
    #[arg(long, value_name = "CORE", value_parser = core, help_heading = "Machine")]
    core: Option<Core>,
    /// Threads that run at once [default: the profile's]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    cores: Option<usize>,
    /// Partitions synthesised at once [default: the profile's, or a quarter of the threads]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    workers: Option<usize>,

    /// Plan for each value of one of ram, gpus, slots, workers, cores: NAME=FROM..TO or NAME=FROM..TO/STEP, such as
    /// ram=96GiB..768GiB/32GiB. Values that do not fit say what would.
    #[arg(long, value_name = "RANGE", conflicts_with = "timeline", help_heading = "Output")]
    sweep: Option<String>,
    /// Draw the sweep as SVG into this file; pipelines of the prior art beside it where the profile has their sizes.
    #[arg(long, value_name = "FILE", requires = "sweep", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Draw memory by class over time, and what each partition did meanwhile, as SVG into this file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub timeline: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Compare the simulator with published runs of the prior art. Exit code 1 where it is off by more than a tenth
    /// of a row that nothing was fitted to.
    #[arg(long, conflicts_with_all = PLANNING, help_heading = "Output")]
    pub published: bool,

    #[command(flatten, next_help_heading = "Measuring")]
    pub measure: measure::Args,
}

fn positive(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number above 0".to_owned())
}

fn core(text: &str) -> std::result::Result<Core, String> {
    match text {
        "supraseal" => Ok(Core::Supraseal),
        "compact" => Ok(Core::Compact),
        _ => Err("expected supraseal or compact".to_owned()),
    }
}

fn missing(text: String) -> Error {
    Error::new(Code::InvalidArgument, text)
}

impl Args {
    /// What is swept, if anything is.
    pub fn range(&self) -> Result<Option<Range>> {
        self.sweep.as_deref().map(str::parse).transpose()
    }

    /// The question, as far as it makes sense; in a sweep with a value that will be replaced.
    pub fn question(&self, range: Option<&Range>) -> Result<Question> {
        let profile = self.profile()?;
        let Some(mix) = &self.mix else {
            let known = profile.circuits.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(missing(format!(
                "nothing to prove: name a mix such as --mix porep_c2=100; profile {} has {known}",
                profile.name
            )));
        };
        let mix = Mix::parse(mix, self.sector_size(&profile, mix)?, self.queued)?;
        let device = profile.device.as_ref();
        let question = Question {
            cores: self.cores.unwrap_or(profile.cores),
            gpus: self.gpus.unwrap_or(usize::from(device.is_some())),
            slots: self.slots.unwrap_or(device.map_or(1, |device| device.slots)),
            core: self.core.unwrap_or(device.map_or(Core::Compact, |device| device.core)),
            workers: self
                .workers
                .or(profile.workers)
                .unwrap_or_else(|| self.cores.unwrap_or(profile.cores).div_ceil(4)),
            room: self.room(range)?,
            this_machine: self.ram.is_none() && self.limit.is_none(),
            mix,
            seed: self.seed,
            policy: self.policy.parse::<Choice>()?,
            profile: Arc::new(profile),
        };
        self.check_options(&question, range)?;
        question.check()?;
        if !range.is_some_and(Range::is_memory) {
            question.check_room()?;
        }
        Ok(question)
    }

    /// Options that contradict each other in a way that only their values tell.
    fn check_options(&self, question: &Question, range: Option<&Range>) -> Result<()> {
        let memory = self.ram.map(|_| "--ram").or(self.limit.map(|_| "--limit"));
        if let (Some(option), Some(range)) = (memory, range.filter(|range| range.is_memory())) {
            let name = range.variable;
            return Err(missing(format!(
                "{option} and --sweep {name} both set the memory: leave one of them out"
            )));
        }
        let variable = range.map(|range| range.variable);
        let of_gpus = [
            ("--slots", self.slots.is_some()),
            ("--core", self.core.is_some()),
            ("--sweep slots", variable == Some(Variable::Slots)),
        ];
        let without = question.gpus == 0 && variable != Some(Variable::Gpus);
        match of_gpus.into_iter().find(|(_, given)| without && *given) {
            Some((option, _)) => Err(missing(format!(
                "{option} is about GPUs, and this plan has none: leave it out, or name a profile of a GPU and --gpus 1"
            ))),
            None => Ok(()),
        }
    }

    fn profile(&self) -> Result<Profile> {
        match &self.profile {
            Some(name) => {
                let path = Path::new(name);
                if path.exists() && !path.is_file() && !Profile::names().contains(name) {
                    return Err(missing(format!(
                        "--profile {name} is no regular file: expected a profile in TOML"
                    )));
                }
                Profile::find(name)
            }
            None => Err(missing(format!(
                "no stage times: name a profile with --profile, one of {}, or the file that --measure wrote",
                Profile::names().join(", ")
            ))),
        }
    }

    /// The largest size that the profile has every kind of the mix for.
    fn sector_size(&self, profile: &Profile, mix: &str) -> Result<u64> {
        const USUAL: u64 = 32 << 30;
        if let Some(size) = self.sector {
            return Ok(size);
        }
        let kinds: Vec<_> =
            Mix::parse(mix, USUAL, 1)?.entries.iter().map(|entry| entry.circuit.kind).collect();
        let has_all = |size: &u64| {
            let circuits = kinds.iter().map(|kind| CircuitId { kind: *kind, sector_size: *size });
            circuits.into_iter().all(|id| profile.circuits.contains_key(&id))
        };
        Ok(SECTOR_SIZES.iter().map(|(size, _)| *size).rev().find(has_all).unwrap_or(USUAL))
    }

    fn room(&self, range: Option<&Range>) -> Result<Room> {
        if let Some(limit) = self.limit {
            return Ok(Room::Limit(limit));
        }
        let ram = match self.ram {
            Some(ram) => ram,
            // A sweep of it needs none.
            None if range.is_some_and(Range::is_memory) => Bytes(u64::MAX >> 1),
            None => Probe::default().observe()?.total(),
        };
        Ok(Room::Ram { ram, reserve: self.reserve })
    }
}
