//! The gateway beside a bare byte relay: the latency that it adds to audio, its CPU time, the
//! memory of an idle session, and the price of a held call that is released at once.
//!
//! `cargo bench -p recount-gateway --bench gateway`, or with one of `audio`, `idle`, `hold`;
//! `--sessions` is the number of conversations and `--seconds` the length of one measurement.
//! Vendor, clients, relay and gateway are processes of their own.

#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

#[path = "../shared/arguments.rs"]
mod arguments;
mod audio;
mod children;
mod clients;
mod gateway;
mod hold;
mod idle;
mod latencies;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/median.rs"]
mod median;
#[path = "../shared/neighbours.rs"]
mod neighbours;
#[path = "../shared/processor_time.rs"]
mod processor_time;
#[path = "../step/raw.rs"]
mod raw;
mod relay;
mod speaking;
#[path = "../shared/table.rs"]
mod table;
mod vendor;
mod websocket;

use std::time::Duration;

use arguments::{Arguments, Effort};
use neighbours::Neighbours;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The sizes of a run.
struct Sizes {
    /// The conversations that speak at the same time.
    sessions: usize,
    /// The length of one measurement of audio.
    time: Duration,
    /// The measurements of audio of each target.
    rounds: usize,
    /// The idle sessions.
    idle: usize,
    /// The held calls.
    calls: usize,
}

fn main() {
    if let Some(words) = children::words_of_child() {
        return child(&words);
    }
    let arguments = Arguments::read(&["--sessions", "--seconds"]);
    let neighbours = Neighbours::watch();
    println!("gateway: {}", machine::describe());
    let mut sizes = match arguments.effort {
        Effort::Full => Sizes {
            sessions: 200,
            time: Duration::from_secs(10),
            rounds: 5,
            idle: 2_000,
            calls: 2_000,
        },
        Effort::Quick => Sizes {
            sessions: 200,
            time: Duration::from_secs(4),
            rounds: 3,
            idle: 500,
            calls: 500,
        },
        Effort::Test => Sizes {
            sessions: 4,
            time: Duration::from_millis(500),
            rounds: 1,
            idle: 10,
            calls: 10,
        },
    };
    if let Some(sessions) = arguments.value("--sessions") {
        sizes.sessions = sessions.parse().expect("a number of sessions");
    }
    if let Some(seconds) = arguments.value("--seconds") {
        sizes.time = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    }
    let directory = machine::scratch();
    if arguments.wants("audio") {
        audio::measure(sizes.sessions, sizes.time, sizes.rounds, directory.path());
    }
    if arguments.wants("idle") {
        idle::measure(sizes.idle, directory.path());
    }
    if arguments.wants("hold") {
        hold::measure(sizes.calls, directory.path());
    }
    neighbours.report();
}

/// The work of a child process, by its words.
fn child(words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["vendor"] => vendor::child(),
        ["relay", vendor] => relay::child(vendor),
        ["gateway", vendor, journal] => gateway::child(vendor, journal),
        ["clients", address, sessions, ms] => clients::child(address, sessions, ms),
        other => unreachable!("{other:?} is nothing that a child does"),
    }
}
