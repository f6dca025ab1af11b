//! The journal's file under restarts, damage, other holders and load.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record::tests::record;
use super::*;
use crate::telemetry::Exporter;

struct Place {
    folder: tempfile::TempDir,
    counts: JournalCounts,
}

fn counts() -> JournalCounts {
    JournalCounts::new(&Exporter::new().unwrap())
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), counts: counts() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("not/yet/there/proofs.journal")
    }

    fn open(&self, max: usize) -> Journal {
        let config = Config { journal_file: Some(self.file()), journal_max_proofs: max, ..Config::default() };
        let mut journal = Journal::open(&config, &self.counts).unwrap();
        journal.again = Duration::ZERO;
        journal
    }

    fn write(&self, journal: &Journal, seeds: std::ops::Range<u64>) {
        let records: Vec<_> = seeds.map(|seed| record(&format!("r{seed}"), seed, 10)).collect();
        records.chunks(BATCH).for_each(|batch| journal.write(batch, &self.counts));
    }

    fn found(&self, journal: &Journal, seed: u64) -> Option<Record> {
        let digest = record("", seed, 1).digest();
        journal.find(&format!("r{seed}"), &digest, &self.counts)
    }

    fn aside(&self) -> PathBuf {
        let mut name = self.file().into_os_string();
        name.push(".unreadable");
        name.into()
    }
}

#[test]
fn what_was_kept_is_there_after_a_restart() {
    let place = Place::new();
    let journal = place.open(100);
    assert_eq!(place.found(&journal, 1), None);
    place.write(&journal, 0..3);
    assert_eq!(place.counts.kept.value(), 3);
    assert_eq!(place.found(&journal, 1).unwrap(), place.found(&journal, 1).unwrap());
    drop(journal);
    let journal = place.open(100);
    assert_eq!(journal.len(), 3);
    let found = place.found(&journal, 1).unwrap();
    assert_eq!((found.request_id.as_str(), found.proof.len()), ("r1", 1920));
    assert_eq!(found.proof, record("r1", 1, 10).proof);
    // The same content under another id cannot be: the digest is over both.
    assert!(journal.find("another", &found.digest(), &place.counts).is_none());
}

#[test]
fn no_file_is_no_journal() {
    let none = Config::default();
    let off = Config { journal_file: Some(PathBuf::new()), ..Config::default() };
    for config in [none, off] {
        assert!(Journal::open(&config, &counts()).is_none());
    }
}

#[test]
fn a_proof_that_is_kept_again_counts_once_and_is_the_newest() {
    let place = Place::new();
    let journal = place.open(3);
    place.write(&journal, 0..3);
    place.write(&journal, 0..1);
    let twice = [record("r1", 1, 10), record("r1", 1, 10)];
    journal.write(&twice, &place.counts);
    assert_eq!(journal.len(), 3);
    place.write(&journal, 7..8);
    drop(journal);
    let journal = place.open(3);
    assert_eq!(journal.len(), 3);
    let there: Vec<_> = [0, 1, 2, 7].into_iter().filter(|n| place.found(&journal, *n).is_some()).collect();
    assert_eq!(there, [0, 1, 7], "2 was the oldest");
}

/// 1,920 bytes of proof each: a bound of 500 is 1 MB of proofs.
#[test]
fn thousands_of_proofs_leave_a_bounded_file() {
    let place = Place::new();
    let journal = place.open(500);
    place.write(&journal, 0..1500);
    let early = fs::metadata(place.file()).unwrap().len();
    place.write(&journal, 1500..6000);
    let late = fs::metadata(place.file()).unwrap().len();
    assert_eq!(journal.len(), 500);
    assert!(late <= early.max(8 << 20), "{early} bytes, then {late}");
    assert!(place.found(&journal, 5499).is_none() && place.found(&journal, 5500).is_some());
}

