//! The metrics of an open journal, and its behaviour when the disk is nearly full.

use std::fs;
use std::sync::Arc;

use recount_journal::testing::MemoryDisk;
use recount_journal::{DiskJournal, Error, IndexState, Journal, Object, block_on};

use crate::stream::{Stream, closed_journal, log_file};

#[test]
fn below_floor_appends_are_rejected_until_space_returns() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let journal = DiskJournal::options(directory.path())
        .disk(Arc::new(disk.clone()))
        .floor_bytes(1_000_000)
        .open()
        .unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    disk.set_free_space(999_999);
    let mut refused = 0;
    let mut attempt = stream.clone();
    // The free space is checked at every 64th append; once it is low, at every append.
    for _ in 0..200 {
        let before = attempt.clone();
        match block_on(journal.append(attempt.next(&["{}"]))) {
            Ok(_) => assert_eq!(refused, 0),
            Err(Error::NoSpace { free, floor }) => {
                assert_eq!((free, floor), (999_999, 1_000_000));
                refused += 1;
                attempt = before;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 100, "{refused}");
    attempt.assert_in(&journal);
    disk.set_free_space(1_000_000);
    attempt.append(&journal, &["{}"]);
    // A close is not rejected.
    disk.set_free_space(0);
    block_on(journal.close()).unwrap();
}

#[test]
fn metrics_count_commits_and_batches() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    for _ in 0..5 {
        stream.append(&journal, &["{}"]);
    }
    let metrics = journal.metrics();
    assert_eq!((metrics.appends, metrics.commits), (6, 6));
    assert_eq!((metrics.batch_max, metrics.queue_depth), (1, 0));
    assert!(metrics.bytes > 5 * 200 && metrics.sync_total >= metrics.sync_max);
    assert!(metrics.sync_max >= metrics.sync_last && !metrics.sync_last.is_zero());
}

#[test]
fn log_is_read_only_if_file_changed_since_close() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let look = || {
        let options = DiskJournal::options(directory.path()).read_only();
        let journal = options.open().unwrap();
        streams.iter().for_each(|stream| stream.assert_in(&journal));
        assert_eq!(journal.opened().index, IndexState::Kept);
        assert_eq!(journal.opened().records, 32);
        let read_whole = journal.opened().read_whole;
        block_on(journal.close()).unwrap();
        read_whole
    };
    assert!(!look());
    assert!(!look(), "looking leaves the note of the close true");
    let log = fs::read(log_file(directory.path())).unwrap();
    fs::write(log_file(directory.path()), log).unwrap();
    assert!(look(), "the log was written, though with the same bytes");
}

#[test]
fn loss_under_open_journal_is_read_from_index_and_found_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut stream = Stream::new(1);
    let object = Object::new(b"an object of the stream".to_vec());
    let journal = DiskJournal::open(path).unwrap();
    let mut append = stream.next(&["{}", r#"{"text":"here"}"#]);
    append.objects = vec![object.clone()];
    block_on(journal.append(append)).unwrap();
    block_on(journal.close()).unwrap();

    let journal = DiskJournal::open(path).unwrap();
    let sound = fs::read(log_file(path)).unwrap();
    for what in [stream.lines[1].bytes(), &object.bytes] {
        let mut log = sound.clone();
        let at = log.windows(what.len()).position(|it| it == what).unwrap();
        log[at + what.len() / 2] ^= 1;
        fs::write(log_file(path), log).unwrap();
        stream.assert_in(&journal);
        let found = block_on(journal.object(object.hash)).unwrap().unwrap();
        assert_eq!(*found, *object.bytes);
    }
    block_on(journal.close()).unwrap();
    assert!(matches!(
        DiskJournal::open(path),
        Err(Error::Damaged { .. })
    ));
}

#[test]
fn large_append_needs_little_more_memory_than_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let journal = DiskJournal::options(directory.path())
        .disk(Arc::new(disk.clone()))
        .open()
        .unwrap();
    disk.set_free_space(100 << 20);
    let mut stream = Stream::new(1);
    let mut append = stream.next(&["{}"]);
    append.objects = vec![Object::new(vec![7; 40 << 20])];
    block_on(journal.append(append)).unwrap();
    stream.assert_in(&journal);
}
