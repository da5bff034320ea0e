//! Steps of many sessions at the same time, beside those of the same engine over a directory.

use std::time::Duration;

use recount::Engine;
use tokio::runtime::Runtime;

use crate::appends::WAL_TARGET;
use crate::cost::{Cost, measured};
use crate::machine;
use crate::node;
use crate::rows::{Row, at};
use crate::server::{Schema, Server};
use crate::sessions::Sessions;
use crate::table::thousands;

/// The steps a second that are aimed at.
const RATE_TARGET: f64 = 12_000.0;

/// The rows of so many sessions that make so many steps.
pub(crate) fn rows(
    (server, runtime): (&Server, &Runtime),
    sessions: usize,
    steps: usize,
) -> Vec<Row> {
    let scratch = machine::scratch();
    let engine = Engine::builder(scratch.path().join("journal"));
    let (directory, _) = run((server, runtime), engine, (sessions, steps), &mut || 0.0);
    let schema = Schema::new(server);
    let engine = Engine::builder("none").journal(node::open(&schema));
    let mut bytes = || schema.bytes();
    let (database, mut latencies) = run((server, runtime), engine, (sessions, steps), &mut bytes);
    let (cost, bytes) = database;
    let disk = schema.disk() / schema.records();
    let row = |figure: &str, measured: String, baseline: String, target| Row {
        what: format!("steps of {sessions} sessions"),
        figure: figure.to_owned(),
        measured,
        baseline,
        target,
    };
    let wal = cost.wal / bytes;
    let percentile = |latencies: &mut Vec<Duration>, share| at(latencies, share) / 1e3;
    let (p50, p99) = (
        percentile(&mut latencies, 0.5),
        percentile(&mut latencies, 0.99),
    );
    let none = || "—".to_owned();
    vec![
        row(
            "steps/s; over a directory",
            thousands(cost.rate()),
            thousands(directory.0.rate()),
            Some((
                format!("at least {}", thousands(RATE_TARGET)),
                cost.rate() >= RATE_TARGET,
            )),
        ),
        row(
            "CPU time of a step, client + server, µs",
            cost.worked_text(),
            directory.0.worked_text(),
            None,
        ),
        row(
            "write-ahead log, bytes for a byte of lines and objects",
            format!("{wal:.2}"),
            none(),
            Some((format!("at most {WAL_TARGET}"), wal <= WAL_TARGET)),
        ),
        row(
            "lines of a step, bytes; disk of a record, bytes",
            format!("{:.0}; {disk:.0}", bytes / cost.pieces as f64),
            none(),
            None,
        ),
        row(
            "a step, p50 / p99 ms",
            format!("{p50:.2} / {p99:.2}"),
            none(),
            None,
        ),
    ]
}

/// The cost of the steps and the bytes that they stored, and the time of each.
type Run = ((Cost, f64), Vec<Duration>);

fn run(
    (server, runtime): (&Server, &Runtime),
    engine: recount::engine::EngineBuilder,
    (sessions, steps): (usize, usize),
    bytes: &mut dyn FnMut() -> f64,
) -> Run {
    let crowd = runtime.block_on(Sessions::open(engine, sessions));
    runtime.block_on(crowd.steps(steps / 10));
    let before = bytes();
    let steps = steps.div_ceil(sessions) * sessions;
    let mut took = None;
    let mut cost = measured(server, steps, || {
        took = Some(runtime.block_on(crowd.steps(steps)));
    });
    let took = took.expect("a run");
    // Without the looks at the server.
    (cost.time, cost.client) = (took.time, took.worked);
    let stored = bytes() - before;
    runtime.block_on(crowd.close());
    ((cost, stored), took.steps)
}
