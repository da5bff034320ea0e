//! Live sessions: the latency that the engine adds to audio, and the cost of a connected session.
//!
//! `cargo bench --bench live`, or with one of `latency`, `heap`, `crowd`. The service runs in a
//! process of its own.

#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

mod idle;
mod latency;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/neighbours.rs"]
mod neighbours;
mod service;

use std::process::Command;
use std::time::Duration;

/// The parts of the bench. Each runs in a process of its own, because memory that one has used is
/// not returned.
const PARTS: [&str; 4] = ["latency", "heap", "heap-without-socket", "crowd"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    if has("--service") {
        return service::serve();
    }
    let coarse = has("--test") || has("--quick");
    if has("--part") {
        for part in PARTS.into_iter().filter(|part| has(part)) {
            measure(part, coarse);
        }
        return;
    }
    println!("{}", machine::describe());
    let watch = neighbours::Neighbours::watch();
    let chosen = PARTS.into_iter().filter(|part| {
        let named = words.iter().filter(|word| !word.starts_with("--"));
        let mut named = named.peekable();
        named.peek().is_none() || named.any(|word| part.starts_with(word.as_str()))
    });
    for part in chosen {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program);
        child.args(["--part", part]);
        if coarse {
            child.arg("--test");
        }
        assert!(child.status().expect("a child").success(), "{part} failed");
    }
    watch.report();
}

fn measure(part: &str, coarse: bool) {
    let sessions = if coarse { 100 } else { 1_000 };
    match part {
        "latency" => {
            let heard = latency::measure(if coarse { 200 } else { 6_000 });
            let mut added = heard.added;
            added.sort_unstable();
            let at = |share: f64| {
                let place = (added.len() as f64 * share) as usize;
                let found = added.get(place).copied().unwrap_or(Duration::MAX);
                found.as_secs_f64() * 1e6
            };
            println!(
                "latency: p50 {:.1} µs, p90 {:.1} µs, p99 {:.1} µs, p99.9 {:.1} µs of {} pieces; \
                 {} tools recorded {:.0} results a second",
                at(0.5),
                at(0.9),
                at(0.99),
                at(0.999),
                added.len(),
                service::TOOLS,
                heard.recorded,
            );
        }
        "heap" | "heap-without-socket" => {
            let with_socket = part == "heap";
            let heap = idle::heap(sessions, with_socket) / 1024.0;
            println!("{part}: {heap:.1} KiB for each of {sessions} idle sessions");
        }
        "crowd" => {
            let crowd = idle::crowd(sessions);
            println!(
                "crowd: {sessions} sessions connected in {:.2} s, \
                 one turn each at the same time in {:.2} s, {:.1} KiB of resident memory each",
                crowd.connecting.as_secs_f64(),
                crowd.conversing.as_secs_f64(),
                crowd.resident / 1024.0,
            );
        }
        other => unreachable!("{other} is no part"),
    }
}
