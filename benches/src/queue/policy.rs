//! The pipelines that are compared.

use std::fmt;

use clap::ValueEnum;

/// What decides how many synthesised partitions may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// A permit to synthesise, returned when synthesis ends.
    A,
    /// The permit held until a channel of one partition took the partition.
    B,
    /// The permit held until a channel of as many partitions as there are permits took it.
    C,
    /// forebay.
    D,
}

impl Policy {
    pub const ALL: [Policy; 4] = [Policy::A, Policy::B, Policy::C, Policy::D];

    pub fn name(self) -> &'static str {
        match self {
            Policy::A => "a",
            Policy::B => "b",
            Policy::C => "c",
            Policy::D => "d",
        }
    }

    /// What the name stands for.
    pub fn meaning(self) -> &'static str {
        match self {
            Policy::A => "keeps evaluation vectors; permit returned when synthesis ends, channel of 1",
            Policy::B => "keeps evaluation vectors; permit held until the channel took it, channel of 1",
            Policy::C => {
                "keeps evaluation vectors; permit held until the channel took it, channel of workers"
            }
            Policy::D => "forebay",
        }
    }

    pub fn is_forebay(self) -> bool {
        self == Policy::D
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
