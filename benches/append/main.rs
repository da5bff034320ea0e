//! The cost of durable appends, as a ratio to a raw log. Both have the same writers and bytes in
//! the same run.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "../shared/arguments.rs"]
mod arguments;
#[path = "../shared/batch.rs"]
mod batch;
mod driver;
mod latency;
mod log;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/median.rs"]
mod median;
#[path = "../shared/neighbours.rs"]
mod neighbours;
mod plan;
#[path = "../shared/processor_time.rs"]
mod processor_time;
mod raw_log;
mod rounds;
#[path = "../shared/table.rs"]
mod table;

use std::time::Duration;

use arguments::{Arguments, Effort};
use driver::Saturated;
use latency::Percentiles;
use median::median;
use neighbours::Neighbours;
use rounds::{Ground, Pair};
use table::{thousands, verdict};

/// The numbers of concurrent sessions. For each, the minimum share of the raw log's rate that the
/// journal must reach.
const SESSIONS: [(u64, f64); 3] = [(1, 0.60), (64, 0.35), (1_024, 0.15)];
/// The maximum ratio of the journal's p99 to the raw log's p99. Both are driven at half the rate
/// that the journal sustains.
const DRIVEN_TARGET: f64 = 3.0;
/// The maximum ratio of the journal's p50 to the raw log's p50, for one session alone.
const ALONE_TARGET: f64 = 1.7;

/// The durations and the numbers of rounds.
struct Extent {
    rounds: usize,
    sustained: Duration,
    driven: Duration,
    brief: Duration,
    alone: usize,
}

impl Extent {
    fn of(arguments: &Arguments) -> Self {
        let (rounds, sustained, driven, brief, alone) = match arguments.effort {
            Effort::Full => (3, 10.0, 3.0, 1.0, 3_000),
            Effort::Quick => (3, 1.0, 0.5, 0.3, 600),
            Effort::Test => (1, 0.05, 0.05, 0.05, 40),
        };
        let number = |option: &str| {
            let value = arguments.value(option)?;
            Some(value.parse::<f64>().expect("a number behind the option"))
        };
        Self {
            rounds: number("--rounds").map_or(rounds, |rounds| rounds as usize),
            sustained: Duration::from_secs_f64(number("--seconds").unwrap_or(sustained)),
            driven: Duration::from_secs_f64(driven),
            brief: Duration::from_secs_f64(brief),
            alone,
        }
    }
}

fn main() {
    let arguments = Arguments::read(&["--seconds", "--rounds"]);
    let names = ["opponents", "alone"].map(str::to_owned).into_iter();
    let by_sessions = ["sustained", "driven"].into_iter().flat_map(|figure| {
        let names = SESSIONS.map(|(sessions, _)| format!("{figure}/{sessions}"));
        names.into_iter()
    });
    if !names.chain(by_sessions).any(|name| arguments.wants(&name)) {
        return;
    }
    batch::check();
    let neighbours = Neighbours::watch();
    println!(
        "append: {} records of {} bytes an append; {}",
        batch::BATCH_RECORDS,
        batch::RECORD_BYTES,
        machine::describe()
    );
    let (extent, mut ground) = (Extent::of(&arguments), Ground::new());
    if arguments.wants("alone") {
        alone(&extent, &mut ground);
    }
    let (mut sustained, mut driven, mut opponents) = (Vec::new(), Vec::new(), Vec::new());
    for (sessions, target) in SESSIONS {
        let wants = |figure: &str| arguments.wants(&format!("{figure}/{sessions}"));
        let wants_opponents = arguments.wants("opponents");
        if !(wants("sustained") || wants("driven") || wants_opponents) {
            continue;
        }
        let rates = saturate(&extent, &mut ground, sessions, target, &mut sustained);
        if wants("driven") {
            driven.push(drive(&extent, &mut ground, sessions, &rates));
        }
        if wants_opponents {
            opponents.push(forms(&extent, &mut ground, sessions, &rates));
        }
    }
    print_all(&sustained, &driven, &opponents);
    neighbours.report();
}

/// Measures rounds of both logs in turn. Adds a row to the table and returns the appends per
/// second.
fn saturate(
    extent: &Extent,
    ground: &mut Ground,
    sessions: u64,
    target: f64,
    table: &mut Vec<Vec<String>>,
) -> Pair<f64> {
    let mut expected = ground.guess(sessions, extent.brief);
    let mut rounds: Vec<Pair<Round>> = Vec::with_capacity(extent.rounds);
    for _ in 0..extent.rounds {
        let Pair { raw, journal } = ground.saturate(sessions, expected, extent.sustained);
        let acknowledged = journal.appends as f64 / journal.acknowledging.as_secs_f64();
        expected = expected.max(acknowledged);
        if journal.ran_out {
            println!(
                "{sessions} sessions: the batches built ahead ran out, \
                 the journal's round took {:.1} s",
                journal.total.as_secs_f64()
            );
        }
        rounds.push(Pair {
            raw: Round::of(raw),
            journal: Round::of(journal),
        });
    }
    let raw: Vec<&Round> = rounds.iter().map(|pair| &pair.raw).collect();
    let journal: Vec<&Round> = rounds.iter().map(|pair| &pair.journal).collect();
    let ratios = rounds.iter().map(|pair| pair.journal.rate / pair.raw.rate);
    let (least, best) = ratios.fold((f64::MAX, 0.0_f64), |(least, best), ratio| {
        (least.min(ratio), best.max(ratio))
    });
    let rates = Pair {
        raw: over(&raw, |round| round.rate),
        journal: over(&journal, |round| round.rate),
    };
    let ratio = rates.journal / rates.raw;
    table.push(vec![
        sessions.to_string(),
        thousands(rates.raw),
        thousands(rates.journal),
        format!("{ratio:.2} ({least:.2} to {best:.2})"),
        format!("at least {target:.2}"),
        verdict(ratio >= target),
        format!(
            "{:.1} / {:.1}",
            over(&raw, |round| round.worked),
            over(&journal, |round| round.worked)
        ),
        both(&raw).to_string(),
        both(&journal).to_string(),
        format!("{:.2}", over(&journal, |round| round.catching_up)),
    ]);
    rates
}

