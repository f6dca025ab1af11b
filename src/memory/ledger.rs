//! The one account of promised bytes. Plain data: it grants and takes back, it never waits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Class, Stage};
use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// Names one claim; never used twice by a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub u64);

/// Bytes by class, all in one stage: what one step needs, at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The stage that the bytes are booked under.
    pub stage: Stage,
    bytes: [Bytes; Class::ALL.len()],
}

impl Demand {
    /// A demand of one class.
    pub fn of(stage: Stage, class: Class, bytes: Bytes) -> Demand {
        let mut demand = Demand { stage, bytes: [Bytes::ZERO; Class::ALL.len()] };
        demand.bytes[class as usize] = bytes;
        demand
    }

    /// The same demand with `bytes` of `class`.
    pub fn with(mut self, class: Class, bytes: Bytes) -> Demand {
        self.bytes[class as usize] = bytes;
        self
    }

    /// The bytes of one class.
    pub fn bytes(&self, class: Class) -> Bytes {
        self.bytes[class as usize]
    }

    /// All bytes together, capped at the largest count.
    pub fn total(&self) -> Bytes {
        self.bytes.iter().fold(Bytes::ZERO, |sum, b| sum.saturating_add(*b))
    }
}

#[derive(Clone, Debug)]
struct Holder {
    label: Arc<str>,
    demand: Demand,
}

/// Why a claim was not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Bytes asked for.
    pub need: Bytes,
    /// The budget.
    pub limit: Bytes,
    /// Bytes promised to others.
    pub reserved: Bytes,
    /// The largest holders, largest first.
    pub largest: Vec<(Arc<str>, Bytes)>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "needs {} ({} bytes) of a limit of {} ({} bytes), of which {} are promised",
            self.need, self.need.0, self.limit, self.limit.0, self.reserved
        )?;
        if self.largest.is_empty() {
            return f.write_str("; nobody holds anything");
        }
        f.write_str("; largest holders: ")?;
        for (i, (label, bytes)) in self.largest.iter().enumerate() {
            write!(f, "{}{label} {bytes}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::new(Code::BudgetExceeded, format!("{refusal}; raise memory.limit"))
    }
}

const HOLDERS_NAMED: usize = 3;

/// Budget, reservations by class and stage, peaks and holders.
#[derive(Clone, Debug)]
pub struct Ledger {
    budget: Bytes,
    reserved: Bytes,
    peak: Bytes,
    cells: [[Bytes; Stage::ALL.len()]; Class::ALL.len()],
    peaks: [Bytes; Class::ALL.len()],
    holders: BTreeMap<ClaimId, Holder>,
    next: u64,
    overruns: u64,
}

impl Ledger {
    /// An empty ledger with this budget.
    pub fn new(budget: Bytes) -> Ledger {
        Ledger {
            budget,
            reserved: Bytes::ZERO,
            peak: Bytes::ZERO,
            cells: [[Bytes::ZERO; Stage::ALL.len()]; Class::ALL.len()],
            peaks: [Bytes::ZERO; Class::ALL.len()],
            holders: BTreeMap::new(),
            next: 0,
            overruns: 0,
        }
    }

    /// The budget.
    pub fn budget(&self) -> Bytes {
        self.budget
    }

    /// Bytes promised now.
    pub fn reserved(&self) -> Bytes {
        self.reserved
    }

    /// Bytes not promised; zero while an overrun holds more than the budget.
    pub fn free(&self) -> Bytes {
        self.budget.saturating_sub(self.reserved)
    }

    /// The most that was ever promised.
    pub fn peak(&self) -> Bytes {
        self.peak
    }

    /// The most that was ever promised of one class.
    pub fn class_peak(&self, class: Class) -> Bytes {
        self.peaks[class as usize]
    }

    /// Bytes of one class, all stages.
    pub fn class(&self, class: Class) -> Bytes {
        self.cells[class as usize].iter().fold(Bytes::ZERO, |sum, b| sum.saturating_add(*b))
    }

    /// Bytes of one class and stage.
    pub fn cell(&self, class: Class, stage: Stage) -> Bytes {
        self.cells[class as usize][stage as usize]
    }

    /// How many claims are open.
    pub fn claims(&self) -> usize {
        self.holders.len()
    }

    /// How often something held more than it was promised.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// What one claim holds.
    pub fn held(&self, id: ClaimId) -> Option<Demand> {
        self.holders.get(&id).map(|h| h.demand)
    }

    /// Whether `need` more bytes would be granted now.
    pub fn fits(&self, need: Bytes) -> bool {
        need <= self.free()
    }

