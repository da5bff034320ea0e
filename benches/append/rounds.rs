//! Rounds of the raw log and the journal, with the same sessions and bytes.

use std::sync::Arc;
use std::time::Duration;

use recount::journal::{Append, DiskJournal};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::driver::{self, Driven, Saturated};
use crate::latency::Latency;
use crate::log::{Log, Planned};
use crate::machine::scratch;
use crate::plan;
use crate::raw_log::{Form, Preallocated, RawLog};

/// The shared state of all rounds.
#[derive(Debug)]
pub(crate) struct Ground {
    runtime: Runtime,
    /// The file of the raw log. `None` during a round of it.
    file: Option<Preallocated>,
    directory: TempDir,
}

/// The same figure of both logs.
#[derive(Debug)]
pub(crate) struct Pair<T> {
    pub(crate) raw: T,
    pub(crate) journal: T,
}

type Shared = Vec<Arc<Vec<Append>>>;

impl Ground {
    pub(crate) fn new() -> Self {
        let directory = scratch();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        Self {
            runtime,
            file: Some(Preallocated::new(&directory.path().join("raw"))),
            directory,
        }
    }

    /// A rough estimate of the appends per second that the journal acknowledges. Also warms it up.
    pub(crate) fn guess(&mut self, sessions: u64, time: Duration) -> f64 {
        let most = if sessions == 1 { 20_000.0 } else { 300_000.0 };
        let plan = plan::build(sessions, (most * time.as_secs_f64()) as usize);
        let shared: Shared = plan.into_iter().map(Arc::new).collect();
        let saturated = self
            .journal(|runtime, journal| driver::saturate(runtime, journal, once(&shared), time));
        saturated.appends as f64 / saturated.acknowledging.as_secs_f64()
    }

    /// Measures closed loops. `rate` is the highest rate expected of the journal.
    pub(crate) fn saturate(&mut self, sessions: u64, rate: f64, time: Duration) -> Pair<Saturated> {
        let plan = plan::build(sessions, (rate * 1.3 * time.as_secs_f64()) as usize + 1);
        let shared: Shared = plan.into_iter().map(Arc::new).collect();
        let raw = self.raw(Form::Queue, |runtime, raw| {
            driver::saturate(runtime, raw, over_and_over(&shared), time)
        });
        let journal = self
            .journal(|runtime, journal| driver::saturate(runtime, journal, once(&shared), time));
        Pair { raw, journal }
    }

    /// Measures both logs at a fixed rate.
    pub(crate) fn drive(&mut self, sessions: u64, rate: f64, time: Duration) -> Pair<Driven> {
        let appends = (rate * time.as_secs_f64()).ceil() as usize;
        let plan = plan::build(sessions, appends);
        let appends = appends.min(plan.iter().map(Vec::len).sum());
        let shared: Shared = plan.into_iter().map(Arc::new).collect();
        let raw = self.raw(Form::Queue, |runtime, raw| {
            driver::drive(runtime, raw, over_and_over(&shared), rate, appends)
        });
        let journal = self.journal(|runtime, journal| {
            let driven = driver::drive(runtime, journal, once(&shared), rate, appends);
            runtime.block_on(journal.finish());
            driven
        });
        Pair { raw, journal }
    }

    /// Measures one session alone, in alternating blocks. Both logs stay open for all blocks.
    pub(crate) fn alone(&mut self, appends: usize, blocks: usize) -> Pair<Vec<Latency>> {
        let plan = plan::build(1, appends).pop().unwrap_or_default();
        let (mut raw, mut journal) = (Vec::new(), Vec::new());
        let file = self.file.take().expect("the file is back");
        let raw_log = Arc::new(RawLog::new(Form::Queue, file));
        self.journal(|runtime, journal_log| {
            let for_ever = Duration::from_secs(3_600);
            for block in plan.chunks(appends.div_ceil(blocks)) {
                let shared = Arc::new(block.to_vec());
                let planned = Planned::over_and_over(Arc::clone(&shared)).take(block.len());
                let took = driver::closed_loop(runtime, &raw_log, vec![planned], for_ever);
                raw.extend(took.into_iter().flat_map(|session| session.latencies));
                let block = once(&vec![shared]);
                let took = driver::closed_loop(runtime, journal_log, block, for_ever);
                journal.extend(took.into_iter().flat_map(|session| session.latencies));
            }
            runtime.block_on(journal_log.finish());
        });
        self.file = Some(stop(raw_log));
        Pair { raw, journal }
    }

    /// The appends per second of the raw log whose writers copy their bytes themselves.
    pub(crate) fn shared_buffer(&mut self, sessions: u64, time: Duration) -> f64 {
        let plan = plan::build(sessions, 20_000);
        let shared: Shared = plan.into_iter().map(Arc::new).collect();
        let raw = self.raw(Form::SharedBuffer, |runtime, raw| {
            driver::saturate(runtime, raw, over_and_over(&shared), time)
        });
        raw.rate()
    }

    /// The appends per second of one thread that writes so many batches in one call and syncs, in a
    /// loop.
    pub(crate) fn simplest(&mut self, batches: u64, time: Duration) -> f64 {
        let plan = plan::build(batches, 1);
        let lines = plan.iter().flatten().flat_map(|append| &append.lines);
        let bytes: Vec<u8> = lines.flat_map(|line| line.bytes().to_vec()).collect();
        settle();
        let file = self.file.as_mut().expect("the file is back");
        file.loop_for(&bytes, time) * batches as f64
    }

    fn raw<T>(&mut self, form: Form, run: impl FnOnce(&Runtime, &Arc<RawLog>) -> T) -> T {
        let file = self.file.take().expect("the file is back");
        let raw = Arc::new(RawLog::new(form, file));
        settle();
        let outcome = run(&self.runtime, &raw);
        self.file = Some(stop(raw));
        outcome
    }

    /// Runs with a new journal, and removes it afterwards.
    fn journal<T>(&mut self, run: impl FnOnce(&Runtime, &Arc<DiskJournal>) -> T) -> T {
        let directory = tempfile::tempdir_in(self.directory.path()).expect("a directory");
        let path = directory.path().join("journal");
        let journal = Arc::new(DiskJournal::open(path).expect("a journal"));
        settle();
        run(&self.runtime, &journal)
    }
}

/// Writes dirty pages back, so that no round pays for an earlier one.
fn settle() {
    rustix::fs::sync();
}

fn stop(raw: Arc<RawLog>) -> Preallocated {
    let raw = Arc::into_inner(raw).expect("the sessions have let go");
    raw.stop()
}

fn over_and_over(plan: &Shared) -> Vec<impl Iterator<Item = Planned> + Send + use<>> {
    let sessions = plan.iter().map(Arc::clone);
    sessions.map(Planned::over_and_over).collect()
}

/// The batches of each session, once. The lines stay in the plan, because freeing memory of another
/// thread takes time that belongs to no log.
fn once(plan: &Shared) -> Vec<impl Iterator<Item = Append> + Send + use<>> {
    let sessions = plan.iter().map(Arc::clone);
    sessions
        .map(|plan| {
            let places = 0..plan.len();
            places.map(move |place| plan.get(place).expect("a place of the plan").clone())
        })
        .collect()
}
