use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{
    FAST_COMMITS_MIN, IN_PLACE_BYTES, IN_PLACE_COMMIT_MAX, LogEnd, SINGLE_STREAM_APPENDS,
    fast_commits_after,
};
use crate::log::LogFiles;
use crate::store::directory::claim::{Directory, Others};
use crate::store::group_commit::commit_delay::{CommitDelay, WakeCondition, target_batch};
use crate::store::group_commit::floor::Floor;
use crate::store::group_commit::limits::{COMMIT_LIMIT, INDEX_BATCH_BYTES, INDEX_LAG_URGENT};
use crate::store::group_commit::queue::Shared;
use crate::store::opening::recovery;
use crate::testing::{Fault, MemoryDisk};
use crate::{Actor, Append, DiskJournal, Draft, Durability, Error, Hash, block_on};

const STREAM: Uuid = Uuid::from_u128(7);
const OTHER: Uuid = Uuid::from_u128(8);
const START: (u64, Hash) = (0, Hash::ZERO);
/// The room in the log, in bytes. It is more than these tests append, except the test of making
/// room.
const ROOM: usize = 600_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// A journal without its threads. A commit happens only when a test makes it.
fn without_threads(directory: &Path, disk: &MemoryDisk) -> Shared {
    let options = DiskJournal::options(directory).disk(Arc::new(disk.clone()));
    let claimed = Directory::claim(directory, true, Others::Refused).unwrap();
    let recovered = recovery::recover(&claimed, &options).unwrap();
    let index = Arc::new(recovered.index);
    let end = recovered
        .writer
        .map(|it| LogEnd::new(it, Arc::clone(&index)));
    let floor = Floor::new(Arc::clone(&options.disk), 0);
    let log = LogFiles::new(Arc::clone(&options.disk));
    let shared = Shared::new(recovered.view, index, claimed.lock, end, floor, log);
    // A commit that needs more room in the log makes some. Only the committer makes such commits.
    let mut end = shared.end.lock().unwrap();
    let writes = end.as_mut().unwrap();
    let mut other = (0, Hash::ZERO);
    while !writes.writer.has_room_for(ROOM) {
        other = queue(&shared, OTHER, other, 100);
        let appends = shared.state().take();
        writes.commit(&shared, appends).unwrap();
    }
    drop(end);
    // The state after the indexer has caught up.
    shared.state().unindexed_bytes = 0;
    shared
}

/// An append of one record after another.
fn append(stream: Uuid, (last, prev): (u64, Hash), durability: Durability) -> Append {
    let draft = Draft {
        session: stream,
        seq: last + 1,
        at_us: 1_795_183_387_000_000,
        kind: "noted",
        cause: None,
        actor: Actor::new("engine"),
        body: "{}",
        prev,
    };
    let mut append = Append::new(stream, last, vec![draft.line()]);
    append.durability = durability;
    append
}

/// Queues buffered appends, which stay in the queue. Returns the seq and the hash of the last
/// record.
fn queue(shared: &Shared, stream: Uuid, after: (u64, Hash), count: u64) -> (u64, Hash) {
    let mut last = after;
    for _ in 0..count {
        let head = block_on(shared.submit(append(stream, last, Durability::Buffered)));
        let head = head.unwrap();
        last = (head.seq, head.hash);
    }
    last
}

/// Queues a durable append, without waiting for its commit.
fn queue_durable(shared: &Shared, stream: Uuid, after: (u64, Hash)) {
    let submitted = pin!(shared.submit(append(stream, after, Durability::Durable)));
    let mut context = Context::from_waker(Waker::noop());
    let _pending = submitted.poll(&mut context);
}

/// Commits `each` appends of each of `streams` streams together. Returns the commit delay after it.
fn commit_of(shared: &Shared, streams: u128, each: u64) -> CommitDelay {
    for stream in 100..100 + streams {
        queue(shared, Uuid::from_u128(stream), START, each);
    }
    let mut end = shared.end.lock().unwrap();
    let end = end.as_mut().unwrap();
    let appends = shared.state().take();
    end.commit(shared, appends).unwrap();
    let mut delay = CommitDelay::default();
    end.report_last_commit(&mut delay);
    delay
}

