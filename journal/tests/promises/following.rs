//! A follower sees every commit once, in order, and only after its sync.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use recount_journal::testing::{Fault, MemoryDisk};
use recount_journal::{
    Commit, DiskJournal, Durability, Error, Hash, Journal, Line, MemoryJournal, Object, block_on,
};
use uuid::Uuid;

use crate::stream::Stream;

/// True if a future is still pending.
fn waits<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Pending)
}

/// Follows from a position until it has `count` records of one stream.
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
fn follower_far_behind_sees_everything() {
    let directory = tempfile::tempdir().unwrap();
    let mut stream = Stream::new(1);
    let journal = DiskJournal::open(directory.path()).unwrap();
    for _ in 0..50 {
        stream.append(&journal, &["{}", "{}"]);
    }
    assert_eq!(followed(&journal, 0, stream.session, 100), stream.lines);
    block_on(journal.close()).unwrap();
    // Commits that are only in the index are followed as well.
    let journal = DiskJournal::open(directory.path()).unwrap();
    assert_eq!(followed(&journal, 0, stream.session, 100), stream.lines);
    let now = block_on(journal.position()).unwrap();
    stream.append(&journal, &["{}"]);
    let seen = followed(&journal, now, stream.session, 1);
    assert_eq!(seen, stream.lines[100..]);
}

#[test]
fn followed_lines_have_their_own_hashes() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut streams = [1, 2, 3].map(Stream::new);
    let mut appended = Vec::new();
    for _ in 0..3 {
        // Buffered appends share a commit, which is in memory until the index has it.
        for stream in &mut streams {
            let mut append = stream.next(&["{}", r#"{"object":true}"#]);
            append
                .objects
                .push(Object::new(*b"between the lines of two appends"));
            append.durability = Durability::Buffered;
            appended.extend(append.lines.clone());
            block_on(journal.append(append)).unwrap();
        }
    }
    let (mut lines, end) = (Vec::new(), block_on(journal.position()).unwrap());
    let mut after = 0;
    while after < end {
        let commit = block_on(journal.follow(after)).unwrap();
        after = commit.position;
        let ours = commit
            .appends
            .into_iter()
            .filter(|(owner, _)| !owner.is_nil());
        lines.extend(ours.flat_map(|(_, lines)| lines));
    }
    assert_eq!(lines, appended);
    for line in lines {
        assert_eq!(line.leaf(), Hash::of_line(line.bytes()));
    }
}

#[test]
fn concurrent_followers_see_each_commit_once() {
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
fn unawaited_append_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    let now = block_on(journal.position()).unwrap();
    let mut append = stream.next(&["{}"]);
    append.durability = Durability::Buffered;
    block_on(journal.append(append)).unwrap();
    // A follower does not make the committer commit earlier; it sees the commit in the end.
    assert_eq!(
        followed(&journal, now, stream.session, 1),
        stream.lines[..1]
    );
}

#[test]
fn unsynced_commit_is_never_seen() {
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
    let error = block_on(journal.append(stream.next(&["{}"]))).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let error = block_on(waiting).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
}

#[test]
fn memory_journal_is_followed_until_close() {
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
