//! Large buffers: mapped from the kernel, so that dropping one gives its pages back at once, and
//! counted by class and stage for as long as they exist.

use std::fs::File;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use super::meter::Meter;
use super::usage::{Class, Counted, Stage};
use crate::error::{Code, Error, Result};
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

const HUGE_PAGE: usize = 2 << 20;

/// An anonymous, zeroed, writable mapping that counts itself.
#[derive(Debug)]
pub struct Region {
    address: NonNull<u8>,
    len: usize,
    counted: Counted,
    meter: Option<Meter>,
}

// SAFETY: the mapping is owned by this value alone and is plain memory.
unsafe impl Send for Region {}
// SAFETY: shared access only reads.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `len` zeroed bytes. Pages become resident when they are first written.
    pub fn zeroed(class: Class, stage: Stage, len: usize) -> Result<Region> {
        let address = map_anonymous(len)?;
        Ok(Region { address, len, counted: Counted::new(class, stage, len as u64), meter: None })
    }

    /// As [`Region::zeroed`], told to a step's meter for as long as it exists.
    pub fn zeroed_for(meter: &Meter, class: Class, stage: Stage, len: usize) -> Result<Region> {
        let mut region = Region::zeroed(class, stage, len)?;
        meter.add(len as u64);
        region.meter = Some(meter.clone());
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
        self.counted.class()
    }

    /// Counts the region under another stage from now on.
    pub fn set_stage(&mut self, stage: Stage) {
        self.counted.move_to(stage);
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
        let (old, new) = (page_ceil(self.len), page_ceil(len));
        if new == 0 || old == 0 {
            let class = self.class();
            let stage = self.counted_stage();
            *self = Region::zeroed(class, stage, len)?;
            return Ok(());
        }
        if new != old {
            // SAFETY: the range is the mapping this value owns; the kernel may move it.
            let moved = unsafe { libc::mremap(self.address.as_ptr().cast(), old, new, libc::MREMAP_MAYMOVE) };
            if moved == libc::MAP_FAILED {
                return Err(out_of_memory(len));
            }
            self.address = NonNull::new(moved.cast()).ok_or_else(|| out_of_memory(len))?;
        }
        self.len = len;
        self.counted.resize(len as u64);
        Ok(())
    }

    /// Gives the pages back while keeping the mapping; the contents read as zero afterwards.
    pub fn discard(&mut self) {
        if self.len > 0 {
            // SAFETY: the range is the mapping this value owns; anonymous pages read as zero afterwards.
            unsafe { libc::madvise(self.address.as_ptr().cast(), self.len, libc::MADV_DONTNEED) };
        }
    }

    fn counted_stage(&self) -> Stage {
        self.counted.stage()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        unmap(self.address, self.len);
        if let Some(meter) = &self.meter {
            meter.sub(self.len as u64);
        }
    }
}

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
        let bytes = capacity.checked_mul(size_of::<T>()).ok_or_else(|| out_of_memory(usize::MAX))?;
        Ok(RegionVec { region: Region::zeroed(class, stage, bytes)?, len: 0, values: PhantomData })
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
        Bytes(page_ceil(self.region.len()) as u64)
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
        let end = self.len.checked_add(values.len()).ok_or_else(|| out_of_memory(usize::MAX))?;
        let bytes = end.checked_mul(size_of::<T>()).ok_or_else(|| out_of_memory(usize::MAX))?;
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

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let bytes = self.region.len();
        self.region.resize((bytes + bytes / 4).max(64 << 10))
    }
}

/// A file mapped read-only and shared; its pages are the page cache's and count as such.
#[derive(Debug)]
pub struct FileMap {
    address: NonNull<u8>,
    len: usize,
    _counted: Counted,
}

// SAFETY: the mapping is read-only and owned by this value.
unsafe impl Send for FileMap {}
// SAFETY: shared access only reads.
unsafe impl Sync for FileMap {}