    /// Why `need` bytes are refused now.
    pub fn refusal(&self, need: Bytes) -> Refusal {
        let mut by_label: BTreeMap<&Arc<str>, Bytes> = BTreeMap::new();
        for holder in self.holders.values().filter(|h| h.demand.total() > Bytes::ZERO) {
            let sum = by_label.entry(&holder.label).or_default();
            *sum = sum.saturating_add(holder.demand.total());
        }
        let mut largest: Vec<_> = by_label.into_iter().map(|(label, sum)| (label.clone(), sum)).collect();
        largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        largest.truncate(HOLDERS_NAMED);
        Refusal { need, limit: self.budget, reserved: self.reserved, largest }
    }

    /// Books the whole demand or nothing.
    pub fn claim(&mut self, label: &Arc<str>, demand: Demand) -> std::result::Result<ClaimId, Refusal> {
        let need = demand.total();
        if !self.fits(need) {
            return Err(self.refusal(need));
        }
        let id = ClaimId(self.next);
        self.next += 1;
        self.add(&demand);
        self.holders.insert(id, Holder { label: label.clone(), demand });
        Ok(id)
    }

    /// Replaces what a claim holds, whole or not at all.
    pub fn resize(&mut self, id: ClaimId, demand: Demand) -> Result<std::result::Result<(), Refusal>> {
        let old = self.holder(id)?.demand;
        let growth = demand.total().saturating_sub(old.total());
        if growth > Bytes::ZERO && !self.fits(growth) {
            return Ok(Err(self.refusal(growth)));
        }
        self.replace(id, old, demand)?;
        Ok(Ok(()))
    }

    /// Books what a claim really holds, even where that is more than was promised: memory that exists
    /// is booked. True where it went over the claim, which counts as an overrun.
    pub fn correct(&mut self, id: ClaimId, demand: Demand) -> Result<bool> {
        let over = demand.total() > self.holder(id)?.demand.total();
        self.overruns += u64::from(over);
        self.book(id, demand)?;
        Ok(over)
    }

    /// Moves bytes between two claims whose sum does not grow: both get what is named.
    pub fn rebalance(&mut self, first: (ClaimId, Demand), second: (ClaimId, Demand)) -> Result<()> {
        let held = |id| Ok::<_, Error>(self.holder(id)?.demand.total());
        let before = held(first.0)?.saturating_add(held(second.0)?);
        if first.1.total().saturating_add(second.1.total()) > before {
            return Err(Error::internal("a rebalance would grow the promised bytes"));
        }
        for (id, demand) in [first, second] {
            let old = self.holder(id)?.demand;
            self.subtract(&old)?;
            if let Some(holder) = self.holders.get_mut(&id) {
                holder.demand = demand;
            }
        }
        self.add(&first.1);
        self.add(&second.1);
        Ok(())
    }

    fn book(&mut self, id: ClaimId, demand: Demand) -> Result<()> {
        let old = self.holder(id)?.demand;
        self.replace(id, old, demand)
    }

    /// Books a claim's bytes under another stage.
    pub fn move_to(&mut self, id: ClaimId, stage: Stage) -> Result<()> {
        let old = self.holder(id)?.demand;
        self.replace(id, old, Demand { stage, ..old })
    }

    /// Takes a claim back; returns what it held.
    pub fn release(&mut self, id: ClaimId) -> Result<Demand> {
        let demand = self.holder(id)?.demand;
        self.holders.remove(&id);
        self.subtract(&demand)?;
        Ok(demand)
    }

    fn holder(&self, id: ClaimId) -> Result<&Holder> {
        self.holders.get(&id).ok_or_else(|| Error::internal(format!("claim {} is not in the ledger", id.0)))
    }

    fn replace(&mut self, id: ClaimId, old: Demand, new: Demand) -> Result<()> {
        self.subtract(&old)?;
        self.add(&new);
        if let Some(holder) = self.holders.get_mut(&id) {
            holder.demand = new;
        }
        Ok(())
    }

    fn add(&mut self, demand: &Demand) {
        for class in Class::ALL {
            let cell = &mut self.cells[class as usize][demand.stage as usize];
            *cell = cell.saturating_add(demand.bytes(class));
            let sum = self.class(class);
            let peak = &mut self.peaks[class as usize];
            *peak = (*peak).max(sum);
        }
        self.reserved = self.reserved.saturating_add(demand.total());
        self.peak = self.peak.max(self.reserved);
    }

