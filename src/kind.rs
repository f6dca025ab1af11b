//! The four proof kinds and the circuits that prove them.

use std::fmt;
use std::str::FromStr;

use serde::{de, Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// What a proof shows about a sector. Ordered by urgency: the most urgent kind is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProofKind {
    /// Block production: late by seconds is lost.
    WinningPost,
    /// Proof of a deadline's sectors.
    WindowPost,
    /// Second half of sealing: proof of replication.
    PorepC2,
    /// Update of a sealed sector with data.
    SnapUpdate,
}

impl ProofKind {
    /// All kinds, most urgent first.
    pub const ALL: [ProofKind; 4] =
        [ProofKind::WinningPost, ProofKind::WindowPost, ProofKind::PorepC2, ProofKind::SnapUpdate];

    /// The kind's name in metrics, configuration, JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ProofKind::PorepC2 => "porep_c2",
            ProofKind::SnapUpdate => "snap_update",
            ProofKind::WindowPost => "window_post",
            ProofKind::WinningPost => "winning_post",
        }
    }

    /// How urgent the kind is.
    pub fn urgency(self) -> Urgency {
        match self {
            ProofKind::WinningPost => Urgency::Critical,
            ProofKind::WindowPost => Urgency::Urgent,
            ProofKind::PorepC2 | ProofKind::SnapUpdate => Urgency::Patient,
        }
    }

    fn circuit_prefix(self) -> &'static str {
        match self {
            ProofKind::PorepC2 => "porep",
            ProofKind::SnapUpdate => "snap",
            ProofKind::WindowPost => "wpost",
            ProofKind::WinningPost => "winning",
        }
    }
}

/// How urgent a kind is; work of one urgency never waits for a queue of a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// winning_post: seconds count.
    Critical,
    /// window_post: a deadline of minutes.
    Urgent,
    /// Sealing and updates.
    Patient,
}

impl Urgency {
    /// All, the most urgent first.
    pub const ALL: [Urgency; 3] = [Urgency::Critical, Urgency::Urgent, Urgency::Patient];

    /// Its name in status, metrics and threads.
    pub fn name(self) -> &'static str {
        match self {
            Urgency::Critical => "critical",
            Urgency::Urgent => "urgent",
            Urgency::Patient => "patient",
        }
    }
}

impl fmt::Display for Urgency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ProofKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ProofKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<ProofKind> {
        ProofKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                format!(
                    "unknown proof kind {text:?}; expected porep_c2, snap_update, window_post or winning_post"
                ),
            )
        })
    }
}

/// The constraint system of one (kind, sector size); written `porep-2k`, `wpost-32g`, ….
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CircuitId {
    /// The proof kind.
    pub kind: ProofKind,
    /// The padded sector size in bytes.
    pub sector_size: u64,
}

/// The sector sizes of the registered proof types, in bytes, with their short names.
pub const SECTOR_SIZES: [(u64, &str); 5] =
    [(2 << 10, "2k"), (8 << 20, "8m"), (512 << 20, "512m"), (32 << 30, "32g"), (64 << 30, "64g")];

impl CircuitId {
    /// The circuit of this kind and sector size; refuses a size that no registered proof has.
    pub fn new(kind: ProofKind, sector_size: u64) -> Result<CircuitId> {
        if SECTOR_SIZES.iter().any(|(size, _)| *size == sector_size) {
            return Ok(CircuitId { kind, sector_size });
        }
        Err(Error::new(
            Code::InvalidRequest,
            format!(
                "sector size {sector_size} bytes ({}) is not a registered one; expected 2 KiB, 8 MiB, 512 MiB, 32 GiB or 64 GiB",
                Bytes(sector_size)
            ),
        ))
    }

    /// Every circuit of every kind.
    pub fn all() -> impl Iterator<Item = CircuitId> {
        ProofKind::ALL
            .into_iter()
            .flat_map(|kind| SECTOR_SIZES.iter().map(move |(size, _)| CircuitId { kind, sector_size: *size }))
    }
}

impl fmt::Display for CircuitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.kind.circuit_prefix();
        match SECTOR_SIZES.iter().find(|(size, _)| *size == self.sector_size) {
            Some((_, name)) => write!(f, "{prefix}-{name}"),
            None => write!(f, "{prefix}-{}b", self.sector_size),
        }
    }
}

impl FromStr for CircuitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<CircuitId> {
        CircuitId::all().find(|id| id.to_string() == text).ok_or_else(|| {
            Error::new(
                Code::InvalidArgument,
                format!("unknown circuit {text:?}; expected a kind (porep, snap, wpost, winning) and a size (2k, 8m, 512m, 32g, 64g), such as porep-32g"),
            )
        })
    }
}

impl Serialize for ProofKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for CircuitId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CircuitId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<CircuitId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in ProofKind::ALL {
            assert_eq!(kind.name().parse::<ProofKind>().unwrap(), kind);
        }
        for id in CircuitId::all() {
            assert_eq!(id.to_string().parse::<CircuitId>().unwrap(), id);
            let json = serde_json::to_string(&id).unwrap();
            assert_eq!(serde_json::from_str::<CircuitId>(&json).unwrap(), id);
        }
        assert_eq!(CircuitId::all().count(), 20);
        assert_eq!(CircuitId::new(ProofKind::WindowPost, 32 << 30).unwrap().to_string(), "wpost-32g");
    }

    #[test]
    fn urgent_kinds_come_first() {
        assert!(ProofKind::WinningPost < ProofKind::WindowPost);
        assert!(ProofKind::WindowPost < ProofKind::PorepC2);
        assert!(ProofKind::ALL.is_sorted_by_key(|kind| kind.urgency()));
    }

    #[test]
    fn odd_sizes_are_refused() {
        for size in [0, 1, 2047, 4096, u64::MAX] {
            assert_eq!(CircuitId::new(ProofKind::PorepC2, size).unwrap_err().code(), Code::InvalidRequest);
        }
    }
}
