//! A backup holds every append that was acknowledged before it began, while others write. Every
//! later change of the backup is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use recount_journal::{
    Append, DiskJournal, Error, Journal, Object, Options, backup, block_on, verify,
};
use uuid::Uuid;

use crate::stream::{Stream, closed_journal, log_file};

const WRITERS: u128 = 64;

/// Options with small segments, so that the log rolls.
fn rolling(path: &Path) -> Options {
    DiskJournal::options(path).segment_bytes(32 << 10)
}

/// The number of acknowledged records of each stream.
type Acknowledged = Vec<Mutex<u64>>;

/// Runs a function while 64 threads append pairs of records without a pause.
fn while_64_write(journal: &DiskJournal, run: impl FnOnce(&Acknowledged)) {
    let acknowledged: Acknowledged = (0..WRITERS).map(|_| Mutex::new(0)).collect();
    let (stop, begun) = (AtomicBool::new(false), Barrier::new(65));
    thread::scope(|scope| {
        for (number, mine) in (1..=WRITERS).zip(&acknowledged) {
            let (stop, begun) = (&stop, &begun);
            scope.spawn(move || {
                let mut stream = Stream::new(number);
                stream.append(journal, &["{}", r#"{"second":true}"#]);
                *mine.lock().unwrap() = stream.seq();
                begun.wait();
                while !stop.load(Ordering::Relaxed) {
                    stream.append(journal, &["{}", r#"{"second":true}"#]);
                    *mine.lock().unwrap() = stream.seq();
                }
            });
        }
        begun.wait();
        run(&acknowledged);
        stop.store(true, Ordering::Relaxed);
    });
}

fn counts(acknowledged: &Acknowledged) -> Vec<u64> {
    acknowledged
        .iter()
        .map(|count| *count.lock().unwrap())
        .collect()
}

/// Asserts that the backup is sound and has at least `least` records of each stream, without half
/// an append.
fn assert_holds(backup: &Path, least: &[u64]) {
    let report = verify::directory(backup).unwrap();
    assert!(report.is_sound(), "{report:?}");
    for (number, least) in (1..).zip(least) {
        let found = report.heads[&Uuid::from_u128(number)].seq;
        assert!(found >= *least, "stream {number}: {found} of {least}");
        assert_eq!(found % 2, 0, "an append of stream {number} was torn");
    }
}

#[test]
fn backup_has_earlier_appends_while_64_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = rolling(&path).open().unwrap();
    let places: Vec<PathBuf> = (0..6)
        .map(|n| directory.path().join(format!("b{n}")))
        .collect();
    let mut all = 0;
    while_64_write(&journal, |acknowledged| {
        for (number, place) in places.iter().enumerate() {
            let before = counts(acknowledged);
            let copied = if number % 2 == 0 {
                journal.backup(place, |_| {}).unwrap()
            } else {
                // Another process would also back up without a lock.
                backup::directory(&path, place, |_| {}).unwrap()
            };
            assert_holds(place, &before);
            assert!(copied.records >= before.iter().sum(), "{copied:?}");
            all = copied.records;
        }
    });
    assert!(
        fs::read_dir(path.join("log")).unwrap().count() > 2,
        "it rolled"
    );
    assert!(all > 6 * 64, "they went on writing: {all} records");
    block_on(journal.close()).unwrap();
    // Each backup is a prefix of the next one.
    let log = |place: &PathBuf| fs::read(log_file(place)).unwrap();
    for pair in places.windows(2) {
        assert!(log(&pair[1]).starts_with(&log(&pair[0])));
    }
}

#[test]
fn backup_ends_with_acknowledged_commit() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path().join("journal")).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}", "{}"]);
    let to = directory.path().join("backup");
    let mut told = Vec::new();
    let copied = journal.backup(&to, |progress| told.push(progress)).unwrap();
    assert_eq!((copied.frames, copied.records), (2, 3));
    assert_eq!(
        told.last().map(|it| (it.done, it.total)),
        Some((copied.bytes, copied.bytes))
    );
    stream.append(&journal, &["{}"]);
    let report = verify::directory(&to).unwrap();
    assert!(report.is_sound() && report.notes.iter().all(|note| !note.contains("not closed")));
    assert_eq!(report.heads[&stream.session].seq, 2);
    // The backup is also a journal, which can be read and written.
    let looked = DiskJournal::options(&to).read_only().open().unwrap();
    assert_eq!(looked.opened().records, 3);
    drop(looked);
    let copy = DiskJournal::open(&to).unwrap();
    stream.lines.truncate(2);
    stream.append(&copy, &[r#"{"elsewhere":true}"#]);
    block_on(copy.close()).unwrap();
    assert!(verify::directory(&to).unwrap().is_sound());
}

#[test]
fn restored_twice_it_is_the_same_journal_and_continues() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let journal = rolling(&path).open().unwrap();
    let mut stream = Stream::new(1);
    let object = Object::new(vec![7; 50_000]);
    for _ in 0..40 {
        let append = Append {
            objects: vec![object.clone()],
            ..stream.next(&[&format!(r#"{{"text":"{}"}}"#, "x".repeat(3_000))])
        };
        block_on(journal.append(append)).unwrap();
    }
    journal.backup(&to, |_| {}).unwrap();
    let reports = [false, true].map(|verified| {
        let again = directory.path().join(format!("restored-{verified}"));
        let restored = backup::restore(&to, &again, verified, |_| {}).unwrap();
        assert_eq!(restored.report.is_some(), verified);
        let report = verify::directory(&again).unwrap();
        assert!(report.is_sound(), "{report:?}");
        (again, report)
    });
    let original = verify::directory(&to).unwrap();
    for (_, report) in &reports {
        assert_eq!(
            (report.root, &report.heads),
            (original.root, &original.heads)
        );
    }
    let restored = DiskJournal::open(&reports[0].0).unwrap();
    stream.assert_in(&restored);
    let kept = block_on(restored.object(object.hash)).unwrap();
    assert_eq!(kept.as_deref(), Some(&object.bytes[..]));
    stream.append(&restored, &["{}"]);
    block_on(restored.close()).unwrap();
    let system = verify::directory(&reports[0].0).unwrap().heads[&Uuid::nil()].seq;
    assert_eq!(system, 3, "opened, opened again, closed");
}

#[test]
fn backup_of_killed_journal_lacks_unacknowledged_writes() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    closed_journal(&path);
    // The state after a process was killed while it wrote.
    fs::remove_file(path.join("CLOSED")).unwrap();
    let whole = fs::read(log_file(&path)).unwrap();
    let torn = [
        &whole[..],
        &b"\0RC\xff\0\0\x01\0half a frame"[..],
        &[0; 5_000],
    ]
    .concat();
    fs::write(log_file(&path), torn).unwrap();
    let copied = backup::directory(&path, &to, |_| {}).unwrap();
    assert_eq!(copied.bytes, whole.len() as u64);
    assert_eq!(fs::read(log_file(&to)).unwrap(), whole);
    assert!(verify::directory(&to).unwrap().is_sound());
}

#[test]
fn damaged_journal_is_rejected_with_place_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let streams = closed_journal(&path);
    let whole = fs::read(log_file(&path)).unwrap();
    let line = streams[1].lines[4].bytes();
    let at = whole
        .windows(line.len())
        .position(|window| window == line)
        .unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(log_file(&path), bytes).unwrap();
        let error = backup::directory(&path, &to, |_| {}).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        match error {
            Error::Damaged { session, seq, .. } => (session, seq),
            other => panic!("expected damage, found {other}"),
        }
    };
    let mut flipped = whole.clone();
    flipped[at + 150] ^= 1;
    assert_eq!(refused(&flipped), (Some(streams[1].session), Some(5)));
    // A removed frame, and a frame that is put in twice.
    let start = (0..at)
        .rev()
        .find(|at| whole[*at..].starts_with(b"\0RC\xff"))
        .unwrap();
    let length = u32::from_be_bytes(whole[start + 4..start + 8].try_into().unwrap());
    let end = start + 32 + usize::try_from(length).unwrap();
    refused(&[&whole[..start], &whole[end..]].concat());
    refused(&[&whole[..end], &whole[start..]].concat());
    // At the very end, only `CLOSED` shows that the frame was acknowledged.
    let mut last = whole.clone();
    *last.last_mut().unwrap() ^= 1;
    refused(&last);
    refused(&whole[..whole.len() - 600]);
    fs::write(log_file(&path), &whole).unwrap();
    backup::directory(&path, &to, |_| {}).unwrap();
}

#[test]
fn every_cut_and_every_flip_of_a_backup_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let journal = DiskJournal::open(&path).unwrap();
    let mut stream = Stream::new(1);
    for _ in 0..4 {
        stream.append(&journal, &["{}"]);
    }
    journal.backup(&to, |_| {}).unwrap();
    drop(journal);
    let restored = directory.path().join("restored");
    let found = |what: &str| {
        let report = verify::directory(&to).unwrap();
        assert!(!report.is_sound(), "{what}");
        let error = backup::restore(&to, &restored, false, |_| {}).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error}");
        let error = DiskJournal::open(&to).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{what}: {error}");
        assert!(!restored.exists());
        fs::remove_dir_all(to.join("sled")).ok();
    };
    let whole = fs::read(log_file(&to)).unwrap();
    let mut ends = vec![64];
    while let Some(length) = whole
        .get(ends[ends.len() - 1] + 4..)
        .and_then(|it| it.first_chunk())
    {
        ends.push(ends[ends.len() - 1] + 32 + u32::from_be_bytes(*length) as usize);
    }
    assert_eq!(ends.pop(), Some(whole.len()));
    // Only `BACKUP` shows a cut between two frames.
    for cut in ends.iter().copied().chain((0..whole.len()).step_by(37)) {
        fs::write(log_file(&to), &whole[..cut]).unwrap();
        found(&format!("cut at {cut}"));
    }
    for at in (0..whole.len()).step_by(41) {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        fs::write(log_file(&to), flipped).unwrap();
        found(&format!("flipped at {at}"));
    }
    fs::write(log_file(&to), &whole).unwrap();
    let note = fs::read_to_string(to.join("BACKUP")).unwrap();
    for (from, to_) in [
        ("\"records\":5", "\"records\":6"),
        ("{", "["),
        ("\"frame\":5", "\"frame\":4"),
    ] {
        assert!(note.contains(from), "{note}");
        fs::write(to.join("BACKUP"), note.replacen(from, to_, 1)).unwrap();
        found(from);
    }
    fs::remove_file(to.join("BACKUP")).unwrap();
    let error = backup::restore(&to, &restored, false, |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotABackup { .. }), "{error}");
    fs::write(to.join("BACKUP"), note).unwrap();
    backup::restore(&to, &restored, true, |_| {}).unwrap();
}