#[test]
fn a_wasteful_file_is_compacted_when_it_is_opened() {
    let place = Place::new();
    let journal = place.open(10_000);
    place.write(&journal, 0..5000);
    drop(journal);
    let before = fs::metadata(place.file()).unwrap().len();
    let journal = place.open(50);
    place.write(&journal, 5000..5001);
    drop(journal);
    let journal = place.open(50);
    let after = fs::metadata(place.file()).unwrap().len();
    assert!(after < before / 3, "{before} bytes, then {after}");
    assert_eq!(journal.len(), 50);
    assert!(place.found(&journal, 5000).is_some());
}

fn set_aside(spoil: impl FnOnce(&Path)) {
    let place = Place::new();
    let journal = place.open(100);
    place.write(&journal, 0..40);
    drop(journal);
    spoil(&place.file());
    let spoilt = fs::read(place.file()).unwrap();
    let journal = place.open(100);
    assert_eq!(place.counts.set_aside.value(), 1);
    assert_eq!(journal.len(), 0);
    assert_eq!(fs::read(place.aside()).unwrap().len(), spoilt.len());
    place.write(&journal, 0..2);
    assert!(place.found(&journal, 1).is_some());
    drop(journal);
    assert_eq!(place.open(100).len(), 2);
    assert_eq!(place.counts.set_aside.value(), 1, "the new one is good");
}

#[test]
fn foreign_files_are_set_aside() {
    set_aside(|file| fs::write(file, b"{\"some\": \"json\"}").unwrap());
    set_aside(|file| fs::write(file, vec![0; 100_000]).unwrap());
    set_aside(|file| {
        let noise: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(file, noise).unwrap();
    });
}

#[test]
fn truncated_files_are_set_aside() {
    for part in [1, 2, 3, 50, 90] {
        set_aside(|file| {
            let len = fs::metadata(file).unwrap().len();
            fs::File::options().write(true).open(file).unwrap().set_len(len * part / 100).unwrap();
        });
    }
}

#[test]
fn files_of_another_version_are_set_aside() {
    const ABOUT: redb::TableDefinition<&str, u64> = redb::TableDefinition::new("forebay-journal");
    set_aside(|file| {
        let database = redb::Database::open(file).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(ABOUT).unwrap().insert("format", 2).unwrap();
        transaction.commit().unwrap();
    });
    // A good database of somebody else.
    set_aside(|file| {
        fs::remove_file(file).unwrap();
        let database = redb::Database::create(file).unwrap();
        let transaction = database.begin_write().unwrap();
        let theirs: redb::TableDefinition<&str, &str> = redb::TableDefinition::new("proofs");
        transaction.open_table(theirs).unwrap().insert("a", "b").unwrap();
        transaction.commit().unwrap();
    });
}

/// Whatever byte is spoilt: no panic, no wrong proof, and the journal works afterwards.
#[test]
fn a_file_that_was_only_begun_is_no_damage() {
    let place = Place::new();
    fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    // As a process leaves it that is killed before its first transaction.
    let empty = redb::Builder::new().create_with_file_format_v3(true).create(place.file()).unwrap();
    drop(empty);
    assert!(fs::metadata(place.file()).unwrap().len() > 0);
    let journal = place.open(100);
    place.write(&journal, 0..1);
    assert!(place.found(&journal, 0).is_some());
    assert!(!place.aside().exists());
}

#[test]
fn spoilt_pages_never_give_a_wrong_proof() {
    let place = Place::new();
    let journal = place.open(100);
    place.write(&journal, 0..100);
    drop(journal);
    let good = fs::read(place.file()).unwrap();
    let pages = good.len() / 4096;
    let mut lost = 0;
    for page in (0..pages).step_by(pages.div_ceil(48)) {
        fs::write(place.file(), &good).unwrap();
        let file = fs::File::options().write(true).open(place.file()).unwrap();
        file.write_all_at(&[0xa5; 700], page as u64 * 4096 + 40).unwrap();
        drop(file);
        let journal = place.open(100);
        for seed in [0, 17, 50, 99] {
            match place.found(&journal, seed) {
                Some(found) => assert_eq!(found.proof, record("", seed, 10).proof),
                None => lost += 1,
            }
        }
        place.write(&journal, 200..201);
        assert!(place.found(&journal, 200).is_some(), "page {page}");
    }
    assert!(lost > 0, "nothing was spoilt");
}

