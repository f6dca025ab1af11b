//! What a sweep varies, and its values.

use std::fmt;
use std::str::FromStr;

use forebay::units::Bytes;
use forebay::{Code, Error, Result};

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Memory of the machine, in bytes.
    Ram,
    /// GPUs.
    Gpus,
    /// Prover slots of a GPU.
    Slots,
    /// Synthesis workers.
    Workers,
    /// Threads.
    Cores,
}

impl Variable {
    const ALL: [Variable; 5] =
        [Variable::Ram, Variable::Gpus, Variable::Slots, Variable::Workers, Variable::Cores];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Variable::Ram => "ram",
            Variable::Gpus => "gpus",
            Variable::Slots => "slots",
            Variable::Workers => "workers",
            Variable::Cores => "cores",
        }
    }

    fn number(self, text: &str) -> Result<u64> {
        match self {
            Variable::Ram => {
                let bytes = text.parse::<Bytes>()?.0;
                match bytes > 0 && !text.contains(char::is_alphabetic) {
                    true => Err(invalid(format!(
                        "{text:?} has no unit: name one, such as ram=96GiB..768GiB/32GiB"
                    ))),
                    false => Ok(bytes),
                }
            }
            _ => text.trim().parse().map_err(|_| {
                invalid(format!(
                    "{text:?} is no whole number of {}; expected such as {self}=1..8",
                    self.name()
                ))
            }),
        }
    }

    /// A value as text.
    pub fn told(self, value: u64) -> String {
        match self {
            Variable::Ram if value.is_multiple_of(Bytes::gib(1).0) => format!("{} GiB", value >> 30),
            Variable::Ram => Bytes(value).to_string(),
            _ => value.to_string(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Values of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Of what.
    pub variable: Variable,
    from: u64,
    to: u64,
    step: u64,
}

/// Points that one sweep may have.
const MOST: u64 = 200;
/// Points where no step is given, at most.
const USUAL: u64 = 24;

impl Range {
    /// Whether memory is varied.
    pub fn is_memory(&self) -> bool {
        self.variable == Variable::Ram
    }

    /// All values, in order.
    pub fn values(&self) -> Vec<u64> {
        (0..=(self.to - self.from) / self.step).map(|i| self.from + i * self.step).collect()
    }
}

/// A power of two, so that the range has [`USUAL`] points at most.
fn usual_step(variable: Variable, span: u64) -> u64 {
    let least = match variable {
        Variable::Ram => Bytes::mib(1).0,
        _ => 1,
    };
    span.div_ceil(USUAL - 1).max(least).checked_next_power_of_two().unwrap_or(1 << 63)
}

impl FromStr for Range {
    type Err = Error;

    fn from_str(text: &str) -> Result<Range> {
        const EXPECTED: &str =
            "expected NAME=FROM..TO or NAME=FROM..TO/STEP, such as ram=96GiB..768GiB/32GiB or gpus=1..8";
        let (name, range) =
            text.split_once('=').ok_or_else(|| invalid(format!("{text:?} is no range; {EXPECTED}")))?;
        let variable = Variable::ALL.into_iter().find(|variable| variable.name() == name.trim());
        let variable = variable.ok_or_else(|| {
            let known = Variable::ALL.map(Variable::name).join(", ");
            invalid(format!("{name:?} cannot be varied; expected one of {known}"))
        })?;
        let (from, rest) =
            range.split_once("..").ok_or_else(|| invalid(format!("{range:?} is no range; {EXPECTED}")))?;
        if rest.starts_with('.') {
            return Err(invalid(format!("{range:?} has more than two dots; {EXPECTED}")));
        }
        let (to, step) = match rest.split_once('/') {
            Some((to, step)) => (to, Some(variable.number(step)?)),
            None => (rest, None),
        };
        let (from, to) = (variable.number(from)?, variable.number(to)?);
        if from == 0 {
            return Err(invalid(format!("{text:?} starts at zero; start at what a machine can have")));
        }
        if from > to {
            let (low, high) = (variable.told(to), variable.told(from));
            return Err(invalid(format!("{text:?} is reversed; expected {variable}={low}..{high}")));
        }
        let step = step.unwrap_or_else(|| usual_step(variable, to - from));
        if step == 0 {
            return Err(invalid(format!("{text:?} has a step of zero; leave it out or give a larger one")));
        }
        let points = (to - from) / step + 1;
        if points > MOST {
            let least = variable.told((to - from).div_ceil(MOST - 1));
            return Err(invalid(format!(
                "{text:?} has {points} points; a sweep has at most {MOST}: give a step of {least} or more"
            )));
        }
        Ok(Range { variable, from, to, step })
    }
}

fn invalid(text: String) -> Error {
    Error::new(Code::InvalidArgument, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn ranges_have_their_ends_and_a_sensible_step() {
        let range: Range = "ram=96GiB..768GiB".parse().unwrap();
        let values = range.values();
        assert_eq!((values.len(), values[0], values[21]), (22, 96 * GIB, 768 * GIB));
        let values = |text: &str| text.parse::<Range>().unwrap().values();
        assert_eq!(values("gpus=1..8"), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(values("workers=1..32").len(), 16);
        assert_eq!(values("cores=32..96/32"), [32, 64, 96]);
        assert_eq!(values("slots=2..2"), [2]);
        assert_eq!(values("ram=96GiB..100GiB/3GiB"), [96 * GIB, 99 * GIB]);
        assert!((12..=24).contains(&values("ram=2GiB..8GiB").len()));
        assert_eq!(values("ram=1B..9223372036854775808B/4611686018427387904B").len(), 2);
    }

    #[test]
    fn nonsense_says_what_would_be_right() {
        for (text, hint) in [
            ("", "NAME=FROM..TO"),
            ("ram", "NAME=FROM..TO"),
            ("ram=64GiB", "NAME=FROM..TO"),
            ("disk=1..2", "ram, gpus, slots, workers, cores"),
            ("ram=768GiB..96GiB", "expected ram=96 GiB..768 GiB"),
            ("gpus=8..1", "expected gpus=1..8"),
            ("gpus=0..4", "starts at zero"),
            ("gpus=1..x", "no whole number"),
            ("ram=1parsec..2GiB", "not a size"),
            ("gpus=1..8/0", "step of zero"),
            ("ram=1GiB..300GiB/1GiB", "step of 1.5 GiB or more"),
            ("workers=1..1000/1", "200"),
            ("gpus=1..-3", "no whole number"),
            ("ram=96GiB...128GiB", "more than two dots"),
            ("gpus=1...3", "more than two dots"),
            ("ram=96..128", "has no unit: name one"),
            ("ram=96GiB..128", "has no unit: name one"),
            ("ram=96GiB..128GiB/1.5", "has no unit: name one"),
        ] {
            let error = text.parse::<Range>().unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{text}");
            assert!(error.to_string().contains(hint), "{text}: {error}");
        }
    }
}