/// Commits in place as a single writer with a fast disk, independently of the real clock.
fn commit_in_place(shared: &Shared) -> bool {
    seem_single_writer(shared);
    shared.commit_in_place(STREAM)
}

fn seem_single_writer(shared: &Shared) {
    if let Some(end) = shared.end.lock().unwrap().as_mut() {
        end.fast_commits = FAST_COMMITS_MIN;
        end.stream = STREAM;
        end.stream_appends = SINGLE_STREAM_APPENDS;
        end.last_commit_ended = Instant::now() + Duration::from_secs(3_600);
    }
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
fn rest_of_queue_is_left_to_committer() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 1_030);
    assert!(!commit_in_place(&shared), "six appends are left");
    assert_eq!(committed(&shared), 1_024);
    assert!(commit_in_place(&shared));
    assert_eq!(committed(&shared), 1_030);
}

#[test]
fn single_writer_commits_until_index_lag_is_urgent() {
    for (unindexed, commits) in [(INDEX_BATCH_BYTES, true), (INDEX_LAG_URGENT, false)] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        queue(&shared, STREAM, START, 3);
        shared.state().unindexed_bytes = unindexed;
        assert_eq!(commit_in_place(&shared), commits, "{unindexed}");
    }
}

#[test]
fn making_room_does_not_count_as_slow_commit() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    let mut last = START;
    loop {
        last = queue(&shared, STREAM, last, 1_000);
        let mut end = shared.end.lock().unwrap();
        let end = end.as_mut().unwrap();
        end.fast_commits = FAST_COMMITS_MIN;
        let (bytes, appends) = {
            let mut state = shared.state();
            (state.queued_bytes(), state.take())
        };
        let had_room = end.writer.has_room_for(bytes);
        end.commit(&shared, appends).unwrap();
        if !had_room {
            assert_eq!(end.fast_commits, FAST_COMMITS_MIN);
            return;
        }
    }
}

#[test]
fn one_slow_commit_with_room_resets_fast_commits() {
    let slow = IN_PLACE_COMMIT_MAX + Duration::from_micros(1);
    let behind = |had_room, took| fast_commits_after(7, had_room, took);
    assert_eq!(
        (behind(true, IN_PLACE_COMMIT_MAX), behind(true, slow)),
        (8, 0)
    );
    assert_eq!(
        (behind(false, IN_PLACE_COMMIT_MAX), behind(false, slow)),
        (7, 7)
    );
}

#[test]
fn large_queue_is_left_to_committer() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 3);
    shared.state().queued_bytes = IN_PLACE_BYTES + 1;
    assert!(!commit_in_place(&shared));
    shared.state().queued_bytes = IN_PLACE_BYTES;
    assert!(commit_in_place(&shared));
}

#[test]
fn empty_queue_writes_no_frame() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 3);
    assert!(commit_in_place(&shared));
    let before = frames(&shared);
    assert!(commit_in_place(&shared));
    assert_eq!(frames(&shared), before, "a frame with nothing in it");
}

#[test]
fn failed_journal_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let shared = without_threads(directory.path(), &disk);
    queue(&shared, STREAM, START, 3);
    assert!(commit_in_place(&shared));
    let before = disk.changes();
    shared.state().fail("the disk is gone".to_owned());
    assert!(commit_in_place(&shared));
    assert_eq!(disk.changes(), before);
}

#[test]
fn failed_sync_in_place_ends_journal() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::new();
    let shared = without_threads(directory.path(), &disk);
    queue(&shared, STREAM, START, 3);
    disk.fail(Fault::Sync, 1);
    assert!(commit_in_place(&shared));
    assert!(shared.state().has_failed());
    let error = shared.state().usable().map(|_| ()).unwrap_err();
    let cause = "failed to write and sync the log: ";
    assert!(
        matches!(&error, Error::Poisoned { cause: it } if it.starts_with(cause)),
        "{error}"
    );
}

