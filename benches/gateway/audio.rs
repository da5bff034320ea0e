//! The latency and the CPU time that a target adds to audio, beside those of a bare relay.

use std::path::Path;
use std::time::Duration;

use crate::children::Process;
use crate::latencies::{Latencies, now};
use crate::median::median;
use crate::speaking::BETWEEN;
use crate::table::{self, thousands, verdict};

/// The added latencies, in microseconds.
const P50_TARGET: f64 = 200.0;
const P99_TARGET: f64 = 2_000.0;

/// The CPU time of a frame, in that of the bare relay.
const CPU_TARGET: f64 = 2.5;

/// The share of the frames that must have come for a rate that is kept up with.
const KEPT_UP: f64 = 0.98;

/// A way from the clients to the vendor.
struct Target {
    name: &'static str,
    address: String,
    /// `None` for the direct way.
    process: Option<Process>,
    measured: Vec<Measured>,
}

/// One measurement of a target.
struct Measured {
    /// The latencies of both directions.
    latencies: Latencies,
    /// The CPU time of the target's process for one frame, in microseconds.
    frame_us: f64,
    /// The CPU time of clients and vendor, in seconds a second.
    load: f64,
    /// The longest delay of a frame behind its time, before it was sent.
    latest: Duration,
    kept_up: bool,
}

/// Measures direct way, relay and gateway in turn. If the relay does not keep up, then again with
/// half of the sessions.
pub(crate) fn measure(sessions: usize, time: Duration, rounds: usize, directory: &Path) {
    let mut vendor = Process::start(&["vendor"]);
    let address = vendor.line();
    let journal = directory.join("audio");
    let journal = journal.to_str().expect("a path of letters");
    let target = |name, words: &[&str]| {
        let mut process = Process::start(words);
        Target {
            name,
            address: process.line(),
            process: Some(process),
            measured: Vec::new(),
        }
    };
    let direct = Target {
        name: "direct",
        address: address.clone(),
        process: None,
        measured: Vec::new(),
    };
    let relay = target("bare relay", &["relay", &address]);
    let gateway = target("gateway", &["gateway", &address, journal]);
    let mut targets = [direct, relay, gateway];
    let mut sessions = sessions;
    while !round(&mut targets, &mut vendor, sessions, time) && sessions > 1 {
        println!("audio: the bare relay does not keep up with {sessions} sessions");
        sessions /= 2;
        targets.iter_mut().for_each(|it| it.measured.clear());
    }
    for _ in 1..rounds {
        round(&mut targets, &mut vendor, sessions, time);
    }
    report(&targets, sessions);
}

/// Measures each target once. Returns true if the bare relay kept up.
fn round(targets: &mut [Target; 3], vendor: &mut Process, sessions: usize, time: Duration) -> bool {
    for target in targets.iter_mut() {
        let measured = target.measured(vendor, sessions, time);
        target.measured.push(measured);
    }
    let [_, relay, _] = targets;
    relay.measured.last().is_some_and(|it| it.kept_up)
}

impl Target {
    fn measured(&mut self, vendor: &mut Process, sessions: usize, time: Duration) -> Measured {
        let (count, length) = (sessions.to_string(), time.as_millis().to_string());
        let mut clients = Process::start(&["clients", &self.address, &count, &length]);
        let window = clients.line();
        vendor.ask(&format!("listen {window}"));
        let mut worked = || match &mut self.process {
            Some(process) => process.processor_time(),
            None => Duration::ZERO,
        };
        let (before, vendor_before) = (worked(), vendor.processor_time());
        let (_, end) = window.split_once(' ').expect("a begin and an end");
        let end: u64 = end.parse().expect("a time");
        std::thread::sleep(Duration::from_nanos(end.saturating_sub(now())));
        let (spent, vendor_spent) = (worked() - before, vendor.processor_time() - vendor_before);
        let mut latencies = Latencies::new();
        latencies.add_line(&clients.line());
        let latest = [clients.line(), vendor.ask("latest")];
        let latest = latest.map(|it| it.parse().expect("microseconds"));
        let clients_spent = clients.line().parse().expect("nanoseconds");
        let clients_spent = Duration::from_nanos(clients_spent);
        latencies.add_line(&vendor.ask("heard"));
        let due = sessions as f64 * 2.0 * time.as_nanos() as f64 / BETWEEN as f64;
        Measured {
            frame_us: spent.as_secs_f64() * 1e6 / latencies.count() as f64,
            load: (vendor_spent + clients_spent).as_secs_f64() / time.as_secs_f64(),
            latest: Duration::from_micros(latest.into_iter().max().unwrap_or(0)),
            kept_up: latencies.count() as f64 > due * KEPT_UP,
            latencies,
        }
    }

    /// The median of a figure over the measurements.
    fn median(&self, figure: impl Fn(&Measured) -> f64) -> f64 {
        median(self.measured.iter().map(figure))
    }
}

fn report(targets: &[Target; 3], sessions: usize) {
    let rate = sessions as f64 * 2.0 * 1e9 / BETWEEN as f64;
    let rows = targets.iter().map(|it| {
        let at = |share: f64| format!("{:.3}", it.median(|it| it.latencies.at(share)) / 1e3);
        let came: u64 = it.measured.iter().map(|it| it.latencies.count()).sum();
        let latest = it.measured.iter().map(|it| it.latest).max();
        vec![
            it.name.to_owned(),
            at(0.5),
            at(0.99),
            at(0.999),
            thousands(came as f64),
            match it.measured.iter().all(|it| it.kept_up) {
                true => "yes".to_owned(),
                false => "no".to_owned(),
            },
            match it.process {
                Some(_) => format!("{:.1} µs", it.median(|it| it.frame_us)),
                None => String::new(),
            },
            format!("{:.2}", it.median(|it| it.load)),
            format!("{:.1} ms", latest.unwrap_or_default().as_secs_f64() * 1e3),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let headline = format!(
        "Audio: {sessions} sessions, {} frames a second, medians of {} rounds",
        thousands(rate),
        targets.first().map_or(0, |it| it.measured.len()),
    );
    let columns = [
        "",
        "p50, ms",
        "p99, ms",
        "p99.9, ms",
        "frames",
        "keeps up",
        "CPU/frame",
        "load's cores",
        "latest",
    ];
    table::print(&headline, &columns, &rows);
    let [_, relay, gateway] = targets;
    // Each round is compared with itself: other work on the machine comes and goes.
    let pairs = || gateway.measured.iter().zip(&relay.measured);
    let added = |share: f64| {
        median(pairs().map(|(one, other)| one.latencies.at(share) - other.latencies.at(share)))
    };
    let ratio = median(pairs().map(|(one, other)| one.frame_us / other.frame_us));
    let milliseconds = |it: f64| format!("{:.3} ms", it / 1e3);
    let row = |name: &str, target: &str, figure: String, met: bool| {
        vec![name.to_owned(), target.to_owned(), figure, verdict(met)]
    };
    let (p50, p99) = (added(0.5), added(0.99));
    let rows = [
        row(
            "added latency, p50",
            "under 0.2 ms",
            milliseconds(p50),
            p50 < P50_TARGET,
        ),
        row(
            "added latency, p99",
            "under 2 ms",
            milliseconds(p99),
            p99 < P99_TARGET,
        ),
        row(
            "CPU of a frame",
            "at most 2.5",
            format!("{ratio:.2}"),
            ratio <= CPU_TARGET,
        ),
    ];
    let columns = ["", "target", "measured", ""];
    table::print("The gateway over the bare relay", &columns, &rows);
}
