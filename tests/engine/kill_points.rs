//! The demo's session, with its process killed by SIGKILL at the four points of every batch, and
//! with a database while that carries a batch out.
//!
//! The process is this test program, started again; the model is a simulator that outlives it.
//! After each kill a second process resumes and finishes the session. The result is compared with
//! an uninterrupted run.

mod in_commit;

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::demo_session::{
    Outcomes, assert_as_uninterrupted, outcomes, script, see_through, take_up, tools,
};
use crate::kill_points::in_commit::{Until, hold_next_append};
use crate::surviving::empty;
use crate::{schema, store};
use recount::journal::Hash;
use recount::ledger::Ledger;
use recount::live::Endpoint;
use recount::prelude::*;
use recount::replay;
use recount::simulator::{Event, Running, Simulator};
use recount::testing::{Crash, CrashPoint, CrashingConnector, CrashingJournal};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const THIS_TEST: &str = "kill_points::wherever_a_kill_strikes_each_call_ends_as_without_it";
const PATIENCE: Duration = Duration::from_secs(60);
const ORDER: &str = "RECOUNT_KILL_POINTS_ORDER";

/// With the database a process takes longer to start, so it is killed at every fifth point. They
/// are all of the six, at batches in turn.
const STEP_IN_DATABASE: usize = 5;

/// A point of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Of(CrashPoint),
    /// The database has the append, and has not committed it.
    InCommit(Until),
}

impl Point {
    /// All points, in an order that both processes know.
    const ALL: [Point; 6] = [
        Point::Of(CrashPoint::BeforeAppend),
        Point::Of(CrashPoint::Durable),
        Point::Of(CrashPoint::AfterEffect),
        Point::Of(CrashPoint::AfterObservation),
        Point::InCommit(Until::Kill),
        Point::InCommit(Until::Takeover),
    ];
}

/// The points of a batch.
fn points_of(batch: usize) -> impl Iterator<Item = Point> {
    let in_store = move |point: &Point| match point {
        Point::Of(_) => true,
        Point::InCommit(Until::Kill) => schema::is_chosen(),
        // Before its first record no process owns a session.
        Point::InCommit(Until::Takeover) => schema::is_chosen() && batch > 1,
    };
    Point::ALL.into_iter().filter(in_store)
}

#[test]
fn wherever_a_kill_strikes_each_call_ends_as_without_it() {
    if let Some(order) = Order::received() {
        return the_process(&order);
    }
    let runtime = Runtime::new().unwrap();
    let batches = Mutex::new(0);
    let (smooth, cut) = run_session(&runtime, None, &batches);
    assert!(cut.is_empty(), "{cut:?}");
    assert!(
        smooth
            .values()
            .all(|it| it.runs == 1 && it.finals == 1 && it.told.len() == 1)
    );
    let batches = batches.into_inner().unwrap();
    assert!(batches > 10, "only {batches} batches");

    let points: Vec<_> = (1..=batches)
        .flat_map(|batch| points_of(batch).map(move |point| (batch, point)))
        .step_by(if schema::is_chosen() {
            STEP_IN_DATABASE
        } else {
            1
        })
        .collect();
    let (next, kills, cuts) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let worker = || {
        while let Some(&(batch, point)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let reached = Mutex::new(0);
            let found = run_session(&runtime, Some((batch, point)), &reached);
            assert_as_uninterrupted(&found, &smooth, &format!("killed at {point:?} of {batch}"));
            kills.fetch_add(reached.into_inner().unwrap(), Ordering::Relaxed);
            cuts.fetch_add(found.1.len(), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().unwrap();
        }
    });
    let (kills, cuts) = (kills.into_inner(), cuts.into_inner());
    println!(
        "{batches} batches, {} points, {kills} kills at a point, {cuts} calls cut off between \
        start and result",
        points.len()
    );
    let least = if schema::is_chosen() { 0 } else { 8 };
    assert!(cuts > least, "only {cuts} calls were cut off");
    // The split into batches differs between runs, so another run may lack the last batches of the
    // first.
    assert!(
        kills + 16 > points.len(),
        "{kills} of {} points",
        points.len()
    );
}

