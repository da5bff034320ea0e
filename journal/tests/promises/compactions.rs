//! A compaction returns space and changes nothing else, wherever it is interrupted.

use std::fs;
use std::path::Path;

use recount_journal::{
    CompactOptions, DiskJournal, Error, IndexState, Journal, block_on, compact, verify,
};

use crate::killed;
use crate::stream::{Stream, closed_journal, log_file};

/// Returns the names in a journal's directory.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn has_everything(path: &Path, streams: &[Stream], about: &str) -> IndexState {
    let journal =
        DiskJournal::open_existing(path).unwrap_or_else(|error| panic!("{about}: {error}"));
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    let state = journal.opened().index.clone();
    block_on(journal.close()).unwrap();
    drop(journal);
    let report = verify::directory(path).unwrap();
    assert!(
        report.is_sound() && report.notes.is_empty(),
        "{about}: {report:?}"
    );
    assert_eq!(
        names(path),
        ["CLOSED", "JOURNAL", "LOCK", "log", "sled"],
        "{about}"
    );
    state
}

#[test]
fn compacted_journal_is_smaller_and_equal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = DiskJournal::options(path)
        .segment_bytes(64 << 10)
        .open()
        .unwrap();
    let mut stream = Stream::new(1);
    for round in 0..600 {
        let body = format!("\"{}\"", "x".repeat(round % 500));
        stream.append(&journal, &[&body, "{}"]);
    }
    drop(journal);
    killed::copy(&path.join("sled"), &path.join("sled.damaged-1"));
    killed::copy(&path.join("sled"), &path.join("sled.damaged-12"));
    let before = verify::directory(path).unwrap();
    let compacted = compact(path, CompactOptions::default()).unwrap();
    assert!(
        compacted.bytes_after * 2 < compacted.bytes_before,
        "{compacted:?}"
    );
    assert_eq!(compacted.removed, ["sled.damaged-1", "sled.damaged-12"]);
    assert_eq!(compacted.records, before.records);
    let after = verify::directory(path).unwrap();
    assert!(after.is_sound(), "{after:?}");
    assert_eq!((after.records, after.root), (before.records, before.root));
    // The state is that of a close: the log need not be read.
    let journal = DiskJournal::open(path).unwrap();
    assert!(!journal.opened().read_whole);
    drop(journal);
    assert_eq!(has_everything(path, &[stream], "after"), IndexState::Kept);
}

/// The child process that is ended, not a test by itself.
#[test]
fn child_compacts() {
    if let Some(path) = killed::journal() {
        compact(path, CompactOptions::default().steps(killed::at_step())).unwrap();
    }
}

#[test]
fn ended_at_any_step_it_is_finished_or_undone() {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    let streams = closed_journal(&sound);
    killed::copy(&sound.join("sled"), &sound.join("sled.damaged-1"));
    let (mut kept, mut rebuilt) = (0, 0);
    let steps = killed::at_every_step("compactions::child_compacts", &sound, |path, about| {
        let again = path.with_file_name("again");
        killed::copy(path, &again);
        compact(&again, CompactOptions::default()).unwrap();
        has_everything(&again, &streams, about);
        match fs::remove_dir_all(path.join("sled.damaged-1")) {
            Ok(()) | Err(_) => {}
        }
        match has_everything(path, &streams, about) {
            IndexState::Kept | IndexState::CaughtUp(_) => kept += 1,
            IndexState::Rebuilt(why) => {
                rebuilt += 1;
                assert!(why.contains("missing"), "{about}: {why}");
            }
        }
    });
    println!("ended at each of {} steps: {steps:#?}", steps.len());
    assert!(steps.len() >= 10, "{steps:?}");
    assert_eq!((kept, rebuilt), (steps.len() + 1, 0));
}

#[test]
fn a_damaged_log_is_not_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    closed_journal(path);
    let sound = fs::read(log_file(path)).unwrap();
    let mut injured = sound.clone();
    injured[300] ^= 1;
    // A log that is cut at the end of a frame is sound by itself; only the index shows the loss.
    let last = sound
        .windows(4)
        .rposition(|window| window == b"\0RC\xff")
        .unwrap();
    for log in [&injured[..], &sound[..last]] {
        fs::write(log_file(path), log).unwrap();
        let error = compact(path, CompactOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert!(path.join("sled").exists() && !path.join("sled.new").exists());
    }
    fs::write(log_file(path), sound).unwrap();
    let journal = DiskJournal::open(path).unwrap();
    let error = compact(path, CompactOptions::default()).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    drop(journal);
    compact(path, CompactOptions::default()).unwrap();
}

#[test]
fn damaged_index_is_compacted_anyway() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let bytes = fs::read(path.join("sled/db")).unwrap();
    fs::write(path.join("sled/db"), &bytes[..bytes.len() / 3]).unwrap();
    fs::write(path.join("sled/conf"), "x").unwrap();
    compact(path, CompactOptions::default()).unwrap();
    assert_eq!(has_everything(path, &streams, "after"), IndexState::Kept);
}
