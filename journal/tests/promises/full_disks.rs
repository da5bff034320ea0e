//! A full disk rejects appends and fails nothing: once there is room, the same journal continues.

use std::sync::Arc;

use recount_journal::testing::MemoryDisk;
use recount_journal::{
    DiskJournal, Durability, Error, IndexState, Journal, MemoryJournal, Space, block_on,
};

use crate::stream::{Stream, options};

#[test]
fn full_disk_refuses_and_journal_goes_on_with_room() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let opened = options(directory.path()).disk(Arc::new(disk.clone()));
    let journal = opened.open().unwrap();
    let (mut stream, mut other) = (Stream::new(1), Stream::new(2));
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_500));
    for _ in 0..3 {
        stream.append(&journal, &[&body]);
        other.append(&journal, &["{}"]);
        disk.set_free_space(0);
        // The preallocated space is used up first.
        let told = loop {
            match block_on(journal.append(stream.clone().next(&[&body]))) {
                Ok(_) => drop(stream.next(&[&body])),
                Err(told) => break told,
            }
        };
        assert!(matches!(told, Error::NoSpace { .. }), "{told}");
        // Another stream is rejected as well, and reads still work.
        let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(30_000));
        let told = block_on(journal.append(other.clone().next(&[&large]))).unwrap_err();
        assert!(matches!(told, Error::NoSpace { .. }), "{told}");
        stream.assert_in(&journal);
        other.assert_in(&journal);
        disk.set_free_space(1 << 30);
    }
    stream.append(&journal, &[&body]);
    other.append(&journal, &[&body]);
    block_on(journal.close()).unwrap();
    let again = options(directory.path())
        .disk(Arc::new(disk))
        .open()
        .unwrap();
    stream.assert_in(&again);
    other.assert_in(&again);
}

#[test]
fn buffered_append_outlasts_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let opened = options(directory.path()).disk(Arc::new(disk.clone()));
    let journal = opened.open().unwrap();
    let (mut stream, mut other) = (Stream::new(1), Stream::new(2));
    stream.append(&journal, &["{}"]);
    disk.set_free_space(0);
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(40_000));
    let mut buffered = stream.next(&[&large]);
    buffered.durability = Durability::Buffered;
    block_on(journal.append(buffered)).unwrap();
    let error = block_on(journal.append(other.clone().next(&[&large]))).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    disk.set_free_space(1 << 30);
    other.append(&journal, &["{}"]);
    stream.assert_in(&journal);
    other.assert_in(&journal);
    block_on(journal.close()).unwrap();
}

#[test]
fn room_is_told_without_an_append() {
    let no_room = |journal: &DiskJournal| {
        let told = journal.room();
        matches!(told, Err(Error::NoSpace { .. }))
    };
    // The free space is below the floor.
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let opened = options(directory.path()).disk(Arc::new(disk.clone()));
    let journal = opened.floor_bytes(1_000).open().unwrap();
    journal.room().unwrap();
    disk.set_free_space(999);
    assert!(no_room(&journal));
    let space = Space {
        free: 999,
        floor: 1_000,
    };
    assert_eq!(journal.space().unwrap(), Some(space));
    assert_eq!(MemoryJournal::new().space().unwrap(), None);
    // The next append checks the space, however many appends were since the last check.
    let told = block_on(journal.append(Stream::new(1).next(&["{}"]))).unwrap_err();
    assert!(matches!(told, Error::NoSpace { .. }), "{told}");
    disk.set_free_space(1 << 30);
    journal.room().unwrap();

    // Without a floor, the failed commit shows the lack of room.
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let opened = options(directory.path()).disk(Arc::new(disk.clone()));
    let journal = opened.floor_bytes(0).open().unwrap();
    disk.set_free_space(0);
    journal.room().unwrap();
    let mut stream = Stream::new(1);
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(400_000));
    let told = block_on(journal.append(stream.clone().next(&[&large]))).unwrap_err();
    assert!(matches!(told, Error::NoSpace { .. }), "{told}");
    assert!(no_room(&journal));
    disk.set_free_space(1 << 30);
    journal.room().unwrap();
    stream.append(&journal, &[&large]);
    journal.room().unwrap();
}

/// The index stays behind, and the next opening brings it up to the log.
#[test]
fn close_on_full_disk_leaves_the_index_behind() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let opened = || options(directory.path()).disk(Arc::new(disk.clone()));
    let journal = opened().floor_bytes(0).open().unwrap();
    let mut stream = Stream::new(1);
    disk.set_free_space(0);
    stream.append(&journal, &["{}", "{}"]);
    stream.assert_in(&journal);
    block_on(journal.close()).unwrap();
    disk.set_free_space(1 << 30);
    let again = opened().open().unwrap();
    let found = again.opened();
    assert!(matches!(found.index, IndexState::CaughtUp(_)), "{found:?}");
    stream.assert_in(&again);
}
