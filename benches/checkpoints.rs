//! The price of a tree and its checkpoints for appends: the same writers with and without a
//! follower that signs, by turns. And their price for an opening after the process was killed.
//!
//! `cargo bench -p recount-evidence --bench checkpoints`, or with `writers/1`, `writers/64` or
//! `opening`; `--seconds` is the length of one measurement.

#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

#[path = "shared/arguments.rs"]
mod arguments;
#[path = "shared/batch.rs"]
mod batch;
#[path = "shared/machine.rs"]
mod machine;
#[path = "shared/median.rs"]
mod median;
#[path = "shared/neighbours.rs"]
mod neighbours;
#[path = "shared/table.rs"]
mod table;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arguments::{Arguments, Effort};
use batch::Stream;
use recount::engine::SystemClock;
use recount::journal::{DiskJournal, Journal, block_on};
use recount_evidence::{Checkpoints, Following, PrivateKey, Signer};
use tokio::sync::watch;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The maximum share of appends that the checkpoints may cost.
const TARGET: f64 = 0.05;

fn main() {
    let arguments = Arguments::read(&["--seconds", "--fill", "--signs"]);
    if let Some(path) = arguments.value("--fill") {
        let seconds = arguments.value("--seconds").and_then(|it| it.parse().ok());
        let time = Duration::from_secs_f64(seconds.expect("a number of seconds"));
        let signs = arguments.value("--signs") == Some("true");
        // Nothing is closed or synced by this end.
        measured_at(Path::new(path), 64, time, signs, || std::process::abort());
    }
    let neighbours = neighbours::Neighbours::watch();
    println!("checkpoints: {}", machine::describe());
    batch::check();
    let (pairs, mut seconds) = match arguments.effort {
        Effort::Full => (9, 5.0),
        Effort::Quick => (5, 2.0),
        Effort::Test => (1, 0.05),
    };
    if let Some(given) = arguments.value("--seconds") {
        seconds = given.parse().expect("a number of seconds");
    }
    let time = Duration::from_secs_f64(seconds);
    let mut rows = Vec::new();
    for writers in [1, 64] {
        let name = format!("writers/{writers}");
        if !arguments.wants(&name) {
            continue;
        }
        let (mut without, mut with, mut costs) = (Vec::new(), Vec::new(), Vec::new());
        let mut behind = Vec::new();
        for pair in 0..pairs {
            // By turns, so that a disk that gets slower does not favour one of them.
            let signs_first = pair % 2 == 1;
            let first = measured(writers, time, signs_first);
            let second = measured(writers, time, !signs_first);
            let (signing, plain) = match signs_first {
                true => (first, second),
                false => (second, first),
            };
            without.push(plain.0);
            with.push(signing.0);
            costs.push(1.0 - signing.0 / plain.0);
            behind.push(signing.1.as_secs_f64());
        }
        let cost = median::median(costs);
        rows.push(vec![
            name,
            table::thousands(median::median(without)),
            table::thousands(median::median(with)),
            format!("{:.1} %", 100.0 * cost),
            format!("{:.0} ms", 1000.0 * median::median(behind)),
            table::verdict(cost < TARGET),
        ]);
    }
    let columns = [
        "",
        "appends/s without",
        "with",
        "cost",
        "time to finish",
        "under 5 %",
    ];
    table::print("The price of checkpoints", &columns, &rows);
    if arguments.wants("opening") {
        openings(pairs, time);
    }
    neighbours.report();
}

/// Measures openings after a process was killed that had written with and without a follower.
fn openings(pairs: usize, time: Duration) {
    let (mut without, mut with, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let signs_first = pair % 2 == 1;
        let first = opened_after_kill(time, signs_first);
        let second = opened_after_kill(time, !signs_first);
        let (signing, plain) = match signs_first {
            true => (first, second),
            false => (second, first),
        };
        without.push(plain);
        with.push(signing);
        costs.push(signing / plain - 1.0);
    }
    let cost = median::median(costs);
    let milliseconds = |of| format!("{:.1} ms", 1000.0 * median::median(of));
    let row = vec![
        milliseconds(without),
        milliseconds(with),
        format!("{:.1} %", 100.0 * cost),
        table::verdict(cost < 0.1),
    ];
    let columns = ["without", "with", "cost", "under 10 %"];
    table::print("Opening after a kill", &columns, &[row]);
}

