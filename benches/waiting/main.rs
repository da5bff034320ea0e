//! The cost of sessions that wait for a person: opening, listing and memory after a restart, and
//! the time from a kill to the last response.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "../shared/arguments.rs"]
mod arguments;
mod child;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/median.rs"]
mod median;
#[path = "../shared/neighbours.rs"]
mod neighbours;
#[path = "../shared/peer.rs"]
mod peer;
#[path = "../shared/said.rs"]
mod said;
#[path = "../shared/table.rs"]
mod table;

use std::path::Path;

use arguments::{Arguments, Effort};
use child::Left;
use median::median;
use neighbours::Neighbours;
use said::{ChildOutput, child_arguments, run};
use table::{thousands, verdict};

/// The number of openings of a journal for one figure, unless `--rounds` is given.
const ROUNDS: usize = 3;

fn main() {
    if is_child() {
        return;
    }
    let arguments = Arguments::read(&["--rounds"]);
    let names = ["waiting", "approving", "many"];
    if !names.iter().any(|name| arguments.wants(name)) {
        return;
    }
    let neighbours = Neighbours::watch();
    println!("waiting: {}", machine::describe());
    let share = match arguments.effort {
        Effort::Full => 1,
        Effort::Quick => 10,
        Effort::Test => 100,
    };
    let rounds = arguments.value("--rounds");
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    let mut rows = Vec::new();
    let empty = empty_kib(rounds);
    if arguments.wants("waiting") {
        for (how, expire, left) in [
            ("after a shutdown", false, Left::Closed),
            ("after kill -9", false, Left::Killed),
            ("after kill -9, each with an expiry", true, Left::Killed),
        ] {
            rows.extend(waiting(
                10_000 / share,
                how,
                &looked(10_000 / share, expire, left, rounds),
                empty,
            ));
        }
    }
    if arguments.wants("approving") {
        rows.extend(approving(1_000 / share, rounds));
    }
    if arguments.wants("many") {
        rows.extend(many(100_000 / share, rounds, empty));
    }
    let columns = ["sessions", "figure", "measured", "target", "verdict"];
    table::print("Sessions that wait for a person", &columns, &rows);
    neighbours.report();
}

/// The memory of a process with an empty journal, in KiB.
fn empty_kib(rounds: usize) -> f64 {
    let scratch = machine::scratch();
    let journal = scratch.path().join("journal");
    fill(&journal, 0, false, Left::Closed);
    median((0..rounds).map(|_| look(&journal, false).number("opened_kib")))
}

/// The rows of waiting sessions that were opened and listed, each time in a new process.
fn waiting(sessions: usize, how: &str, found: &[ChildOutput], empty_kib: f64) -> Vec<Vec<String>> {
    let growth = |name| (over(found, name) - empty_kib) / 1024.0;
    let listing = over(found, "list_ms");
    let opening = over(found, "open_ms");
    vec![
        told(sessions, &format!("opened {how}, ms"), opening, None),
        told(sessions, &format!("listed {how}, ms"), listing, Some(50.0)),
        told(
            sessions,
            &format!("memory over that of an empty journal {how}, MiB"),
            growth("opened_kib"),
            Some(30.0),
        ),
        told(
            sessions,
            "the same after a list was made and let go, MiB",
            growth("listed_kib"),
            None,
        ),
    ]
}

/// The rows of more sessions than could all be loaded.
fn many(sessions: usize, rounds: usize, empty_kib: f64) -> Vec<Vec<String>> {
    let found = looked(sessions, false, Left::Closed, rounds);
    let growth = (over(&found, "opened_kib") - empty_kib) / 1024.0;
    vec![
        told(sessions, "opened, ms", over(&found, "open_ms"), None),
        told(sessions, "listed, ms", over(&found, "list_ms"), None),
        told(
            sessions,
            "memory over that of an empty journal, MiB",
            growth,
            None,
        ),
    ]
}

fn looked(sessions: usize, expire: bool, left: Left, rounds: usize) -> Vec<ChildOutput> {
    let scratch = machine::scratch();
    let looks = (0..rounds).map(|round| {
        // Opening a killed journal closes it, so each look after a kill needs a journal of its own.
        let journal = match left {
            Left::Closed => scratch.path().join("journal"),
            Left::Killed => scratch.path().join(format!("journal-{round}")),
        };
        if !journal.exists() {
            fill(&journal, sessions, expire, left);
        }
        let said = look(&journal, expire);
        assert_eq!(said.number("pending") as usize, sessions);
        said
    });
    looks.collect()
}

/// The rows from the kill to the last response on disk.
fn approving(sessions: usize, rounds: usize) -> Vec<Vec<String>> {
    let scratch = machine::scratch();
    let approved = (0..rounds).map(|round| {
        let journal = scratch.path().join(format!("journal-{round}"));
        fill(&journal, sessions, false, Left::Killed);
        let said = run(&["approve", text(&journal)], false);
        assert_eq!(said.number("pending") as usize, sessions);
        said
    });
    let approved: Vec<ChildOutput> = approved.collect();
    vec![
        told(
            sessions,
            "opened after kill -9 and listed, ms",
            over(&approved, "listed_ms"),
            Some(100.0),
        ),
        told(
            sessions,
            "then approved, all answers on disk, ms",
            over(&approved, "answered_ms"),
            None,
        ),
        told(
            sessions,
            "then run, all responses on disk, ms from the first approval",
            over(&approved, "responded_ms"),
            Some(500.0),
        ),
    ]
}

/// The row of a figure and its maximum.
fn told(sessions: usize, figure: &str, measured: f64, target: Option<f64>) -> Vec<String> {
    let none = || "—".to_owned();
    vec![
        thousands(sessions as f64),
        figure.to_owned(),
        format!("{measured:.1}"),
        target.map_or_else(none, |target| format!("under {target}")),
        target.map_or_else(none, |target| verdict(measured < target)),
    ]
}

fn over(said: &[ChildOutput], name: &str) -> f64 {
    median(said.iter().map(|said| said.number(name)))
}

/// Runs the work of a child and returns true, if this process is one.
fn is_child() -> bool {
    let Some(words) = child_arguments() else {
        return false;
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse().expect("a number");
    let yes = |word: &str| word.parse().expect("true or false");
    match words.as_slice() {
        ["fill", path, sessions, expire, "closed"] => {
            child::fill(Path::new(path), number(sessions), yes(expire), Left::Closed);
        }
        ["fill", path, sessions, expire, "killed"] => {
            child::fill(Path::new(path), number(sessions), yes(expire), Left::Killed);
        }
        ["look", path, expire] => child::look(Path::new(path), yes(expire)),
        ["approve", path] => child::approve(Path::new(path)),
        other => unreachable!("{other:?} is nothing that a child does"),
    }
    true
}

fn fill(journal: &Path, sessions: usize, expire: bool, left: Left) {
    let word = match left {
        Left::Closed => "closed",
        Left::Killed => "killed",
    };
    let (sessions, expire) = (sessions.to_string(), expire.to_string());
    let words = ["fill", text(journal), &sessions, &expire, word];
    run(&words, left == Left::Killed);
}

fn look(journal: &Path, expire: bool) -> ChildOutput {
    run(&["look", text(journal), &expire.to_string()], false)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}