/// The order of a process.
struct Order {
    home: PathBuf,
    url: String,
    words: String,
    die: Option<(usize, Point)>,
}

impl Order {
    fn received() -> Option<Order> {
        let order: Value = serde_json::from_str(&std::env::var(ORDER).ok()?).unwrap();
        let text = |key: &str| order[key].as_str().unwrap().to_owned();
        let die = order["batch"].as_u64().map(|batch| {
            let at = usize::try_from(order["point"].as_u64().unwrap()).unwrap();
            (usize::try_from(batch).unwrap(), Point::ALL[at])
        });
        Some(Order {
            home: text("home").into(),
            url: text("url"),
            words: text("words"),
            die,
        })
    }

    fn give(&self) -> Child {
        let point = self
            .die
            .map(|(_, point)| Point::ALL.iter().position(|it| *it == point).unwrap());
        let order = json!({
            "home": self.home.to_str(), "url": self.url, "words": self.words,
            "batch": self.die.map(|(batch, _)| batch), "point": point,
        });
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS_TEST, "--nocapture"])
            .env(ORDER, order.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.home.join("journal")
    }

    fn witness(&self) -> PathBuf {
        self.home.join("witness")
    }
}

/// Runs the process that is killed, or the one after it.
fn the_process(order: &Order) {
    let store = store::open(&order.journal());
    let crash = match order.die {
        Some((batch, Point::Of(point))) => Crash::at(batch, point, || say("stopped")),
        Some((_, Point::InCommit(_))) | None => Crash::never(),
    };
    let (die, place) = (order.die, order.journal());
    let hold = move |next| match die {
        Some((batch, Point::InCommit(until))) if batch == next => {
            hold_next_append(&store::schema_of(&place), until, || say("stopped"));
        }
        Some(_) | None => {}
    };
    hold(1);
    let acknowledged = AtomicUsize::new(0);
    let crash = Arc::new(crash.acknowledging(move |session, head| {
        say(&format!(
            "acknowledged {session} {} {}",
            head.seq, head.hash
        ));
        hold(acknowledged.fetch_add(1, Ordering::SeqCst) + 2);
    }));
    let journal = Arc::new(CrashingJournal::new(store, &crash));
    let witness = order.witness();
    let ran = move |name: &str| {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&witness)
            .unwrap();
        file.write_all(format!("{name}\n").as_bytes()).unwrap();
    };
    let agent = Agent::new()
        .model("scripted")
        .tools(tools(ran, &crash))
        .connect_to(CrashingConnector::new(Endpoint::url(&order.url), &crash));
    Runtime::new().unwrap().block_on(async {
        let engine = Engine::in_memory()
            .journal(journal)
            .agent("support", agent)
            .open();
        let engine = engine.await.unwrap();
        let seen_through = async {
            let live = take_up(&engine).await.unwrap();
            see_through(&live, &order.words).await.unwrap();
            live
        };
        // A hundred times what a session needs to finish. A session that does not finish fails its
        // test.
        let _live = timeout(PATIENCE, seen_through)
            .await
            .expect("the session comes to rest");
        if order.die.is_some() {
            say("at rest");
            std::future::pending::<()>().await;
        }
        engine.shutdown(Duration::ZERO).await.unwrap();
        say(&format!("ended {}", crash.batches()));
    });
}

