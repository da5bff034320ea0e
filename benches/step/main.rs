//! The cost of a durable tool-call step. Call and decision are on disk before the tool runs, and
//! result and response before the response is sent.
//!
//! There is no simulator and no socket: the model is a function. One session is compared with a raw
//! write and sync, alternating in the same run, with rests and in loops. Many sessions are measured
//! in steps per second, CPU time and disk space.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "../shared/arguments.rs"]
mod arguments;
mod disk;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/neighbours.rs"]
mod neighbours;
#[path = "../shared/peer.rs"]
mod peer;
#[path = "../shared/processor_time.rs"]
mod processor_time;
mod raw;
mod sessions;
#[path = "../shared/table.rs"]
mod table;

use std::thread::sleep;
use std::time::Duration;

use arguments::{Arguments, Effort};
use disk::disk;
use neighbours::Neighbours;
use raw::Raw;
use recount::Engine;
use sessions::Sessions;
use table::{thousands, verdict};
use tokio::runtime::{Builder, Runtime};

/// The maximum ratio of the p50 of a step alone to the p50 of a raw write. A step is two writes,
/// one after another.
const ALONE_TARGET: f64 = 3.0;
/// The numbers of threads of the runtime.
const THREADS: [usize; 2] = [1, 2];
/// The rests before each write and each step. The journal uses its measurements of the disk for a
/// second. So they are out of date after the long rest, as between the calls of a conversation, and
/// current after the short one.
const RESTS: [Duration; 2] = [Duration::from_millis(1_100), Duration::from_millis(1)];
/// The length of a raw write, in bytes. Each of the two appends of a step has about this length.
const RAW_BYTES: usize = 1_400;
/// The numbers of sessions that step at the same time.
const CROWDS: [usize; 2] = [64, 512];
const RATE_TARGET: f64 = 20_000.0;
const WORKED_TARGET_US: f64 = 60.0;
const DISK_TARGET: f64 = 6_000.0;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = Arguments::read(&["--steps"]);
    let crowds = CROWDS.map(|sessions| (sessions, format!("crowd/{sessions}")));
    let wanted = crowds.iter().any(|(_, name)| arguments.wants(name));
    if !(wanted || arguments.wants("alone")) {
        return;
    }
    let neighbours = Neighbours::watch();
    println!("step: {}", machine::describe());
    let (turns, crowd_steps): (usize, usize) = match arguments.effort {
        Effort::Full => (3_000, 300_000),
        Effort::Quick => (300, 40_000),
        Effort::Test => (30, 1_000),
    };
    let asked = arguments.value("--steps");
    let crowd_steps = asked.map_or(crowd_steps, |asked| asked.parse().expect("a number"));
    if arguments.wants("alone") {
        let rests = RESTS.map(|rest| {
            let turns = if rest < Duration::from_secs(1) {
                turns
            } else {
                turns.div_ceil(150)
            };
            Pace::Rested { rest, turns }
        });
        let at_once = Pace::AtOnce { blocks: turns / 30 };
        let paces = rests.into_iter().chain([at_once]);
        let rows: Vec<_> = paces
            .flat_map(|pace| THREADS.map(|threads| alone(threads, &pace)))
            .collect();
        let columns = [
            "each begins",
            "threads",
            "raw write p50 / p99 µs",
            "step p50 / p99 µs",
            "p50 ratio",
            "target",
            "verdict",
        ];
        let title = "One session alone, by turns with a raw write";
        table::print(title, &columns, &rows);
    }
    let runtime = runtime(2);
    let rows: Vec<_> = crowds
        .iter()
        .filter(|(_, name)| arguments.wants(name))
        .flat_map(|(sessions, _)| crowd(&runtime, *sessions, crowd_steps))
        .collect();
    if !rows.is_empty() {
        let columns = ["sessions", "figure", "measured", "target", "verdict"];
        table::print("Steps of many sessions at the same time", &columns, &rows);
    }
    neighbours.report();
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The order in which writes and steps of one session alternate.
enum Pace {
    /// One write and one step in turn, with a rest before each.
    Rested { rest: Duration, turns: usize },
    /// A hundred writes and a hundred steps in turn, without rests.
    AtOnce { blocks: usize },
}

