//! From what is left to what the ledger may promise.

use super::{Observation, Resident};
use crate::memory::usage;
use crate::units::Bytes;

/// What all promises together may come to now: no more than `limit`, nor than what is left and what is `ours` already
/// (see [`ours`]), less a margin for memory that nobody books.
///
/// Where no limit is set the margin is at least a sixteenth, and 256 MiB, but of these never more than half.
pub fn budget(limit: Option<Bytes>, margin: Bytes, ours: Bytes, seen: &Observation) -> Bytes {
    let held = seen.left().saturating_add(ours).min(seen.total());
    less_margin(limit, margin, held)
}

/// The most that [`budget`] can ever become: what never fits it can be refused at once.
pub fn ceiling(limit: Option<Bytes>, margin: Bytes, seen: &Observation) -> Bytes {
    less_margin(limit, margin, seen.total())
}

/// Bytes of this process's counted anonymous memory that are resident, and so are missing already from what is left.
///
/// The kernel does not tell which pages of a process are whose, so this is an upper bound: a buffer that is mapped but
/// not yet written counts as resident where the rest of the process (the host) holds as much anonymous memory. It
/// is too large by min(bytes not yet written, anonymous memory not counted) at most, and exact once every buffer is
/// written. An engine that shares its process with another must cap it by what its own ledger has promised.
pub fn ours(resident: &Resident) -> Bytes {
    usage::anonymous().min(resident.anonymous)
}

fn less_margin(limit: Option<Bytes>, margin: Bytes, there: Bytes) -> Bytes {
    match limit {
        Some(limit) => limit.min(there).saturating_sub(margin),
        None => {
            let rule = Bytes(there.0 / 16).max(Bytes::mib(256)).min(Bytes(there.0 / 2));
            there.saturating_sub(rule.max(margin))
        }
    }
}
