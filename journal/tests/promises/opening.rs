//! A journal is opened by one process at a time and only where a journal is. It records how the
//! last use ended.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use recount_journal::{
    After, DiskJournal, Durability, Error, IndexState, Journal, RepairOptions, backup, block_on,
    repair, verify,
};
use uuid::Uuid;

use crate::index_states::{copy_directory, scratch};
use crate::stream::{Stream, closed_journal};

#[test]
fn journal_in_use_is_not_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    assert!(matches!(
        DiskJournal::open(directory.path()),
        Err(Error::InUse { .. })
    ));
    assert!(matches!(
        DiskJournal::options(directory.path()).read_only().open(),
        Err(Error::InUse { .. })
    ));
    assert!(matches!(
        verify::directory(directory.path()),
        Err(Error::InUse { .. })
    ));
    block_on(journal.close()).unwrap();
    DiskJournal::open(directory.path()).unwrap();
}

#[test]
fn other_directory_is_rejected_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("letter.txt");
    fs::write(&foreign, "dear").unwrap();
    let error = DiskJournal::open(directory.path()).unwrap_err();
    assert!(
        matches!(&error, Error::NotAJournal { found, .. } if found.contains("letter.txt")),
        "{error}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(matches!(
        DiskJournal::open(&foreign),
        Err(Error::NotAJournal { .. })
    ));
    assert!(matches!(
        DiskJournal::open_existing(directory.path().join("nothing")),
        Err(Error::Missing { .. })
    ));

    let path = directory.path().join("journal");
    closed_journal(&path);
    fs::write(
        path.join("JOURNAL"),
        r#"{"format":"recount-journal","version":2}"#,
    )
    .unwrap();
    assert!(matches!(
        DiskJournal::open(&path),
        Err(Error::NewerFormat {
            found: 2,
            known: 1,
            ..
        })
    ));
    fs::write(path.join("JOURNAL"), r#"{"format":"diary"}"#).unwrap();
    let error = DiskJournal::open(&path).unwrap_err();
    assert!(
        matches!(&error, Error::NotAJournal { found, .. } if found.contains("diary")),
        "{error}"
    );
    fs::remove_file(path.join("JOURNAL")).unwrap();
    assert!(matches!(
        DiskJournal::open(&path),
        Err(Error::NotAJournal { .. })
    ));
}

#[test]
fn interrupted_creation_is_finished() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("LOCK"), "").unwrap();
    fs::write(directory.path().join("JOURNAL.new"), "{\"for").unwrap();
    assert_eq!(
        DiskJournal::open(directory.path()).unwrap().opened().after,
        After::New
    );
}

#[cfg(unix)]
#[test]
fn pipe_as_lock_file_is_rejected_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    fs::remove_file(path.join("LOCK")).unwrap();
    let made = Command::new("mkfifo").arg(path.join("LOCK")).status();
    assert!(made.unwrap().success());
    for told in [
        DiskJournal::open(&path).unwrap_err(),
        DiskJournal::options(&path).read_only().open().unwrap_err(),
    ] {
        let told = format!("{told}: {:?}", std::error::Error::source(&told));
        assert!(told.contains("expected a regular file"), "{told}");
    }
}

/// A pipe in place of a file that the journal opens. Every operation fails at once; on an index it
/// counts as an index that cannot be read.
#[cfg(unix)]
#[test]
fn pipe_as_file_of_journal_is_rejected_at_once() {
    for name in ["log/0000000000000001.log", "sled/db", "sled/conf"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let streams = closed_journal(&path);
        fs::remove_file(path.join(name)).unwrap();
        let made = Command::new("mkfifo").arg(path.join(name)).status();
        assert!(made.unwrap().success());
        if name.starts_with("sled") {
            let report = verify::directory(&path).unwrap();
            let told = format!("{:?}", report.findings);
            assert!(told.contains("expected a regular file"), "{told}");
            let journal = DiskJournal::open(&path).unwrap();
            streams.iter().for_each(|stream| stream.assert_in(&journal));
            continue;
        }
        let to = directory.path().join("backup");
        for told in [
            verify::directory(&path).unwrap_err(),
            backup::directory(&path, &to, |_| {}).unwrap_err(),
            DiskJournal::open(&path).unwrap_err(),
            DiskJournal::options(&path).read_only().open().unwrap_err(),
            repair(&path, RepairOptions::default()).unwrap_err(),
        ] {
            let told = format!("{told}: {:?}", std::error::Error::source(&told));
            assert!(told.contains("expected a regular file"), "{told}");
        }
        assert!(!to.exists());
    }
}

