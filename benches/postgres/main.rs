//! A journal in PostgreSQL: appends and steps beside raw writes, bare inserts and a journal in a
//! directory; CPU time on both sides, the write-ahead log, lists, and starts.
//!
//! `.ci/postgres cargo bench -p recount-postgres --bench postgres`, or with one of `alone`,
//! `appends/64`, `appends/512`, `steps/64`, `steps/512`, `listed`, `started`. The server must run
//! on this machine, and `RECOUNT_TEST_POSTGRES` must name its superuser.

#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

mod alone;
mod appends;
#[path = "../shared/arguments.rs"]
mod arguments;
mod bare;
#[path = "../shared/batch.rs"]
mod batch;
mod cost;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/median.rs"]
mod median;
#[expect(dead_code, reason = "the benches without a server use the rest of it")]
#[path = "../shared/neighbours.rs"]
mod neighbours;
mod node;
#[path = "../shared/peer.rs"]
mod peer;
#[path = "../shared/processor_time.rs"]
mod processor_time;
#[path = "../step/raw.rs"]
mod raw;
mod rows;
mod server;
#[path = "../step/sessions.rs"]
mod sessions;
mod steps;
#[path = "../shared/table.rs"]
mod table;
mod waiting;

use std::time::Duration;

use alone::Pace;
use arguments::{Arguments, Effort};
use neighbours::Neighbours;
use rows::Row;
use server::Server;
use tokio::runtime::{Builder, Runtime};

/// The numbers of sessions that append or step at the same time.
const CROWDS: [usize; 2] = [64, 512];

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The amount of work.
struct Plan {
    /// The blocks of a hundred of each, and the turns with a rest.
    alone: (usize, usize),
    /// The appends of a round, and the rounds.
    appends: (usize, usize),
    steps: usize,
    waiting: usize,
    open: usize,
    rounds: usize,
}

fn main() {
    let arguments = Arguments::read(&["--steps"]);
    let Some(server) = Server::find() else {
        println!("postgres: no server. Run it with .ci/postgres");
        return;
    };
    batch::check();
    println!("postgres: {}", machine::describe());
    println!("server: {}", server.describe());
    let mut plan = plan(arguments.effort);
    if let Some(steps) = arguments.value("--steps") {
        plan.steps = steps.parse().expect("a number");
    }
    let runtime = runtime();
    let part = |name: &str, title: &str, rows: &dyn Fn() -> Vec<Row>| {
        if arguments.wants(name) {
            let (neighbours, served) = (Neighbours::watch(), server.processor_time());
            rows::print(title, rows());
            neighbours.report_besides(server.processor_time().saturating_sub(served));
        }
    };
    let place = (&server, &runtime);
    let (blocks, turns) = plan.alone;
    let paces = [
        Pace::InLoops { blocks, each: 100 },
        Pace::Rested {
            turns,
            rest: Duration::from_millis(1),
        },
    ];
    let title = "One session alone, in turn with a raw write of the disk";
    part("alone", title, &|| alone::rows(&server, &runtime, &paces));
    for sessions in CROWDS {
        let title = "Appends of many sessions, beside bare inserts";
        part(&format!("appends/{sessions}"), title, &|| {
            appends::rows(place, sessions, plan.appends)
        });
    }
    for sessions in CROWDS {
        let title = "Steps of many sessions, beside those over a directory";
        part(&format!("steps/{sessions}"), title, &|| {
            steps::rows(place, sessions, plan.steps)
        });
    }
    part("listed", "The list of what waits for a person", &|| {
        waiting::listed(place, plan.waiting, plan.rounds)
    });
    part("started", "The start of a node", &|| {
        waiting::started(place, plan.open, plan.rounds)
    });
}

fn plan(effort: Effort) -> Plan {
    match effort {
        Effort::Full => Plan {
            alone: (30, 1_000),
            appends: (100_000, 5),
            steps: 100_000,
            waiting: 10_000,
            open: 100_000,
            rounds: 3,
        },
        Effort::Quick => Plan {
            alone: (5, 100),
            appends: (30_000, 3),
            steps: 20_000,
            waiting: 10_000,
            open: 10_000,
            rounds: 3,
        },
        Effort::Test => Plan {
            alone: (1, 5),
            appends: (1_024, 1),
            steps: 1_024,
            waiting: 100,
            open: 200,
            rounds: 1,
        },
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}
