//! The ready-made tools, against the simulator: the messages to the model, the callbacks of the
//! program, and the records.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use recount::assert_replays;
use recount::engine::LiveEvent;
use recount::fixture::{Fixture, Recording};
use recount::journal::Journal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, ResponseShape, Seq};
use recount::simulator::{Event as Seen, Running, Script, Side, Simulator, Transcript};
use recount::testing::{
    Crash, CrashPoint, CrashingConnector, CrashingJournal, Life, ManualClock, ScriptedModel,
};
use recount::tool::{
    ContextGiven, EndSession, Escalated, Escalation, EscalationReply, EscalationRequest,
    EscalationStatus, ToolEvent,
};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

async fn simulator(script: &str) -> Running {
    let script = Script::parse(script).unwrap();
    Simulator::start(script)
        .listen("127.0.0.1:0")
        .await
        .unwrap()
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.unwrap()
}

/// The response to a call, which takes a moment to arrive over a real socket.
async fn answer(simulator: &Running, id: &str) -> Value {
    let of = |seen: &Transcript| {
        let mut answers = seen.answers();
        let answer = answers.find(|(_, answer, _)| answer.id.as_deref() == Some(id));
        answer.map(|(_, answer, _)| answer.response.as_ref().unwrap().to().unwrap())
    };
    let seen = in_time(simulator.until(|seen| of(seen).is_some())).await;
    of(&seen).unwrap()
}

/// The recorded events of this type.
async fn emitted<E: ToolEvent>(ledger: &Ledger, session: SessionId) -> Vec<E> {
    let facts = ledger.facts(session, Seq(1), 10_000).await.unwrap();
    let events = facts.iter().filter_map(|fact| E::read(&fact.event));
    events.map(Result::unwrap).collect()
}

const GOODBYE: &str = r#"
{"on": {"text": "bye"}, "send": [{"call": [{"id": "e1", "name": "endSession", "args": {"reason": "the user said bye", "confirmed": false}}]}]}
{"on": {"responses_to": ["e1"]}, "send": [{"say": "Shall I hang up?"}]}
{"on": {"text": "maybe"}, "send": [{"call": [{"id": "e2", "name": "endSession", "args": {"reason": "?", "confirmed": "false"}}]}]}
{"on": {"responses_to": ["e2"]}, "send": [{"say": "Sorry?"}]}
{"on": {"text": "yes"}, "send": [{"call": [{"id": "w", "name": "work"}, {"id": "e3", "name": "endSession", "args": {"reason": "the user said bye", "confirmed": true}}]}]}
"#;

