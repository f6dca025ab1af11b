//! Who decides what runs.

use std::fmt;
use std::str::FromStr;

use forebay::simulate::{Channel, Permit, Pipeline, Policy};
use forebay::units::Bytes;
use forebay::{Code, Error, Result};

/// A policy by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The library's own scheduler.
    Forebay,
    /// A permit until synthesis ends.
    Early,
    /// A permit until the channel, of one, has taken the partition.
    HeldOne,
    /// The same with a channel of all workers.
    Held,
    /// A budget of materialised partitions.
    Bytes(Bytes),
}

impl Choice {
    /// What the simulator runs.
    pub fn policy(self) -> Policy {
        let pipeline = |permit, channel| Policy::Prior(Pipeline { permit, channel, frees_early: true });
        match self {
            Choice::Forebay => Policy::Forebay,
            Choice::Early => pipeline(Permit::UntilSynthesised, Channel::One),
            Choice::HeldOne => pipeline(Permit::UntilTaken, Channel::One),
            Choice::Held => pipeline(Permit::UntilTaken, Channel::Workers),
            Choice::Bytes(budget) => pipeline(Permit::Bytes(budget), Channel::Workers),
        }
    }

    /// Whether it is one of the prior art's.
    pub fn is_prior(self) -> bool {
        self != Choice::Forebay
    }

    /// What it does.
    pub fn about(self) -> &'static str {
        match self {
            Choice::Forebay => "the library's own scheduler",
            Choice::Early => "prior art, simulator only: permit returned when synthesis ends, channel of 1",
            Choice::HeldOne => "prior art, simulator only: permit held until the channel of 1 took it",
            Choice::Held => "prior art, simulator only: permit held until the channel of all workers took it",
            Choice::Bytes(_) => "prior art, simulator only: a byte budget of materialised partitions",
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Forebay => f.write_str("forebay"),
            Choice::Early => f.write_str("early"),
            Choice::HeldOne => f.write_str("held-1"),
            Choice::Held => f.write_str("held"),
            Choice::Bytes(budget) => write!(f, "bytes={budget}"),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice> {
        if let Some(budget) = text.strip_prefix("bytes=") {
            return budget.parse().map(Choice::Bytes);
        }
        let all = [Choice::Forebay, Choice::Early, Choice::HeldOne, Choice::Held];
        all.into_iter().find(|choice| choice.to_string() == text).ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                format!("unknown policy {text:?}; expected forebay, early, held-1, held or bytes=SIZE"),
            )
        })
    }
}
