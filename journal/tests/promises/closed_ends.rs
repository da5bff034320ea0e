//! A closed journal notes the end of its log. A log that is shorter or differs there is damaged for
//! every operation, even if nothing else shows it.

use std::fs;
use std::path::Path;

use recount_journal::{
    CompactOptions, DiskJournal, Error, Journal, Remedy, RepairOptions, backup, block_on, compact,
    repair, verify,
};

use crate::stream::{Stream, closed_journal, log_file};

/// Returns the offsets of the frames of a segment, and its length.
fn frames(log: &[u8]) -> Vec<usize> {
    let mut starts = vec![64];
    while let Some(header) = log
        .get(starts[starts.len() - 1]..)
        .filter(|it| it.len() >= 32)
    {
        let length = u32::from_be_bytes(header[4..8].try_into().unwrap());
        starts.push(starts[starts.len() - 1] + 32 + usize::try_from(length).unwrap());
    }
    starts
}

fn is_damaged<T>(told: Result<T, Error>) -> bool {
    matches!(told, Err(Error::Damaged { .. }))
}

/// Asserts that every operation finds the loss, and that the repair reports it and ends it.
fn assert_loss_is_found(path: &Path) {
    let report = verify::directory(path).unwrap();
    assert!(!report.is_sound(), "{report:?}");
    assert!(is_damaged(DiskJournal::open(path)), "open");
    let reading = DiskJournal::options(path).read_only().open();
    assert!(is_damaged(reading), "open to read");
    let to = path.with_file_name("backup");
    assert!(is_damaged(backup::directory(path, &to, |_| {})), "backup");
    let compacted = compact(path, CompactOptions::default());
    assert!(is_damaged(compacted), "compact");
    let dry = repair(path, RepairOptions::default().dry_run()).unwrap();
    assert!(dry.was_needed() && dry.lost_something(), "{dry:?}");
    assert!(!verify::directory(path).unwrap().is_sound());
    let repaired = repair(path, RepairOptions::default()).unwrap();
    assert_eq!(repaired.damages, dry.damages);
    assert!(repaired.damages.iter().any(|it| it.remedy == Remedy::Lost));
    let report = verify::directory(path).unwrap();
    assert!(report.is_sound(), "{report:?}");
    block_on(DiskJournal::open(path).unwrap().close()).unwrap();
}

/// Creates a closed journal without an index and with a changed log, and checks it.
fn injured(change: impl Fn(&mut Vec<u8>)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    let mut log = fs::read(log_file(&path)).unwrap();
    change(&mut log);
    fs::write(log_file(&path), log).unwrap();
    fs::remove_dir_all(path.join("sled")).unwrap();
    assert_loss_is_found(&path);
}

#[test]
fn zeroed_tail_of_closed_log_is_damage() {
    for lost in [1, 2, 6, 15] {
        injured(|log| {
            let starts = frames(log);
            let from = starts[starts.len() - 1 - lost];
            log[from..].fill(0);
        });
    }
}

#[test]
fn torn_tail_of_closed_log_is_damage() {
    // Within the header of the last frame, and within its body.
    for kept in [3, 40] {
        injured(|log| {
            let starts = frames(log);
            let from = starts[starts.len() - 2] + kept;
            log[from..].fill(0);
        });
        injured(|log| {
            let starts = frames(log);
            log.truncate(starts[starts.len() - 2] + kept);
        });
    }
    injured(|log| {
        let starts = frames(log);
        let from = starts[starts.len() - 4];
        log[from..].fill(0x5a);
    });
}

#[test]
fn zeroed_tail_after_roll_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = crate::stream::options(&path).open().unwrap();
    let mut stream = Stream::new(1);
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_500));
    for _ in 0..25 {
        stream.append(&journal, &[&body]);
    }
    block_on(journal.close()).unwrap();
    let mut files: Vec<_> = fs::read_dir(path.join("log"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 2);
    // The last segment is zeroed completely, as if it was prepared and never used.
    let last = files.pop().unwrap();
    let length = fs::metadata(&last).unwrap().len();
    fs::write(&last, vec![0; usize::try_from(length).unwrap()]).unwrap();
    fs::remove_dir_all(path.join("sled")).unwrap();
    assert_loss_is_found(&path);
}