#[tokio::test]
async fn the_session_ends_in_two_steps_and_the_reply_goes_first() {
    let simulator = simulator(GOODBYE).await;
    let (began, dropped) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(Mutex::new(false)),
    );
    let (begins, drops) = (began.clone(), dropped.clone());
    let work = T::background(T::simple("work", "Works for ever", move |_| {
        let (begins, ends) = (begins.clone(), OnDrop(drops.clone()));
        async move {
            let _ends = ends;
            begins.notify_one();
            std::future::pending().await
        }
    }));
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(work | T::defaults())
        .response_shape(ResponseShape::Envelope)
        .connect_to(simulator.url())
        .await
        .unwrap();
    let (engine, session) = (live.engine().clone(), live.session_id());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    let _listening = live.on(move |it: &recount::tool::Emitted<EndSession>| {
        list.lock().unwrap().push(it.event.reason.clone());
    });
    let (mut updates, mut spoken) = (live.subscribe(), live.listen());
    for words in ["bye", "maybe"] {
        live.send_text(words).await.unwrap();
        in_time(updates.turn()).await.unwrap();
    }
    assert_eq!(
        answer(&simulator, "e1").await,
        json!({
            "output": {
                "success": true, "message": "Confirmation required before ending session",
                "reason": "the user said bye", "confirmed": false,
                    "action": "awaiting_confirmation",
            },
            "scheduling": "WHEN_IDLE",
        })
    );
    let strict = answer(&simulator, "e2").await;
    assert_eq!(strict["output"]["kind"], "invalid_args", "{strict}");
    assert_eq!(strict["scheduling"], "SILENT");
    assert!(!live.session().await.unwrap().closed);

    live.send_text("yes").await.unwrap();
    let closed = in_time(updates.wait_for(|it| it.kind() == "session_closed"))
        .await
        .unwrap();
    let Event::Observed(Observation::SessionClosed(closed)) = &closed.fact.event else {
        unreachable!()
    };
    assert_eq!(
        (closed.reason.as_str(), closed.by.name.as_str()),
        ("the user said bye", "endSession")
    );
    // The handle ends, so that subscribers do not wait forever.
    while in_time(updates.next()).await.is_some() {}
    while let Some(event) = in_time(spoken.next()).await {
        assert!(!matches!(event, LiveEvent::Lost { .. }), "{event:?}");
    }
    assert_eq!(
        answer(&simulator, "e3").await,
        json!({
            "output": {
                "success": true, "message": "Session ending after confirmation",
                "reason": "the user said bye", "confirmed": true,
            },
            "scheduling": "WHEN_IDLE",
        })
    );
    in_time(simulator.until_all_closed()).await;
    let transcript = simulator.transcript();
    let place = |wanted: &dyn Fn(&Seen) -> bool| {
        let mut all = transcript.entries().iter();
        all.rposition(|entry| wanted(&entry.event)).unwrap()
    };
    let told = place(
        &|it| matches!(it, Seen::Received { message, .. } if message.tool_response.is_some()),
    );
    let hung_up = place(&|it| {
        matches!(
            it,
            Seen::Closed {
                by: Side::Client,
                code: 1000 | 1005,
                ..
            }
        )
    });
    assert!(told < hung_up);
    let folded = engine.ledger().load(session).await.unwrap().session;
    assert!(folded.calls.is_empty() && folded.closed);
    let ends: Vec<Outcome> = folded.settled.values().map(|it| it.outcome).collect();
    assert_eq!(
        ends,
        [
            Outcome::Returned,
            Outcome::Refused,
            Outcome::Withdrawn,
            Outcome::Returned
        ]
    );
    // The record shows that the session ended after its reply was sent.
    let issued = folded.settled.values().next_back().unwrap().at;
    let facts = engine.ledger().facts(session, Seq(1), 10_000).await;
    let left = facts.unwrap().iter().any(|fact| match &fact.event {
        Event::Observed(Observation::ResponsesSent(it)) => it.responses.contains(&issued),
        Event::Observed(_) | Event::Decided(_) => false,
    });
    assert!(left, "the reply of {issued}");
    in_time(began.notified()).await;
    let reason = "the user said bye".to_owned();
    assert_eq!(
        emitted::<EndSession>(engine.ledger(), session).await,
        [EndSession { reason }]
    );
    engine.shutdown(Duration::ZERO).await.unwrap();
    assert!(*dropped.lock().unwrap(), "what ran has ended");
    assert_eq!(*heard.lock().unwrap(), ["the user said bye"]);
}

