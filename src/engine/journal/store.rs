//! The journal's file: a redb database.
//!
//! Proofs are found by their request's digest; a second table has the digests in the order in which they were
//! kept, so that the oldest can leave. Both change in one transaction, which is synced before it counts.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fs2::FileExt;
use redb::{Builder, Database, DatabaseError, ReadableTable, ReadableTableMetadata, TableDefinition};

use super::super::entry::{lock, Digest};
use super::record::Record;
use crate::error::{Code, Error, Result};

const PROOFS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("proofs");
const ORDER: TableDefinition<u64, &[u8]> = TableDefinition::new("order");
const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("forebay-journal");
const FORMAT: u64 = 1;
/// Pages that redb may keep in memory.
const PAGE_CACHE: usize = 1 << 20;
/// A file up to here is never worth compacting.
const SMALL: u64 = 4 << 20;

/// Why there is no journal.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another process or engine has it open.
    Locked,
    /// What is there is no journal of this version, or a damaged one.
    Unreadable(String),
    /// The operating system refused.
    System(String),
}

#[derive(Default)]
struct Index {
    /// Each kept proof's place in the order.
    places: HashMap<Digest, u64>,
    next: u64,
}

/// The database, whose drop may panic after a failure, like any other code of it.
struct Guarded(Option<Database>);

