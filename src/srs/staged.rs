//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;

use super::work::system;
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};

/// How often a waiting writer looks whether the other one is done.
const POLL: Duration = Duration::from_millis(50);

/// A file that is being written beside its destination and takes its name only when complete. The
/// partial file is locked, so one process at a time writes a destination; a partial file whose writer died is taken over.
pub(super) struct Staged {
    file: File,
    partial: PathBuf,
    destination: PathBuf,
    committed: bool,
}

impl Staged {
    /// Begins to write `destination`; waits while another writer is at it.
    pub(super) fn create(destination: &Path, cancel: &Cancel) -> Result<Staged> {
        let partial = sibling(destination, "partial")?;
        if let Some(folder) = destination.parent() {
            fs::create_dir_all(folder).map_err(system("creating the folder", folder))?;
        }
        loop {
            cancel.check()?;
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&partial)
                .map_err(system("creating", &partial))?;
            if file.try_lock_exclusive().is_err() {
                std::thread::sleep(POLL);
                continue;
            }
            // The file that was opened may have been renamed or removed by its writer before the lock was granted.
            if !is_same_file(&file, &partial) {
                continue;
            }
            file.set_len(0).map_err(system("emptying", &partial))?;
            return Ok(Staged { file, partial, destination: destination.into(), committed: false });
        }
    }

    /// Makes the contents durable and gives the file its name.
    pub(super) fn commit(mut self) -> Result<()> {
        self.file.sync_all().map_err(system("writing", &self.partial))?;
        fs::rename(&self.partial, &self.destination).map_err(system("renaming", &self.partial))?;
        self.committed = true;
        if let Some(folder) = self.destination.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder).and_then(|f| f.sync_all()).map_err(system("syncing the folder", folder))?;
        }
        Ok(())
    }

    /// The name the file will have.
    pub(super) fn destination(&self) -> &Path {
        &self.destination
    }

    /// The file that is being written.
    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(system("writing", &self.partial))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// The path with `.suffix` appended to its file name.
pub(super) fn sibling(path: &Path, suffix: &str) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("{} does not name a file", path.display()))
    })?;
    let mut name = name.to_os_string();
    name.push(".");
    name.push(suffix);
    Ok(path.with_file_name(name))
}

/// Writes a small file that appears whole or not at all.
pub(super) fn write_small(path: &Path, bytes: &[u8], cancel: &Cancel) -> Result<()> {
    let mut staged = Staged::create(path, cancel)?;
    staged.write(bytes)?;
    staged.commit()
}

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/x");
        let mut staged = Staged::create(&path, &Cancel::new()).unwrap();
        staged.write(b"half").unwrap();
        drop(staged);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_partial_file_of_a_dead_writer_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(dir.path().join("x.partial"), b"much longer leftovers").unwrap();
        write_small(&path, b"whole", &Cancel::new()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn writers_of_one_file_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::thread::scope(|s| {
            for writer in 0..8u8 {
                let path = &path;
                s.spawn(move || write_small(path, &[writer; 4096], &Cancel::new()).unwrap());
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 4096 && bytes.iter().all(|b| *b == bytes[0]));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn waiting_for_another_writer_can_be_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let _writer = Staged::create(&path, &Cancel::new()).unwrap();
        let cancel = Cancel::new();
        std::thread::scope(|s| {
            let waiting = s.spawn(|| Staged::create(&path, &cancel).err().map(|e| e.code()));
            std::thread::sleep(POLL);
            cancel.cancel();
            assert_eq!(waiting.join().unwrap(), Some(Code::Cancelled));
        });
    }
}
