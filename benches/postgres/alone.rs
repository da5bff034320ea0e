//! One session alone: raw writes of the disk, bare inserts, appends and steps, in turn.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use recount::Engine;
use recount::journal::Journal;
use recount_postgres::PostgresJournal;
use tokio::runtime::Runtime;

use crate::bare::{Bare, Columns, Inserting};
use crate::batch::{BATCH_RECORDS, RECORD_BYTES, Stream};
use crate::node;
use crate::raw::Raw;
use crate::rows::{Row, at};
use crate::server::{Schema, Server};
use crate::sessions::Sessions;

/// The maximum ratio of the p50 of an append to the p50 of a raw write.
const APPEND_TARGET: f64 = 2.5;
/// The maximum ratio of the p50 of a step, which is two appends, to the p50 of a raw write.
const STEP_TARGET: f64 = 5.5;

/// The order of the work.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// So many of each in a loop, in so many blocks.
    InLoops { blocks: usize, each: usize },
    /// One of each in so many turns, with a rest before each.
    Rested { turns: usize, rest: Duration },
}

/// The measured work, and its shared runtime.
struct Work<'r> {
    runtime: &'r Runtime,
    raw: Raw,
    bare: Inserting,
    bare_stream: Stream,
    journal: Arc<PostgresJournal>,
    stream: Stream,
    sessions: Sessions,
}

#[derive(Default)]
struct Times {
    raw: Vec<Duration>,
    bare: Vec<Duration>,
    appends: Vec<Duration>,
    steps: Vec<Duration>,
}

/// The rows of one session alone.
pub(crate) fn rows(server: &Server, runtime: &Runtime, paces: &[Pace]) -> Vec<Row> {
    let schema = Schema::new(server);
    let data = server.data();
    // Beside the data: in the same file system, and gone with it.
    let beside = data.parent().expect("a directory of the server");
    let scratch = tempfile::tempdir_in(beside).expect("a directory beside the server's data");
    let bytes = RECORD_BYTES * BATCH_RECORDS as usize;
    let bare = Bare::new(server, &schema);
    let journal = node::open(&schema);
    let engine = Engine::builder("none").journal(journal.clone());
    let mut work = Work {
        runtime,
        raw: Raw::new(&scratch.path().join("raw"), bytes),
        bare: runtime.block_on(bare.connect(server)),
        bare_stream: Stream::new(1),
        stream: Stream::new(2),
        sessions: runtime.block_on(Sessions::open(engine, 1)),
        journal,
    };
    // The first of each prepare statements, and fill caches.
    work.block(200, &mut Times::default());
    let rows = paces.iter().flat_map(|pace| work.pace(*pace)).collect();
    runtime.block_on(work.sessions.close());
    rows
}

impl Work<'_> {
    fn pace(&mut self, pace: Pace) -> Vec<Row> {
        let mut times = Times::default();
        let how = match pace {
            Pace::InLoops { blocks, each } => {
                for _ in 0..blocks {
                    self.block(each, &mut times);
                }
                "in a loop".to_owned()
            }
            Pace::Rested { turns, rest } => {
                for _ in 0..turns {
                    sleep(rest);
                    times.raw.extend(self.raw.writes(1));
                    sleep(rest);
                    times.bare.extend(self.inserts(1));
                    sleep(rest);
                    times.appends.extend(self.appends(1));
                    sleep(rest);
                    times.steps.extend(self.steps(1));
                }
                format!("after {rest:?}")
            }
        };
        times.rows(&how)
    }

    /// So many of each.
    fn block(&mut self, each: usize, times: &mut Times) {
        times.raw.extend(self.raw.writes(each));
        times.bare.extend(self.inserts(each));
        times.appends.extend(self.appends(each));
        times.steps.extend(self.steps(each));
    }

    fn inserts(&mut self, count: usize) -> Vec<Duration> {
        let (bare, stream) = (&self.bare, &mut self.bare_stream);
        self.runtime.block_on(async {
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                let columns = Columns::of(std::iter::once(stream.next_append()));
                let begun = Instant::now();
                bare.insert(&columns).await;
                times.push(begun.elapsed());
            }
            times
        })
    }

    fn appends(&mut self, count: usize) -> Vec<Duration> {
        let (journal, stream) = (&self.journal, &mut self.stream);
        self.runtime.block_on(async {
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                let append = stream.next_append();
                let begun = Instant::now();
                journal.append(append).await.expect("an append");
                times.push(begun.elapsed());
            }
            times
        })
    }

    fn steps(&mut self, count: usize) -> Vec<Duration> {
        self.runtime.block_on(self.sessions.steps(count)).steps
    }
}

impl Times {
    fn rows(mut self, how: &str) -> Vec<Row> {
        let raw = at(&mut self.raw, 0.5);
        let row = |what: &str, times: &mut Vec<Duration>, target: Option<f64>| {
            let (p50, p99) = (at(times, 0.5), at(times, 0.99));
            let ratio = p50 / raw;
            Row {
                what: format!("{what}, {how}"),
                figure: "p50 / p99, µs; p50 in raw writes".to_owned(),
                measured: format!("{p50:.0} / {p99:.0}; {ratio:.2}"),
                baseline: format!("{raw:.0}"),
                target: target.map(|target| (format!("at most {target}"), ratio <= target)),
            }
        };
        vec![
            row("raw write and sync", &mut self.raw, None),
            row("bare insert", &mut self.bare, None),
            row(
                "append of four records",
                &mut self.appends,
                Some(APPEND_TARGET),
            ),
            row("step of the engine", &mut self.steps, Some(STEP_TARGET)),
        ]
    }
}
