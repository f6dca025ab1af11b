//! A question to the simulator that owns what it is about, so that it can be asked again with a change.

use std::sync::Arc;

use forebay::engine::Config;
use forebay::simulate::{Core, Entry, Mix, Outcome, Profile, Scenario};
use forebay::units::Bytes;
use forebay::{Code, Error, Result};

use super::policy::Choice;
use super::range::Variable;

/// Where memory comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// A machine's, less what others take.
    Ram {
        /// All of it.
        ram: Bytes,
        /// What others take; `None`: the usual part.
        reserve: Option<Bytes>,
    },
    /// A configured `memory.limit`.
    Limit(Bytes),
}

impl Room {
    /// What the system and other processes take.
    pub fn reserve(self) -> Bytes {
        match self {
            Room::Ram { ram, reserve } => reserve.unwrap_or(Bytes::gib(4).min(Bytes(ram.0 / 16))),
            Room::Limit(_) => Bytes::ZERO,
        }
    }

    /// The `memory.limit`.
    pub fn limit(self) -> Bytes {
        self.size().saturating_sub(self.reserve())
    }

    /// The machine's memory, or the limit.
    pub fn size(self) -> Bytes {
        match self {
            Room::Ram { ram, .. } => ram,
            Room::Limit(limit) => limit,
        }
    }

    /// The same with another size.
    pub fn with(self, size: Bytes) -> Room {
        match self {
            Room::Ram { reserve, .. } => Room::Ram { ram: size, reserve },
            Room::Limit(_) => Room::Limit(size),
        }
    }

    /// The option that sets its size.
    pub fn option(self) -> &'static str {
        match self {
            Room::Ram { .. } => "--ram",
            Room::Limit(_) => "--limit",
        }
    }

    /// What its size is of.
    pub fn noun(self) -> &'static str {
        match self {
            Room::Ram { .. } => "RAM",
            Room::Limit(_) => "memory.limit",
        }
    }
}

/// A machine, what is asked of it, and who decides.
#[derive(Clone, Debug)]
pub struct Question {
    pub profile: Arc<Profile>,
    pub mix: Mix,
    /// Unfinished requests of a kind, where it was said.
    pub queued: Option<usize>,
    pub room: Room,
    /// Whether the memory is that of the machine this runs on.
    pub this_machine: bool,
    pub cores: usize,
    pub gpus: usize,
    pub slots: usize,
    pub core: Core,
    pub workers: usize,
    pub seed: u64,
    pub policy: Choice,
}

/// What the library keeps of its limit for itself.
fn margin() -> Bytes {
    Config::default().memory_margin
}

impl Question {
    /// Nothing that no simulation is needed to refuse.
    pub fn check(&self) -> Result<()> {
        let invalid = |text: String| Err(Error::new(Code::InvalidArgument, text));
        if self.room.size() == Bytes::ZERO {
            let least = match self.least_room() {
                Some(least) => format!("this mix fits with {} {least} or more", self.room.option()),
                None => "expected a size such as 128GiB".to_owned(),
            };
            return invalid(format!("{} 0: no memory; {least}", self.room.option()));
        }
        if self.room.limit() == Bytes::ZERO {
            let (reserve, size) = (self.room.reserve(), self.room.size());
            return invalid(format!("--reserve {reserve} leaves nothing of {size} RAM"));
        }
        // Each decision of the scheduler looks at every slot.
        const MOST_SLOTS: usize = 64;
        let slots = self.gpus.saturating_mul(self.slots);
        if slots > MOST_SLOTS {
            return invalid(format!(
                "{} GPUs with {} slots each are {slots} slots: expected no more than {MOST_SLOTS}",
                self.gpus, self.slots
            ));
        }
        Ok(())
    }

    /// Unfinished requests of a kind: enough for every worker and slot.
    pub fn queued(&self) -> usize {
        const FEWEST: usize = 5;
        const MOST: usize = 64;
        let endless = self.mix.entries.iter().filter(|entry| entry.every.is_none());
        let partitions = endless.filter_map(|entry| self.profile.circuits.get(&entry.circuit));
        let partitions = partitions.map(|circuit| circuit.partitions).min().unwrap_or(usize::MAX);
        let slots = self.slots.saturating_mul(self.gpus.max(1));
        let busy = self.workers.saturating_add(slots).saturating_mul(2).div_ceil(partitions);
        self.queued.unwrap_or(busy.clamp(FEWEST, MOST))
    }

    /// What forebay's ledger may promise; where the prior art would be killed.
    pub fn budget(&self) -> Bytes {
        let margin = if self.policy.is_prior() { Bytes::ZERO } else { margin() };
        let limit = self.room.limit();
        // What is too small is refused with the size that would do.
        limit.checked_sub(margin).filter(|budget| *budget > Bytes::ZERO).unwrap_or(limit)
    }

    /// The simulator's answer.
    pub fn ask(&self) -> Result<Outcome> {
        self.simulate(false).map_err(|e| self.with_what_fits(e))
    }

    /// The same with a timeline.
    pub fn ask_recorded(&self) -> Result<Outcome> {
        self.simulate(true).map_err(|e| self.with_what_fits(e))
    }

    /// The same, where nobody reads what would fit.
    pub fn attempt(&self) -> Result<Outcome> {
        self.simulate(false)
    }

