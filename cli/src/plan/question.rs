//! A question to the simulator that owns what it is about, so that it can be asked again with a change.

use std::sync::Arc;

use forebay::engine::Config;
use forebay::simulate::{Core, Entry, Mix, Outcome, Profile, Scenario};
use forebay::units::Bytes;
use forebay::{Code, Error, Result};

use super::policy::Choice;
use super::range::Variable;
use super::words::counted;

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

fn invalid(text: String) -> Error {
    Error::new(Code::InvalidArgument, text)
}

impl Question {
    /// Whether there can be such a machine, whatever its memory.
    pub fn check(&self) -> Result<()> {
        const MOST: usize = 4096;
        for (option, value) in [("--cores", self.cores), ("--workers", self.workers)] {
            if !(1..=MOST).contains(&value) {
                return Err(invalid(format!("{option} {value}: expected 1 to {MOST}")));
            }
        }
        // Each decision of the scheduler looks at every slot.
        const MOST_SLOTS: usize = 64;
        if self.slots == 0 {
            return Err(invalid(format!("--slots 0: expected 1 to {MOST_SLOTS}")));
        }
        let slots = self.gpus.saturating_mul(self.slots);
        if slots > MOST_SLOTS {
            let gpus = counted(self.gpus, "GPU", "GPUs");
            let of_each = counted(self.slots, "prover slot", "prover slots");
            let each = if self.gpus > 1 { " each" } else { "" };
            return Err(invalid(format!(
                "{gpus} with {of_each}{each}: expected no more than {MOST_SLOTS} slots in all"
            )));
        }
        Ok(())
    }

    /// Whether there is any memory.
    pub fn check_room(&self) -> Result<()> {
        let option = self.room.option();
        if self.room.size() == Bytes::ZERO {
            let least = match self.least_room()? {
                Some(least) => format!("this mix fits with {option} {least} or more"),
                None => "expected a size such as 128GiB".to_owned(),
            };
            return Err(invalid(format!("{option} 0: no memory; {least}")));
        }
        if self.room.limit() == Bytes::ZERO {
            let (reserve, size) = (self.room.reserve(), self.room.size());
            return Err(invalid(format!("--reserve {reserve} leaves nothing of {size} RAM")));
        }
        Ok(())
    }

    /// What forebay's ledger may promise; where the prior art would be killed.
    pub fn budget(&self) -> Bytes {
        let margin = if self.policy.is_prior() { Bytes::ZERO } else { margin() };
        let limit = self.room.limit();
        // What is too small is refused with the size that would do.
        limit.checked_sub(margin).filter(|budget| *budget > Bytes::ZERO).unwrap_or(limit)
    }

    /// The simulator's answer, with a timeline where one is wanted; or what would fit.
    pub fn ask(&self, record: bool) -> Result<Outcome> {
        self.check_room()?;
        self.simulate(record).or_else(|e| Err(self.with_what_fits(e)?))
    }

    /// The simulator's answer; `None`: it does not fit.
    pub fn attempt(&self) -> Result<Option<Outcome>> {
        if self.room.limit() == Bytes::ZERO {
            return Ok(None);
        }
        match self.simulate(false) {
            Err(error) if error.code() == Code::BudgetExceeded => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn simulate(&self, record: bool) -> Result<Outcome> {
        Scenario {
            policy: self.policy.policy(),
            cores: self.cores,
            devices: self.gpus,
            slots: self.slots,
            core: self.core,
            workers: self.workers,
            seed: self.seed,
            record,
            ..Scenario::new(&self.profile, &self.mix, self.budget())
        }
        .run()
    }

    fn with_what_fits(&self, error: Error) -> Result<Error> {
        if error.code() != Code::BudgetExceeded {
            return Ok(error);
        }
        let Some(least) = self.least_room()? else { return Ok(error) };
        let reserve = self.room.with(least).reserve();
        let of_it = match self.room {
            Room::Ram { .. } => format!(", {reserve} of it for the system and other processes"),
            Room::Limit(_) => String::new(),
        };
        let hint = format!("; plan with {} {least} or more{of_it}", self.room.option());
        Ok(Error::new(error.code(), format!("{}{hint}", error.message())))
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
    pub fn least_room(&self) -> Result<Option<Bytes>> {
        let single = |entry: &Entry| Entry { count: 1, every: None, ..entry.clone() };
        let one_each = Question {
            mix: Mix { entries: self.mix.entries.iter().map(single).collect(), queued: 1 },
            ..self.clone()
        };
        const MOST: Bytes = Bytes(1 << 50);
        least(Bytes::ZERO, MOST, |size| {
            let outcome = one_each.with_room(size).attempt()?;
            Ok(outcome.is_some_and(|outcome| outcome.killed.is_none()))
        })
    }
}

/// Sizes that a machine is told by: whole GiB, or what is fine enough for a small one.
fn round_up(size: Bytes) -> Bytes {
    let unit = if size >= Bytes::gib(16) { Bytes::gib(1) } else { Bytes::mib(64) };
    Bytes(size.0.div_ceil(unit.0).saturating_mul(unit.0))
}

/// The least round size above `floor` and up to `most` that is enough, if `most` is.
pub fn least(floor: Bytes, most: Bytes, enough: impl Fn(Bytes) -> Result<bool>) -> Result<Option<Bytes>> {
    if !enough(most)? {
        return Ok(None);
    }
    let (mut low, mut high) = (floor, most);
    loop {
        let middle = round_up(Bytes(low.0 + (high.0 - low.0) / 2));
        if middle <= low || middle >= high {
            // Rounding went past the end: one unit is left.
            let below = round_up(Bytes(low.0.saturating_add(1)));
            return Ok(Some(if below < high && enough(below)? { below } else { high }));
        }
        match enough(middle)? {
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
                least(Bytes::ZERO, Bytes::gib(128), |size| Ok(size >= Bytes::gib(need))).unwrap(),
                Some(Bytes::gib(need))
            );
        }
        let need = Bytes::mib(1500);
        assert_eq!(
            least(Bytes::ZERO, Bytes::gib(128), |size| Ok(size >= need)).unwrap(),
            Some(Bytes::mib(1536))
        );
        assert_eq!(least(Bytes::ZERO, Bytes::gib(60), |size| Ok(size > Bytes::gib(60))).unwrap(), None);
        let odd = Bytes(Bytes::gib(60).0 + 1);
        assert_eq!(least(Bytes::ZERO, odd, |size| Ok(size >= odd)).unwrap(), Some(odd));
    }

    #[test]
    fn an_error_while_looking_for_the_least_size_is_told() {
        let broken = |_| Err(Error::internal("broken"));
        assert_eq!(least(Bytes::ZERO, Bytes::gib(128), broken).unwrap_err().code(), Code::Internal);
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