struct OnDrop(Arc<Mutex<bool>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

const HANGS_UP: &str = r#"
{"on": {"text": "bye"}, "send": [{"call": [{"id": "e", "name": "endSession", "args": {"reason": "goodbye", "confirmed": true}}]}]}
"#;

/// Runs a process that is cut off at a point of one of its batches.
///
/// Returns the number of batches, the journal and the model.
fn cut_at(place: Option<(usize, CrashPoint)>) -> (usize, Arc<SurvivingJournal>, ScriptedModel) {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(HANGS_UP).unwrap();
    let crash = Arc::new(match place {
        Some((batch, point)) => Crash::at(batch, point, || {}),
        None => Crash::never(),
    });
    let inner: Arc<dyn Journal> = journal.clone();
    let cut = Arc::new(CrashingJournal::new(inner, &crash));
    let agent = agent(CrashingConnector::new(model.clone(), &crash));
    let life = Life::begin(&cut, &clock, [("desk", agent)]);
    let engine = life.engine().clone();
    life.run(async {
        tokio::spawn(async move {
            let live = engine.session("desk").connect().await.unwrap();
            live.send_text("bye").await.unwrap();
            let mut updates = live.subscribe();
            while updates.next().await.is_some() {}
        });
        for _ in 0..500 {
            tokio::task::yield_now().await;
        }
    });
    life.crash();
    (crash.batches(), journal, model)
}

fn agent(connector: impl recount::live::Connector) -> Agent {
    let tools = T::defaults();
    Agent::new().model("m").tools(tools).connect_to(connector)
}

#[test]
fn session_ends_despite_crash_between_reply_and_end() {
    let (batches, ..) = cut_at(None);
    assert!(batches > 6, "{batches}");
    let (mut wished, mut told) = (0, 0);
    for batch in 1..=batches {
        for point in CrashPoint::ALL {
            let (_, journal, model) = cut_at(Some((batch, point)));
            let when = format!("{point:?} of {batch}");
            let before = kinds(&journal);
            let returned = before.iter().any(|it| it == "tool_returned");
            let started = before.iter().any(|it| it == "call_started");
            told += usize::from(model.transcript().answers().count() > 0);
            wished += usize::from(returned && !before.iter().any(|it| it == "session_closed"));
            let clock = ManualClock::new();
            let life = Life::begin(&journal, &clock, [("desk", agent(model.clone()))]);
            life.settle();
            life.end();
            let after = kinds(&journal);
            let closed = after.iter().filter(|it| *it == "session_closed").count();
            // The tool is idempotent: a run that was cut off runs again.
            assert_eq!(
                closed,
                usize::from(returned || started),
                "{when}: {after:?}"
            );
            if returned {
                let runs = after.iter().filter(|it| *it == "call_started").count();
                assert_eq!(runs, 1, "{when}: {after:?}");
            }
            assert!(model.transcript().answers().count() <= 1, "{when}");
            let sessions = Life::begin(&journal, &clock, [("desk", agent(model))]);
            let listed = sessions.run(sessions.engine().sessions()).unwrap();
            let open = listed.iter().flat_map(|it| it.open.keys());
            let open: Vec<&String> = open.filter(|it| *it != "session").collect();
            assert!(open.is_empty(), "{when}: {open:?}");
        }
    }
    assert!(
        wished >= 3 && told >= 3,
        "{wished} were cut in between, {told} had told the model"
    );
}

fn kinds(journal: &Arc<SurvivingJournal>) -> Vec<String> {
    let ledger = Ledger::new(journal.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut kinds = Vec::new();
        for summary in ledger.sessions().await.unwrap() {
            let facts = ledger.facts(summary.id, Seq(1), 1_000).await.unwrap();
            kinds.extend(facts.iter().map(|fact| fact.event.kind().to_owned()));
        }
        kinds
    })
}

#[test]
fn session_ended_by_tool_replays_and_plays_as_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("goodbye");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let live = Live::builder()
            .model("m")
            .tools(T::defaults())
            .record_to(Recording::to(&dir))
            .connect_with(ScriptedModel::parse(HANGS_UP).unwrap())
            .await
            .unwrap();
        let mut updates = live.subscribe();
        live.send_text("bye").await.unwrap();
        in_time(async { while updates.next().await.is_some() {} }).await;
        assert_replays!(live.engine());
        live.engine().shutdown(Duration::ZERO).await.unwrap();
    });
    let agent = Agent::new().model("m").tools(T::defaults());
    let played = Fixture::load(&dir).unwrap().play(&agent).unwrap();
    played.assert_as_recorded();
}

const ASKS: &str = r#"
{"on": {"text": "first"}, "send": [{"say": "One."}]}
{"on": {"text": "second"}, "send": [{"say": "Two."}]}
{"on": {"text": "third"}, "send": [{"call": [{"id": "p", "name": "pay"}, {"id": "g", "name": "getContext", "args": {"turns": 3}}]}]}
"#;