/// Other frames of the same length, which are consistent. Only the end in `CLOSED` distinguishes
/// them.
#[test]
fn replaced_log_of_same_length_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (
        directory.path().join("journal"),
        directory.path().join("other"),
    );
    closed_journal(&path);
    fs::create_dir(&other).unwrap();
    // The same journal without its streams, continued with other records.
    fs::copy(path.join("JOURNAL"), other.join("JOURNAL")).unwrap();
    let journal = DiskJournal::open(&other).unwrap();
    let mut stream = Stream::new(9);
    for round in 0..40 {
        stream.append(&journal, &[&format!(r#"{{"other":{round}}}"#), "{}"]);
    }
    block_on(journal.close()).unwrap();
    fs::copy(log_file(&other), log_file(&path)).unwrap();
    fs::remove_dir_all(path.join("sled")).unwrap();
    assert!(!verify::directory(&path).unwrap().is_sound());
    assert!(is_damaged(DiskJournal::open(&path)));
}

/// `CLOSED` may come back after a power loss behind the next opening. A log that continued after it
/// has lost nothing.
#[test]
fn log_that_went_on_behind_older_note_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let mut streams = closed_journal(&path);
    let note = fs::read(path.join("CLOSED")).unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    streams[0].append(&journal, &["{}"]);
    block_on(journal.close()).unwrap();
    fs::write(path.join("CLOSED"), note).unwrap();
    fs::remove_dir_all(path.join("sled")).unwrap();
    assert!(verify::directory(&path).unwrap().is_sound());
    let to = directory.path().join("backup");
    let copied = backup::directory(&path, &to, |_| {}).unwrap();
    assert_eq!(copied.frames, 20, "it has all that was written since");
    let journal = DiskJournal::open(&path).unwrap();
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

/// A journal with `CLOSED` and later writes was closed once, and not since. A verification reports
/// that.
#[test]
fn log_that_went_on_unclosed_is_said_to_have_been_closed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (
        directory.path().join("journal"),
        directory.path().join("copy"),
    );
    let mut streams = closed_journal(&path);
    let note = fs::read(path.join("CLOSED")).unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    streams[0].append(&journal, &["{}"]);
    fs::create_dir_all(copy.join("log")).unwrap();
    fs::copy(path.join("JOURNAL"), copy.join("JOURNAL")).unwrap();
    fs::copy(log_file(&path), log_file(&copy)).unwrap();
    fs::write(copy.join("CLOSED"), note).unwrap();
    let report = verify::directory(&copy).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let closed = "the journal was closed at frame 17, and not since it was written to again";
    assert!(
        report.notes.iter().any(|it| it.contains(closed)),
        "{report:?}"
    );

    fs::remove_file(copy.join("CLOSED")).unwrap();
    let report = verify::directory(&copy).unwrap();
    let never = report
        .notes
        .iter()
        .any(|it| it.starts_with("the journal was not closed"));
    assert!(never, "{report:?}");
}

/// A note of an older version without an end is still read.
#[test]
fn note_without_end_is_read_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let text = fs::read_to_string(path.join("CLOSED")).unwrap();
    let mut note: serde_json::Value = serde_json::from_str(&text).unwrap();
    let end = note.as_object_mut().unwrap().remove("end").unwrap();
    assert_eq!(end["frame"], 17);
    fs::write(path.join("CLOSED"), note.to_string()).unwrap();
    let journal = DiskJournal::open(path).unwrap();
    assert!(!journal.opened().read_whole);
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

/// A note of an older version without an end shows a lost tail: it has the length of the log.
#[test]
fn zeroed_tail_is_damage_without_noted_end() {
    for lost in [1, 6] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        closed_journal(&path);
        let mut log = fs::read(log_file(&path)).unwrap();
        let starts = frames(&log);
        let from = starts[starts.len() - 1 - lost];
        log[from..].fill(0);
        fs::write(log_file(&path), log).unwrap();
        fs::remove_dir_all(path.join("sled")).unwrap();
        let text = fs::read_to_string(path.join("CLOSED")).unwrap();
        let mut note: serde_json::Value = serde_json::from_str(&text).unwrap();
        note.as_object_mut().unwrap().remove("end").unwrap();
        fs::write(path.join("CLOSED"), note.to_string()).unwrap();
        assert_loss_is_found(&path);
    }
}

/// A note that is unreadable or names no segment of the log is damage.
#[test]
fn note_that_cannot_be_read_is_damage() {
    let stray = r#"{"files":{"log/zzz":{"bytes":1,"changed_ns":1}}}"#;
    for note in ["", "{\"files\":", "{\"files\":{}}", stray] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let streams = closed_journal(&path);
        fs::write(path.join("CLOSED"), note).unwrap();
        assert!(!verify::directory(&path).unwrap().is_sound());
        assert!(is_damaged(DiskJournal::open(&path)));
        let reading = DiskJournal::options(&path).read_only().open();
        assert!(is_damaged(reading), "{note}");
        let to = directory.path().join("backup");
        let copied = backup::directory(&path, &to, |_| {});
        assert!(is_damaged(copied) && !to.exists(), "{note}");
        let repaired = repair(&path, RepairOptions::default()).unwrap();
        assert!(repaired.was_needed() && !repaired.lost_something());
        assert!(verify::directory(&path).unwrap().is_sound());
        let journal = DiskJournal::open(&path).unwrap();
        streams.iter().for_each(|stream| stream.assert_in(&journal));
    }
}

/// A segment that the note names and that does not exist is damage.
#[test]
fn note_that_names_missing_segment_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    let text = fs::read_to_string(path.join("CLOSED")).unwrap();
    let mut note: serde_json::Value = serde_json::from_str(&text).unwrap();
    note.as_object_mut().unwrap().remove("end").unwrap();
    let files = note["files"].as_object_mut().unwrap();
    let stamp = serde_json::json!({"bytes": 0, "changed_ns": 1});
    files.insert("log/0000000000000002.log".to_owned(), stamp);
    fs::write(path.join("CLOSED"), note.to_string()).unwrap();
    assert_loss_is_found(&path);
}
