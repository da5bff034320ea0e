//! The load on a log: closed loops of many sessions, or arrivals at a fixed rate.

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

/// The minimum sleep of the pacemaker. At high rates, it releases two or three arrivals at once.
const SHORTEST_NAP: Duration = Duration::from_micros(50);

/// The result of a closed loop.
#[derive(Debug)]
pub(crate) struct Saturated {
    /// The number of acknowledged appends.
    pub(crate) appends: usize,
    /// The time until the last acknowledgement.
    pub(crate) acknowledging: Duration,
    /// The time until the log has finished all its work.
    pub(crate) total: Duration,
    /// The CPU time of the whole process in `total`.
    pub(crate) worked: Duration,
    /// The times from the call to the acknowledgement.
    pub(crate) latencies: Vec<Latency>,
    /// True if the batches ran out before the time did.
    pub(crate) ran_out: bool,
}

impl Saturated {
    /// The appends per second, over `total`.
    pub(crate) fn rate(&self) -> f64 {
        self.appends as f64 / self.total.as_secs_f64()
    }
}

fn since(then: Instant) -> Latency {
    Latency::try_from(then.elapsed().as_nanos()).unwrap_or(Latency::MAX)
}

/// The result of one session.
#[derive(Debug)]
pub(crate) struct Session<Batches> {
    /// The times from the call to the acknowledgement.
    pub(crate) latencies: Vec<Latency>,
    /// True if its batches ran out before the time did.
    ran_out: bool,
    /// The remaining batches. They are freed after the measurement, because freeing so much memory
    /// takes time.
    _left: Batches,
}

/// Runs a closed loop: each session appends its next batch after the acknowledgement of the one
/// before, until the time or its batches run out.
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

/// Runs a closed loop, and measures until the log has finished all its work.
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

/// The result of an open loop.
#[derive(Debug)]
pub(crate) struct Driven {
    /// The times from the due time of an append to its acknowledgement, even if it was begun later.
    pub(crate) latencies: Vec<Latency>,
    /// The lateness of the pacemaker for each arrival. It is part of the latency.
    pub(crate) lateness: Vec<Latency>,
}

/// Runs an open loop: appends are due at a fixed rate, evenly spread over time and sessions, even
/// if the log is slower.
///
/// A session has one append in flight. Later ones wait, and the wait is part of their latency.
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

/// Sends each session in turn the due time of its append. The pacemaker has a thread of its own,
/// because the runtime's timers have a resolution of a millisecond.
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