/// Prints one line for the parent to standard error. The test harness writes to standard output.
fn say(what: &str) {
    let line = format!("@ {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Runs the session to its end and returns its outcomes. Its first process is killed where `die`
/// says.
fn run_session(
    runtime: &Runtime,
    die: Option<(usize, Point)>,
    count: &Mutex<usize>,
) -> (Outcomes, std::collections::BTreeSet<String>) {
    let home = tempfile::tempdir().unwrap();
    let schema = schema::is_chosen().then(empty::take);
    if let Some(schema) = &schema {
        store::keep_in(&home.path().join("journal"), schema);
    }
    let simulator = Simulator::start(script()).listen("127.0.0.1:0");
    let simulator = runtime.block_on(simulator).unwrap();
    let order = |words: &str, die| Order {
        home: home.path().to_owned(),
        url: simulator.url(),
        words: words.to_owned(),
        die,
    };
    let mut acknowledged = Vec::new();
    let mut words = "Please help me with order 1001.";
    if die.is_some() {
        let mut first = order(words, die).give();
        let reached = listen(&mut first, &mut acknowledged, &["stopped", "at rest"]);
        first.kill().unwrap();
        first.wait().unwrap();
        *count.lock().unwrap() += usize::from(reached == "stopped");
        words = "Once again: what about order 1001?";
    }
    let last = order(words, None);
    let mut child = last.give();
    let ended = listen(&mut child, &mut acknowledged, &["ended"]);
    assert!(child.wait().unwrap().success(), "{die:?}");
    if die.is_none() {
        let (_, batches) = ended.split_once(' ').unwrap();
        *count.lock().unwrap() = batches.parse().unwrap();
    }
    let found = runtime.block_on(check(&last, &acknowledged, &simulator, die));
    schema.into_iter().for_each(empty::give_back);
    found
}

/// Reads lines of a process until one of `last`, and collects the heads that it reports as durable.
fn listen(child: &mut Child, acknowledged: &mut Vec<Kept>, last: &[&str]) -> String {
    let mut heard = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(said) = line.strip_prefix("@ ") else {
            heard.push(line);
            continue;
        };
        if let Some(kept) = said.strip_prefix("acknowledged ") {
            let mut parts = kept.split(' ');
            acknowledged.push(Kept {
                session: parts.next().unwrap().parse().unwrap(),
                seq: parts.next().unwrap().parse().unwrap(),
                hash: parts.next().unwrap().parse().unwrap(),
            });
        }
        if last.iter().any(|word| said.starts_with(word)) {
            return said.to_owned();
        }
    }
    panic!(
        "the process ended before it said {last:?}:\n{}",
        heard.join("\n")
    );
}

/// A head that a process reported as durable.
#[derive(Debug)]
struct Kept {
    session: SessionId,
    seq: u64,
    hash: Hash,
}

/// Checks that nothing acknowledged is missing, the journal verifies and the session replays.
/// Returns the outcomes.
async fn check(
    order: &Order,
    acknowledged: &[Kept],
    simulator: &Running,
    die: Option<(usize, Point)>,
) -> (Outcomes, std::collections::BTreeSet<String>) {
    let journal = store::sound(order.journal());
    assert!(!acknowledged.is_empty());
    for kept in acknowledged {
        let line = journal.read(kept.session.0, kept.seq, 1).await.unwrap();
        assert_eq!(line[0].leaf(), kept.hash, "{die:?}: {kept:?}");
    }
    let ledger = Ledger::new(journal.clone());
    let sessions = ledger.sessions().await.unwrap();
    assert_eq!(sessions.len(), 1, "{die:?}");
    let session = sessions[0].id;
    let replayed = replay::verify(&ledger, session).await.unwrap();
    assert_eq!(replayed.diverged, None, "{die:?}");
    let transcript = simulator
        .until(|it| {
            let closed = |event: &Event| matches!(event, Event::Closed { .. });
            it.entries().iter().filter(|it| closed(&it.event)).count() == it.connections()
        })
        .await;
    let found = outcomes(&ledger, session, &witnessed(&order.witness()), &transcript).await;
    journal.close().await.unwrap();
    found
}

/// The names of the tools whose bodies ran, once per run.
fn witnessed(witness: &Path) -> Vec<String> {
    let text = fs::read_to_string(witness).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