#[test]
fn a_spoilt_value_is_a_warning_and_may_be_kept_again() {
    const PROOFS: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("proofs");
    let place = Place::new();
    let journal = place.open(100);
    place.write(&journal, 0..3);
    drop(journal);
    let database = redb::Database::open(place.file()).unwrap();
    let transaction = database.begin_write().unwrap();
    let old = [&[0][..], &record("r0", 0, 10).encode()[1..]].concat();
    let cut = &record("r1", 1, 10).encode()[..100];
    for (seed, value) in [(0, old.as_slice()), (1, cut)] {
        let digest = record("", seed, 1).digest();
        transaction.open_table(PROOFS).unwrap().insert(digest.as_slice(), value).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    let journal = place.open(100);
    assert!(place.found(&journal, 0).is_none() && place.found(&journal, 1).is_none());
    assert!(place.found(&journal, 2).is_some());
    assert_eq!(place.counts.unreadable.value(), 2);
    place.write(&journal, 0..2);
    assert!(place.found(&journal, 0).is_some() && place.found(&journal, 1).is_some());
    assert_eq!(journal.len(), 3);
}

#[test]
fn a_journal_that_is_open_elsewhere_is_left_alone_and_taken_over_when_it_is_free() {
    let place = Place::new();
    let first = place.open(100);
    place.write(&first, 0..1);
    let second = place.open(100);
    assert!(place.found(&second, 0).is_none());
    place.write(&second, 1..3);
    assert_eq!(place.counts.dropped.value(), 2);
    assert_eq!(place.counts.set_aside.value(), 0);
    assert!(place.found(&first, 0).is_some());
    drop(first);
    assert!(place.found(&second, 0).is_some(), "the file is free now");
    place.write(&second, 5..6);
    assert!(place.found(&second, 5).is_some());
}

#[test]
fn a_path_that_holds_no_file_is_left_alone() {
    let place = Place::new();
    fs::create_dir_all(place.file()).unwrap();
    let journal = place.open(100);
    place.write(&journal, 0..1);
    assert_eq!((journal.len(), place.counts.dropped.value()), (0, 1));
    assert!(place.file().is_dir() && !place.aside().exists());
    let config = Config { journal_file: Some("/dev/null/journal".into()), ..Config::default() };
    let journal = Journal::open(&config, &place.counts).unwrap();
    assert!(place.found(&journal, 0).is_none());
}

#[test]
fn a_full_queue_drops_and_never_waits() {
    let counts = counts();
    let (mut keeper, inbox) = queue();
    for seed in 0..WAITING as u64 + 5 {
        keeper.keep(record("r", seed, 1), &counts);
    }
    assert_eq!(counts.dropped.value(), 5);
    assert_eq!(inbox.len(), WAITING);
    drop(inbox);
    keeper.keep(record("r", 0, 1), &counts);
    assert_eq!(counts.dropped.value(), 6);
}

#[test]
fn the_writer_ends_when_all_is_written() {
    let place = Place::new();
    let journal = place.open(10_000);
    let (mut keeper, inbox) = queue();
    std::thread::scope(|scope| {
        scope.spawn(|| write(&journal, &inbox, &place.counts));
        for seed in 0..600 {
            keeper.keep(record(&format!("r{seed}"), seed, 1), &place.counts);
        }
        drop(keeper);
    });
    assert_eq!((journal.len(), place.counts.kept.value()), (600, 600));
}
