//! The recorder and the reader of an access journal.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use std::sync::Arc;
use std::time::Duration;

use recount::session::{Actor, SessionId};
use recount::testing::ManualClock;
use recount_journal::testing::{MemoryDisk, Tear};
use recount_journal::{DiskJournal, Journal, MemoryJournal, verify};
use recount_reads::{
    Depth, Door, How, Read, Recorder, Settings, Switch, latest, note_off, on_record, stream_of,
};
use uuid::Uuid;

fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

fn read(name: &str, sessions: impl IntoIterator<Item = u128>) -> Read {
    Read {
        by: Actor::token(name),
        how: How::Token,
        door: Door::Http,
        route: "GET /v1/pending".to_owned(),
        sessions: sessions.into_iter().map(session).collect(),
        every_session: false,
        depth: Depth::Bodies,
        status: 200,
    }
}

struct Bench {
    journal: Arc<MemoryJournal>,
    clock: Arc<ManualClock>,
    recorder: Recorder,
}

impl Bench {
    async fn new() -> Bench {
        let (journal, clock) = (Arc::new(MemoryJournal::new()), ManualClock::new());
        let recorder = Recorder::start(journal.clone(), clock.clone(), Settings::default()).await;
        Bench {
            journal,
            clock,
            recorder: recorder.unwrap(),
        }
    }

    async fn record(&self, read: Read) {
        self.recorder.record(read).await.unwrap();
    }

    /// The readers, the sessions and the repetitions of the reads on record.
    async fn found(&self) -> Vec<(String, Vec<u128>, u64)> {
        let found = on_record(&*self.journal).await.unwrap().reads.into_iter();
        let found = found.map(|it| {
            let sessions = it.read.sessions.iter().map(|it| it.0.as_u128());
            (it.read.by.name, sessions.collect(), it.repeats)
        });
        found.collect()
    }
}

fn row(name: &str, sessions: &[u128], repeats: u64) -> (String, Vec<u128>, u64) {
    (name.to_owned(), sessions.to_vec(), repeats)
}

#[tokio::test]
async fn same_read_is_counted_within_the_window() {
    let bench = Bench::new().await;
    for _ in 0..3 {
        bench.record(read("ada", [7])).await;
    }
    bench.record(read("bob", [7])).await;
    assert_eq!(
        bench.found().await,
        [row("ada", &[7], 0), row("bob", &[7], 0)]
    );
    // The window has ended, so the repetitions go on record with the next read.
    bench.clock.advance(Duration::from_secs(60));
    bench.record(read("ada", [7])).await;
    let expected = [
        row("ada", &[7], 2),
        row("bob", &[7], 0),
        row("ada", &[7], 0),
    ];
    assert_eq!(bench.found().await, expected);
}

#[tokio::test]
async fn repetitions_go_on_record_without_another_read() {
    let bench = Bench::new().await;
    bench.record(read("ada", [7])).await;
    bench.clock.advance(Duration::from_secs(59));
    bench.record(read("ada", [7])).await;
    let before = bench.journal.position().await.unwrap();
    bench.clock.advance(Duration::from_secs(1));
    bench.journal.follow(before).await.unwrap();
    assert_eq!(bench.found().await, [row("ada", &[7], 1)]);
    let found = on_record(&*bench.journal).await.unwrap();
    let late = found.reads[0].last.0 - found.reads[0].at.0;
    assert_eq!(late, 59_000_000);
}

#[tokio::test]
async fn new_session_in_a_list_is_recorded_alone() {
    let bench = Bench::new().await;
    bench.record(read("ada", [1, 2])).await;
    bench.record(read("ada", [1, 2, 3])).await;
    bench.record(read("ada", [3, 1])).await;
    let refused = Read {
        status: 404,
        ..read("ada", [1])
    };
    bench.record(refused).await;
    bench.recorder.stop().await;
    let expected = [
        row("ada", &[1, 2], 1),
        row("ada", &[3], 0),
        row("ada", &[1], 0),
    ];
    assert_eq!(bench.found().await, expected);
}

#[tokio::test]
async fn refusals_are_counted_whatever_they_name() {
    let bench = Bench::new().await;
    let refused = |name, number| Read {
        status: 404,
        ..read(name, [number])
    };
    for number in 1..=100 {
        bench.record(refused("mallory", number)).await;
    }
    // Those of another reader, and what is served, have records of their own.
    bench.record(refused("bob", 5)).await;
    bench.record(read("mallory", [6])).await;
    bench.record(read("mallory", [7])).await;
    bench.recorder.stop().await;
    let expected = [
        row("mallory", &[1], 99),
        row("bob", &[5], 0),
        row("mallory", &[6], 0),
        row("mallory", &[7], 0),
    ];
    assert_eq!(bench.found().await, expected);
}