#[tokio::test]
async fn the_context_holds_what_is_allowed_and_nothing_else() {
    let simulator = simulator(ASKS).await;
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(T::confirm(pay, "Pay?") | T::get_context(["plan", "absent"]))
        .strict()
        .phase("negotiate")
        .done()
        .connect_to(simulator.url())
        .await
        .unwrap();
    live.change_state(Actor::embedder("crm"), |state| {
        state.set("plan", "monthly");
        state.set("plan_b", "SECRET-1");
        state.set("user:score", "SECRET-2");
        state.set("turn:mood", "SECRET-3");
    })
    .await
    .unwrap();
    live.state().await.unwrap().set("temp:token", "SECRET-4");
    let mut updates = live.subscribe();
    for words in ["first", "second"] {
        live.send_text(words).await.unwrap();
        in_time(updates.turn()).await.unwrap();
    }
    live.send_text("third").await.unwrap();
    in_time(updates.wait_for(|it| it.kind() == "responses_sent"))
        .await
        .unwrap();
    assert_eq!(
        answer(&simulator, "g").await,
        json!({
            "success": true,
            "state": {"plan": "monthly"},
            "phase": "negotiate",
            "open_calls": [{"name": "pay", "status": "awaiting_confirmation"}],
            "turns": [
                {"speaker": "user", "text": "second"},
                {"speaker": "model", "text": "Two."},
                {"speaker": "user", "text": "third"},
            ],
        })
    );
    let (engine, session) = (live.engine().clone(), live.session_id());
    let given = emitted::<ContextGiven>(engine.ledger(), session).await;
    let keys = vec!["plan".to_owned()];
    assert_eq!(given, [ContextGiven { keys, turns: 3 }]);
    let frames = simulator.transcript();
    let told: Vec<String> = frames.received().map(|(_, it)| it.encode()).collect();
    assert!(told.iter().any(|it| it.contains("monthly")));
    for told in told {
        for hidden in ["SECRET", "plan_b", "score", "mood", "token"] {
            assert!(!told.contains(hidden), "{hidden}: {told}");
        }
    }
}

const ENDS: &str = r#"
{"on": {"text": "bye"}, "send": [{"call": [{"id": "p", "name": "pay"}, {"id": "a", "name": "endSession", "args": {"reason": "bye", "confirmed": false}}]}]}
{"on": {"text": "yes"}, "send": [{"call": [{"id": "e", "name": "endSession", "args": {"reason": "bye", "confirmed": true}}]}]}
"#;

#[tokio::test]
async fn end_of_session_names_its_withdrawn_requests() {
    let simulator = simulator(ENDS).await;
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(T::confirm(pay, "Pay?") | T::end_session())
        .strict()
        .connect_to(simulator.url())
        .await
        .unwrap();
    for (words, call) in [("bye", "a"), ("yes", "e")] {
        live.send_text(words).await.unwrap();
        let told = answer(&simulator, call).await;
        assert_eq!(told["withdraws"], json!(["pay"]), "{told}");
    }
}

#[tokio::test]
async fn get_context_returns_no_state_by_default() {
    let agent = Agent::new().model("m").tools(T::defaults());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let session = engine.session("a").open().await.unwrap();
    let by = Actor::embedder("crm");
    let write = session.change_state(by.clone(), |state| state.set("plan", "SECRET"));
    write.await.unwrap();
    let given = session
        .call_function("getContext", json!({}), by)
        .await
        .unwrap();
    assert_eq!(
        given,
        json!({"success": true, "state": {}, "phase": null, "open_calls": [], "turns": []})
    );
}

const ANGRY: &str = r#"
{"on": {"text": "person"}, "send": [{"call": [{"id": "e", "name": "escalate", "args": {"reason": "angry"}}]}]}
{"on": {"text": "again"}, "send": [{"call": [{"id": "f", "name": "escalate", "args": {"reason": "angry", "context": "lost two parcels"}}]}]}
"#;

/// A desk that accepts the first request, rejects the second, and fails at the third.
#[derive(Default)]
struct Desk(Mutex<Vec<EscalationRequest>>);

#[async_trait]
impl Escalation for Desk {
    async fn escalate(&self, request: &EscalationRequest) -> Result<EscalationReply, ToolError> {
        let mut asked = self.0.lock().unwrap();
        asked.push(request.clone());
        match asked.len() {
            1 => Ok(EscalationReply::accepted("Ada takes over")),
            2 => Ok(EscalationReply::declined("everybody is busy")),
            _ => Err(ToolError::ExecutionFailed("503".into())),
        }
    }
}

