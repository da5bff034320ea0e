use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{ALONE, IN_PLACE_BYTES, LogEnd, SWIFT, SWIFT_RUN, swift_behind};
use crate::log::LogFiles;
use crate::store::directory::claim::{Directory, Others};
use crate::store::group_commit::company::{Company, Crowd, share};
use crate::store::group_commit::floor::Floor;
use crate::store::group_commit::limits::{COMMIT_LIMIT, GATHER_BYTES, HURRY_BYTES};
use crate::store::group_commit::queue::Shared;
use crate::store::opening::recovery;
use crate::testing::{Fault, MemoryDisk};
use crate::{Actor, Append, DiskJournal, Draft, Durability, Error, Hash, block_on};

const STREAM: Uuid = Uuid::from_u128(7);
const OTHER: Uuid = Uuid::from_u128(8);
const START: (u64, Hash) = (0, Hash::ZERO);
/// More than what these tests append, but for the one that is about making room, in bytes.
const ROOM: usize = 600_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// What a journal is without its threads: what happens at the end of the log happens when a test
/// does it.
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

/// An append of one record behind another.
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

/// Appends that nobody waits for; they stay in the queue. Returns the seq and the hash of the last.
fn queue(shared: &Shared, stream: Uuid, after: (u64, Hash), count: u64) -> (u64, Hash) {
    let mut last = after;
    for _ in 0..count {
        let head = block_on(shared.submit(append(stream, last, Durability::Buffered)));
        let head = head.unwrap();
        last = (head.seq, head.hash);
    }
    last
}

/// Begins an append that somebody waits for, and waits no longer than it takes to queue it.
fn queue_durable(shared: &Shared, stream: Uuid, after: (u64, Hash)) {
    let submitted = pin!(shared.submit(append(stream, after, Durability::Durable)));
    let mut context = Context::from_waker(Waker::noop());
    let _pending = submitted.poll(&mut context);
}

/// Commits so many appends of each of so many streams together, and tells what that shows of a
/// crowd.
fn commit_of(shared: &Shared, streams: u128, each: u64) -> Crowd {
    for stream in 100..100 + streams {
        queue(shared, Uuid::from_u128(stream), START, each);
    }
    let mut end = shared.end.lock().unwrap();
    let end = end.as_mut().unwrap();
    let appends = shared.state().take();
    end.commit(shared, appends).unwrap();
    let mut crowd = Crowd::default();
    end.tell(&mut crowd);
    crowd
}

/// Commits in place as one does who is alone at a swift disk, however the clock of the machine
/// runs.
fn commit_here(shared: &Shared) -> bool {
    seem_alone(shared);
    shared.commit_here(STREAM)
}

fn seem_alone(shared: &Shared) {
    if let Some(end) = shared.end.lock().unwrap().as_mut() {
        end.swift = SWIFT_RUN;
        end.stream = STREAM;
        end.run = ALONE;
        end.ended = Instant::now() + Duration::from_secs(3_600);
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
fn who_is_alone_commits_while_the_index_is_filled() {
    for (unindexed, commits) in [(GATHER_BYTES, true), (HURRY_BYTES, false)] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        queue(&shared, STREAM, START, 3);
        shared.state().unindexed_bytes = unindexed;
        assert_eq!(commit_here(&shared), commits, "{unindexed}");
    }
}

#[test]
fn what_it_took_to_make_room_says_nothing_of_the_next_commit() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    let mut last = START;
    loop {
        last = queue(&shared, STREAM, last, 1_000);
        let mut end = shared.end.lock().unwrap();
        let end = end.as_mut().unwrap();
        end.swift = SWIFT_RUN;
        let (bytes, appends) = {
            let mut state = shared.state();
            (state.queued_bytes(), state.take())
        };
        let had_room = end.writer.has_room_for(bytes);
        end.commit(&shared, appends).unwrap();
        if !had_room {
            assert_eq!(end.swift, SWIFT_RUN);
            return;
        }
    }
}

#[test]
fn one_slow_commit_that_had_room_shows_a_slow_disk() {
    let slow = SWIFT + Duration::from_micros(1);
    let behind = |had_room, took| swift_behind(7, had_room, took);
    assert_eq!((behind(true, SWIFT), behind(true, slow)), (8, 0));
    assert_eq!((behind(false, SWIFT), behind(false, slow)), (7, 7));
}

