//! Drives a log: as hard as so many sessions can, or at a fixed rate.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::set_current_timer_slack;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::latency::Latency;
use crate::log::Log;
use crate::processor_time::processor_time;

/// The pause below which the pacemaker does not sleep once more: at high rates arrivals come in
/// twos and threes.
const SHORTEST_NAP: Duration = Duration::from_micros(50);

/// What a closed loop came to.
#[derive(Debug)]
pub(crate) struct Saturated {
    /// Appends acknowledged.
    pub(crate) appends: usize,
    /// Until the last acknowledgement.
    pub(crate) acknowledging: Duration,
    /// Until nothing was left to do.
    pub(crate) total: Duration,
    /// Processor time of the whole process in that time.
    pub(crate) worked: Duration,
    /// From the call to the acknowledgement.
    pub(crate) latencies: Vec<Latency>,
    /// Whether the batches ran out before the time did.
    pub(crate) ran_out: bool,
}

impl Saturated {
    /// Appends a second until nothing was left to do.
    pub(crate) fn rate(&self) -> f64 {
        self.appends as f64 / self.total.as_secs_f64()
    }
}

fn since(then: Instant) -> Latency {
    Latency::try_from(then.elapsed().as_nanos()).unwrap_or(Latency::MAX)
}

/// What one session did.
#[derive(Debug)]
pub(crate) struct Session<Batches> {
    /// From the call to the acknowledgement.
    pub(crate) latencies: Vec<Latency>,
    /// Whether its batches ran out before the time did.
    ran_out: bool,
    /// What is left of them; giving so much memory back takes time that is nobody's.
    _left: Batches,
}

/// Every session appends its next batch as soon as the one before is acknowledged, until the time
/// or its batches are over.
pub(crate) fn closed_loop<L: Log, B: Iterator<Item = L::Batch> + Send + 'static>(
    runtime: &Runtime,
    log: &Arc<L>,
    sessions: Vec<B>,
    time: Duration,
) -> Vec<Session<B>> {
    let until = Instant::now() + time;
    let spawn = |mut batches: B| {
        let log = Arc::clone(log);
        runtime.spawn(async move {
            let mut latencies = Vec::new();
            let ran_out = loop {
                let asked = Instant::now();
                if asked >= until {
                    break false;
                }
                let Some(batch) = batches.next() else {
                    break true;
                };
                log.append(batch).await;
                latencies.push(since(asked));
            };
            Session {
                latencies,
                ran_out,
                _left: batches,
            }
        })
    };
    let tasks: Vec<_> = sessions.into_iter().map(spawn).collect();
    runtime.block_on(async {
        let mut sessions = Vec::with_capacity(tasks.len());
        for task in tasks {
            sessions.push(task.await.expect("a session that ends well"));
        }
        sessions
    })
}

/// A closed loop with the clock running until nothing is left to do.
pub(crate) fn saturate<L: Log>(
    runtime: &Runtime,
    log: &Arc<L>,
    sessions: Vec<impl Iterator<Item = L::Batch> + Send + 'static>,
    time: Duration,
) -> Saturated {
    let (begun, worked) = (Instant::now(), processor_time());
    let sessions = closed_loop(runtime, log, sessions, time);
    let acknowledging = begun.elapsed();
    runtime.block_on(log.finish());
    let (total, worked) = (begun.elapsed(), processor_time() - worked);
    let ran_out = sessions.iter().any(|session| session.ran_out);
    let latencies = sessions.into_iter().flat_map(|session| session.latencies);
    let latencies: Vec<_> = latencies.collect();
    Saturated {
        appends: latencies.len(),
        acknowledging,
        total,
        worked,
        latencies,
        ran_out,
    }
}

/// What an open loop came to.
#[derive(Debug)]
pub(crate) struct Driven {
    /// From the time an append was due, whenever it was begun, to its acknowledgement.
    pub(crate) latencies: Vec<Latency>,
    /// How late the pacemaker was; part of each latency.
    pub(crate) lateness: Vec<Latency>,
}

/// So many appends a second are due, evenly spread, session after session, whether or not the log
/// keeps up.
///
/// A session has one append under way; what is due to it meanwhile waits, and its waiting counts.
pub(crate) fn drive<L: Log>(
    runtime: &Runtime,
    log: &Arc<L>,
    sessions: Vec<impl Iterator<Item = L::Batch> + Send + 'static>,
    rate: f64,
    appends: usize,
) -> Driven {
    let start = |mut batches: _| {
        let (due, mut dues) = mpsc::unbounded_channel::<Instant>();
        let log = Arc::clone(log);
        let task = runtime.spawn(async move {
            let mut latencies = Vec::new();
            while let Some(due) = dues.recv().await {
                let batch = Iterator::next(&mut batches).expect("a batch for each arrival");
                log.append(batch).await;
                latencies.push(since(due));
            }
            latencies
        });
        (due, task)
    };
    let (senders, tasks): (Vec<_>, Vec<_>) = sessions.into_iter().map(start).unzip();
    let lateness = thread::scope(|scope| {
        let pacemaker = scope.spawn(|| pace(&senders, rate, appends));
        pacemaker.join().expect("a pacemaker that ends well")
    });
    drop(senders);
    let mut latencies = Vec::with_capacity(appends);
    runtime.block_on(async {
        for task in tasks {
            latencies.extend(task.await.expect("a session that ends well"));
        }
    });
    Driven {
        latencies,
        lateness,
    }
}

/// Tells the sessions in turn that an append is due, each at its time. A thread of its own: a
/// runtime's timers are a millisecond coarse.
fn pace(senders: &[mpsc::UnboundedSender<Instant>], rate: f64, appends: usize) -> Vec<Latency> {
    set_current_timer_slack(NonZeroU64::new(1)).expect("sleeping to the microsecond");
    let begun = Instant::now();
    let mut lateness = Vec::with_capacity(appends);
    for (sender, arrival) in senders.iter().cycle().zip(0..appends) {
        let due = begun + Duration::from_secs_f64(arrival as f64 / rate);
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early.max(SHORTEST_NAP));
        }
        lateness.push(since(due));
        sender.send(due).expect("a session that listens");
    }
    lateness
}