    fn simulate(&self, record: bool) -> Result<Outcome> {
        let mix = Mix { queued: self.queued(), ..self.mix.clone() };
        Scenario {
            policy: self.policy.policy(),
            cores: self.cores,
            devices: self.gpus,
            slots: self.slots,
            core: self.core,
            workers: self.workers,
            seed: self.seed,
            record,
            ..Scenario::new(&self.profile, &mix, self.budget())
        }
        .run()
    }

    fn with_what_fits(&self, error: Error) -> Error {
        if error.code() != Code::BudgetExceeded {
            return error;
        }
        let Some(least) = self.least_room() else { return error };
        let reserve = self.room.with(least).reserve();
        let of_it = match self.room {
            Room::Ram { .. } => format!(", {reserve} of it for the system and other processes"),
            Room::Limit(_) => String::new(),
        };
        let hint = format!("; plan with {} {least} or more{of_it}", self.room.option());
        Error::new(error.code(), format!("{}{hint}", error.message()))
    }

    /// The same question of so many partitions at most, in the same proportions.
    pub fn of_at_most(&self, partitions: usize) -> Question {
        let of = |entry: &Entry| {
            let circuit = self.profile.circuits.get(&entry.circuit);
            entry.count.saturating_mul(circuit.map_or(1, |circuit| circuit.partitions))
        };
        let all = self.mix.entries.iter().map(of).fold(0, usize::saturating_add);
        if all <= partitions {
            return self.clone();
        }
        let share = partitions as f64 / all as f64;
        let fewer = |entry: &Entry| Entry {
            count: ((entry.count as f64 * share).round() as usize).max(1),
            ..entry.clone()
        };
        let entries = self.mix.entries.iter().map(fewer).collect();
        Question { mix: Mix { entries, ..self.mix.clone() }, ..self.clone() }
    }

    /// The same question of another size of memory.
    pub fn with_room(&self, size: Bytes) -> Question {
        Question { room: self.room.with(size), this_machine: false, ..self.clone() }
    }

    /// The same question with another value of a variable.
    pub fn with(&self, variable: Variable, value: u64) -> Question {
        let count = usize::try_from(value).unwrap_or(usize::MAX);
        let mut changed = self.clone();
        match variable {
            Variable::Ram => return self.with_room(Bytes(value)),
            Variable::Gpus => changed.gpus = count,
            Variable::Slots => changed.slots = count,
            Variable::Workers => changed.workers = count,
            Variable::Cores => changed.cores = count,
        }
        changed
    }

    /// The least memory that one request of each kind fits into; `None` where none would do.
    pub fn least_room(&self) -> Option<Bytes> {
        let single = |entry: &Entry| Entry { count: 1, every: None, ..entry.clone() };
        let one_each = Question {
            mix: Mix { entries: self.mix.entries.iter().map(single).collect(), queued: 1 },
            ..self.clone()
        };
        const MOST: Bytes = Bytes(1 << 50);
        least(Bytes::ZERO, MOST, |size| one_each.with_room(size).attempt().is_ok())
    }
}

/// Sizes that a machine is told by: whole GiB, or what is fine enough for a small one.
fn round_up(size: Bytes) -> Bytes {
    let unit = if size >= Bytes::gib(16) { Bytes::gib(1) } else { Bytes::mib(64) };
    Bytes(size.0.div_ceil(unit.0).saturating_mul(unit.0))
}

/// The least round size above `floor` and up to `most` that is enough, if `most` is.
pub fn least(floor: Bytes, most: Bytes, enough: impl Fn(Bytes) -> bool) -> Option<Bytes> {
    if !enough(most) {
        return None;
    }
    let (mut low, mut high) = (floor, most);
    loop {
        let middle = round_up(Bytes(low.0 + (high.0 - low.0) / 2));
        if middle <= low || middle >= high {
            // Rounding went past the end: one unit is left.
            let below = round_up(Bytes(low.0 + 1));
            return Some(if below < high && enough(below) { below } else { high });
        }
        match enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_size_is_found_to_a_gib_or_finer_for_small_ones() {
        for need in [61, 64, 100, 127, 128] {
            assert_eq!(
                least(Bytes::ZERO, Bytes::gib(128), |size| size >= Bytes::gib(need)),
                Some(Bytes::gib(need))
            );
        }
        let need = Bytes::mib(1500);
        assert_eq!(least(Bytes::ZERO, Bytes::gib(128), |size| size >= need), Some(Bytes::mib(1536)));
        assert_eq!(least(Bytes::ZERO, Bytes::gib(60), |size| size > Bytes::gib(60)), None);
        let odd = Bytes(Bytes::gib(60).0 + 1);
        assert_eq!(least(Bytes::ZERO, odd, |size| size >= odd), Some(odd));
    }

    #[test]
    fn the_system_keeps_four_gib_or_a_sixteenth() {
        let room = |ram, reserve| Room::Ram { ram, reserve };
        assert_eq!(room(Bytes::gib(128), None).limit(), Bytes::gib(124));
        assert_eq!(room(Bytes::gib(16), None).limit(), Bytes::gib(15));
        assert_eq!(room(Bytes::gib(128), Some(Bytes::gib(28))).limit(), Bytes::gib(100));
        assert_eq!(Room::Limit(Bytes::gib(128)).limit(), Bytes::gib(128));
    }
}
