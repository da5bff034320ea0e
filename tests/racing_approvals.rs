//! Sixty-four approvers answer one request at the same time. In every third race the process is
//! killed meanwhile.
//!
//! The tool runs at most once per request; a file outside of the process counts its runs. What a
//! caller learned before the kill (that its answer counts, or whose does) is on record afterwards.
//! `RECOUNT_RACES` sets the number of races.
#![cfg(feature = "testing")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "support/child_process/mod.rs"]
mod child_process;
#[path = "support/outliving/mod.rs"]
mod outliving;
#[path = "support/schema/mod.rs"]
mod schema;
#[path = "support/store/mod.rs"]
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use child_process::{ChildProcess, obey, order, say};
use outliving::Home;
use recount::engine::{Error, Updates};
use recount::prelude::*;
use recount::session::{Decision, Event, Observation, Outcome, Rejection, Seq};
use recount::testing::ScriptedModel;
use serde_json::Map;
use tokio::runtime::Runtime;
use tokio::sync::Barrier;

const THIS_TEST: &str = "one_of_64_approvals_counts_and_none_is_lost_in_a_crash";
const PEOPLE: usize = 64;
const MODEL: &str = r#"
{"on": {"text": "please pay"}, "once": false, "send": [{"call": [{"id": "c", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

#[test]
fn one_of_64_approvals_counts_and_none_is_lost_in_a_crash() {
    if let Some(order) = order() {
        let home = Home::named_in(&order);
        let races = order["races"].as_u64().unwrap();
        return obey(life(&home, races));
    }
    let begun = Instant::now();
    let races = std::env::var("RECOUNT_RACES").map_or(1_000, |races| races.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let home = Home::at(place.path());
    let mut told = Vec::new();
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut raced, mut kills) = (0, 0);
    while raced < races {
        let order = json!({"home": home.name(), "races": races - raced});
        let mut child = ChildProcess::start(THIS_TEST, &order);
        // The number of lines until the kill. A race prints `racing`, one line per approver, `ran`
        // and `over`.
        let mut kill_in: Option<u64> = None;
        while let Some(said) = child.next() {
            if said == "racing" {
                kill_in = (raced % 3 == 0).then(|| dice.line());
            }
            match kill_in.as_mut() {
                Some(lines) if *lines <= 1 => {
                    child.kill();
                    kills += 1;
                    raced += 1;
                    // Lines printed before the kill count, too.
                    while let Some(said) = child.next() {
                        told.extend(Told::read(&said));
                    }
                    break;
                }
                Some(lines) => *lines -= 1,
                None => {}
            }
            raced += u64::from(said == "over");
            told.extend(Told::read(&said));
        }
    }
    // A last process finishes the sessions that the last kill left open.
    let order = json!({"home": home.name(), "races": 0});
    let mut last = ChildProcess::start(THIS_TEST, &order);
    last.until("all is over");
    last.end();

    let checked = Runtime::new().unwrap().block_on(check(&home, &told));
    println!(
        "{races} races of {PEOPLE}, {kills} of them killed: {} calls, {} ran, {} cut off, {} \
        answers told, {:.1} s",
        checked.calls,
        checked.ran,
        checked.cut_off,
        told.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(kills * 3 >= races, "only {kills} kills");
    assert!(checked.ran > 0 && checked.cut_off > 0, "{checked:?}");
}

/// Runs one process: finishes the sessions that it finds waiting, then races in new sessions.
async fn life(home: &Home, races: u64) {
    let witness = home.clone();
    let pay = TypedTool::with_context("pay", "Pays", move |_: Map<String, Value>, context| {
        paying(witness.clone(), context)
    });
    let agent = Agent::new()
        .model("m")
        .tools(T::confirm(pay, "Pay this?"))
        .connect_to(ScriptedModel::parse(MODEL).unwrap());
    let engine = store::engine(home.journal()).agent("till", agent);
    let engine = engine.open().await.unwrap();
    for left_behind in engine.pending().await.unwrap() {
        let live = engine.resume(left_behind.session).await.unwrap();
        race(&engine, &live).await;
    }
    for _ in 0..races {
        let live = engine.session("till").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("Please pay.").await.unwrap();
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        asked.await.unwrap();
        race(&engine, &live).await;
    }
    // A shutdown starts no calls. So calls that a kill left approved but not started are run first.
    for found in engine.sessions().await.unwrap() {
        if found.open.contains_key("ready") || found.open.contains_key("running") {
            let live = engine.resume(found.id).await.unwrap();
            ended(&live, live.subscribe()).await;
        }
    }
    engine.shutdown(Duration::from_secs(60)).await.unwrap();
    say("all is over");
}

/// Approves the only request of the session from all approvers at once, and waits until its call
/// has ended.
async fn race(engine: &Engine, live: &LiveHandle) {
    let updates = live.subscribe();
    let request = live.pending().await.unwrap()[0].id;
    let start = Arc::new(Barrier::new(PEOPLE + 1));
    let people: Vec<_> = (0..PEOPLE)
        .map(|person| {
            let (engine, session, start) = (engine.clone(), live.session_id(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                let by = Actor::embedder(format!("person {person}"));
                let yes = ToolConfirmation::confirmed();
                let (answer, at, who) = match engine.answer(request, yes, by.clone()).await {
                    Ok(at) => ("taken", at, by),
                    Err(Error::Refused(Rejection::AlreadyAnswered(it))) => ("late", it.at, it.by),
                    Err(error) => panic!("expected to be told what was decided, found {error}"),
                };
                say(format!("{answer} {session} {at} {}", json!(who)));
            })
        })
        .collect();
    say("racing");
    start.wait().await;
    for person in people {
        person.await.unwrap();
    }
    ended(live, updates).await;
    say("over");
}

/// Waits until no call of the session is open.
async fn ended(live: &LiveHandle, mut updates: Updates) {
    while !live.session().await.unwrap().calls.is_empty() {
        updates.next().await;
    }
}

/// The reply to one answer.
struct Told {
    /// True if this answer counts.
    taken: bool,
    session: SessionId,
    at: Seq,
    by: Actor,
}

impl Told {
    fn read(said: &str) -> Option<Told> {
        let mut words = said.splitn(4, ' ');
        let taken = match words.next()? {
            "taken" => true,
            "late" => false,
            _ => return None,
        };
        Some(Told {
            taken,
            session: words.next()?.parse().unwrap(),
            at: Seq(words.next()?.parse().unwrap()),
            by: serde_json::from_str(words.next()?).unwrap(),
        })
    }
}

#[derive(Debug, Default)]
struct Checked {
    calls: usize,
    ran: usize,
    cut_off: usize,
}

/// Checks the journal and the replies.
///
/// The journal is sound and replays. Every session has one answer and one outcome, and its number
/// of runs fits the outcome. Every approver learned what is on record.
async fn check(home: &Home, told: &[Told]) -> Checked {
    let (ledger, sessions) = home.on_record().await;
    let mut noted = home.noted();
    let mut answers = BTreeMap::new();
    let mut checked = Checked::default();
    for session in sessions {
        let mut ends = Vec::new();
        let facts = ledger.facts(session, Seq(1), 1_000).await.unwrap();
        if !facts
            .iter()
            .any(|it| it.event.kind() == "function_call_received")
        {
            // The kill came before the model had called.
            continue;
        }
        for fact in &facts {
            match &fact.event {
                Event::Observed(Observation::ConfirmationAnswered(it)) => {
                    assert!(it.confirmed);
                    let second = answers.insert(session, (fact.seq, it.by.clone()));
                    assert_eq!(second, None, "{session} has two answers");
                }
                Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                    ends.push(it.outcome);
                }
                Event::Decided(_) | Event::Observed(_) => {}
            }
        }
        let runs = noted.remove(&session).unwrap_or_default().len();
        match ends.as_slice() {
            [Outcome::Returned] => {
                assert_eq!(runs, 1, "{session} returned once");
                checked.ran += 1;
            }
            [Outcome::Unknown] => {
                assert!(runs <= 1, "{session} was cut off and ran {runs} times");
                checked.cut_off += 1;
            }
            other => {
                let kinds: Vec<_> = facts.iter().map(|it| it.event.kind()).collect();
                panic!("{session} ended {other:?}: {kinds:?}");
            }
        }
        assert!(answers.contains_key(&session), "{session} has no answer");
        checked.calls += 1;
    }
    assert!(noted.is_empty(), "runs without a call: {noted:?}");
    let mut taken = BTreeMap::new();
    for it in told {
        let on_record = &answers[&it.session];
        assert_eq!(on_record, &(it.at, it.by.clone()), "of {}", it.session);
        if it.taken {
            let other = taken.insert(it.session, &it.by);
            assert!(other.is_none(), "two answers of {} count", it.session);
        }
    }
    checked
}

/// A tool that may not run twice. It leaves a line in a file outside of its process.
async fn paying(witness: Home, context: ToolContext) -> Result<Value, ToolError> {
    witness.note(context.session, "pay");
    say("ran");
    Ok(json!({"paid": true}))
}

/// A random generator with the same sequence in every run.
struct Dice(u64);

impl Dice {
    /// Returns the line at which to kill the process.
    ///
    /// It is at the start of the race, at the first replies, anywhere, or after all replies when
    /// the tool is about to return.
    fn line(&mut self) -> u64 {
        let last = PEOPLE as u64 + 2;
        match self.roll(4) {
            0 => 1,
            1 => 1 + self.roll(4),
            2 => 1 + self.roll(last),
            _ => last,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
