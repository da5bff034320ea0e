//! The HTTP API and the pages beside sessions that work: the list of what waits, the price of a
//! call that a client runs, the time to a page, and the price of open tabs.
//!
//! `cargo bench -p recount-server --bench server`, or with one of `pending`, `sealed`, `client`,
//! `inbox`, `session`, `tabs`;
//! `--seconds` is the length of the load. The requests come from a process of their own.

#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

#[path = "../shared/arguments.rs"]
mod arguments;
mod client_runs;
mod connection;
mod load;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/neighbours.rs"]
mod neighbours;
mod pages;
#[path = "../step/raw.rs"]
mod raw;
#[path = "../shared/said.rs"]
mod said;
mod service;

use std::time::Duration;

use arguments::{Arguments, Effort};
use neighbours::Neighbours;
use said::child_arguments;
use service::{Figures, Served};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The requests a second for `/v1/pending`.
const RATE: u32 = 500;
const PENDING_TARGET: Duration = Duration::from_millis(20);
const CLIENT_TARGET: Duration = Duration::from_millis(1);

fn main() {
    if let Some(words) = child_arguments() {
        if !pages::child(&words) {
            load::child(&words);
        }
        return;
    }
    let arguments = Arguments::read(&["--seconds"]);
    let neighbours = Neighbours::watch();
    println!("server: {}", machine::describe());
    let mut figures = match arguments.effort {
        Effort::Full => Figures {
            sessions: 10_000,
            open: 1_000,
            seconds: 30,
            calls: 2_000,
        },
        Effort::Quick => Figures {
            sessions: 10_000,
            open: 1_000,
            seconds: 10,
            calls: 500,
        },
        Effort::Test => Figures {
            sessions: 100,
            open: 10,
            seconds: 1,
            calls: 10,
        },
    };
    if let Some(seconds) = arguments.value("--seconds") {
        figures.seconds = seconds.parse().expect("a number of seconds");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = machine::scratch();
    runtime.block_on(async {
        let served = Served::start(&directory.path().join("journal"), &figures, false).await;
        if arguments.wants("client") {
            client_runs::measure(&served, &figures, &directory.path().join("raw")).await;
        }
        if arguments.wants("inbox") {
            pages::inbox(&served, &figures);
        }
        if arguments.wants("session") {
            pages::session(&served, &figures).await;
        }
        if arguments.wants("tabs") {
            pages::tabs(&served, &figures).await;
        }
        if arguments.wants("pending") {
            pending("pending", &served, &figures, 0).await;
            pending("pending", &served, &figures, 64).await;
        }
        served.end().await;
        if arguments.wants("sealed") {
            let served = Served::start(&directory.path().join("sealed"), &figures, true).await;
            pending("sealed", &served, &figures, 0).await;
            pending("sealed", &served, &figures, 64).await;
            served.end().await;
        }
    });
    neighbours.report();
}

/// The latency of the list of what waits, beside so many sessions that step without a rest.
async fn pending(name: &str, served: &Served, figures: &Figures, stepping: usize) {
    let steps = served.step(stepping).await;
    let told = load::run(&served.address, &served.viewer, RATE, figures.seconds).await;
    let made = steps.end().await;
    let p99 = Duration::from_secs_f64(told.number("p99_us") / 1e6);
    println!(
        "{name}: {RATE} requests a second beside {stepping} stepping sessions ({:.0} steps a \
         second): p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms of {} responses: {}",
        made as f64 / figures.seconds as f64,
        told.number("p50_us") / 1e3,
        told.number("p99_us") / 1e3,
        told.number("max_us") / 1e3,
        told.text("count"),
        if p99 < PENDING_TARGET {
            "met"
        } else {
            "missed"
        },
    );
}