    fn subtract(&mut self, demand: &Demand) -> Result<()> {
        let below = || Error::internal("the ledger would fall below zero");
        for class in Class::ALL {
            let cell = &mut self.cells[class as usize][demand.stage as usize];
            *cell = cell.checked_sub(demand.bytes(class)).ok_or_else(below)?;
        }
        self.reserved = self.reserved.checked_sub(demand.total()).ok_or_else(below)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(text: &str) -> Arc<str> {
        Arc::from(text)
    }

    fn witness(bytes: u64) -> Demand {
        Demand::of(Stage::Synthesis, Class::Witness, Bytes(bytes))
    }

    #[test]
    fn a_claim_is_granted_whole_or_not_at_all() {
        let mut ledger = Ledger::new(Bytes(100));
        let srs = Demand::of(Stage::Shared, Class::Srs, Bytes(60)).with(Class::Matrices, Bytes(10));
        let id = ledger.claim(&label("porep-2k"), srs).unwrap();
        let refusal = ledger.claim(&label("snap-2k"), witness(31)).unwrap_err();
        assert_eq!(refusal.need, Bytes(31));
        assert_eq!(refusal.limit, Bytes(100));
        assert_eq!(refusal.largest, [(label("porep-2k"), Bytes(70))]);
        let error = Error::from(refusal);
        assert_eq!(error.code(), Code::BudgetExceeded);
        assert!(error.message().contains("31 B") && error.message().contains("porep-2k"), "{error}");
        assert_eq!(ledger.reserved(), Bytes(70));
        ledger.claim(&label("snap-2k"), witness(30)).unwrap();
        assert_eq!(ledger.free(), Bytes::ZERO);
        ledger.release(id).unwrap();
        assert_eq!(ledger.class(Class::Srs), Bytes::ZERO);
        assert_eq!(ledger.class_peak(Class::Srs), Bytes(60));
        assert_eq!(ledger.peak(), Bytes(100));
    }

    #[test]
    fn a_claim_is_released_once() {
        let mut ledger = Ledger::new(Bytes(10));
        let id = ledger.claim(&label("x"), witness(10)).unwrap();
        assert_eq!(ledger.release(id).unwrap(), witness(10));
        assert_eq!(ledger.release(id).unwrap_err().code(), Code::Internal);
        assert_eq!(ledger.reserved(), Bytes::ZERO);
    }

    #[test]
    fn huge_demands_do_not_wrap() {
        let mut ledger = Ledger::new(Bytes(u64::MAX));
        let huge = witness(u64::MAX).with(Class::Srs, Bytes(u64::MAX));
        let id = ledger.claim(&label("x"), huge).unwrap();
        assert!(ledger.claim(&label("y"), witness(1)).is_err());
        let _ = ledger.release(id);
    }

    #[test]
    fn overruns_are_booked_and_counted() {
        let mut ledger = Ledger::new(Bytes(10));
        let id = ledger.claim(&label("x"), witness(8)).unwrap();
        assert!(!ledger.correct(id, witness(6)).unwrap());
        assert!(ledger.correct(id, witness(12)).unwrap());
        assert_eq!((ledger.reserved(), ledger.free(), ledger.overruns()), (Bytes(12), Bytes::ZERO, 1));
        assert!(ledger.resize(id, witness(13)).unwrap().is_err());
        assert!(ledger.resize(id, witness(9)).unwrap().is_ok());
        ledger.move_to(id, Stage::Queued).unwrap();
        assert_eq!(ledger.cell(Class::Witness, Stage::Queued), Bytes(9));
        assert_eq!(ledger.cell(Class::Witness, Stage::Synthesis), Bytes::ZERO);
    }

    proptest! {
        #[test]
        fn sums_agree_with_the_holders(ops in proptest::collection::vec((0u8..4, 0u64..50, 0usize..5), 1..200)) {
            let mut ledger = Ledger::new(Bytes(200));
            let mut open: Vec<(ClaimId, u64)> = Vec::new();
            for (op, bytes, pick) in ops {
                let class = Class::ALL[pick];
                match op {
                    0 => if let Ok(id) = ledger.claim(&label("p"), Demand::of(Stage::Waiting, class, Bytes(bytes))) {
                        open.push((id, bytes));
                    },
                    1 if !open.is_empty() => {
                        let (id, held) = open.swap_remove(pick % open.len());
                        prop_assert_eq!(ledger.release(id).unwrap().total(), Bytes(held));
                    }
                    2 if !open.is_empty() => {
                        let at = pick % open.len();
                        let demand = Demand::of(Stage::Queued, class, Bytes(bytes));
                        if ledger.resize(open[at].0, demand).unwrap().is_ok() {
                            open[at].1 = bytes;
                        }
                    }
                    3 if !open.is_empty() => ledger.move_to(open[pick % open.len()].0, Stage::Finishing).unwrap(),
                    _ => {}
                }
                let sum: u64 = open.iter().map(|(_, b)| b).sum();
                prop_assert_eq!(ledger.reserved(), Bytes(sum));
                prop_assert!(ledger.reserved() <= ledger.budget());
                let cells: u64 = Class::ALL.iter().map(|c| ledger.class(*c).0).sum();
                prop_assert_eq!(cells, sum);
            }
        }
    }
}