impl FileMap {
    /// Maps the whole file. The caller must keep others from truncating it (files of this library are
    /// replaced by rename, never written in place).
    pub fn open(class: Class, file: &File) -> Result<FileMap> {
        let len = file.metadata().map_err(|e| Error::system("reading a file's length", e))?.len();
        let len = usize::try_from(len)
            .map_err(|_| Error::new(Code::System, format!("a file of {} cannot be mapped", Bytes(len))))?;
        let address = if len == 0 {
            NonNull::dangling()
        } else {
            // SAFETY: a fresh mapping at an address of the kernel's choice.
            let address = unsafe {
                libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
            };
            mapped(address, len)?
        };
        Ok(FileMap { address, len, _counted: Counted::new(class, Stage::Shared, len as u64) })
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping (or the dangling pointer of an empty one) is readable for `len` bytes.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.len) }
    }

    /// `count` values of `T` that start at byte `offset`; refuses a range outside the file or a
    /// misaligned offset.
    pub fn slice<T: Pod>(&self, offset: usize, count: usize) -> Result<&[T]> {
        let end = count.checked_mul(size_of::<T>()).and_then(|bytes| offset.checked_add(bytes));
        if offset % align_of::<T>() != 0 || end.is_none_or(|end| end > self.len) {
            return Err(Error::internal(format!(
                "{count} values at offset {offset} do not fit a file of {} bytes",
                self.len
            )));
        }
        // SAFETY: in range and aligned (checked above; the mapping itself is page-aligned); T is Pod.
        Ok(unsafe { std::slice::from_raw_parts(self.address.as_ptr().add(offset).cast(), count) })
    }

    /// Tells the kernel that the pages will be read soon.
    pub fn will_need(&self) {
        if self.len > 0 {
            // SAFETY: advice on a mapping this value owns.
            unsafe { libc::madvise(self.address.as_ptr().cast(), self.len, libc::MADV_WILLNEED) };
        }
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        unmap(self.address, self.len);
    }
}

fn page_ceil(len: usize) -> usize {
    len.div_ceil(4096) * 4096
}

fn out_of_memory(len: usize) -> Error {
    Error::system(format!("mapping {} of memory", Bytes(len as u64)), std::io::Error::last_os_error())
}

fn mapped(address: *mut libc::c_void, len: usize) -> Result<NonNull<u8>> {
    if address == libc::MAP_FAILED {
        return Err(out_of_memory(len));
    }
    NonNull::new(address.cast()).ok_or_else(|| out_of_memory(len))
}

fn map_anonymous(len: usize) -> Result<NonNull<u8>> {
    if len == 0 {
        return Ok(NonNull::dangling());
    }
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            page_ceil(len),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    let address = mapped(address, len)?;
    if len >= HUGE_PAGE {
        // SAFETY: advice on the mapping made above.
        unsafe { libc::madvise(address.as_ptr().cast(), page_ceil(len), libc::MADV_HUGEPAGE) };
    }
    Ok(address)
}

fn unmap(address: NonNull<u8>, len: usize) {
    if len > 0 {
        // SAFETY: the range is a mapping made here, owned by the caller that drops it.
        unsafe { libc::munmap(address.as_ptr().cast(), page_ceil(len)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage;
    use super::*;

    #[test]
    fn regions_count_themselves_until_they_drop() {
        let before = usage::mapped(Class::Intake, Stage::Finishing);
        let mut region = Region::zeroed(Class::Intake, Stage::Waiting, 10_000).unwrap();
        region.as_mut_slice::<u64>()[3] = 7;
        region.set_stage(Stage::Finishing);
        let during = usage::mapped(Class::Intake, Stage::Finishing);
        assert_eq!(during.0, before.0 + 1);
        assert_eq!(during.1 .0, before.1 .0 + 10_000);
        region.resize(5 << 20).unwrap();
        assert_eq!(region.as_slice::<u64>()[3], 7);
        region.discard();
        assert_eq!(region.as_slice::<u64>()[3], 0);
        drop(region);
        assert_eq!(usage::mapped(Class::Intake, Stage::Finishing), before);
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
    fn files_are_bounded() {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1, 0, 0, 0, 2, 0, 0, 0, 9]).unwrap();
        let map = FileMap::open(Class::Srs, &file).unwrap();
        assert_eq!(map.slice::<u32>(0, 2).unwrap(), [1, 2]);
        assert!(map.slice::<u32>(0, 3).is_err());
        assert!(map.slice::<u32>(2, 1).is_err());
        assert!(map.slice::<u64>(0, usize::MAX).is_err());
        let empty = FileMap::open(Class::Srs, &tempfile::tempfile().unwrap()).unwrap();
        assert!(empty.bytes().is_empty());
    }
}
