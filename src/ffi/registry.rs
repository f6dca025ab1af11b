//! Handles that are numbers, not addresses: the library looks them up and never dereferences them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fork;
use crate::error::{Code, Error, Result};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;
const TAG_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;

// A handle needs tag, generation and slot; its tag also keeps it outside every canonical address.
const _: () = assert!(usize::BITS == 64, "the C ABI needs 64-bit pointers");

/// What sort of object a handle names; the top byte of the handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Sort {
    Engine = 0xF1,
    Buffer = 0xF2,
    Error = 0xF3,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Sort::Engine => "engine",
            Sort::Buffer => "buffer",
            Sort::Error => "error",
        }
    }
}

/// The live objects of one sort. A slot's generation changes whenever its object goes, so a stale handle
/// never names a newer object.
pub(super) struct Registry<T> {
    sort: Sort,
    /// Objects that may live at once.
    most: usize,
    slots: Mutex<Slots<T>>,
}

struct Slots<T> {
    all: Vec<Slot<T>>,
    free: Vec<usize>,
}

struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T> Registry<T> {
    pub(super) const fn new(sort: Sort) -> Self {
        Registry {
            sort,
            most: (1 << INDEX_BITS) - 1,
            slots: Mutex::new(Slots { all: Vec::new(), free: Vec::new() }),
        }
    }

    /// Takes the object in and names it.
    pub(super) fn insert(&self, object: T) -> Result<usize> {
        fork::refuse()?;
        let object = Some(Arc::new(object));
        let mut slots = self.lock();
        if let Some(index) = slots.free.pop() {
            if let Some(slot) = slots.all.get_mut(index) {
                slot.object = object;
                return Ok(self.name(index, slot.generation));
            }
        }
        let index = slots.all.len();
        if index >= self.most {
            return Err(Error::new(
                Code::Busy,
                format!("{index} {} objects are in use; free those that are done", self.sort.name()),
            ));
        }
        slots.all.push(Slot { generation: 0, object });
        Ok(self.name(index, 0))
    }

    /// The object a handle names.
    pub(super) fn get(&self, handle: usize) -> Result<Arc<T>> {
        let (index, generation) = self.parse(handle)?;
        let slots = self.lock();
        let slot = slots.all.get(index).ok_or_else(|| self.foreign(handle))?;
        slot.object
            .as_ref()
            .filter(|_| slot.generation == generation)
            .cloned()
            .ok_or_else(|| self.gone(handle))
    }

    /// Takes the object out; its handle is dead from here on.
    pub(super) fn remove(&self, handle: usize) -> Result<Arc<T>> {
        let (index, generation) = self.parse(handle)?;
        let mut slots = self.lock();
        let slot = slots.all.get_mut(index).ok_or_else(|| self.foreign(handle))?;
        if slot.generation != generation {
            return Err(self.gone(handle));
        }
        let object = slot.object.take().ok_or_else(|| self.gone(handle))?;
        // A slot whose generations are used up is never handed out again.
        if let Some(next) = generation.checked_add(1) {
            slot.generation = next;
            slots.free.push(index);
        }
        Ok(object)
    }

    fn name(&self, index: usize, generation: u32) -> usize {
        (self.sort as usize) << TAG_SHIFT | (generation as usize) << INDEX_BITS | index
    }

    /// A handle of this sort that never names an object.
    pub(super) fn no_object(&self) -> usize {
        self.name((1 << INDEX_BITS) - 1, u32::MAX)
    }

    fn parse(&self, handle: usize) -> Result<(usize, u32)> {
        fork::refuse()?;
        if handle == 0 {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the {} handle is NULL", self.sort.name()),
            ));
        }
        if handle >> TAG_SHIFT != self.sort as usize {
            return Err(self.foreign(handle));
        }
        Ok((handle & ((1 << INDEX_BITS) - 1), (handle >> INDEX_BITS) as u32))
    }

    fn foreign(&self, handle: usize) -> Error {
        Error::new(
            Code::InvalidArgument,
            format!("{handle:#x} is not {} handle of this library", article(self.sort)),
        )
    }

    fn gone(&self, handle: usize) -> Error {
        Error::new(Code::Closed, format!("the {} handle {handle:#x} is closed", self.sort.name()))
    }

    fn lock(&self) -> MutexGuard<'_, Slots<T>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn article(sort: Sort) -> &'static str {
    match sort {
        Sort::Engine => "an engine",
        Sort::Buffer => "a buffer",
        Sort::Error => "an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_never_names_a_newer_object() {
        let registry = Registry::new(Sort::Buffer);
        let first = registry.insert("first").unwrap();
        assert_eq!(*registry.get(first).unwrap(), "first");
        assert_eq!(*registry.remove(first).unwrap(), "first");
        let second = registry.insert("second").unwrap();
        assert_ne!(first, second);
        assert_eq!(first & 0xFF_FFFF, second & 0xFF_FFFF, "the slot is used again");
        assert_eq!(registry.get(first).unwrap_err().code(), Code::Closed);
        assert_eq!(registry.remove(first).unwrap_err().code(), Code::Closed);
        assert_eq!(*registry.get(second).unwrap(), "second");
    }

    #[test]
    fn null_and_foreign_handles_are_told_apart() {
        let registry = Registry::new(Sort::Engine);
        let live = registry.insert(()).unwrap();
        let buffer = Registry::new(Sort::Buffer).insert(()).unwrap();
        let stack = &live as *const usize as usize;
        for foreign in [0, 1, stack, buffer, live + 1, usize::MAX] {
            assert_eq!(registry.get(foreign).unwrap_err().code(), Code::InvalidArgument, "{foreign:#x}");
            assert_eq!(registry.remove(foreign).unwrap_err().code(), Code::InvalidArgument, "{foreign:#x}");
        }
        assert!(registry.get(live).is_ok());
    }

    #[test]
    fn a_full_registry_is_busy_until_an_object_goes() {
        let registry = Registry { most: 3, ..Registry::new(Sort::Buffer) };
        let handles: Vec<_> = (0..3).map(|n| registry.insert(n).unwrap()).collect();
        for _ in 0..2 {
            let full = registry.insert(9).unwrap_err();
            assert_eq!(full.code(), Code::Busy);
            assert!(full.message().contains("3 buffer objects"), "{full}");
        }
        assert_eq!(*registry.remove(handles[1]).unwrap(), 1);
        let next = registry.insert(4).unwrap();
        assert_eq!(*registry.get(next).unwrap(), 4);
        assert!(registry.get(registry.no_object()).is_err());
    }

    #[test]
    fn a_slot_is_retired_when_its_generations_are_used_up() {
        let registry = Registry::new(Sort::Error);
        let first = registry.insert(1).unwrap();
        registry.lock().all[0].generation = u32::MAX;
        let last = first | (u32::MAX as usize) << INDEX_BITS;
        assert_eq!(*registry.remove(last).unwrap(), 1);
        let next = registry.insert(2).unwrap();
        assert_eq!(next & 0xFF_FFFF, 1, "a fresh slot");
        assert_eq!(registry.get(last).unwrap_err().code(), Code::Closed);
    }
}