#[test]
fn what_is_large_is_left_to_the_thread() {
    let directory = tempfile::tempdir().unwrap();
    let shared = without_threads(directory.path(), &MemoryDisk::new());
    queue(&shared, STREAM, START, 3);
    shared.state().queued_bytes = IN_PLACE_BYTES + 1;
    assert!(!commit_here(&shared));
    shared.state().queued_bytes = IN_PLACE_BYTES;
    assert!(commit_here(&shared));
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

#[test]
fn a_crowd_is_waited_for_behind_a_commit_of_a_crowd() {
    for (streams, each, waits) in [(15, 1, false), (16, 1, true), (1, 16, false)] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        let crowd = commit_of(&shared, streams, each);
        assert_eq!(crowd.look().is_some(), waits, "{streams}");
    }
    let look = |took| {
        let mut crowd = Crowd::default();
        crowd.behind(16, took);
        crowd.look()
    };
    let swift = Duration::from_micros(100);
    assert_eq!(look(swift), Some(swift));
    assert_eq!(look(HOUR), Some(Duration::from_micros(500)));
    assert_eq!([7, 512, 100_000].map(share), [0, 64, 1_024]);
}

/// What ends the wait for a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Share,
    Bytes,
    Close,
    NobodyMore,
}

#[test]
fn the_thread_waits_for_a_share_of_the_crowd_until_it_is_here_or_the_journal_closes_or_nobody_more_comes()
 {
    for end in [End::Share, End::Bytes, End::Close, End::NobodyMore] {
        let directory = tempfile::tempdir().unwrap();
        let shared = Arc::new(without_threads(directory.path(), &MemoryDisk::new()));
        commit_of(&shared, 24, 1);
        let appends = share(shared.state().view.streams_at_work());
        assert!(appends >= 3);
        let last = queue(&shared, STREAM, START, 1);
        // Somebody waits for it, so nothing keeps it but the crowd.
        shared.state().pressing = true;
        let is_patient = end != End::NobodyMore;
        let look = if is_patient {
            HOUR
        } else {
            Duration::from_micros(1)
        };
        let (ended, end_of_wait) = mpsc::channel();
        let waiting = Arc::clone(&shared);
        thread::spawn(move || {
            let mut crowd = Crowd::of_looks(look);
            waiting.wait(&mut crowd);
            ended.send(crowd).unwrap();
        });
        while is_patient && shared.state().company != Company::Crowd(appends) {
            let waits = end_of_wait.try_recv();
            assert!(matches!(waits, Err(mpsc::TryRecvError::Empty)), "{end:?}");
            thread::yield_now();
        }
        match end {
            End::Share => _ = queue(&shared, STREAM, last, appends as u64 - 1),
            End::Bytes => {
                shared.state().queued_bytes = COMMIT_LIMIT.1 - 1;
                queue(&shared, STREAM, last, 1);
            }
            End::Close => shared.close(),
            End::NobodyMore => {}
        }
        let mut crowd = end_of_wait.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(shared.state().company, Company::Nobody, "{end:?}");
        // Where nobody more came, the next is not waited for; where that goes on, up to fifteen are
        // not.
        if is_patient {
            assert_eq!(not_waited_for(&mut crowd), 0, "{end:?}");
        } else {
            for expected in [1, 3, 7, 15, 15] {
                assert_eq!(not_waited_for(&mut crowd), expected);
                crowd.nobody_came();
            }
        }
    }
}

/// How many of the next twenty commits of a crowd are not waited for.
fn not_waited_for(crowd: &mut Crowd) -> usize {
    let waits = (0..20).map(|_| {
        crowd.behind(16, HOUR);
        crowd.look().is_some()
    });
    waits.filter(|waits| !waits).count()
}

#[test]
fn in_a_crowd_nobody_commits_where_the_append_is_made() {
    for (company, commits) in [(Company::Nobody, true), (Company::Crowd(3), false)] {
        let directory = tempfile::tempdir().unwrap();
        let shared = without_threads(directory.path(), &MemoryDisk::new());
        seem_alone(&shared);
        shared.state().company = company;
        queue_durable(&shared, STREAM, START);
        assert_eq!(committed(&shared) == 1, commits, "{company:?}");
    }
}
