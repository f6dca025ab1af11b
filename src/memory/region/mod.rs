//! Large buffers: mapped from the kernel, so that dropping one gives its pages back at once, and
//! counted by class and stage for as long as they exist.

mod file;
mod map;
mod vec;

use std::ptr::NonNull;

pub use file::FileMap;
pub use vec::RegionVec;

use super::meter::Meter;
use super::usage::{Backing, Class, Count, Stage};
use crate::error::Result;
use crate::units::Bytes;

/// Types whose values are plain bytes: any bit pattern is valid, there is no padding and no drop.
///
/// # Safety
/// The implementor must have these properties and an alignment of at most 4096.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

// SAFETY: plain integers.
unsafe impl Pod for u8 {}
// SAFETY: plain integers.
unsafe impl Pod for u16 {}
// SAFETY: plain integers.
unsafe impl Pod for u32 {}
// SAFETY: plain integers.
unsafe impl Pod for u64 {}
// SAFETY: a transparent wrapper of four 64-bit limbs; every pattern is a (possibly unreduced) value.
unsafe impl Pod for blstrs::Scalar {}
// SAFETY: a transparent wrapper of twelve 64-bit limbs.
unsafe impl Pod for blstrs::G1Affine {}
// SAFETY: a transparent wrapper of twenty-four 64-bit limbs.
unsafe impl Pod for blstrs::G2Affine {}

/// An anonymous, zeroed, writable mapping that counts itself.
#[derive(Debug)]
pub struct Region {
    address: NonNull<u8>,
    len: usize,
    count: Count,
}