#[tokio::test]
async fn read_of_many_sessions_names_each() {
    let bench = Bench::new().await;
    bench.record(read("ada", 1..2_502)).await;
    bench.record(read("ada", [2_501])).await;
    let found = bench.found().await;
    let numbers: Vec<usize> = found.iter().map(|it| it.1.len()).collect();
    assert_eq!(numbers, [1_000, 1_000, 501]);
    let all = found.into_iter().flat_map(|it| it.1);
    assert!(all.eq(1..2_502));
}

#[tokio::test]
async fn each_day_has_a_stream_of_its_own() {
    let bench = Bench::new().await;
    bench.record(read("ada", [1])).await;
    bench.clock.advance(Duration::from_secs(24 * 3600));
    bench.record(read("ada", [1])).await;
    let found = on_record(&*bench.journal).await.unwrap().reads;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|it| it.stream == stream_of(it.at)));
    let streams = bench.journal.sessions(None, 10).await.unwrap();
    let streams: Vec<String> = streams.iter().map(|(id, _)| id.to_string()).collect();
    let day = |it: u32| format!("2026010{it}-0000-8000-8000-616363657373");
    assert_eq!(streams, [day(1), day(2)]);
    let newest = latest(&*bench.journal, (1, 100), |_| true).await.unwrap();
    assert_eq!(newest.reads, found[1..]);
    let older = latest(&*bench.journal, (9, 100), |it| it.stream == found[0].stream).await;
    assert_eq!(older.unwrap().reads, found[..1]);
}

#[tokio::test]
async fn recorded_read_survives_a_power_loss() {
    let directory = tempfile::tempdir().unwrap();
    let (path, disk) = (directory.path().join("access"), MemoryDisk::new());
    let open = |path: &std::path::Path, disk: &MemoryDisk| {
        let options = DiskJournal::options(path).disk(Arc::new(disk.clone()));
        Arc::new(options.create(true).open().unwrap())
    };
    let journal = open(&path, &disk);
    let clock = ManualClock::new();
    let recorder = Recorder::start(journal.clone(), clock.clone(), Settings::default());
    let recorder = recorder.await.unwrap();
    recorder.record(read("ada", [7])).await.unwrap();
    // What is not durable now is lost.
    let left = disk.after_power_loss(Tear::Nothing);
    // The index is rebuilt from the log; the files beside it name the journal.
    let after = directory.path().join("after");
    std::fs::create_dir(&after).unwrap();
    for file in std::fs::read_dir(&path).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), after.join(file.file_name())).unwrap();
        }
    }
    let journal = open(&after, &left);
    let found = on_record(&*journal).await.unwrap();
    assert_eq!(found.reads[0].read, read("ada", [7]));
    let switches: Vec<Switch> = found.switches.iter().map(|(_, it)| *it).collect();
    assert_eq!(switches, [Switch::Began]);
}

#[tokio::test]
async fn begin_end_and_off_are_on_record() {
    let bench = Bench::new().await;
    bench.recorder.stop().await;
    // The journal is open, but the recording has ended.
    bench.record(read("ada", [7])).await;
    assert_eq!(bench.recorder.status().missed, 1);
    note_off(bench.journal.clone(), &*bench.clock)
        .await
        .unwrap();
    let found = on_record(&*bench.journal).await.unwrap();
    let switches: Vec<Switch> = found.switches.iter().map(|(_, it)| *it).collect();
    assert_eq!(switches, [Switch::Began, Switch::Ended, Switch::Off]);
}

#[tokio::test]
async fn access_journal_is_verified_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access");
    let journal = Arc::new(DiskJournal::open(&path).unwrap());
    let recorder = Recorder::start(journal.clone(), ManualClock::new(), Settings::default());
    let recorder = recorder.await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..64 {
        let recorder = recorder.clone();
        let name = format!("reader {number}");
        tasks.push(tokio::spawn(async move {
            recorder.record(read(&name, [number])).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    recorder.stop().await;
    assert_eq!(on_record(&*journal).await.unwrap().reads.len(), 64);
    journal.close().await.unwrap();
    assert!(verify::directory(&path).unwrap().is_sound());
}
