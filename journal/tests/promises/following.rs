//! A follower sees every commit once, in order, after its sync and never before.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use recount_journal::testing::{Fault, MemoryDisk};
use recount_journal::{
    Commit, DiskJournal, Durability, Error, Journal, Line, MemoryJournal, block_on,
};
use uuid::Uuid;

use crate::stream::Stream;

/// Whether a future is still waiting.
fn waits<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Pending)
}

/// The records of one stream that a follower saw behind a position, until it has so many.
fn followed(journal: &dyn Journal, mut after: u64, session: Uuid, count: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    while lines.len() < count {
        let Commit { position, appends } = block_on(journal.follow(after)).unwrap();
        assert!(position > after);
        after = position;
        let ours = appends.into_iter().filter(|(owner, _)| *owner == session);
        lines.extend(ours.flat_map(|(_, lines)| lines));
    }
    lines
}

#[test]
fn a_follower_from_the_beginning_sees_everything_though_it_is_far_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(1);
    let journal = DiskJournal::open(directory.path()).unwrap();
    for _ in 0..50 {
        stream.append(&journal, &["{}", "{}"]);
    }
    assert_eq!(followed(&journal, 0, stream.session, 100), stream.lines);
    block_on(journal.close()).unwrap();
    // What is long in the index is followed just so.
    let journal = DiskJournal::open(directory.path()).unwrap();
    assert_eq!(followed(&journal, 0, stream.session, 100), stream.lines);
    let now = block_on(journal.position()).unwrap();
    stream.append(&journal, &["{}"]);
    let seen = followed(&journal, now, stream.session, 1);
    assert_eq!(seen, stream.lines[100..]);
}

#[test]
fn followers_and_writers_at_once_miss_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Arc::new(DiskJournal::open(directory.path()).unwrap());
    thread::scope(|scope| {
        for number in 1..=8 {
            let writer = Arc::clone(&journal);
            scope.spawn(move || {
                let mut stream = Stream::new(number);
                for _ in 0..40 {
                    stream.append(&*writer, &["{}"]);
                }
            });
            let reader = Arc::clone(&journal);
            scope.spawn(move || {
                let session = Uuid::from_u128(number);
                let seen = followed(&*reader, 0, session, 40);
                let kept = block_on(reader.read(session, 1, 100)).unwrap();
                assert_eq!(seen, kept);
            });
        }
    });
}

#[test]
fn what_nobody_waits_for_is_committed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    let now = block_on(journal.position()).unwrap();
    let mut append = stream.next(&["{}"]);
    append.durability = Durability::Buffered;
    block_on(journal.append(append)).unwrap();
    // A follower does not hurry what comes; it hears of it in the end.
    assert_eq!(
        followed(&journal, now, stream.session, 1),
        stream.lines[..1]
    );
}

#[test]
fn a_commit_that_was_not_synced_is_never_seen() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let journal = DiskJournal::options(directory.path())
        .disk(Arc::new(disk.clone()))
        .open()
        .unwrap();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}"]);
    let now = block_on(journal.position()).unwrap();
    let mut waiting = journal.follow(now);
    assert!(waits(&mut waiting));
    disk.fail(Fault::Sync, 1);
    let told = block_on(journal.append(stream.next(&["{}"]))).unwrap_err();
    assert!(matches!(told, Error::Poisoned { .. }), "{told}");
    let told = block_on(waiting).unwrap_err();
    assert!(matches!(told, Error::Poisoned { .. }), "{told}");
}

#[test]
fn a_journal_in_memory_is_followed_alike_and_a_close_ends_the_wait() {
    let journal = MemoryJournal::new();
    let mut stream = Stream::new(1);
    stream.append(&journal, &["{}", "{}"]);
    stream.append(&journal, &["{}"]);
    assert_eq!(followed(&journal, 0, stream.session, 3), stream.lines);
    let mut waiting = journal.follow(2);
    assert!(waits(&mut waiting));
    block_on(journal.close()).unwrap();
    assert!(matches!(block_on(waiting), Err(Error::Closed)));
}
