use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{ALONE, LogEnd, SWIFT_RUN};
use crate::log::LogFiles;
use crate::store::directory::Directory;
use crate::store::floor::Floor;
use crate::store::queue::Shared;
use crate::store::recovery;
use crate::testing::{Fault, MemoryDisk};
use crate::{Actor, Append, DiskJournal, Draft, Durability, Error, Hash, block_on};

const STREAM: Uuid = Uuid::from_u128(7);
const OTHER: Uuid = Uuid::from_u128(8);
const START: (u64, Hash) = (0, Hash::ZERO);
/// More than what any of these tests appends, in bytes.
const ROOM: usize = 400_000;

/// What a journal is without its threads: what happens at the end of the log happens when a test does it.
fn without_threads(directory: &Path, disk: &MemoryDisk) -> Shared {
    let options = DiskJournal::options(directory).disk(Arc::new(disk.clone()));
    let claimed = Directory::claim(directory, true).unwrap();
    let recovered = recovery::recover(&claimed, &options).unwrap();
    let index = Arc::new(recovered.index);
    let end = recovered
        .writer
        .map(|it| LogEnd::new(it, Arc::clone(&index)));
    let floor = Floor::new(Arc::clone(&options.disk), 0);
    let log = LogFiles::new(Arc::clone(&options.disk));
    let shared = Shared::new(recovered.view, index, claimed.lock, end, floor, log);
    // A commit that needs room in the log makes room for more, and is the thread's.
    let mut end = shared.end.lock().unwrap();
    let writes = end.as_mut().unwrap();
    let mut other = (0, Hash::ZERO);
    while !writes.writer.has_room_for(ROOM) {
        other = queue(&shared, OTHER, other, 100);
        let appends = shared.state().take();
        writes.commit(&shared, appends).unwrap();
    }
    drop(end);
    // As the indexer leaves it that has caught up.
    shared.state().unindexed_bytes = 0;
    shared
}

/// Appends that nobody waits for; they stay in the queue. Returns the seq and the hash of the last.
fn queue(shared: &Shared, stream: Uuid, after: (u64, Hash), count: u64) -> (u64, Hash) {
    let (last, mut prev) = after;
    for seq in last + 1..=last + count {
        let draft = Draft {
            session: stream,
            seq,
            at_us: 1_795_183_387_000_000,
            kind: "noted",
            cause: None,
            actor: Actor::new("engine"),
            body: "{}",
            prev,
        };
        let line = draft.line();
        prev = line.leaf();
        let mut append = Append::new(stream, seq - 1, vec![line]);
        append.durability = Durability::Buffered;
        block_on(shared.submit(append)).unwrap();
    }
    (last + count, prev)
}

/// Commits in place as one does who is alone at a swift disk, however the clock of the machine runs.
fn commit_here(shared: &Shared) -> bool {
    if let Some(end) = shared.end.lock().unwrap().as_mut() {
        end.swift = SWIFT_RUN;
        end.stream = STREAM;
        end.run = ALONE;
        end.ended = Instant::now() + Duration::from_secs(3_600);
    }
    shared.commit_here(STREAM)
}

fn frames(shared: &Shared) -> u64 {
    shared.state().view.last.number
}

fn committed(shared: &Shared) -> u64 {
    let index = shared.state().usable().unwrap();
    let mut state = shared.state();
    let stream = state.view.stream(STREAM, Some(&index)).unwrap();
    stream.map_or(0, |stream| stream.head.seq)
}

#[test]
fn what_one_commit_leaves_in_the_queue_is_left_to_the_thread() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 1_030);
    assert!(!commit_here(&shared), "six are left, and nobody is told");
    assert_eq!(committed(&shared), 1_024);
    assert!(commit_here(&shared));
    assert_eq!(committed(&shared), 1_030);
}

#[test]
fn whose_append_was_taken_along_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 3);
    assert!(commit_here(&shared));
    let before = frames(&shared);
    assert!(commit_here(&shared));
    assert_eq!(frames(&shared), before, "a frame with nothing in it");
}

#[test]
fn whose_append_was_refused_writes_nothing_behind_the_failure() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let shared = without_threads(directory.path(), &disk);
    queue(&shared, STREAM, START, 3);
    assert!(commit_here(&shared));
    let before = disk.changes();
    shared.state().fail("the disk is gone".to_owned());
    assert!(commit_here(&shared));
    assert_eq!(disk.changes(), before);
}

#[test]
fn a_sync_that_fails_where_the_append_is_made_ends_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let shared = without_threads(directory.path(), &disk);
    queue(&shared, STREAM, START, 3);
    disk.fail(Fault::Sync, 1);
    assert!(commit_here(&shared));
    assert!(shared.state().has_failed());
    let told = shared.state().usable().map(|_| ()).unwrap_err();
    let cause = "failed to write and sync the log: ";
    assert!(
        matches!(&told, Error::Poisoned { cause: it } if it.starts_with(cause)),
        "{told}"
    );
}

#[test]
fn a_journal_with_something_in_its_queue_is_not_over() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 1);
    shared.close();
    assert!(!shared.state().is_over(), "an append would be passed over");
    assert!(commit_here(&shared));
    assert!(shared.state().is_over());
}