#[test]
fn verified_restore_finds_record_under_fitting_checksums() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let journal = DiskJournal::open(&path).unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &[r#"{"n":1}"#]);
    stream.append(&journal, &["{}"]);
    drop(journal);
    let mut log = fs::read(log_file(&path)).unwrap();
    let wanted = br#"{"n":1}"#;
    let at = log
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap();
    log[at + 5] = b'2';
    refit(&mut log);
    fs::write(log_file(&path), log).unwrap();
    fs::remove_file(path.join("CLOSED")).unwrap();
    backup::directory(&path, &to, |_| {}).unwrap();
    let restored = directory.path().join("restored");
    match backup::restore(&to, &restored, true, |_| {}).unwrap_err() {
        Error::Damaged { session, seq, .. } => {
            assert_eq!((session, seq), (Some(stream.session), Some(1)));
        }
        other => panic!("expected damage, found {other}"),
    }
    assert!(!restored.exists());
}

/// Makes all checksums of a log fit its bytes.
fn refit(log: &mut [u8]) {
    let (mut at, mut chain) = (64, [0; 4]);
    while log.get(at..at + 4) == Some(b"\0RC\xff") {
        let end = at + 32 + u32::from_be_bytes(log[at + 4..at + 8].try_into().unwrap()) as usize;
        let mut entry = at + 32;
        while entry < end {
            let length = u32::from_be_bytes(log[entry..entry + 4].try_into().unwrap()) as usize;
            let sum = crc32fast::hash(&log[entry + 8..entry + 8 + length]).to_be_bytes();
            log[entry + 4..entry + 8].copy_from_slice(&sum);
            entry += 8 + length;
        }
        let payload = crc32fast::hash(&log[at + 32..end]).to_be_bytes();
        log[at + 20..at + 24].copy_from_slice(&chain);
        log[at + 24..at + 28].copy_from_slice(&payload);
        chain = crc32fast::hash(&log[at..at + 28]).to_be_bytes();
        log[at + 28..at + 32].copy_from_slice(&chain);
        at = end;
    }
}

