//! Finished proofs on disk, so that a request that comes again after a crash or a restart has its proof at once.
//!
//! Nothing here may fail a job or stop an engine: where the journal does not work, proofs are made without it.

mod record;
mod store;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam::channel::{bounded, Receiver, Sender, TrySendError};

use super::entry::{lock, Digest};
use super::instruments::JournalCounts;
use super::Config;
pub(super) use record::Record;
use store::{Failure, Store};

/// Finished proofs that may wait to be written.
const WAITING: usize = 1024;
/// Proofs written in one transaction.
const BATCH: usize = 128;
/// Between two tries to open a journal that did not open or failed.
const AGAIN: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    store: Option<Arc<Store>>,
    tried: Option<Instant>,
    /// Why there is none, as it was last said.
    said: String,
}

/// The journal of one engine, open or not.
pub(super) struct Journal {
    path: PathBuf,
    max: u64,
    again: Duration,
    state: Mutex<State>,
}

impl Journal {
    /// The journal that a configuration names; a warning where it cannot be opened.
    pub fn open(config: &Config, counts: &JournalCounts) -> Option<Journal> {
        let path = config.journal()?.to_owned();
        let max = config.journal_max_proofs as u64;
        let journal = Journal { path, max, again: AGAIN, state: Mutex::default() };
        journal.store(counts);
        Some(journal)
    }

    /// The proof that was kept for this request.
    pub fn find(&self, request_id: &str, digest: &Digest, counts: &JournalCounts) -> Option<Record> {
        let store = self.store(counts)?;
        let found = store.get(digest).and_then(|value| value.map(|value| Record::decode(&value)).transpose());
        match found {
            Ok(record) => record.filter(|r| r.request_id == request_id && r.digest() == *digest),
            Err(error) => {
                counts.unreadable.one();
                tracing::warn!(request_id, %error, "the journal does not give this proof back; it is made again");
                None
            }
        }
    }

    /// How many proofs are kept.
    pub fn len(&self) -> u64 {
        lock(&self.state).store.as_ref().map_or(0, |store| store.len())
    }

    /// The open file. Where there is none, and it is some time since that was tried, it is tried again: the
    /// process before this one may have had the file until now.
    fn store(&self, counts: &JournalCounts) -> Option<Arc<Store>> {
        let mut state = lock(&self.state);
        let recent = state.tried.is_some_and(|tried| tried.elapsed() < self.again);
        if state.store.is_some() || recent {
            return state.store.clone();
        }
        state.tried = Some(Instant::now());
        match store::open(&self.path, self.max) {
            Ok(opened) => {
                if let Some((aside, why)) = opened.set_aside {
                    counts.set_aside.one();
                    tracing::warn!(
                        file = %self.path.display(), aside = %aside.display(), why,
                        "the journal of finished proofs is unreadable; it was set aside and a new one begun"
                    );
                }
                state.said.clear();
                state.store = Some(Arc::new(opened.store));
            }
            Err(failure) => self.without(&mut state, failure),
        }
        state.store.clone()
    }

    fn without(&self, state: &mut State, failure: Failure) {
        let why = match failure {
            Failure::Locked => "another process or engine has it open".into(),
            Failure::Unreadable(why) | Failure::System(why) => why,
        };
        if state.said != why {
            tracing::warn!(
                file = %self.path.display(), why,
                "the journal cannot be used; finished proofs are not kept until it can"
            );
            state.said = why;
        }
    }

    /// Writes records, or counts them as dropped.
    fn write(&self, records: &[Record], counts: &JournalCounts) {
        let store = self.store(counts);
        let count = records.len() as u64;
        match store.as_ref().map(|store| store.keep(records)) {
            Some(Ok(())) => counts.kept.add(count),
            None => counts.dropped.add(count),
            Some(Err(error)) => {
                counts.dropped.add(count);
                let mut state = lock(&self.state);
                // redb wants to be opened anew after a failure.
                state.store = None;
                state.tried = Some(Instant::now());
                self.without(&mut state, Failure::System(error.message().into()));
            }
        }
    }
}

/// Where answered jobs leave their proofs; never waits.
pub(super) struct Keeper {
    records: Sender<Record>,
    full: bool,
}

impl Keeper {
    pub fn keep(&mut self, record: Record, counts: &JournalCounts) {
        match self.records.try_send(record) {
            Ok(()) => self.full = false,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                counts.dropped.one();
                if !self.full {
                    tracing::warn!(
                        "proofs end faster than the journal is written; some will not survive a restart"
                    );
                }
                self.full = true;
            }
        }
    }
}

/// The way to the writer's thread, which ends when the keeper is dropped.
pub(super) fn queue() -> (Keeper, Receiver<Record>) {
    let (records, inbox) = bounded(WAITING);
    (Keeper { records, full: false }, inbox)
}

/// Writes what is answered, as much at once as there is.
pub(super) fn write(journal: &Journal, inbox: &Receiver<Record>, counts: &JournalCounts) {
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(BATCH - 1));
        journal.write(&batch, counts);
    }
}