#[test]
fn system_stream_records_openings_and_closes() {
    let directory = tempfile::tempdir().unwrap();
    let mut clock = 7;
    for _ in 0..2 {
        let journal = DiskJournal::options(directory.path())
            .program("teller 1.0")
            .clock(move || clock)
            .open()
            .unwrap();
        assert!(block_on(journal.sessions(None, 9)).unwrap().is_empty());
        block_on(journal.close()).unwrap();
        // A clock that is set back does not make the journal reject its own record.
        clock -= 5;
    }
    let journal = DiskJournal::options(directory.path())
        .read_only()
        .open()
        .unwrap();
    let lines = block_on(journal.read(Uuid::nil(), 1, 9)).unwrap();
    let told: Vec<(String, String)> = lines
        .iter()
        .map(|line| line.record().unwrap())
        .map(|record| (record.kind.to_owned(), record.body.get().to_owned()))
        .collect();
    assert_eq!(
        told.iter()
            .map(|(kind, _)| kind.as_str())
            .collect::<Vec<_>>(),
        [
            "journal_opened",
            "journal_closed",
            "journal_opened",
            "journal_closed"
        ]
    );
    assert!(
        told[0].1.contains(r#""after":"new""#) && told[0].1.contains("teller 1.0"),
        "{}",
        told[0].1
    );
    assert!(told[2].1.contains(r#""after":"clean""#), "{}", told[2].1);
}

#[test]
fn read_only_opening_adds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let before = verify::directory(directory.path()).unwrap();
    let journal = DiskJournal::options(directory.path())
        .read_only()
        .open()
        .unwrap();
    assert_eq!(journal.opened().after, After::Clean);
    assert!(matches!(
        block_on(journal.append(Stream::new(9).next(&["{}"]))),
        Err(Error::ReadOnly)
    ));
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    block_on(journal.close()).unwrap();
    let after = verify::directory(directory.path()).unwrap();
    assert_eq!((before.records, before.root), (after.records, after.root));
    assert!(after.is_sound() && after.notes.is_empty(), "{after:?}");
}

/// The environment variable of the child process below: the journal that it holds until its
/// standard input ends.
const HELD: &str = "RECOUNT_JOURNAL_HELD";

/// The other process, not a test by itself.
#[test]
fn child_holds_journal() {
    let Some(path) = std::env::var_os(HELD) else {
        return;
    };
    let journal = DiskJournal::open(path).unwrap();
    println!("it is open");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    block_on(journal.close()).unwrap();
}

#[test]
fn opening_waits_for_other_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "opening::child_holds_journal", "--nocapture"])
        .env(HELD, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("it is open")));

    let wait = Duration::from_millis(50);
    let begun = Instant::now();
    let refused = DiskJournal::options(directory.path()).wait(wait).open();
    assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
    assert!(begun.elapsed() >= wait);

    let path = directory.path().to_owned();
    let opening = thread::spawn(move || {
        let patient = DiskJournal::options(path).wait(Duration::from_secs(600));
        patient.open().map(|journal| block_on(journal.close()))
    });
    drop(other.stdin.take());
    opening.join().unwrap().unwrap().unwrap();
    assert!(other.wait().unwrap().success());
}

#[test]
fn many_sessions_are_read_from_log() {
    let scratch = scratch();
    let path = scratch.path().join("journal");
    let journal = DiskJournal::open(&path).unwrap();
    // More streams and bytes than the cache holds while the index is filled.
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000));
    let mut streams: Vec<Stream> = (1..=26_000).map(Stream::new).collect();
    for stream in &mut streams {
        let mut append = stream.next(&[&body]);
        append.durability = Durability::Buffered;
        block_on(journal.append(append)).unwrap();
    }
    block_on(journal.close()).unwrap();
    let (index, older) = (path.join("sled"), scratch.path().join("older"));
    copy_directory(&index, &older);
    // The first stream appears again after all of them.
    let journal = DiskJournal::open(&path).unwrap();
    streams[0].append(&journal, &["{}"]);
    block_on(journal.close()).unwrap();
    for found in [Some(&older), None] {
        fs::remove_dir_all(&index).unwrap();
        if let Some(found) = found {
            copy_directory(found, &index);
        }
        let journal = DiskJournal::open(&path).unwrap();
        assert!(journal.opened().read_whole);
        assert_eq!(
            matches!(journal.opened().index, IndexState::CaughtUp(_)),
            found.is_some()
        );
        streams[0].append(&journal, &["{}"]);
        streams[0].assert_in(&journal);
        streams[25_999].assert_in(&journal);
        block_on(journal.close()).unwrap();
    }
    assert!(verify::directory(&path).unwrap().is_sound());
}
