//! A call about a debt, in four phases: a restart in any phase leads to the same end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::surviving::SurvivingJournal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;
use recount::session::{Decision, Event, Fact, Json, Observation, Outcome, Seq};
use recount::simulator::Standing;
use recount::testing::{Life, ManualClock, ScriptedModel};

/// The script of the model. It tries to plan payments too early, and asks for one plan twice.
const SCRIPT: &str = r#"
{"on": {"text": "account 4711"}, "send": [{"call": [
    {"id": "v", "name": "verify_identity", "args": {"account": "4711", "born": "1815-12-10"}},
    {"id": "early", "name": "plan_payments", "args": {"months": 6, "cents": 120000}}]}]}
{"on": {"responses_to": ["v", "early"]}, "send": [{"say": "Thank you, Ada."}]}
{"on": {"text": "what do i owe"}, "send": [{"call": [{"id": "d", "name": "disclose_debt", "args": {}}]}]}
{"on": {"responses_to": ["d"]}, "send": [{"say": "You owe 1200 euros."}]}
{"on": {"text": "in parts"}, "send": [{"call": [
    {"id": "p1", "name": "plan_payments", "args": {"months": 6, "cents": 120000}},
    {"id": "p2", "name": "plan_payments", "args": {"cents": 120000, "months": 6}}]}]}
{"on": {"responses_to": ["p1", "p2"]}, "send": [{"say": "That would be 200 euros a month."}]}
{"on": {"text": "agree"}, "send": [{"call": [{"id": "a", "name": "agree_to_plan", "args": {"months": 6}}]}]}
{"on": {"responses_to": ["a"]}, "send": [{"say": "Agreed."}]}
{"on": {"text": "first part now"}, "send": [{"call": [{"id": "pay", "name": "arrange_payment", "args": {"cents": 20000}}]}]}
{"on": {"responses_to": ["pay"]}, "send": [{"say": "It is arranged."}]}
{"on": "otherwise", "send": [{"say": "I see."}]}
"#;

/// The texts of the caller, each with the tool that then runs. The third phase has two, the others
/// one.
const CALLER: [(&str, &str); 5] = [
    ("This is Ada, account 4711.", "verify_identity"),
    ("What do I owe?", "disclose_debt"),
    ("May I pay it in parts?", "plan_payments"),
    ("I agree to six months.", "agree_to_plan"),
    ("Please take the first part now.", "arrange_payment"),
];

/// The place of a restart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Restart {
    /// The engine is shut down after it has handled this text of the caller.
    After(usize),
    /// The process dies while the tool for this text runs, or while its request is open.
    During(usize),
}

#[test]
fn restart_in_any_phase_leads_to_the_same_end() {
    let uninterrupted = Scenario::played(None);
    insta::assert_snapshot!("the_story", uninterrupted.ending());
    insta::assert_snapshot!("what_the_model_received", uninterrupted.received());
    for word in 0..CALLER.len() {
        for restart in [Restart::After(word), Restart::During(word)] {
            let scenario = Scenario::played(Some(restart));
            assert_eq!(scenario.model.transcript().connections(), 2, "{restart:?}");
            assert_eq!(scenario.ending(), uninterrupted.ending(), "{restart:?}");
        }
    }
}

/// The state that outlives a process: the journal, the clock, the model, and the creditor's books.
struct Scenario {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    books: Arc<Books>,
}

#[derive(Default)]
struct Books {
    /// The tool that never ends in this process.
    stuck: Mutex<Option<&'static str>>,
    /// The number of computed plans.
    plans: AtomicUsize,
    /// The payments, by idempotency key.
    payments: Mutex<BTreeMap<String, u64>>,
}

impl Scenario {
    fn played(restart: Option<Restart>) -> Scenario {
        let lines = SCRIPT.replace("\n    ", " ");
        let scenario = Scenario {
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse(&lines).unwrap(),
            books: Arc::default(),
        };
        let mut life = scenario.life();
        let support = life.engine().session("collections");
        let mut live = life.run(support.connect()).unwrap();
        let session = live.session_id();
        for (word, (says, tool)) in CALLER.into_iter().enumerate() {
            let dies = restart == Some(Restart::During(word));
            *scenario.books.stuck.lock().unwrap() = dies.then_some(tool);
            life.run(live.send_text(says)).unwrap();
            life.settle();
            if dies {
                assert!(!life.run(live.session()).unwrap().calls.is_empty());
                *scenario.books.stuck.lock().unwrap() = None;
                life.crash();
                life = scenario.life();
                live = life.run(life.engine().resume(session)).unwrap();
                life.settle();
            }
            scenario.agree(&life);
            if restart == Some(Restart::After(word)) {
                drop(live);
                life.end();
                life = scenario.life();
                live = life.run(life.engine().resume(session)).unwrap();
                life.settle();
            }
        }
        drop(live);
        life.end();
        scenario
    }

