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
    device: Option<DeviceBytes>,
}

/// Memory of a device, which has a budget of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeviceBytes {
    device: usize,
    bytes: Bytes,
}

impl Demand {
    /// A demand of one class.
    pub fn of(stage: Stage, class: Class, bytes: Bytes) -> Demand {
        Demand { stage, bytes: [Bytes::ZERO; Class::ALL.len()], device: None }.with(class, bytes)
    }

    /// The same demand with `bytes` of `class`.
    pub fn with(mut self, class: Class, bytes: Bytes) -> Demand {
        self.bytes[class as usize] = bytes;
        self
    }

    /// The same demand with `bytes` of a device's memory.
    pub fn on_device(self, device: usize, bytes: Bytes) -> Demand {
        let device = (bytes > Bytes::ZERO).then_some(DeviceBytes { device, bytes });
        Demand { device, ..self }
    }

    /// The bytes of one class.
    pub fn bytes(&self, class: Class) -> Bytes {
        self.bytes[class as usize]
    }

    /// All bytes of the host together, capped at the largest count.
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

/// One pool of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What may be promised.
    pub budget: Bytes,
    /// What is promised now.
    pub reserved: Bytes,
    /// The most that was ever promised.
    pub peak: Bytes,
}

impl Account {
    fn of(budget: Bytes) -> Account {
        Account { budget, ..Account::default() }
    }

    /// Bytes not promised; zero while more than the budget is.
    pub fn free(&self) -> Bytes {
        self.budget.saturating_sub(self.reserved)
    }

    fn add(&mut self, bytes: Bytes) {
        self.reserved = self.reserved.saturating_add(bytes);
        self.peak = self.peak.max(self.reserved);
    }

    fn subtract(&mut self, bytes: Bytes) -> Result<()> {
        let below = || Error::internal("the ledger would fall below zero");
        self.reserved = self.reserved.checked_sub(bytes).ok_or_else(below)?;
        Ok(())
    }
}

/// Budget, reservations by class and stage, peaks and holders.
#[derive(Clone, Debug)]
pub struct Ledger {
    host: Account,
    /// The memory of each device.
    devices: Vec<Account>,
    cells: [[Bytes; Stage::ALL.len()]; Class::ALL.len()],
    peaks: [Bytes; Class::ALL.len()],
    holders: BTreeMap<ClaimId, Holder>,
    next: u64,
    overruns: u64,
}

impl Ledger {
    /// An empty ledger with this budget, and no devices.
    pub fn new(budget: Bytes) -> Ledger {
        Ledger {
            host: Account::of(budget),
            devices: Vec::new(),
            cells: [[Bytes::ZERO; Stage::ALL.len()]; Class::ALL.len()],
            peaks: [Bytes::ZERO; Class::ALL.len()],
            holders: BTreeMap::new(),
            next: 0,
            overruns: 0,
        }
    }

    /// The same ledger with these budgets of devices' memory.
    pub fn with_devices(self, budgets: impl IntoIterator<Item = Bytes>) -> Ledger {
        Ledger { devices: budgets.into_iter().map(Account::of).collect(), ..self }
    }

    /// The budget.
    pub fn budget(&self) -> Bytes {
        self.host.budget
    }

    /// Changes the budget; what is promised stays promised, even where that is more.
    pub fn set_budget(&mut self, budget: Bytes) {
        self.host.budget = budget;
    }

    /// The memory of one device.
    pub fn device(&self, device: usize) -> Account {
        self.devices.get(device).copied().unwrap_or_default()
    }

    /// Bytes promised now.
    pub fn reserved(&self) -> Bytes {
        self.host.reserved
    }

    /// Bytes not promised; zero while more than the budget is.
    pub fn free(&self) -> Bytes {
        self.host.free()
    }

    /// The most that was ever promised.
    pub fn peak(&self) -> Bytes {
        self.host.peak
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
        Refusal { need, limit: self.host.budget, reserved: self.host.reserved, largest }
    }

    /// Whether a demand's device has room for it.
    fn device_fits(&self, demand: &Demand) -> bool {
        demand.device.is_none_or(|d| d.bytes <= self.device(d.device).free())
    }

    /// Why a demand is refused for want of its device's memory.
    fn device_refusal(&self, demand: &Demand) -> Refusal {
        let (account, need) =
            demand.device.map_or_else(Default::default, |d| (self.device(d.device), d.bytes));
        Refusal { need, limit: account.budget, reserved: account.reserved, largest: Vec::new() }
    }

    /// Books the whole demand or nothing.
    pub fn claim(&mut self, label: &Arc<str>, demand: Demand) -> std::result::Result<ClaimId, Refusal> {
        let need = demand.total();
        if !self.fits(need) {
            return Err(self.refusal(need));
        }
        if !self.device_fits(&demand) {
            return Err(self.device_refusal(&demand));
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
        let old = self.holder(id)?.demand;
        let over = demand.total() > old.total();
        self.overruns += u64::from(over);
        self.replace(id, old, demand)?;
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
        self.host.add(demand.total());
        if let Some((account, bytes)) = self.account(demand) {
            account.add(bytes);
        }
    }

    fn subtract(&mut self, demand: &Demand) -> Result<()> {
        let below = || Error::internal("the ledger would fall below zero");
        for class in Class::ALL {
            let cell = &mut self.cells[class as usize][demand.stage as usize];
            *cell = cell.checked_sub(demand.bytes(class)).ok_or_else(below)?;
        }
        self.host.subtract(demand.total())?;
        match self.account(demand) {
            Some((account, bytes)) => account.subtract(bytes),
            None => Ok(()),
        }
    }

    fn account(&mut self, demand: &Demand) -> Option<(&mut Account, Bytes)> {
        let DeviceBytes { device, bytes } = demand.device?;
        Some((self.devices.get_mut(device)?, bytes))
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
