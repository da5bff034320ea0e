//! Frames that only the index still has are neither lost silently nor withheld from a repair.

use std::fs;
use std::path::Path;

use recount_journal::{
    CompactOptions, DiskJournal, Error, RepairOptions, backup, block_on, compact, repair, verify,
};
use recount_journal::{Journal, Repaired};

use crate::stream::{Stream, closed_journal, index, log_file};

/// Returns the offsets of the frames of the only segment, and the end of the last one.
fn frames(log: &[u8]) -> Vec<usize> {
    let mut places = vec![64];
    let mut at = 64;
    while log.get(at..at + 4) == Some(b"\0RC\xff") {
        let length = u32::from_be_bytes(log[at + 4..at + 8].try_into().unwrap());
        at += 32 + usize::try_from(length).unwrap();
        places.push(at);
    }
    places
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns all rows of the index but those of frames.
fn rows(store: &sled::Db) -> Rows {
    let rows = store.iter().map(Result::unwrap);
    rows.filter(|(key, _)| key[0] != b'b')
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

/// Creates a journal whose index has all frames, while its rows and its mark cover fewer, as after
/// a kill.
fn killed_journal(path: &Path) -> Stream {
    let mut stream = Stream::new(9);
    let journal = DiskJournal::open(path).unwrap();
    stream.append(&journal, &["{}"]);
    block_on(journal.close()).unwrap();
    let before = rows(&index(path));
    let journal = DiskJournal::open(path).unwrap();
    for _ in 0..5 {
        stream.append(&journal, &["{}"]);
    }
    block_on(journal.close()).unwrap();
    let store = index(path);
    for (key, _) in rows(&store) {
        store.remove(key).unwrap();
    }
    for (key, value) in before {
        store.insert(key, value).unwrap();
    }
    store.flush().unwrap();
    drop(store);
    // Removes what only a close leaves: the file `CLOSED`, and the closing record in the log and
    // the index.
    fs::remove_file(path.join("CLOSED")).unwrap();
    let mut log = fs::read(log_file(path)).unwrap();
    let places = frames(&log);
    log.truncate(places[places.len() - 2]);
    fs::write(log_file(path), log).unwrap();
    let store = index(path);
    let last = u64::try_from(places.len() - 1).unwrap();
    for row in store.scan_prefix([&b"b"[..], &last.to_be_bytes()].concat()) {
        store.remove(row.unwrap().0).unwrap();
    }
    store.flush().unwrap();
    stream
}

#[test]
fn index_with_old_mark_is_caught_up() {
    let directory = tempfile::tempdir().unwrap();
    let stream = killed_journal(directory.path());
    stream.assert_in(&DiskJournal::open(directory.path()).unwrap());
}

#[test]
fn frames_after_mark_are_restored_from_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let stream = killed_journal(path);
    // Cut between two frames, and in the middle of one.
    let whole = fs::read(log_file(path)).unwrap();
    let places = frames(&whole);
    for cut in [places[places.len() - 3], places[places.len() - 2] - 7] {
        fs::write(log_file(path), &whole[..cut]).unwrap();
        let report = verify::directory(path).unwrap();
        assert!(!report.is_sound(), "{cut}: {report:?}");
        let told = DiskJournal::open(path).unwrap_err();
        assert!(matches!(told, Error::Damaged { .. }), "{cut}: {told}");
        let told = told.to_string();
        assert!(told.contains("the index knows frame"), "{cut}: {told}");
        assert!(
            !told.contains("the index is not what"),
            "the index was brought on, and is sound: {told}"
        );
        // A new index would be filled from the remaining log, and this one would be removed.
        let refused = compact(path, CompactOptions::default()).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{cut}: {refused}");
    }
    let report = repair(path, RepairOptions::default()).unwrap();
    assert!(
        report.was_needed() && !report.lost_something(),
        "{report:?}"
    );
    stream.assert_in(&DiskJournal::open(path).unwrap());
}

#[test]
fn failed_opening_leaves_index_to_repair() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let mut log = fs::read(log_file(path)).unwrap();
    let places = frames(&log);
    log[places[4] + 90] ^= 1;
    fs::write(log_file(path), log).unwrap();
    let store = index(path);
    store.insert("m2", "altered").unwrap();
    store.flush().unwrap();
    drop(store);
    for _ in 0..2 {
        let error = DiskJournal::open(path).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    let report = repair(path, RepairOptions::default()).unwrap();
    assert!(
        report.identical && !report.lost_something() && report.frames_from_index == 1,
        "{report:?}"
    );
    let journal = DiskJournal::open(path).unwrap();
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

#[test]
fn index_without_mark_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let store = index(path);
    store.insert("m2", "altered").unwrap();
    store.flush().unwrap();
    drop(store);
    fs::remove_file(path.join("CLOSED")).unwrap();
    let whole = fs::read(log_file(path)).unwrap();
    let places = frames(&whole);
    // A log that is cut between two frames is sound by itself; only the index has the last frame.
    for log in [&whole[..places[places.len() - 2]], &whole] {
        fs::write(log_file(path), log).unwrap();
        let refused = compact(path, CompactOptions::default()).unwrap_err();
        assert!(
            matches!(
                &refused,
                Error::Damaged { what, .. } if what.contains("the index has frames up to")
            ),
            "{refused}"
        );
        assert!(path.join("sled").exists() && !path.join("sled.new").exists());
    }
    block_on(DiskJournal::open(path).unwrap().close()).unwrap();
    compact(path, CompactOptions::default()).unwrap();
    let journal = DiskJournal::open(path).unwrap();
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

/// Repairs a damaged backup, which then opens as an ordinary journal.
fn repaired_backup(
    alter: impl Fn(&Path),
) -> (Repaired, Vec<Stream>, DiskJournal, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let streams = closed_journal(&path);
    backup::directory(&path, &to, |_| {}).unwrap();
    alter(&to);
    let error = DiskJournal::open(&to).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let dry = repair(&to, RepairOptions::default().dry_run()).unwrap();
    assert!(dry.was_needed(), "{dry:?}");
    let report = repair(&to, RepairOptions::default()).unwrap();
    assert!(report.was_needed(), "{report:?}");
    let found = verify::directory(&to).unwrap();
    assert!(found.is_sound(), "{found:?}");
    (report, streams, DiskJournal::open(&to).unwrap(), directory)
}

#[test]
fn damaged_backup_can_be_repaired() {
    let (report, streams, journal, _directory) = repaired_backup(|path| {
        let mut log = fs::read(log_file(path)).unwrap();
        let places = frames(&log);
        log[places[4] + 90] ^= 1;
        fs::write(log_file(path), log).unwrap();
    });
    assert!(report.lost_something(), "{report:?}");
    let whole = streams
        .iter()
        .filter(|it| block_on(journal.head(it.session)).unwrap() == it.head());
    assert_eq!(whole.count(), 2);
}

#[test]
fn cut_backup_can_be_repaired_and_reports_loss() {
    let (report, _, _, _directory) = repaired_backup(|path| {
        let log = fs::read(log_file(path)).unwrap();
        let places = frames(&log);
        fs::write(log_file(path), &log[..places[places.len() - 3]]).unwrap();
    });
    assert!(report.lost_something(), "{report:?}");
}

#[test]
fn backup_without_readable_end_can_be_repaired() {
    let (report, streams, journal, _directory) =
        repaired_backup(|path| fs::write(path.join("BACKUP"), "scribbled over").unwrap());
    assert!(!report.lost_something(), "{report:?}");
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

#[test]
fn distant_head_is_not_reached_by_counting() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    closed_journal(path);
    let store = index(path);
    let (key, value) = store.scan_prefix("h").next_back().unwrap().unwrap();
    let mut value = value[4..].to_vec();
    value[..8].copy_from_slice(&(u64::MAX - 1).to_be_bytes());
    let sum = crc32fast::hash(&[&key[..], &value].concat());
    store
        .insert(key, [&sum.to_be_bytes()[..], &value].concat())
        .unwrap();
    store.flush().unwrap();
    drop(store);
    let mut log = fs::read(log_file(path)).unwrap();
    let places = frames(&log);
    log[places[4] + 90] ^= 1;
    fs::write(log_file(path), log).unwrap();
    let report = repair(path, RepairOptions::default()).unwrap();
    assert_eq!(report.records_lost(), u64::MAX - 1 - 10, "{report:?}");
}
