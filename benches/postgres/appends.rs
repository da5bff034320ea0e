//! Appends of many sessions at the same time, beside bare inserts of the same lines.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recount::journal::{Append, Journal, block_on};
use tokio::runtime::Runtime;

use crate::bare::Bare;
use crate::batch::{BATCH_RECORDS, RECORD_BYTES, Stream};
use crate::cost::{Cost, measured};
use crate::node;
use crate::rows::{Row, at};
use crate::server::{Schema, Server};
use crate::table::thousands;

/// The maximum CPU time of an append, client and server, in microseconds.
const WORKED_TARGET: f64 = 30.0;
/// The maximum of bytes of the write-ahead log for a byte of the lines.
pub(crate) const WAL_TARGET: f64 = 1.25;
/// The number of sessions for which the CPU time has a target.
const JUDGED: usize = 64;
/// The bytes of the lines of an append.
const BYTES: f64 = RECORD_BYTES as f64 * BATCH_RECORDS as f64;

/// The rows of so many sessions, which make so many appends in each of some rounds.
pub(crate) fn rows(
    (server, runtime): (&Server, &Runtime),
    sessions: usize,
    (appends, rounds): (usize, usize),
) -> Vec<Row> {
    let schema = Schema::new(server);
    let bare = Bare::new(server, &schema);
    let each = appends.div_ceil(sessions);
    // As many rows in as many transactions at a time as the journal has at best.
    let half = sessions.div_ceil(2);
    let batches = (2, appends.div_ceil(2 * half), half);
    let journal = node::open(&schema);
    let mut streams: Vec<Stream> = (1..=sessions as u64).map(Stream::new).collect();
    let mut latencies = Vec::new();
    let (mut inserts, mut appended) = (Vec::new(), Vec::new());
    // The first round begins the streams, and is not measured.
    round((server, runtime), &journal, plan(&mut streams, 2));
    for _ in 0..rounds {
        inserts.push(bare.run((server, runtime), batches));
        let plan = plan(&mut streams, each);
        let (cost, took) = round((server, runtime), &journal, plan);
        appended.push(cost);
        latencies.extend(took);
    }
    let single = bare.run((server, runtime), (JUDGED, each.div_ceil(4), 1));
    block_on(journal.close()).expect("a clean close");
    let told = Told {
        sessions,
        bare: middle(inserts),
        single,
        journal: middle(appended),
    };
    told.rows(&mut latencies)
}

fn plan(streams: &mut [Stream], each: usize) -> Vec<Vec<Append>> {
    let of = |stream: &mut Stream| (0..each).map(|_| stream.next_append()).collect();
    streams.iter_mut().map(of).collect()
}

/// Appends what was planned, each session one after another.
fn round(
    (server, runtime): (&Server, &Runtime),
    journal: &Arc<impl Journal>,
    plan: Vec<Vec<Append>>,
) -> (Cost, Vec<Duration>) {
    let appends = plan.iter().map(Vec::len).sum();
    let mut latencies = Vec::with_capacity(appends);
    let cost = measured(server, appends, || {
        let spawn = |appends: Vec<Append>| {
            let journal = Arc::clone(journal);
            runtime.spawn(async move {
                let mut latencies = Vec::with_capacity(appends.len());
                for append in appends {
                    let begun = Instant::now();
                    journal.append(append).await.expect("an append");
                    latencies.push(begun.elapsed());
                }
                latencies
            })
        };
        let tasks: Vec<_> = plan.into_iter().map(spawn).collect();
        for task in runtime.block_on(join_all(tasks)) {
            latencies.extend(task.expect("a session that ends well"));
        }
    });
    (cost, latencies)
}

/// The round with the median rate.
fn middle(mut rounds: Vec<Cost>) -> Cost {
    rounds.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
    let place = rounds.len().saturating_sub(1) / 2;
    *rounds.get(place).expect("a round")
}

struct Told {
    sessions: usize,
    bare: Cost,
    single: Cost,
    journal: Cost,
}

impl Told {
    fn rows(&self, latencies: &mut [Duration]) -> Vec<Row> {
        let row = |figure: &str, measured: String, baseline: String, target| Row {
            what: format!("appends of {} sessions", self.sessions),
            figure: figure.to_owned(),
            measured,
            baseline,
            target,
        };
        let (client, server) = self.journal.worked();
        let worked = client + server;
        let is_judged = self.sessions == JUDGED;
        let wal = |cost: &Cost| cost.wal / cost.pieces as f64 / BYTES;
        let wal_met = wal(&self.journal) <= WAL_TARGET;
        vec![
            row(
                "appends/s; bare inserts in as large transactions",
                thousands(self.journal.rate()),
                thousands(self.bare.rate()),
                None,
            ),
            row(
                "the same; bare inserts each in a transaction, 64 connections",
                thousands(self.journal.rate()),
                thousands(self.single.rate()),
                None,
            ),
            row(
                "CPU time of an append, client + server, µs",
                self.journal.worked_text(),
                self.bare.worked_text(),
                is_judged.then(|| (format!("at most {WORKED_TARGET}"), worked <= WORKED_TARGET)),
            ),
            row(
                "write-ahead log, bytes for a byte of the lines",
                format!("{:.2}", wal(&self.journal)),
                format!("{:.2}", wal(&self.bare)),
                Some((format!("at most {WAL_TARGET}"), wal_met)),
            ),
            row(
                "an append, p50 / p99 ms",
                format!(
                    "{:.2} / {:.2}",
                    at(latencies, 0.5) / 1e3,
                    at(latencies, 0.99) / 1e3
                ),
                "—".to_owned(),
                None,
            ),
        ]
    }
}