#[test]
fn nothing_is_replaced_or_invented() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let missing = backup::directory(&path, &to, |_| {}).unwrap_err();
    assert!(matches!(missing, Error::Missing { .. }), "{missing}");
    closed_journal(&path);
    for taken in [&path, &path.join("JOURNAL")] {
        let taken = backup::directory(&path, taken, |_| {}).unwrap_err();
        assert!(matches!(taken, Error::Occupied { .. }), "{taken}");
    }
    let no_backup = backup::restore(&path, &to, false, |_| {}).unwrap_err();
    assert!(matches!(no_backup, Error::NotABackup { .. }), "{no_backup}");
    fs::create_dir(&to).unwrap();
    backup::directory(&path, &to, |_| {}).unwrap();
    let second = directory.path().join("second");
    backup::directory(&to, &second, |_| {}).unwrap();
    assert_eq!(
        fs::read(to.join("BACKUP")).unwrap(),
        fs::read(second.join("BACKUP")).unwrap()
    );
}

#[cfg(unix)]
#[test]
fn backup_is_verified_and_restored_from_read_only_place() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let (path, kept) = (directory.path().join("j"), directory.path().join("kept"));
    closed_journal(&path);
    backup::directory(&path, &kept, |_| {}).unwrap();
    let before = verify::directory(&path).unwrap();
    // The superuser may write anyway; for other users these files are read-only.
    let allow = |file: &Path, mode| {
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    };
    for place in [&kept, &path] {
        allow(&place.join("log/0000000000000001.log"), 0o444);
        if place.join("LOCK").exists() {
            allow(&place.join("LOCK"), 0o444);
        }
        allow(place, 0o555);
    }
    let looked = [&kept, &path].map(|place| verify::directory(place).unwrap());
    let restored = backup::restore(&kept, directory.path().join("new"), true, |_| {});
    allow(&kept, 0o755);
    allow(&path, 0o755);
    for report in looked {
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.root, before.root);
    }
    assert_eq!(restored.unwrap().report.unwrap().root, before.root);
}

#[test]
fn closed_journal_of_several_segments_is_backed_up_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("backup"),
    );
    let journal = DiskJournal::options(&path)
        .segment_bytes(2_000)
        .open()
        .unwrap();
    let mut stream = Stream::new(1);
    for _ in 0..20 {
        stream.append(&journal, &["{}"]);
    }
    block_on(journal.close()).unwrap();
    let mut segments = fs::read_dir(path.join("log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>();
    segments.sort();
    let last = segments.pop().unwrap();
    assert!(segments.len() > 1, "{segments:?}");
    let copied = backup::directory(&path, &to, |_| {}).unwrap();
    assert_eq!(copied.records, 22);
    // A missing end is found as well.
    fs::remove_dir_all(&to).unwrap();
    let bytes = fs::read(&last).unwrap();
    let frame = bytes
        .windows(4)
        .rposition(|window| window == b"\0RC\xff")
        .unwrap();
    for end in [frame, bytes.len() - 9] {
        fs::write(&last, &bytes[..end]).unwrap();
        let error = backup::directory(&path, &to, |_| {}).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    fs::remove_file(last).unwrap();
    let error = backup::directory(&path, &to, |_| {}).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}
