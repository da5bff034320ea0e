//! The callbacks of the embedding program for every session, including those without a handle.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::{ConfirmationVerdict, EngineBuilder, FunctionResponse, Ticket};
use recount::prelude::*;
use recount::session::OnSettled;
use recount::testing::{Life, ManualClock, ScriptedModel, StuckJournal};

const SCRIPT: &str = r#"
{"on": {"text": "both"}, "once": false, "send": [{"call": [{"id": "c1", "name": "pay"}, {"id": "c2", "name": "order"}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Well."}]}
"#;

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn listens(&self, engine: EngineBuilder) -> EngineBuilder {
        let [asked, decided, paused, resumed, settled] = [(); 5].map(|()| self.clone());
        engine
            .on_confirmation_requested(move |it| {
                asked.note(format!("{} asks {:?}", it.tool, it.hint))
            })
            .on_confirmation_decided(move |it| {
                let verdict = match &it.verdict {
                    ConfirmationVerdict::Answered(said) => {
                        format!("{} by {}", said.confirmed, said.by.name)
                    }
                    ConfirmationVerdict::Expired => "expired".to_owned(),
                    ConfirmationVerdict::AllowedUnanswered => "allowed unanswered".to_owned(),
                    ConfirmationVerdict::Withdrawn(why) => format!("withdrawn: {why:?}"),
                    ConfirmationVerdict::Superseded(anew) => format!("superseded by {anew}"),
                };
                decided.note(format!("{} decided: {verdict}", it.ticket.tool));
            })
            .on_paused(move |it| paused.note(format!("{} paused", it.tool)))
            .on_resumed(move |it| resumed.note(format!("{} resumed", it.tool)))
            .on_settled(move |it| {
                settled.note(format!(
                    "{} ended apart: {:?}, {:?}",
                    it.ticket.tool, it.outcome, it.route
                ));
            })
    }
}

fn agent(model: &ScriptedModel) -> Agent {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let order = T::long_running(T::simple("order", "Orders", |_| async { Ok(json!(null)) }));
    Agent::new()
        .model("m")
        .tools(T::confirm(pay, "Pay?") | order)
        .connect_to(model.clone())
}

#[test]
fn notices_report_requests_and_outcomes_without_connection() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let heard = Heard::default();
    let begin = |agents: Vec<(&str, Agent)>| {
        let mut engine = Engine::in_memory()
            .journal(journal.clone())
            .clock(clock.clone());
        for (name, agent) in agents {
            engine = engine.agent(name, agent);
        }
        Life::of(heard.listens(engine))
    };
    let life = begin(vec![("a", agent(&model).on_settled(OnSettled::Notify))]);
    life.run(async {
        let live = life.engine().session("a").connect().await.unwrap();
        live.send_text("both").await.unwrap();
    });
    life.settle();
    assert_eq!(heard.take(), [r#"pay asks Some("Pay?")"#, "order paused"]);

    let waiting = life.run(life.engine().pending()).unwrap().remove(0);
    let yes = ToolConfirmation::confirmed();
    let ada = Actor::embedder("ada");
    life.run(life.engine().answer(waiting.id, yes, ada.clone()))
        .unwrap();
    life.settle();
    let told = [
        "pay decided: true by ada",
        "pay ended apart: Returned, Notify",
    ];
    assert_eq!(heard.take(), told);
    life.end();

    // A process without the agent answers through its desk, and its callbacks run all the same.
    let life = begin(Vec::new());
    let paused = life.run(life.engine().paused()).unwrap().remove(0);
    let ticket = Ticket::from(&paused);
    let response = FunctionResponse::new("order", json!({"shipped": true}));
    let mut updates = life.engine().subscribe();
    life.run(life.engine().respond(&ticket, response, ada))
        .unwrap();
    life.settle();
    assert_eq!(
        heard.take(),
        ["order resumed", "order ended apart: Supplied, Notify"]
    );
    let first = life.run(updates.next()).unwrap();
    assert_eq!(first.fact.event.kind(), "response_supplied");
    life.end();
}

#[test]
fn notices_report_expiry_and_rejection_at_desk() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let hour = Duration::from_secs(60 * 60);
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let mut gate = recount::session::ToolPolicy::gate("Pay?");
    gate.gate_terms.expires_after = Some(hour);
    let agent = Agent::new()
        .model("m")
        .tools(T::policy(pay, gate))
        .connect_to(model);
    let life = Life::begin(&journal, &clock, [("a", agent)]);
    life.run(async {
        let live = life.engine().session("a").connect().await.unwrap();
        live.send_text("both").await.unwrap();
    });
    life.settle();
    life.end();

    let heard = Heard::default();
    let engine = Engine::in_memory().journal(journal).clock(clock.clone());
    let life = Life::of(heard.listens(engine));
    let waiting = life.run(life.engine().pending()).unwrap().remove(0);
    clock.advance(hour);
    let mut updates = life.engine().subscribe();
    let yes = ToolConfirmation::confirmed();
    let late = life.run(
        life.engine()
            .answer(waiting.id, yes, Actor::embedder("ada")),
    );
    assert!(late.is_err());
    life.settle();
    let told = ["pay decided: expired", "pay ended apart: Expired, Parked"];
    assert_eq!(heard.take(), told);
    let kinds: Vec<&str> = (0..4)
        .map(|_| life.run(updates.next()).unwrap().fact.event.kind())
        .collect();
    let on_record = [
        "deadline_passed",
        "confirmation_expired",
        "response_issued",
        "answer_refused",
    ];
    assert_eq!(kinds, on_record);
    life.end();
}

#[test]
fn notice_reports_request_asked_again_for_changed_tool() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let life = Life::begin(&journal, &clock, [("a", agent(&model))]);
    life.run(async {
        let live = life.engine().session("a").connect().await.unwrap();
        live.send_text("both").await.unwrap();
    });
    life.settle();
    let before = life.run(life.engine().pending()).unwrap().remove(0);
    life.end();

    let heard = Heard::default();
    let wants = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let pay = T::simple_with("pay", "Pays", wants, |_| async { Ok(json!({})) });
    let changed = Agent::new().model("m").tools(T::confirm(pay, "Pay?"));
    let engine = Engine::in_memory().journal(journal).clock(clock);
    let engine = engine.agent("a", changed.connect_to(model));
    let life = Life::of(heard.listens(engine));
    let yes = ToolConfirmation::confirmed();
    let by = Actor::embedder("ada");
    let refused = life.run(life.engine().answer(before.id, yes, by));
    assert!(refused.is_err());
    life.settle();
    let anew = life.run(life.engine().pending()).unwrap().remove(0);
    let told = [
        format!("pay decided: superseded by {}", anew.id),
        "pay asks Some(\"Pay?\")".to_owned(),
    ];
    assert_eq!(heard.take(), told);
    life.end();
}

#[test]
fn a_callback_that_panics_hears_of_the_next_one() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let heard = Heard::default();
    let panics = heard.clone();
    let engine = Engine::in_memory().journal(journal).clock(clock);
    let engine = engine
        .agent("a", agent(&model))
        .on_confirmation_requested(move |it| {
            panics.note(it.tool.clone());
            std::panic::resume_unwind(Box::new("not now"));
        });
    let life = Life::of(engine);
    let lives: Vec<LiveHandle> = life.run(async {
        let mut lives = Vec::new();
        for _ in 0..2 {
            let live = life.engine().session("a").connect().await.unwrap();
            live.send_text("both").await.unwrap();
            lives.push(live);
        }
        lives
    });
    life.settle();
    assert_eq!(heard.take(), ["pay", "pay"]);
    drop(lives);
    life.end();
}

#[test]
fn agent_with_connections_but_no_connector_is_rejected() {
    let agent = Agent::new().model("m").on_settled(OnSettled::Connect);
    let life = Life::of(Engine::in_memory());
    let refused = life.engine().register("a", agent).unwrap_err().to_string();
    assert!(refused.contains("nowhere to connect to"), "{refused}");
    life.end();
}

/// An engine with the gated tool `pay` and the plain tool `look`.
fn pipeline(journal: &Arc<SurvivingJournal>, clock: &Arc<ManualClock>, heard: &Heard) -> Life {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let look = T::simple("look", "Looks", |_| async { Ok(json!({"seen": true})) });
    let agent = Agent::new()
        .model("none")
        .tools(T::confirm(pay, "Pay?") | look);
    let engine = Engine::in_memory()
        .journal(journal.clone())
        .clock(clock.clone());
    Life::of(heard.listens(engine.agent("a", agent)))
}

/// The program calls `pay` itself, and the call waits for approval.
fn called_itself(life: &Life, heard: &Heard) -> (Arc<LiveHandle>, tokio::task::JoinHandle<bool>) {
    let live = Arc::new(life.run(life.engine().session("a").open()).unwrap());
    let (caller, runtime) = (
        live.clone(),
        life.run(async { tokio::runtime::Handle::current() }),
    );
    let called = runtime.spawn(async move {
        let by = Actor::embedder("pipeline");
        caller.call_function("pay", json!({}), by).await.is_ok()
    });
    life.settle();
    assert_eq!(heard.take(), [r#"pay asks Some("Pay?")"#]);
    (live, called)
}

fn approved(life: &Life) {
    let waiting = life.run(life.engine().pending()).unwrap().remove(0);
    let yes = ToolConfirmation::confirmed();
    let ada = Actor::embedder("ada");
    life.run(life.engine().answer(waiting.id, yes, ada))
        .unwrap();
    life.settle();
}

const ENDED: [&str; 2] = [
    "pay decided: true by ada",
    "pay ended apart: Returned, Caller",
];

#[test]
fn notice_reports_program_call_that_outlived_its_process() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let heard = Heard::default();
    let life = pipeline(&journal, &clock, &heard);
    let _called = called_itself(&life, &heard);
    life.crash();
    let life = pipeline(&journal, &clock, &heard);
    approved(&life);
    assert_eq!(heard.take(), ENDED);
    life.end();
}

#[test]
fn notice_reports_program_call_only_if_no_caller_waits() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let heard = Heard::default();
    let life = pipeline(&journal, &clock, &heard);
    let (live, called) = called_itself(&life, &heard);
    approved(&life);
    assert!(life.run(called).unwrap());
    assert_eq!(heard.take(), ENDED[..1], "its caller has it");
    let by = Actor::embedder("pipeline");
    life.run(live.call_function("look", json!({}), by)).unwrap();
    life.settle();
    assert_eq!(heard.take(), [""; 0]);

    let (_live, called) = called_itself(&life, &heard);
    called.abort();
    life.settle();
    approved(&life);
    assert_eq!(heard.take(), ENDED, "its caller gave up");
    life.end();
}

/// An engine whose session was closed while a request was open. Its callbacks cannot run, because
/// the journal acknowledges nothing.
fn closed_while_mute(clock: &Arc<ManualClock>, heard: &Heard) -> (Life, Arc<StuckJournal>) {
    let journal = StuckJournal::new();
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let engine = Engine::in_memory()
        .journal(journal.clone())
        .clock(clock.clone())
        .agent("a", agent(&model).strict());
    let life = Life::of(heard.listens(engine));
    let live = life.run(async {
        let live = life.engine().session("a").connect().await.unwrap();
        live.send_text("both").await.unwrap();
        live
    });
    life.settle();
    assert_eq!(heard.take(), [r#"pay asks Some("Pay?")"#, "order paused"]);
    journal.mute();
    life.run(live.close("done", Actor::embedder("ada")))
        .unwrap();
    life.settle();
    assert_eq!(heard.take(), [""; 0]);
    (life, journal)
}

#[test]
fn a_shutdown_lets_the_program_hear_what_is_on_record_by_then() {
    for grace in [Duration::ZERO, Duration::from_secs(20)] {
        let (clock, heard) = (ManualClock::new(), Heard::default());
        let (life, journal) = closed_while_mute(&clock, &heard);
        let (ended, ()) = life.run(async {
            tokio::join!(life.engine().shutdown(grace), async {
                for _ in 0..500 {
                    tokio::task::yield_now().await;
                }
                journal.release();
            })
        });
        ended.unwrap();
        assert_eq!(heard.take(), ["pay decided: withdrawn: SessionClosed"]);
        life.crash();
    }
}

#[test]
fn a_shutdown_does_not_wait_for_a_callback_beyond_its_grace() {
    let (clock, heard) = (ManualClock::new(), Heard::default());
    let (life, _journal) = closed_while_mute(&clock, &heard);
    let grace = Duration::from_secs(20);
    let ended = life.run(async {
        let mut shutdown = std::pin::pin!(life.engine().shutdown(grace));
        for left in (0..20).rev() {
            for _ in 0..100 {
                assert!(futures_util::poll!(&mut shutdown).is_pending());
                tokio::task::yield_now().await;
            }
            clock.advance(Duration::from_secs(1));
            assert!(left == 0 || futures_util::poll!(&mut shutdown).is_pending());
        }
        shutdown.await
    });
    ended.unwrap();
    assert_eq!(heard.take(), [""; 0]);
    life.crash();
}
