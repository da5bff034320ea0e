//! An index from before frames were compressed is used unchanged.

use std::fs;
use std::path::Path;

use recount_journal::{DiskJournal, IndexState, Journal, block_on, verify};

use crate::index_states::copy_directory;
use crate::stream::{Stream, closed_journal, index, log_file};

/// Returns the frames of the log, each with its number.
fn frames(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let log = fs::read(log_file(path)).unwrap();
    let mut frames = Vec::new();
    let mut rest = &log[64..];
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[4..8].try_into().unwrap());
        let (frame, behind) = rest.split_at(32 + usize::try_from(length).unwrap());
        let number = u64::from_be_bytes(frame[8..16].try_into().unwrap());
        frames.push((number, frame.to_vec()));
        rest = behind;
    }
    frames
}

fn sealed(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let crc = crc32fast::hash(&[key, payload].concat());
    [&crc.to_be_bytes(), payload].concat()
}

/// Writes uncompressed frames to the index, in parts.
fn put_whole(store: &sled::Db, frames: &[(u64, Vec<u8>)]) {
    for (number, frame) in frames {
        for (part, piece) in (0_u32..).zip(frame.chunks(7_000)) {
            let key = [&b"b"[..], &number.to_be_bytes(), &part.to_be_bytes()].concat();
            store.insert(&key, sealed(&key, piece)).unwrap();
        }
    }
}

/// Moves the mark to its old key.
fn move_mark(store: &sled::Db) {
    let mark = store.remove(b"m2").unwrap().unwrap();
    store.insert(b"m", sealed(b"m", &mark[4..])).unwrap();
}

/// Makes an append whose frame takes two parts uncompressed and one compressed.
fn append_long(path: &Path, streams: &mut [Stream]) {
    let journal = DiskJournal::open(path).unwrap();
    let body = format!(r#"{{"text":"{}"}}"#, "again and ".repeat(1_000));
    streams[0].append(&journal, &[&body]);
    block_on(journal.close()).unwrap();
}

#[test]
fn old_index_is_kept_and_filled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut streams = closed_journal(path);
    append_long(path, &mut streams);
    let store = index(path);
    put_whole(&store, &frames(path));
    move_mark(&store);
    drop(store);
    assert!(verify::directory(path).unwrap().is_sound());

    let journal = DiskJournal::open(path).unwrap();
    assert_eq!(journal.opened().index, IndexState::Kept);
    streams[1].append(&journal, &["{}"]);
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    block_on(journal.close()).unwrap();
    assert!(verify::directory(path).unwrap().is_sound());
    let store = index(path);
    assert!(store.get(b"m2").unwrap().is_some());
    assert_eq!(store.get(b"m").unwrap(), None);
}

#[test]
fn parts_of_old_version_do_not_spoil_compressed_frame() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("journal");
    let before = directory.path().join("before");
    let mut streams = closed_journal(path);
    copy_directory(&path.join("sled"), &before);
    append_long(path, &mut streams);
    assert!(verify::directory(path).unwrap().is_sound());

    // The index from before the long append, with that frame and without a mark that covers it.
    fs::remove_dir_all(path.join("sled")).unwrap();
    copy_directory(&before, &path.join("sled"));
    let store = index(path);
    let frames = frames(path);
    let (number, long) = frames.iter().max_by_key(|(_, frame)| frame.len()).unwrap();
    assert!(long.len() > 7_000);
    put_whole(&store, &[(*number, long.clone())]);
    drop(store);
    let journal = DiskJournal::open(path).unwrap();
    assert!(matches!(journal.opened().index, IndexState::CaughtUp(_)));
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    block_on(journal.close()).unwrap();
    let store = index(path);
    let second = [&b"b"[..], &number.to_be_bytes(), &1_u32.to_be_bytes()].concat();
    assert!(
        store.get(second).unwrap().is_some(),
        "the part that is left"
    );
    drop(store);
    let report = verify::directory(path).unwrap();
    assert!(report.is_sound(), "{report:?}");

    // Now only the index has the frame.
    let mut log = fs::read(log_file(path)).unwrap();
    let at = log.windows(long.len()).position(|it| it == long).unwrap();
    log[at + 200] ^= 1;
    fs::write(log_file(path), log).unwrap();
    let report = recount_journal::repair(path, recount_journal::RepairOptions::default()).unwrap();
    assert!(
        report.identical && report.frames_from_index == 1,
        "{report:?}"
    );
}

#[test]
fn parts_left_behind_a_compressed_frame_may_have_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut streams = closed_journal(path);
    let journal = DiskJournal::open(path).unwrap();
    let body = format!(r#"{{"text":"{}"}}"#, "again and ".repeat(3_000));
    streams[0].append(&journal, &[&body]);
    streams[1].append(&journal, &["{}"]);
    block_on(journal.close()).unwrap();
    let frames = frames(path);
    let (number, _) = frames.iter().max_by_key(|(_, frame)| frame.len()).unwrap();
    // A power loss left two of the five parts of the uncompressed frame; compressed it takes one.
    let store = index(path);
    for part in [2_u32, 4] {
        let key = [&b"b"[..], &number.to_be_bytes(), &part.to_be_bytes()].concat();
        store.insert(&key, sealed(&key, b"left")).unwrap();
    }
    drop(store);
    let report = verify::directory(path).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let journal = DiskJournal::open(path).unwrap();
    assert_eq!(journal.opened().index, IndexState::Kept);
    let commit = block_on(journal.follow(number - 1)).unwrap();
    assert_eq!(commit.position, *number);
    assert_eq!(commit.appends[0].1, streams[0].lines[10..]);
    block_on(journal.close()).unwrap();
}
