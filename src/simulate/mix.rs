//! What is asked for: how many requests of which kind, and when they come.

use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind};

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Their circuit.
    pub circuit: CircuitId,
    /// How many.
    pub count: usize,
    /// Seconds from one to the next; `None`: as soon as fewer than [`Mix::queued`] of them are unfinished.
    pub every: Option<f64>,
}

/// All requests of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// By kind.
    pub entries: Vec<Entry>,
    /// Unfinished requests that a miner keeps queued of each kind that has no interval.
    pub queued: usize,
}

/// Requests that one plan may have.
const MOST: usize = 100_000;

impl Mix {
    /// Reads `porep_c2=100,winning_post=20@30s`: counts, and intervals in `ms`, `s`, `min` or `h`.
    pub fn parse(text: &str, sector_size: u64, queued: usize) -> Result<Mix> {
        let mut entries: Vec<Entry> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (kind, amount) = part
                .split_once('=')
                .ok_or_else(|| invalid(part, "expected KIND=COUNT, such as porep_c2=100"))?;
            let circuit = CircuitId::new(kind.trim().parse::<ProofKind>()?, sector_size)?;
            let (count, every) = match amount.split_once('@') {
                None => (amount, None),
                Some((count, interval)) => (count, Some(seconds(interval.trim())?)),
            };
            let count = count.trim().parse().map_err(|_| invalid(part, "the count is no whole number"))?;
            if entries.iter().any(|entry| entry.circuit == circuit) {
                return Err(invalid(part, "the kind is named twice"));
            }
            entries.push(Entry { circuit, count, every });
        }
        entries.retain(|entry| entry.count > 0);
        let mix = Mix { entries, queued: queued.max(1) };
        match mix.requests() {
            0 => Err(invalid(
                text,
                "it sums to nothing; name a kind with a count above 0, such as porep_c2=100",
            )),
            n if n > MOST => {
                Err(invalid(text, &format!("it sums to {n} requests; a plan has at most {MOST}")))
            }
            _ => Ok(mix),
        }
    }

    /// All requests together.
    pub fn requests(&self) -> usize {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
    }
}

/// An interval, such as `30s`, `250ms`, `1.5min` or `2h`; a number alone is seconds.
fn seconds(text: &str) -> Result<f64> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("min", 60.0), ("h", 3600.0), ("s", 1.0)];
    let unit = UNITS.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, 1.0));
    let value = number.trim().parse::<f64>().ok().map(|n| n * factor);
    value
        .filter(|seconds| *seconds > 0.0 && *seconds < 1e9)
        .ok_or_else(|| invalid(text, "expected an interval such as 30s, 250ms, 1.5min or 2h"))
}

fn invalid(text: &str, why: &str) -> Error {
    Error::new(Code::InvalidArgument, why.to_owned()).at(format!("mix {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 32 << 30;

    #[test]
    fn counts_and_intervals_are_read() {
        let mix = Mix::parse("porep_c2=100, winning_post=20@1.5min,snap_update=0", LARGE, 4).unwrap();
        let read: Vec<_> = mix.entries.iter().map(|e| (e.circuit.to_string(), e.count, e.every)).collect();
        assert_eq!(read, [("porep-32g".to_owned(), 100, None), ("winning-32g".to_owned(), 20, Some(90.0))]);
        assert_eq!(mix.requests(), 120);
        for (text, value) in [("30s", 30.0), ("250ms", 0.25), ("2h", 7200.0), ("7", 7.0)] {
            assert_eq!(seconds(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn nonsense_says_what_would_be_right() {
        for (text, hint) in [
            ("", "sums to nothing"),
            ("porep_c2=0", "sums to nothing"),
            ("porep_c2", "KIND=COUNT"),
            ("porep=3", "porep_c2, snap_update"),
            ("porep_c2=-1", "whole number"),
            ("porep_c2=1e3", "whole number"),
            ("porep_c2=1,porep_c2=2", "twice"),
            ("porep_c2=1@0s", "interval"),
            ("porep_c2=1@NaN", "interval"),
            ("porep_c2=1@-3s", "interval"),
            ("porep_c2=100001", "at most"),
            ("porep_c2=18446744073709551615,snap_update=18446744073709551615", "at most"),
        ] {
            let error = Mix::parse(text, LARGE, 4).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{text}");
            assert!(error.to_string().contains(hint), "{text}: {error}");
        }
    }
}