// SAFETY: the mapping is owned by this value alone and is plain memory.
unsafe impl Send for Region {}
// SAFETY: shared access only reads.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `len` zeroed bytes. Pages become resident when they are first written.
    pub fn zeroed(class: Class, stage: Stage, len: usize) -> Result<Region> {
        Region::zeroed_for(&Meter::none(), class, stage, len)
    }

    /// As [`Region::zeroed`], counted in a step's meter until it is dropped or handed on.
    pub fn zeroed_for(meter: &Meter, class: Class, stage: Stage, len: usize) -> Result<Region> {
        let address = map::anonymous(len)?;
        let count = Count::new(class, stage, Bytes::ZERO, Backing::Anonymous, meter);
        let mut region = Region { address, len, count };
        region.count.resize(Bytes(len as u64));
        Ok(region)
    }

    /// Bytes mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True where nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the region is counted as.
    pub fn class(&self) -> Class {
        self.count.class()
    }

    /// Counts the region under another stage from now on.
    pub fn set_stage(&mut self, stage: Stage) {
        self.count.set_stage(stage);
    }

    /// Counts the region in another step's meter from now on.
    pub fn set_meter(&mut self, meter: &Meter) {
        self.count.set_meter(meter);
    }

    /// The whole region as values of `T`; a remainder smaller than one value is left out.
    pub fn as_slice<T: Pod>(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, initialised (zeroed), lives as long as `self`, and T is Pod.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().cast(), self.len / size_of::<T>()) }
    }

    /// The whole region as mutable values of `T`.
    pub fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().cast(), self.len / size_of::<T>()) }
    }

    /// Changes the mapped length; contents up to the smaller length stay, new bytes are zero.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        if self.len == 0 || len == 0 {
            *self = Region::zeroed_for(self.count.meter(), self.count.class(), self.count.stage(), len)?;
            return Ok(());
        }
        // What is cut off inside the last page would be there again after growing.
        let last = map::page_ceil(len.min(self.len)).min(self.len);
        if let Some(cut) = self.as_mut_slice::<u8>().get_mut(len..last) {
            cut.fill(0);
        }
        // SAFETY: the range is the mapping this value owns, and the old address is not used again.
        self.address = unsafe { map::resized(self.address, self.len, len)? };
        self.len = len;
        self.count.resize(Bytes(len as u64));
        Ok(())
    }

    /// Gives the pages back while keeping the mapping; the contents read as zero afterwards. The region stays counted
    /// whole, since its pages may come back at any time.
    pub fn discard(&mut self) {
        // SAFETY: the range is the mapping this value owns.
        if self.len > 0 && !unsafe { map::discarded(self.address, self.len) } {
            // Locked pages (of a host that locks all its memory) cannot be given back.
            self.as_mut_slice::<u8>().fill(0);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, which ends here.
        unsafe { map::unmap(self.address, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage;
    use super::*;

    #[test]
    fn regions_count_themselves_until_they_drop() {
        // No other test counts keys in this stage.
        let before = usage::mapped(Class::Srs, Stage::Finishing);
        let mut region = Region::zeroed(Class::Srs, Stage::Queued, 10_000).unwrap();
        region.as_mut_slice::<u64>()[3] = 7;
        region.set_stage(Stage::Finishing);
        let during = usage::mapped(Class::Srs, Stage::Finishing);
        assert_eq!(during.0, before.0 + 1);
        assert_eq!(during.1 .0, before.1 .0 + 10_000);
        region.resize(5 << 20).unwrap();
        assert_eq!(region.as_slice::<u64>()[3], 7);
        region.discard();
        assert_eq!(region.as_slice::<u64>()[3], 0);
        drop(region);
        assert_eq!(usage::mapped(Class::Srs, Stage::Finishing), before);
    }

    #[test]
    fn large_regions_are_not_copied_into_a_child_of_fork() {
        let mut region = Region::zeroed(Class::Witness, Stage::Queued, 3 << 20).unwrap();
        region.resize(9 << 20).unwrap();
        let address = region.as_slice::<u8>().as_ptr().addr();
        let holds = |line: &str| {
            let (start, end) = line.split_whitespace().next()?.split_once('-')?;
            let [start, end] = [start, end].map(|hex| usize::from_str_radix(hex, 16).ok());
            Some((start?..end?).contains(&address))
        };
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| holds(line) != Some(true));
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).expect("its mapping");
        assert!(flags.split_whitespace().any(|flag| flag == "dc"), "{flags}");
    }

    #[test]
    fn vectors_grow_and_shrink() {
        let mut v = RegionVec::<u32>::with_capacity(Class::Witness, Stage::Synthesis, 0).unwrap();
        for i in 0..100_000 {
            v.push(i).unwrap();
        }
        v.shrink_to_fit().unwrap();
        assert!(v.as_slice().iter().copied().eq(0..100_000));
        assert_eq!(v.mapped(), Bytes(400_000_u64.div_ceil(4096) * 4096));
        v.extend_from_slice(&[7; 3000]).unwrap();
        assert_eq!((v.len(), v.as_slice()[99_999], v.as_slice()[102_999]), (103_000, 99_999, 7));
        let mut empty = RegionVec::<u64>::with_capacity(Class::Witness, Stage::Synthesis, 10).unwrap();
        empty.shrink_to_fit().unwrap();
        empty.push(1).unwrap();
        assert_eq!(empty.as_slice(), [1]);
    }

    #[test]
    fn new_bytes_are_zero_whatever_was_there_before() {
        let mut region = Region::zeroed(Class::Intake, Stage::Waiting, 10_000).unwrap();
        for (cut, len) in
            [(9_000, 10_000), (5, 4096), (4097, 10_000), (8192, 8193), (0, 3 << 20), (1, 3 << 20)]
        {
            region.resize(len).unwrap();
            region.as_mut_slice::<u8>().fill(7);
            region.resize(cut).unwrap();
            region.resize(len).unwrap();
            let bytes = region.as_slice::<u8>();
            assert!(
                bytes[..cut].iter().all(|b| *b == 7) && bytes[cut..].iter().all(|b| *b == 0),
                "{cut} {len}"
            );
        }
    }

    #[test]
    fn locked_pages_are_discarded_as_well() {
        let mut region = Region::zeroed(Class::Intake, Stage::Waiting, 4096).unwrap();
        region.as_mut_slice::<u8>().fill(7);
        // SAFETY: a mapping of this length, which its drop unlocks.
        let locked = unsafe { libc::mlock(region.address.as_ptr().cast(), 4096) };
        assert_eq!(locked, 0, "locking a page: {}", std::io::Error::last_os_error());
        region.discard();
        assert!(region.as_slice::<u8>().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn sizes_that_cannot_be_are_errors() {
        let vec = |n| RegionVec::<u64>::with_capacity(Class::Intake, Stage::Waiting, n).map(|_| ());
        for n in [usize::MAX, usize::MAX / 8, 1 << 60] {
            let error = vec(n).unwrap_err();
            assert!(error.message().contains("os error 12"), "{error}");
        }
    }
}