/// The row of one session and a raw file, on a runtime with so many threads.
fn alone(threads: usize, pace: &Pace) -> Vec<String> {
    let runtime = runtime(threads);
    let scratch = machine::scratch();
    let mut raw = Raw::new(&scratch.path().join("raw"), RAW_BYTES);
    let journal = scratch.path().join("journal");
    let sessions = runtime.block_on(Sessions::open(Engine::builder(&journal), 1));
    // The first steps also allocate shared data.
    runtime.block_on(sessions.steps(50));
    raw.writes(50);
    let (mut writes, mut steps) = (Vec::new(), Vec::new());
    let begins = match pace {
        Pace::Rested { rest, turns } => {
            for _ in 0..*turns {
                sleep(*rest);
                writes.extend(raw.writes(1));
                sleep(*rest);
                steps.extend(runtime.block_on(sessions.steps(1)).steps);
            }
            format!("after {rest:?}")
        }
        Pace::AtOnce { blocks } => {
            for _ in 0..*blocks {
                writes.extend(raw.writes(100));
                steps.extend(runtime.block_on(sessions.steps(100)).steps);
            }
            "at once".to_owned()
        }
    };
    runtime.block_on(sessions.close());
    let ratio = at(&mut steps, 0.5) / at(&mut writes, 0.5);
    let both = |of: &mut Vec<Duration>| format!("{:.0} / {:.0}", at(of, 0.5), at(of, 0.99));
    vec![
        begins,
        threads.to_string(),
        both(&mut writes),
        both(&mut steps),
        format!("{ratio:.2}"),
        format!("at most {ALONE_TARGET}"),
        verdict(ratio <= ALONE_TARGET),
    ]
}

/// The rows of the figures of so many sessions.
fn crowd(runtime: &Runtime, sessions: usize, steps: usize) -> Vec<Vec<String>> {
    let scratch = machine::scratch();
    let journal = scratch.path().join("journal");
    let crowd = runtime.block_on(Sessions::open(Engine::builder(&journal), sessions));
    runtime.block_on(crowd.steps(steps / 10));
    let mut took = runtime.block_on(crowd.steps(steps));
    runtime.block_on(crowd.close());
    let made = (steps + steps / 10) as f64;
    let rate = took.steps.len() as f64 / took.time.as_secs_f64();
    let worked = took.worked.as_secs_f64() * 1e6 / took.steps.len() as f64;
    let bytes = disk(&journal) as f64 / made;
    let row = |figure: &str, measured: String, target: String, met: bool| {
        let figure = figure.to_owned();
        vec![sessions.to_string(), figure, measured, target, verdict(met)]
    };
    let latency = format!(
        "{:.1} / {:.1}",
        at(&mut took.steps, 0.5) / 1e3,
        at(&mut took.steps, 0.99) / 1e3
    );
    vec![
        row(
            "steps/s",
            thousands(rate),
            format!("at least {}", thousands(RATE_TARGET)),
            rate >= RATE_TARGET,
        ),
        row(
            "processor time a step, µs, the peer's included",
            format!("{worked:.1}"),
            format!("at most {WORKED_TARGET_US}"),
            worked <= WORKED_TARGET_US,
        ),
        row(
            "disk a step, bytes, log and index after the close",
            thousands(bytes),
            format!("at most {}", thousands(DISK_TARGET)),
            bytes <= DISK_TARGET,
        ),
        vec![
            sessions.to_string(),
            "a step, p50 / p99 ms".to_owned(),
            latency,
            "—".to_owned(),
            "—".to_owned(),
        ],
    ]
}

/// The percentile of the durations for this share, in microseconds.
fn at(durations: &mut [Duration], share: f64) -> f64 {
    durations.sort_unstable();
    let place = (durations.len() as f64 * share) as usize;
    let found = durations.get(place.min(durations.len().saturating_sub(1)));
    found.map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
}
