//! Files mapped read-only.

use std::fs::File;
use std::ptr::NonNull;

use super::super::meter::Meter;
use super::super::usage::{Backing, Class, Count, Stage};
use super::{map, Pod};
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// What is brought in between two looks at the flag: some 10 ms from a fast disk.
const PIECE: usize = 32 << 20;

/// A file mapped read-only and shared; its pages are the page cache's and count as such.
#[derive(Debug)]
pub struct FileMap {
    address: NonNull<u8>,
    len: usize,
    _count: Count,
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
        let address = if len == 0 { NonNull::dangling() } else { map::file(file, len)? };
        Ok(FileMap {
            address,
            len,
            _count: Count::new(class, Stage::Shared, Bytes(len as u64), Backing::File, &Meter::none()),
        })
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
        if !offset.is_multiple_of(align_of::<T>()) || end.is_none_or(|end| end > self.len) {
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

    /// Brings all pages in and maps them, so that the file is resident and counted as the process's when this returns.
    /// The flag is looked at every 32 MiB.
    pub fn populate(&self, cancel: &Cancel) -> Result<()> {
        for start in (0..self.len).step_by(PIECE) {
            cancel.check()?;
            self.populate_piece(start, PIECE.min(self.len - start))?;
        }
        Ok(())
    }

    fn populate_piece(&self, start: usize, len: usize) -> Result<()> {
        let piece = &self.bytes()[start..start + len];
        loop {
            // SAFETY: advice on a page-aligned part of a mapping this value owns; nothing is written.
            let done = unsafe { libc::madvise(piece.as_ptr() as *mut _, len, libc::MADV_POPULATE_READ) };
            let error = std::io::Error::last_os_error();
            match error.raw_os_error() {
                _ if done == 0 => return Ok(()),
                Some(libc::EINTR) => continue,
                Some(libc::EINVAL | libc::EAGAIN) => return touch(piece),
                _ => return Err(Error::system(format!("reading a file's bytes from {start} on"), error)),
            }
        }
    }
}

/// What [`FileMap::populate`] does on kernels before 5.14.
fn touch(piece: &[u8]) -> Result<()> {
    // SAFETY: advice on a page-aligned part of a mapping that the borrow keeps alive; nothing is written.
    unsafe { libc::madvise(piece.as_ptr() as *mut _, piece.len(), libc::MADV_WILLNEED) };
    let sum = piece.iter().step_by(map::PAGE).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
    Ok(())
}

impl Drop for FileMap {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, which ends here.
        unsafe { map::unmap(self.address, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::memory::usage;

    #[test]
    fn files_are_bounded() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1, 0, 0, 0, 2, 0, 0, 0, 9]).unwrap();
        let map = FileMap::open(Class::Srs, &file).unwrap();
        assert_eq!(map.slice::<u32>(0, 2).unwrap(), [1, 2]);
        assert!(map.slice::<u32>(0, 3).is_err());
        assert!(map.slice::<u32>(2, 1).is_err());
        assert!(map.slice::<u64>(0, usize::MAX).is_err());
        let empty = FileMap::open(Class::Srs, &tempfile::tempfile().unwrap()).unwrap();
        assert!(empty.bytes().is_empty());
        empty.populate(&Cancel::new()).unwrap();
    }

    /// A mapped file of some pieces and a bit.
    fn large() -> FileMap {
        let mut file = tempfile::tempfile().unwrap();
        let block = vec![3; 1 << 20];
        for _ in 0..65 {
            file.write_all(&block).unwrap();
        }
        file.write_all(&[3; 77]).unwrap();
        FileMap::open(Class::Srs, &file).unwrap()
    }

    /// Bytes of the mapping that the process has mapped now.
    fn resident(map: &FileMap) -> usize {
        let address = format!("{:x}-", map.address.as_ptr() as usize);
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let ours = maps.lines().skip_while(|line| !line.starts_with(&address));
        let rss = ours.into_iter().find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
    }

    #[test]
    fn a_populated_file_is_resident_and_counted() {
        let map = large();
        assert_eq!(resident(&map), 0);
        map.populate(&Cancel::new()).unwrap();
        assert_eq!(resident(&map), map::page_ceil(map.len));
        assert!(usage::mapped(Class::Srs, Stage::Shared).1 >= Bytes(map.len as u64));
    }

    #[test]
    fn a_cancelled_load_stops_at_the_next_piece() {
        let (map, cancel) = (large(), Cancel::new());
        map.populate_piece(0, PIECE).unwrap();
        cancel.cancel();
        assert_eq!(map.populate(&cancel).unwrap_err().code(), Code::Cancelled);
        assert!(resident(&map) < 2 * PIECE);
    }

    #[test]
    fn without_the_kernels_help_pages_are_touched() {
        let map = large();
        touch(map.bytes()).unwrap();
        assert_eq!(resident(&map), map::page_ceil(map.len));
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100_000]).unwrap();
        let map = FileMap::open(Class::Srs, &file).unwrap();
        file.set_len(10).unwrap();
        assert_eq!(map.populate(&Cancel::new()).unwrap_err().code(), Code::System);
    }
}
