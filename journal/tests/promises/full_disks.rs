//! A disk that is full refuses appends and fails nothing: once there is room, the same journal goes
//! on.

use std::sync::Arc;

use recount_journal::testing::MemoryDisk;
use recount_journal::{Durability, Error, Journal, block_on};

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
        // What was prepared is used up first.
        let told = loop {
            match block_on(journal.append(stream.clone().next(&[&body]))) {
                Ok(_) => drop(stream.next(&[&body])),
                Err(told) => break told,
            }
        };
        assert!(matches!(told, Error::NoSpace { .. }), "{told}");
        // Refused once more, of another stream too, and what is there is read.
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
    let told = block_on(journal.append(other.clone().next(&[&large]))).unwrap_err();
    assert!(matches!(told, Error::NoSpace { .. }), "{told}");
    disk.set_free_space(1 << 30);
    other.append(&journal, &["{}"]);
    stream.assert_in(&journal);
    other.assert_in(&journal);
    block_on(journal.close()).unwrap();
}
