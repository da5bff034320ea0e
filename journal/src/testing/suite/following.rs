//! A follower sees every commit once and in order.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use uuid::Uuid;

use super::{Open, reopened};
use crate::testing::Stream;
use crate::{Commit, Durability, Error, Hash, Journal, Line, Object, block_on};

/// Follows a journal from a position until it has `count` records of one stream.
///
/// # Panics
/// If the journal fails, or returns a commit again.
pub fn followed(journal: &dyn Journal, mut after: u64, session: Uuid, count: usize) -> Vec<Line> {
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

/// Follows a journal from its beginning to its last commit. Returns all records with their stream.
///
/// # Panics
/// If the journal fails.
pub fn whole_log(journal: &dyn Journal) -> Vec<(Uuid, Line)> {
    let (mut lines, mut position) = (Vec::new(), 0);
    let end = block_on(journal.position()).unwrap();
    while position < end {
        let commit = block_on(journal.follow(position)).unwrap();
        position = commit.position;
        for (stream, more) in commit.appends {
            lines.extend(more.into_iter().map(|line| (stream, line)));
        }
    }
    lines
}

/// True if a future is still pending.
fn waits<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(future).poll(&mut context), Poll::Pending)
}

/// Checks that a follower that begins at position 0 sees all records, also of an earlier process,
/// and that one that begins at the last position sees only later ones.
pub fn follower_far_behind_sees_everything(open: Open<'_>) {
    let journal = open("journal");
    let mut stream = Stream::new(1);
    for _ in 0..50 {
        stream.append(&*journal, &["{}", "{}"]);
    }
    assert_eq!(followed(&*journal, 0, stream.session, 100), stream.lines);
    let journal = reopened(open, "journal", journal);
    assert_eq!(followed(&*journal, 0, stream.session, 100), stream.lines);
    let now = block_on(journal.position()).unwrap();
    stream.append(&*journal, &["{}"]);
    let seen = followed(&*journal, now, stream.session, 1);
    assert_eq!(seen, stream.lines[100..]);
}

/// Checks that the lines of a commit with several streams and objects are those that were appended,
/// with their hashes.
pub fn followed_lines_have_their_own_hashes(open: Open<'_>) {
    let journal = &*open("journal");
    let mut streams = [1, 2, 3].map(Stream::new);
    let mut appended = Vec::new();
    for _ in 0..3 {
        // Buffered appends may share a commit.
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
    let ours = whole_log(journal)
        .into_iter()
        .filter(|(owner, _)| !owner.is_nil());
    let lines: Vec<Line> = ours.map(|(_, line)| line).collect();
    assert_eq!(lines, appended);
    for line in lines {
        assert_eq!(line.leaf(), Hash::of_line(line.bytes()));
    }
}

/// Checks that followers beside writers see each record once, and that all of them see one order.
pub fn concurrent_followers_see_one_order(open: Open<'_>) {
    let journal = &*open("journal");
    thread::scope(|scope| {
        for number in 1..=8 {
            scope.spawn(move || {
                let mut stream = Stream::new(number);
                for _ in 0..40 {
                    stream.append(journal, &["{}"]);
                }
            });
        }
        let follow = || scope.spawn(|| order_of_first(journal, 8 * 40));
        let orders: Vec<_> = (0..3).map(|_| follow()).collect();
        let orders: Vec<_> = orders.into_iter().map(|it| it.join().unwrap()).collect();
        assert_eq!(orders[0], orders[1]);
        assert_eq!(orders[0], orders[2]);
        for number in 1..=8 {
            let session = Uuid::from_u128(number);
            let seen = orders[0].iter().filter(|(owner, _)| *owner == session);
            let seen: Vec<_> = seen.map(|(_, line)| line.clone()).collect();
            assert_eq!(seen, block_on(journal.read(session, 1, 100)).unwrap());
        }
    });
}

/// Follows until there are `count` records. The journal's own records do not count.
fn order_of_first(journal: &dyn Journal, count: usize) -> Vec<(Uuid, Line)> {
    let (mut lines, mut after) = (Vec::new(), 0);
    while lines.len() < count {
        let commit = block_on(journal.follow(after)).unwrap();
        assert!(commit.position > after);
        after = commit.position;
        let ours = commit.appends.into_iter().filter(|(it, _)| !it.is_nil());
        lines.extend(ours.flat_map(|(it, lines)| lines.into_iter().map(move |line| (it, line))));
    }
    lines
}

/// Checks that a buffered append is committed, though no later append waits for a commit.
pub fn buffered_append_is_committed(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    let now = block_on(journal.position()).unwrap();
    let mut append = stream.next(&["{}"]);
    append.durability = Durability::Buffered;
    block_on(journal.append(append)).unwrap();
    // A follower does not make the committer commit earlier; it sees the commit in the end.
    assert_eq!(followed(journal, now, stream.session, 1), stream.lines[..1]);
}

/// Checks that a follower at the end waits for the next commit, and that a close ends its wait.
pub fn follower_waits_until_commit_or_close(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    stream.append(journal, &["{}", "{}"]);
    let now = block_on(journal.position()).unwrap();
    let mut waiting = journal.follow(now);
    assert!(waits(&mut waiting));
    stream.append(journal, &["{}"]);
    let commit = block_on(waiting).unwrap();
    assert_eq!(
        commit.appends,
        [(stream.session, stream.lines[2..].to_vec())]
    );
    let mut after = commit.position;
    let mut waiting = journal.follow(after);
    assert!(waits(&mut waiting));
    block_on(journal.close()).unwrap();
    // A journal may note its close.
    let mut told = block_on(waiting);
    while let Ok(commit) = told {
        assert!(commit.appends.iter().all(|(owner, _)| owner.is_nil()));
        assert!(commit.position > after);
        after = commit.position;
        told = block_on(journal.follow(after));
    }
    assert!(matches!(told, Err(Error::Closed)), "{told:?}");
}