/// The figures of one round.
struct Round {
    rate: f64,
    /// The CPU time per append, in microseconds.
    worked: f64,
    percentiles: Percentiles,
    /// The time from the last acknowledgement to the end, in seconds.
    catching_up: f64,
}

impl Round {
    fn of(mut saturated: Saturated) -> Self {
        Self {
            rate: saturated.rate(),
            worked: saturated.worked.as_secs_f64() * 1e6 / saturated.appends as f64,
            percentiles: Percentiles::of(&mut saturated.latencies),
            catching_up: (saturated.total - saturated.acknowledging).as_secs_f64(),
        }
    }
}

fn over(rounds: &[&Round], figure: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(|round| figure(round)))
}

fn both(rounds: &[&Round]) -> Percentiles {
    Percentiles {
        p50: over(rounds, |round| round.percentiles.p50),
        p99: over(rounds, |round| round.percentiles.p99),
    }
}

/// Drives both logs at half the rate that the journal sustains.
fn drive(
    extent: &Extent,
    ground: &mut Ground,
    sessions: u64,
    sustained: &Pair<f64>,
) -> Vec<String> {
    let rate = sustained.journal / 2.0;
    let (mut raw, mut journal, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        let mut round = ground.drive(sessions, rate, extent.driven);
        raw.push(Percentiles::of(&mut round.raw.latencies));
        journal.push(Percentiles::of(&mut round.journal.latencies));
        late.push(Percentiles::of(&mut round.raw.lateness));
        late.push(Percentiles::of(&mut round.journal.lateness));
    }
    let (raw, journal, late) = (medians(&raw), medians(&journal), medians(&late));
    let ratio = journal.p99 / raw.p99;
    vec![
        sessions.to_string(),
        thousands(rate),
        format!("{:.2}", rate / sustained.raw),
        raw.to_string(),
        journal.to_string(),
        format!("{ratio:.1}"),
        format!("at most {DRIVEN_TARGET}"),
        verdict(ratio <= DRIVEN_TARGET),
        late.to_string(),
    ]
}

fn medians(rounds: &[Percentiles]) -> Percentiles {
    Percentiles {
        p50: median(rounds.iter().map(|round| round.p50)),
        p99: median(rounds.iter().map(|round| round.p99)),
    }
}

/// Compares the raw log with a simpler and a faster form. This shows that the raw log itself is not
/// slow.
fn forms(extent: &Extent, ground: &mut Ground, sessions: u64, rates: &Pair<f64>) -> Vec<String> {
    let (mut looped, mut buffered) = (Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        looped.push(ground.simplest(sessions, extent.brief));
        buffered.push(ground.shared_buffer(sessions, extent.brief));
    }
    let (looped, buffered) = (median(looped), median(buffered));
    let share = |of: f64| format!("{:.2} / {:.2}", rates.raw / of, rates.journal / of);
    vec![
        sessions.to_string(),
        thousands(rates.raw),
        thousands(looped),
        share(looped),
        thousands(buffered),
        share(buffered),
    ]
}

/// Measures one session alone.
fn alone(extent: &Extent, ground: &mut Ground) {
    let mut pair = ground.alone(extent.alone, 10);
    let raw = Percentiles::of(&mut pair.raw);
    let journal = Percentiles::of(&mut pair.journal);
    let ratio = journal.p50 / raw.p50;
    let row = vec![
        raw.to_string(),
        journal.to_string(),
        format!("{ratio:.2}"),
        format!("at most {ALONE_TARGET}"),
        verdict(ratio <= ALONE_TARGET),
    ];
    table::print(
        &format!(
            "One append alone, {} of each in blocks by turns",
            extent.alone
        ),
        &[
            "raw p50 / p99 µs",
            "journal p50 / p99 µs",
            "p50 ratio",
            "target",
            "verdict",
        ],
        &[row],
    );
}

fn print_all(sustained: &[Vec<String>], driven: &[Vec<String>], opponents: &[Vec<String>]) {
    table::print(
        "As many appends as sessions that wait for each can make, until the index has caught up",
        &[
            "sessions",
            "raw appends/s",
            "journal appends/s",
            "ratio (rounds)",
            "target",
            "verdict",
            "CPU µs an append, raw / journal",
            "raw p50 / p99 µs",
            "journal p50 / p99 µs",
            "catching up s",
        ],
        sustained,
    );
    if !driven.is_empty() {
        table::print(
            "Both driven at half of what the journal sustains, from when an append was due",
            &[
                "sessions",
                "appends/s",
                "of the raw log's",
                "raw p50 / p99 µs",
                "journal p50 / p99 µs",
                "p99 ratio",
                "target",
                "verdict",
                "pacemaker late p50 / p99 µs",
            ],
            driven,
        );
    }
    if !opponents.is_empty() {
        table::print(
            "The raw log beside a loop of one thread that writes as many batches at once, \
             and beside a log whose writers copy their bytes",
            &[
                "sessions",
                "raw appends/s",
                "loop appends/s",
                "raw / journal of the loop's",
                "copying writers appends/s",
                "raw / journal of theirs",
            ],
            opponents,
        );
    }
}