    fn life(&self) -> Life {
        let tools = T::idempotent(
            Toolset::from(verify_identity())
                | disclose_debt()
                | T::cached(plan_payments())
                | agree_to_plan()
                | T::limit_per_session(T::confirm(arrange_payment(), "Take this payment?"), 1),
        );
        let agent = Agent::new()
            .model("m")
            .instruction("You collect debts, politely.")
            .tools(tools)
            .service(self.books.clone())
            .connect_to(self.model.clone())
            .phase("verify_identity")
            .instruction("Verify who is calling.")
            .tools(["verify_identity"])
            .transition("inform_debt", S::is_true("identity_verified"))
            .done()
            .phase("inform_debt")
            .instruction("Tell what is owed.")
            .tools(["disclose_debt"])
            .transition(
                "negotiate",
                S::compares("debt_cents", Comparison::Greater, 0),
            )
            .done()
            .phase("negotiate")
            .instruction("Negotiate a plan.")
            .tools(["plan_payments", "agree_to_plan"])
            .transition("arrange_payment", S::is_true("plan_agreed"))
            .done()
            .phase("arrange_payment")
            .instruction("Arrange the first payment.")
            .tools(["arrange_payment"])
            .done();
        Life::begin(&self.journal, &self.clock, [("collections", agent)])
    }

    /// Approves every open request as the supervisor.
    fn agree(&self, life: &Life) {
        for waiting in life.run(life.engine().pending()).unwrap() {
            let (yes, by) = (ToolConfirmation::confirmed(), Actor::embedder("supervisor"));
            life.run(life.engine().answer(waiting.id, yes, by)).unwrap();
            life.settle();
        }
    }

    fn facts(&self) -> (Ledger, Vec<Fact>) {
        let ledger = Ledger::new(self.journal.clone());
        let sessions = wait(ledger.sessions()).unwrap();
        let [session] = sessions.as_slice() else {
            panic!("{sessions:?}");
        };
        let replayed = wait(replay::verify(&ledger, session.id)).unwrap();
        assert_eq!(replayed.diverged, None);
        let facts = wait(ledger.facts(session.id, Seq(1), 10_000)).unwrap();
        (ledger, facts)
    }

