//! What was acknowledged as durable survives a power loss at any write or sync; a failure stops the journal.

use std::path::Path;
use std::sync::Arc;

use recount_journal::testing::{MemoryDisk, Tear};
use recount_journal::{After, DiskJournal, Error, Journal, block_on};

use crate::stream::Stream;

fn open(path: &Path, disk: &MemoryDisk) -> Result<DiskJournal, Error> {
    DiskJournal::options(path)
        .disk(Arc::new(disk.clone()))
        .open()
}

/// Appends until something fails; gives the streams as acknowledged.
fn script(journal: &dyn Journal) -> [Stream; 2] {
    let mut streams = [Stream::new(1), Stream::new(2)];
    for round in 0..20 {
        let stream = &mut streams[round % 2];
        let before = stream.clone();
        let body = format!(r#"{{"round":{round},"text":"{}"}}"#, "y".repeat(round * 90));
        if block_on(journal.append(stream.next(&[&body, "{}"]))).is_err() {
            *stream = before;
            break;
        }
    }
    streams
}

#[test]
fn every_crash_point_keeps_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let whole = MemoryDisk::new();
    drop(
        open(&directory.path().join("whole"), &whole)
            .map(|journal| script(&journal))
            .unwrap(),
    );
    let changes = whole.changes();
    assert!(changes > 40, "{changes}");
    let mut torn = 0;
    for crash in 1..=changes {
        let tear = [
            Tear::Nothing,
            Tear::Front,
            Tear::Sectors(crash),
            Tear::Everything,
        ][usize::try_from(crash % 4).unwrap()];
        let path = directory.path().join(crash.to_string());
        let disk = MemoryDisk::new();
        disk.fail_from(crash);
        let streams = match open(&path, &disk) {
            Ok(journal) => script(&journal),
            Err(_) => [Stream::new(1), Stream::new(2)],
        };
        if crash % 2 == 0 && path.join("sled").exists() {
            std::fs::remove_dir_all(path.join("sled")).unwrap();
        }
        let disk = disk.after_power_loss(tear);
        let journal = open(&path, &disk).unwrap();
        torn += u64::from(journal.opened().cut_bytes > 0);
        for stream in &streams {
            let lines = block_on(journal.read(stream.session, 1, usize::MAX)).unwrap();
            assert_eq!(
                lines[..stream.lines.len()],
                stream.lines,
                "crash point {crash}, {tear:?}"
            );
            assert!(
                lines.len() == stream.lines.len() || lines.len() == stream.lines.len() + 2,
                "a torn batch at {crash}, {tear:?}"
            );
        }
        // It goes on as if nothing had been.
        let mut next = Stream::new(3);
        next.append(&journal, &["{}"]);
        next.assert_in(&journal);
        drop(journal);
        let journal = open(&path, &disk).unwrap();
        assert_eq!(
            (journal.opened().after, journal.opened().cut_bytes),
            (After::Clean, 0)
        );
        next.assert_in(&journal);
    }
    assert!(torn > 5, "only {torn} crashes left a torn write");
}

#[test]
fn a_failure_stops_the_journal_until_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let journal = open(directory.path(), &disk).unwrap();
    let mut kept = Stream::new(1);
    kept.append(&journal, &["{}"]);
    disk.fail_from(disk.changes() + 2);
    let told = block_on(journal.append(kept.clone().next(&["{}"]))).unwrap_err();
    assert!(
        matches!(&told, Error::Poisoned { cause } if cause.contains("told to fail")),
        "{told}"
    );
    assert!(matches!(
        block_on(journal.append(Stream::new(2).next(&["{}"]))),
        Err(Error::Poisoned { .. })
    ));
    assert!(matches!(
        block_on(journal.head(kept.session)),
        Err(Error::Poisoned { .. })
    ));
    assert!(matches!(
        block_on(journal.close()),
        Err(Error::Poisoned { .. })
    ));
    drop(journal);
    let journal = open(directory.path(), &disk.after_power_loss(Tear::Nothing)).unwrap();
    kept.assert_in(&journal);
}