#[tokio::test]
async fn a_person_is_called_by_the_service_of_the_program() {
    let simulator = simulator(ANGRY).await;
    let desk = Arc::new(Desk::default());
    let service: Arc<dyn Escalation> = desk.clone();
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(T::defaults())
        .service(service)
        .response_shape(ResponseShape::Envelope)
        .connect_to(simulator.url())
        .await
        .unwrap();
    let (engine, session) = (live.engine().clone(), live.session_id());
    let mut updates = live.subscribe();
    for words in ["person", "again"] {
        live.send_text(words).await.unwrap();
        in_time(updates.wait_for(|it| it.kind() == "responses_sent"))
            .await
            .unwrap();
    }
    let mut taken = answer(&simulator, "e").await;
    let at = taken["output"]["timestamp"].take();
    let at = at.as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
    assert_eq!(
        taken,
        json!({
            "output": {
                "success": true, "message": "Ada takes over", "reason": "angry",
                "context": "No additional context provided", "status": "escalated",
                "conversationId": session.to_string(), "timestamp": null,
            },
            "scheduling": "WHEN_IDLE",
        })
    );
    let busy = &answer(&simulator, "f").await["output"];
    let said = (
        &busy["success"],
        &busy["status"],
        &busy["message"],
        &busy["context"],
    );
    let expected = (
        &json!(false),
        &json!("failed"),
        &json!("everybody is busy"),
        &json!("lost two parcels"),
    );
    assert_eq!(said, expected);

    let by = Actor::embedder("test");
    let mut outage = live
        .call_function("escalate", json!({"reason": "r", "context": "c"}), by)
        .await
        .unwrap();
    outage["output"]["timestamp"].take();
    assert_eq!(
        outage["output"],
        json!({
            "success": false, "message": "Escalation request failed due to technical error",
            "reason": "r", "context": "c", "status": "error",
            "error": ToolError::ExecutionFailed("503".into()).to_string(), "timestamp": null,
        })
    );
    let events = emitted::<Escalated>(engine.ledger(), session).await;
    let statuses: Vec<_> = events.iter().map(|it| it.status).collect();
    use EscalationStatus::{Error, Escalated as Taken, Failed};
    assert_eq!(statuses, [Taken, Failed, Error]);
    let asked = desk.0.lock().unwrap();
    assert!(asked.iter().all(|it| it.session == session));
    assert_ne!(asked[0].idempotency_key, asked[1].idempotency_key);
}

#[tokio::test]
async fn escalation_without_service_fails_and_is_reported_to_program() {
    let simulator = simulator(ANGRY).await;
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(T::defaults())
        .connect_to(simulator.url())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("person").await.unwrap();
    in_time(updates.wait_for(|it| it.kind() == "responses_sent"))
        .await
        .unwrap();
    let told = answer(&simulator, "e").await;
    assert_eq!(
        (&told["success"], &told["status"]),
        (&json!(false), &json!("failed"))
    );
    assert_eq!(told["message"], "There is nobody to escalate to");
    let engine = live.engine().clone();
    let events = emitted::<Escalated>(engine.ledger(), live.session_id()).await;
    assert_eq!(events.len(), 1);
}

const BAD_CALLS: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "n", "name": "nope"}, {"id": "b", "name": "boom"}]}]}
{"on": {"text": "again"}, "send": [{"call": [{"id": "s", "name": "read"}]}]}
"#;

/// The envelope is that of SAMMY with two changes: its errors have no `kind`, and it loses the
/// message.
#[tokio::test]
async fn errors_have_the_measured_envelope() {
    let simulator = simulator(BAD_CALLS).await;
    let boom = T::simple("boom", "Fails", |_| async {
        Err(ToolError::Other("kaput".into()))
    });
    let read = T::simple("read", "Reads", |_| async { Ok(json!(["a"])) });
    let live = Live::builder()
        .model("gemini-live-2.5-flash")
        .tools(boom | read)
        .response_shape(ResponseShape::Envelope)
        .connect_to(simulator.url())
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let both = |seen: &Transcript| seen.answers().count() == 2;
    in_time(simulator.until(both)).await;
    for (id, kind, word) in [("n", "not_found", "nope"), ("b", "other", "kaput")] {
        let told = answer(&simulator, id).await;
        assert_eq!(told["scheduling"], "SILENT", "{told}");
        let output = &told["output"];
        assert_eq!(
            (&output["success"], &output["kind"]),
            (&json!(false), &json!(kind))
        );
        assert!(output["error"].as_str().unwrap().contains(word), "{told}");
        assert_eq!(told.as_object().unwrap().len(), 2, "{told}");
    }
    live.send_text("again").await.unwrap();
    in_time(updates.wait_for(|it| it.kind() == "responses_sent"))
        .await
        .unwrap();
    in_time(simulator.until(|seen| seen.answers().count() == 3)).await;
    assert_eq!(
        answer(&simulator, "s").await,
        json!({"output": ["a"], "scheduling": "WHEN_IDLE"})
    );
}