    /// A summary of the session that is independent of its processes and connections.
    fn ending(&self) -> String {
        let (ledger, facts) = self.facts();
        let mut told = String::new();
        let mut outcomes = BTreeMap::new();
        for fact in &facts {
            match &fact.event {
                Event::Decided(Decision::PhaseEntered(it)) => {
                    let when = it
                        .when
                        .as_ref()
                        .map(|when| serde_json::to_string(when).unwrap());
                    let when = when.unwrap_or_else(|| "at the beginning".to_owned());
                    writeln!(told, "phase {}: {when}", it.phase).unwrap();
                }
                Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                    let body = it.response.clone().or_else(|| body(&facts, it.of?));
                    let ended = (it.outcome, body.unwrap());
                    assert_eq!(outcomes.insert(it.call, ended), None, "a call ended twice");
                }
                Event::Decided(_) | Event::Observed(_) => {}
            }
        }
        for fact in &facts {
            if let Event::Observed(Observation::FunctionCallReceived(it)) = &fact.event {
                let (name, args) = (it.name.as_ref().unwrap(), it.args.as_ref().unwrap());
                let (outcome, body) = &outcomes[&fact.seq];
                writeln!(told, "call {name}({args}): {outcome:?} {body}").unwrap();
            }
        }
        let id = wait(ledger.sessions()).unwrap()[0].id;
        let session = wait(ledger.load(id)).unwrap().session;
        assert!(session.calls.is_empty() && session.deliveries.is_empty());
        for (key, value) in session.state.iter() {
            writeln!(told, "state {key} = {value}").unwrap();
        }
        for instruction in self.instructions() {
            writeln!(told, "the model was told to: {instruction}").unwrap();
        }
        for outcome in self.heard() {
            writeln!(told, "the model heard: {outcome}").unwrap();
        }
        let plans = self.books.plans.load(Ordering::SeqCst);
        writeln!(told, "plans worked out: {plans}").unwrap();
        for cents in self.books.payments.lock().unwrap().values() {
            writeln!(told, "paid {cents}").unwrap();
        }
        told
    }

    /// The instructions of phases that the model received in a setup or as text, without
    /// repetitions.
    fn instructions(&self) -> Vec<String> {
        let transcript = self.model.transcript();
        let mut heard: Vec<String> = Vec::new();
        for (_, message) in transcript.received() {
            let sent: Value = serde_json::from_str(&message.encode()).unwrap();
            let texts = [
                &sent["setup"]["systemInstruction"]["parts"][0]["text"],
                &sent["clientContent"]["turns"][0]["parts"][0]["text"],
            ];
            for text in texts.into_iter().filter_map(Value::as_str) {
                if let Some((_, of_phase)) = text.split_once("politely.\n\n")
                    && heard.last().is_none_or(|last| last != of_phase)
                {
                    heard.push(of_phase.to_owned());
                }
            }
        }
        heard
    }

    /// The outcomes that the model received, as responses or as text. A set, because a text may be
    /// sent again after a lost connection.
    fn heard(&self) -> BTreeSet<String> {
        let transcript = self.model.transcript();
        let told = transcript.told().map(|(_, text)| text);
        let lines = told.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        let told = lines.filter_map(|text| {
            let (_, call) = text.split_once("Your earlier call ")?;
            let (name, _) = call.split_once('(')?;
            let (_, body) = call.split_once("Response: ")?;
            Some(format!("{name} {body}"))
        });
        // The notice that a call waits is no outcome, and may be repeated after a lost connection.
        let final_ones = transcript
            .answers()
            .filter(|it| it.2 != Standing::Continues);
        let answered = final_ones.map(|(_, answer, standing)| {
            assert_eq!(standing, Standing::Accepted);
            let (name, body) = (answer.name.as_ref().unwrap(), &answer.response);
            format!("{name} {}", body.as_ref().unwrap().as_str())
        });
        told.chain(answered).collect()
    }

    /// The messages to the model, one per line.
    fn received(&self) -> String {
        let transcript = self.model.transcript();
        let messages = transcript.received().map(|(_, message)| message.encode());
        messages.collect::<Vec<_>>().join("\n")
    }
}

/// The response in another record.
fn body(facts: &[Fact], of: Seq) -> Option<Json> {
    let fact = facts.iter().find(|fact| fact.seq == of)?;
    let Event::Observed(Observation::ToolReturned(it)) = &fact.event else {
        return None;
    };
    Some(it.response.clone())
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    recount::journal::block_on(work)
}

/// Never returns in a process in which this tool is stuck.
async fn unless_stuck(tool: &str, context: &ToolContext) -> Arc<Arc<Books>> {
    let books = context.service::<Arc<Books>>().unwrap();
    let stuck = *books.stuck.lock().unwrap() == Some(tool);
    if stuck {
        pending::<()>().await;
    }
    books
}

/// Verifies who is calling.
#[tool]
async fn verify_identity(account: String, born: String, context: ToolContext) -> Value {
    unless_stuck("verify_identity", &context).await;
    let verified = account == "4711" && born == "1815-12-10";
    context.state.set("identity_verified", verified);
    context.state.set("user:name", "Ada");
    json!({ "verified": verified })
}

/// Tells what is owed.
#[tool]
async fn disclose_debt(context: ToolContext) -> Value {
    unless_stuck("disclose_debt", &context).await;
    context.state.set("debt_cents", 120_000);
    let name = context.state.get::<String>("user:name");
    json!({ "cents": 120_000, "debtor": name })
}

/// Plans payments.
#[tool]
async fn plan_payments(months: u64, cents: u64, context: ToolContext) -> Value {
    let books = unless_stuck("plan_payments", &context).await;
    books.plans.fetch_add(1, Ordering::SeqCst);
    json!({ "cents_a_month": cents.checked_div(months) })
}

/// Notes that the caller agrees to a plan.
#[tool]
async fn agree_to_plan(months: u64, context: ToolContext) -> Value {
    unless_stuck("agree_to_plan", &context).await;
    context.state.set("plan_agreed", true);
    context.state.set("months", months);
    json!({ "agreed": true })
}

/// Takes a payment.
#[tool]
async fn arrange_payment(cents: u64, context: ToolContext) -> Value {
    let books = unless_stuck("arrange_payment", &context).await;
    let key = context.idempotency_key();
    books.payments.lock().unwrap().insert(key, cents);
    context.state.set("paid_cents", cents);
    json!({ "paid": cents })
}