impl Guarded {
    fn get(&self) -> std::result::Result<&Database, Failed> {
        self.0.as_ref().ok_or_else(|| Failed { what: "the database is closed".into(), of_disk: true })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let database = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

/// An open journal.
pub(super) struct Store {
    database: Guarded,
    index: Mutex<Index>,
    max: u64,
}

/// What became of the file that was there.
pub(super) struct Opened {
    pub store: Store,
    /// Where an unreadable file was moved to, and why.
    pub set_aside: Option<(PathBuf, String)>,
}

/// Opens the journal, or begins one. An unreadable file is moved aside first.
pub(super) fn open(path: &Path, max: u64) -> std::result::Result<Opened, Failure> {
    let file = open_file(path)?;
    // A second descriptor of the same file, to keep others out while it is moved.
    let held = file.try_clone().map_err(system)?;
    let why = match Store::over(file, max) {
        Ok(store) => return Ok(Opened { store, set_aside: None }),
        Err(Failure::Unreadable(why)) => why,
        Err(other) => return Err(other),
    };
    held.try_lock_exclusive().map_err(|_| Failure::Locked)?;
    let there = std::fs::metadata(path).map_err(system)?;
    if there.ino() != held.metadata().map_err(system)?.ino() {
        // Another process has moved it meanwhile and begun its own.
        return Err(Failure::Locked);
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".unreadable");
    let aside = PathBuf::from(aside);
    std::fs::rename(path, &aside).map_err(system)?;
    sync_folder(path).map_err(system)?;
    let store = Store::over(open_file(path)?, max)?;
    Ok(Opened { store, set_aside: Some((aside, why)) })
}

fn open_file(path: &Path) -> std::result::Result<File, Failure> {
    std::fs::create_dir_all(folder_of(path)).map_err(system)?;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(system)?;
    // The name of a new file, too, must outlive a power cut.
    sync_folder(path).map_err(system)?;
    match file.metadata().map_err(system)?.is_file() {
        true => Ok(file),
        false => Err(Failure::System("it is not a regular file".into())),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

fn system(error: std::io::Error) -> Failure {
    Failure::System(error.to_string())
}

/// What redb says of a failure; its own errors are large.
struct Failed {
    what: String,
    /// The disk refused: that says nothing about the file's content.
    of_disk: bool,
}

macro_rules! from_redb {
    ($($error:ident),*) => {
        $(impl From<redb::$error> for Failed {
            fn from(error: redb::$error) -> Failed {
                let error = redb::Error::from(error);
                let of_disk = match &error {
                    redb::Error::PreviousIo => true,
                    redb::Error::Io(io) => !is_about_content(io),
                    _ => false,
                };
                Failed { what: error.to_string(), of_disk }
            }
        })*
    };
}

from_redb!(TransactionError, TableError, StorageError, CommitError, CompactionError);

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        Error::new(Code::System, failed.what)
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        match failed.of_disk {
            true => Failure::System(failed.what),
            false => Failure::Unreadable(failed.what),
        }
    }
}

/// Runs code of redb, which may panic on a file that was written by something else.
fn caught<T>(body: impl FnOnce() -> std::result::Result<T, Failed>) -> std::result::Result<T, Failed> {
    let panicked = |_| Failed { what: "the database panicked".into(), of_disk: false };
    catch_unwind(AssertUnwindSafe(body)).map_err(panicked)?
}

impl Store {
    fn over(file: File, max: u64) -> std::result::Result<Store, Failure> {
        let bytes = file.metadata().map_err(system)?.len();
        let opened = catch_unwind(AssertUnwindSafe(|| -> std::result::Result<_, DatabaseError> {
            let mut database = Builder::new()
                .set_cache_size(PAGE_CACHE)
                .create_with_file_format_v3(true)
                .create_file(file)?;
            if !database.check_integrity()? {
                tracing::info!("the journal was repaired after an unclean end");
            }
            Ok(database)
        }));
        let database = match opened {
            Ok(Ok(database)) => database,
            Ok(Err(DatabaseError::DatabaseAlreadyOpen)) => return Err(Failure::Locked),
            Ok(Err(DatabaseError::Storage(redb::StorageError::Io(error)))) if !is_about_content(&error) => {
                return Err(system(error))
            }
            Ok(Err(error)) => return Err(Failure::Unreadable(error.to_string())),
            Err(_) => return Err(Failure::Unreadable("reading it ended in a panic".into())),
        };
        let mut store = Store { database: Guarded(Some(database)), index: Mutex::default(), max: max.max(1) };
        store.begin()?;
        store.compact(bytes);
        Ok(store)
    }

    /// Reads the order of what is kept; writes the format's number where the database has nothing yet: a file that
    /// has some bytes may have been left by a process that ended before its first transaction did.
    fn begin(&self) -> std::result::Result<(), Failure> {
        let index = caught(|| {
            let transaction = self.database.get()?.begin_write()?;
            let new = transaction.list_tables()?.next().is_none();
            let mut index = Index::default();
            let format;
            let kept;
            {
                let mut about = transaction.open_table(ABOUT)?;
                if new {
                    about.insert("format", FORMAT)?;
                }
                format = about.get("format")?.map(|found| found.value());
                kept = transaction.open_table(PROOFS)?.len()?;
                for entry in transaction.open_table(ORDER)?.iter()? {
                    let (place, digest) = entry?;
                    if let Ok(digest) = Digest::try_from(digest.value()) {
                        index.places.insert(digest, place.value());
                    }
                    index.next = index.next.max(place.value().saturating_add(1));
                }
            }
            transaction.commit()?;
            Ok((index, format, kept))
        });
        let (index, format, kept) = index?;
        if format != Some(FORMAT) {
            let found = format.map_or("none".into(), |found| found.to_string());
            return Err(Failure::Unreadable(format!("expected format {FORMAT}, found {found}")));
        }
        if index.places.len() as u64 != kept {
            return Err(Failure::Unreadable("its tables do not fit together".into()));
        }
        *lock(&self.index) = index;
        Ok(())
    }

    /// Gives back what the file holds beyond its proofs, where that is most of it.
    fn compact(&mut self, bytes: u64) {
        let stored = self.stored_bytes().unwrap_or(u64::MAX);
        if bytes <= SMALL || bytes / 3 <= stored {
            return;
        }
        let Some(database) = &mut self.database.0 else { return };
        let done = caught(|| Ok(database.compact()?));
        tracing::info!(bytes, stored, done = done.is_ok(), "compacted the journal");
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(caught(|| Ok(self.database.get()?.begin_read()?.open_table(PROOFS)?.stats()?.stored_bytes()))?)
    }

    /// How many proofs are kept.
    pub fn len(&self) -> u64 {
        lock(&self.index).places.len() as u64
    }

    /// The value that is kept for a digest.
    pub fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        if !lock(&self.index).places.contains_key(digest) {
            return Ok(None);
        }
        Ok(caught(|| {
            let proofs = self.database.get()?.begin_read()?.open_table(PROOFS)?;
            Ok(proofs.get(digest.as_slice())?.map(|value| value.value().to_vec()))
        })?)
    }

    /// Keeps these records in one synced transaction; beyond the bound the oldest leave.
    pub fn keep(&self, records: &[Record]) -> Result<()> {
        let (mut places, mut next) = {
            let index = lock(&self.index);
            let known = records.iter().map(Record::digest);
            let places: HashMap<Digest, u64> =
                known.filter_map(|digest| Some((digest, *index.places.get(&digest)?))).collect();
            (places, index.next)
        };
        let gone = caught(|| {
            let transaction = self.database.get()?.begin_write()?;
            let mut gone = Vec::new();
            {
                let mut proofs = transaction.open_table(PROOFS)?;
                let mut order = transaction.open_table(ORDER)?;
                for record in records {
                    let digest = record.digest();
                    if let Some(older) = places.insert(digest, next) {
                        order.remove(older)?;
                    }
                    proofs.insert(digest.as_slice(), record.encode().as_slice())?;
                    order.insert(next, digest.as_slice())?;
                    next += 1;
                }
                while order.len()? > self.max {
                    let Some((_, digest)) = order.pop_first()? else { break };
                    proofs.remove(digest.value())?;
                    gone.extend(Digest::try_from(digest.value()));
                }
            }
            transaction.commit()?;
            Ok(gone)
        })?;
        let mut index = lock(&self.index);
        index.places.extend(places);
        index.next = next;
        for digest in gone {
            index.places.remove(&digest);
        }
        Ok(())
    }
}

/// Whether an I/O error tells of the file's content, not of the disk.
fn is_about_content(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_refuses_says_nothing_about_the_file() {
        let failure = |error: redb::StorageError| Failure::from(Failed::from(error));
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(matches!(failure(redb::StorageError::Io(full)), Failure::System(_)));
        assert!(matches!(failure(redb::StorageError::PreviousIo), Failure::System(_)));
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        assert!(matches!(failure(redb::StorageError::Io(cut)), Failure::Unreadable(_)));
        let damaged = redb::StorageError::Corrupted("a page".into());
        assert!(matches!(failure(damaged), Failure::Unreadable(_)));
    }
}
