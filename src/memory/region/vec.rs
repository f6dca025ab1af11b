//! A growable vector of plain values on a region.

use std::marker::PhantomData;

use super::super::meter::Meter;
use super::super::usage::{Class, Stage};
use super::{map, Pod, Region};
use crate::error::Result;
use crate::units::Bytes;

/// A growable vector of plain values on a [`Region`].
#[derive(Debug)]
pub struct RegionVec<T: Pod> {
    region: Region,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Pod> RegionVec<T> {
    /// An empty vector with room for `capacity` values.
    pub fn with_capacity(class: Class, stage: Stage, capacity: usize) -> Result<Self> {
        RegionVec::with_capacity_for(&Meter::none(), class, stage, capacity)
    }

    /// As [`RegionVec::with_capacity`], counted in a step's meter until it is dropped or handed on.
    pub fn with_capacity_for(meter: &Meter, class: Class, stage: Stage, capacity: usize) -> Result<Self> {
        let bytes = capacity.checked_mul(size_of::<T>()).ok_or_else(map::too_large)?;
        Ok(RegionVec { region: Region::zeroed_for(meter, class, stage, bytes)?, len: 0, values: PhantomData })
    }

    /// Values held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes mapped, the unused capacity included.
    pub fn mapped(&self) -> Bytes {
        Bytes(map::page_ceil(self.region.len()) as u64)
    }

    /// Appends a value, growing the mapping by a quarter where it is full.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<()> {
        if (self.len + 1) * size_of::<T>() > self.region.len() {
            self.grow()?;
        }
        let at = self.len;
        self.region.as_mut_slice::<T>()[at] = value;
        self.len += 1;
        Ok(())
    }

    /// Appends values, growing the mapping where they do not fit.
    pub fn extend_from_slice(&mut self, values: &[T]) -> Result<()> {
        let end = self.len.checked_add(values.len()).ok_or_else(map::too_large)?;
        let bytes = end.checked_mul(size_of::<T>()).ok_or_else(map::too_large)?;
        let mapped = self.region.len();
        if bytes > mapped {
            self.region.resize(bytes.max(mapped + mapped / 4))?;
        }
        self.region.as_mut_slice::<T>()[self.len..end].copy_from_slice(values);
        self.len = end;
        Ok(())
    }

    /// The values.
    pub fn as_slice(&self) -> &[T] {
        &self.region.as_slice::<T>()[..self.len]
    }

    /// The values, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.region.as_mut_slice::<T>()[..self.len]
    }

    /// Gives the unused capacity back.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.region.resize(self.len * size_of::<T>())
    }

    /// Counts the memory under another stage from now on.
    pub fn set_stage(&mut self, stage: Stage) {
        self.region.set_stage(stage);
    }

    /// Counts the memory in another step's meter from now on.
    pub fn set_meter(&mut self, meter: &Meter) {
        self.region.set_meter(meter);
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let bytes = self.region.len();
        self.region.resize((bytes + bytes / 4).max(64 << 10))
    }
}