/// The seconds per million records in which a journal opens, and its tree with it, after a process
/// that wrote to it was killed.
fn opened_after_kill(time: Duration, signs: bool) -> f64 {
    let directory = machine::scratch();
    let path = directory.path().join("journal");
    let mut process = std::process::Command::new(std::env::current_exe().expect("a program"));
    process.args(["--fill", &path.display().to_string()]);
    process.args(["--seconds", &time.as_secs_f64().to_string()]);
    process.args(["--signs", &signs.to_string()]);
    let ended = process.status().expect("a process");
    assert!(!ended.success(), "the process was not killed");
    let begun = Instant::now();
    let journal = Arc::new(DiskJournal::open(&path).expect("a journal"));
    if signs {
        let (followed, clock) = (Arc::clone(&journal), SystemClock::shared());
        let settings = settings();
        block_on(Following::open(settings, &path, followed, clock)).expect("a tree");
    }
    let taken = begun.elapsed().as_secs_f64();
    let opened = journal.opened().records;
    block_on(journal.close()).expect("a close");
    taken / opened as f64 * 1e6
}

fn settings() -> Checkpoints {
    let key = PrivateKey::generate("bench.example/journal").expect("a key");
    Checkpoints {
        origin: "bench.example/journal".to_owned(),
        signers: vec![Signer::Key(key)],
        every_records: 10_000,
        every: Duration::from_secs(60),
    }
}

/// The appends a second of closed loops, each with a session of its own, and the time that the
/// follower then needs for what it has not read yet and its last checkpoint.
fn measured(writers: u64, time: Duration, signs: bool) -> (f64, Duration) {
    let directory = machine::scratch();
    measured_at(
        &directory.path().join("journal"),
        writers,
        time,
        signs,
        || {},
    )
}

/// The same for a journal at `path`, with something done at the end of the writers.
fn measured_at(
    path: &Path,
    writers: u64,
    time: Duration,
    signs: bool,
    at_end: impl Fn(),
) -> (f64, Duration) {
    let path = path.to_owned();
    let journal = Arc::new(DiskJournal::open(&path).expect("a new journal"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (stop, stopped) = watch::channel(false);
    let following = signs.then(|| {
        let settings = settings();
        let (followed, clock) = (Arc::clone(&journal), SystemClock::shared());
        thread::spawn(move || {
            runtime.block_on(async move {
                let following = Following::open(settings, &path, followed, clock).await;
                following.expect("a tree").run(stopped).await
            })
        })
    });
    let done = AtomicBool::new(false);
    let begun = Instant::now();
    let appends: u64 = thread::scope(|scope| {
        let writers: Vec<_> = (0..writers)
            .map(|writer| {
                let (journal, done) = (&journal, &done);
                scope.spawn(move || {
                    let (mut stream, mut appends) = (Stream::new(writer), 0);
                    while !done.load(Ordering::Relaxed) {
                        let append = journal.append(stream.next_append());
                        block_on(append).expect("an append");
                        appends += 1;
                    }
                    appends
                })
            })
            .collect();
        thread::sleep(time);
        done.store(true, Ordering::Relaxed);
        let appends = writers.into_iter().map(|it| it.join().expect("a writer"));
        appends.sum()
    });
    let rate = appends as f64 / begun.elapsed().as_secs_f64();
    at_end();
    let ended = Instant::now();
    if let Some(following) = following {
        stop.send_replace(true);
        let outcome = following.join().expect("the follower");
        outcome.expect("the last checkpoint");
    }
    let finishing = ended.elapsed();
    block_on(journal.close()).expect("a close");
    (rate, finishing)
}