#[test]
fn closing_journal_is_not_over_before_queue_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 1);
    shared.close();
    assert!(!shared.state().is_over(), "an append would be passed over");
    assert!(commit_in_place(&shared));
    assert!(shared.state().is_over());
}

#[test]
fn large_commit_of_many_streams_starts_delay() {
    for (streams, each, waits) in [(15, 1, false), (16, 1, true), (1, 16, false)] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        let delay = commit_of(&shared, streams, each);
        assert_eq!(delay.poll().is_some(), waits, "{streams}");
    }
    let poll = |took| {
        let mut delay = CommitDelay::default();
        delay.after_commit(16, took);
        delay.poll()
    };
    let fast = Duration::from_micros(100);
    assert_eq!(poll(fast), Some(fast));
    assert_eq!(poll(HOUR), Some(Duration::from_micros(500)));
    assert_eq!([7, 512, 100_000].map(target_batch), [0, 64, 1_024]);
}

/// The event that ends the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    BatchFull,
    Bytes,
    Close,
    EmptyPoll,
}

#[test]
fn commit_delay_ends_on_full_batch_close_or_empty_poll() {
    for end in [End::BatchFull, End::Bytes, End::Close, End::EmptyPoll] {
        let directory = tempfile::tempdir().unwrap();
        let shared = Arc::new(without_threads(directory.path(), &MemoryDisk::new()));
        commit_of(&shared, 24, 1);
        let appends = target_batch(shared.state().view.active_streams());
        assert!(appends >= 3);
        let last = queue(&shared, STREAM, START, 1);
        // A caller waits for it, so only the delay for a batch holds it back.
        shared.state().awaited = true;
        let is_patient = end != End::EmptyPoll;
        let poll = if is_patient {
            HOUR
        } else {
            Duration::from_micros(1)
        };
        let (ended, end_of_wait) = mpsc::channel();
        let waiting = Arc::clone(&shared);
        thread::spawn(move || {
            let mut delay = CommitDelay::of_polls(poll);
            waiting.wait(&mut delay);
            ended.send(delay).unwrap();
        });
        while is_patient && shared.state().wake_condition != WakeCondition::Batch(appends) {
            let waits = end_of_wait.try_recv();
            assert!(matches!(waits, Err(mpsc::TryRecvError::Empty)), "{end:?}");
            thread::yield_now();
        }
        match end {
            End::BatchFull => _ = queue(&shared, STREAM, last, appends as u64 - 1),
            End::Bytes => {
                shared.state().queued_bytes = COMMIT_LIMIT.1 - 1;
                queue(&shared, STREAM, last, 1);
            }
            End::Close => shared.close(),
            End::EmptyPoll => {}
        }
        let mut delay = end_of_wait.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(
            shared.state().wake_condition,
            WakeCondition::AnyAppend,
            "{end:?}"
        );
        // An empty poll skips the delay of the next commit. Further ones skip up to fifteen.
        if is_patient {
            assert_eq!(skipped_delays(&mut delay), 0, "{end:?}");
        } else {
            for expected in [1, 3, 7, 15, 15] {
                assert_eq!(skipped_delays(&mut delay), expected);
                delay.poll_was_empty();
            }
        }
    }
}

/// The number of the next twenty large commits that have no delay.
fn skipped_delays(delay: &mut CommitDelay) -> usize {
    let waits = (0..20).map(|_| {
        delay.after_commit(16, HOUR);
        delay.poll().is_some()
    });
    waits.filter(|waits| !waits).count()
}

#[test]
fn no_commit_in_place_during_commit_delay() {
    for (condition, commits) in [
        (WakeCondition::AnyAppend, true),
        (WakeCondition::Batch(3), false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        seem_single_writer(&shared);
        shared.state().wake_condition = condition;
        queue_durable(&shared, STREAM, START);
        assert_eq!(committed(&shared) == 1, commits, "{condition:?}");
    }
}
