//! The embedding program's hooks see calls before they run and responses before they are sent.
//! Their answers are recorded, so a replay needs no hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::store;
use async_trait::async_trait;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::session::{Event, Fact, Observation, Outcome, Seq};
use recount::simulator::Standing;
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// A model that calls these tools in one message, and says "Done." once it has all responses.
fn calling(tools: &[&str]) -> ScriptedModel {
    let call = |(index, name): (usize, &&str)| {
        json!({"id": format!("c{index}"), "name": name,
        "args": {"card": "4111111111111111"}})
    };
    let calls: Vec<Value> = tools.iter().enumerate().map(call).collect();
    let ids: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
    let asks = json!({"on": {"text": "go"}, "send": [{"call": calls}]});
    let ends = json!({"on": {"responses_to": ids}, "send": [{"say": "Done."}]});
    ScriptedModel::parse(&format!("{asks}\n{ends}")).unwrap()
}

/// Serves one conversation to the end of the turn.
async fn served(agent: Agent, model: &ScriptedModel) -> LiveHandle {
    let agent = agent.model("m").connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    live
}

/// The responses to a call, in order.
fn told(model: &ScriptedModel, id: &str) -> Vec<Value> {
    let transcript = model.transcript();
    let to_it = transcript
        .answers()
        .filter(|(_, answer, _)| answer.id.as_deref() == Some(id));
    to_it
        .map(|(_, answer, standing)| {
            assert!(matches!(standing, Standing::Accepted | Standing::Continues));
            answer.response.as_ref().unwrap().to().unwrap()
        })
        .collect()
}

async fn facts(live: &LiveHandle) -> Vec<Fact> {
    let ledger = live.engine().ledger();
    ledger.facts(live.session_id(), Seq(1), 1000).await.unwrap()
}

/// The bodies of all records of a session.
async fn record(live: &LiveHandle) -> String {
    let facts = facts(live).await;
    let bodies = facts.iter().map(|fact| fact.event.body().unwrap());
    bodies.collect()
}

/// A tool that counts its runs.
fn counted(name: &str, runs: &Arc<AtomicUsize>) -> Toolset {
    let runs = runs.clone();
    T::simple(name, "Counts", move |_| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(json!({ "run": run, "card": "4111111111111111" })) }
    })
}

fn by_hand(call: &FunctionCall, response: Value) -> FunctionResponse {
    FunctionResponse {
        name: call.name.clone(),
        response,
        id: call.id.clone(),
    }
}

#[tokio::test]
async fn hook_answers_are_sent_and_other_calls_dispatched() {
    let (pays, looks) = (Arc::default(), Arc::default());
    let model = calling(&["pay", "look"]);
    let agent = Agent::new()
        .strict()
        .tools(T::confirm(counted("pay", &pays), "Pay?") | counted("look", &looks))
        .on_tool_call(|calls, state| async move {
            assert_eq!(calls.len(), 2, "the calls of one message come together");
            state.set("paid_by", "hand");
            let paid = calls.iter().filter(|call| call.name == "pay");
            Some(paid.map(|it| by_hand(it, json!({"paid": true}))).collect())
        });
    let live = served(agent, &model).await;
    assert_eq!(told(&model, "c0"), [json!({"paid": true})]);
    assert_eq!(told(&model, "c1")[0]["run"], 1);
    // The gated tool did not run, and no approver was asked.
    assert_eq!(pays.load(Ordering::SeqCst), 0);
    let session = live.session().await.unwrap();
    assert!(session.requests.is_empty());
    assert_eq!(
        session.value("paid_by").map(|it| it.to_value()),
        Some(json!("hand"))
    );
    let facts = facts(&live).await;
    let answered = facts.iter().find_map(|fact| match &fact.event {
        Event::Observed(Observation::HookAnswered(it)) if it.response.is_some() => Some(it),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    let by = answered.unwrap().by.as_ref().unwrap();
    assert_eq!(by, &Actor::embedder("on_tool_call"));
    assert_eq!(
        session.settled[&answered.unwrap().call].outcome,
        Outcome::Supplied
    );
}

#[tokio::test]
async fn a_hook_that_says_nothing_lets_every_call_take_its_course() {
    let runs = Arc::default();
    let model = calling(&["look", "look", "nothing"]);
    let agent = Agent::new()
        .tools(counted("look", &runs))
        .on_tool_call(|_, _| async { None });
    served(agent, &model).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert_eq!(told(&model, "c2")[0]["kind"], "not_found");
}

#[tokio::test]
async fn hook_answer_belongs_to_the_call_with_its_id() {
    let model = calling(&["look", "look"]);
    let agent = Agent::new()
        .tools(counted("look", &Arc::default()))
        .on_tool_call(
            |calls, _| async move { Some(vec![by_hand(&calls[1], json!({"by": "hand"}))]) },
        );
    served(agent, &model).await;
    assert_eq!(told(&model, "c0")[0]["run"], 1);
    assert_eq!(told(&model, "c1"), [json!({"by": "hand"})]);
}

#[tokio::test(start_paused = true)]
async fn panicking_or_hung_hook_rejects_calls_and_session_continues() {
    let runs = Arc::default();
    let panics = Agent::new()
        .tools(counted("look", &runs))
        .on_tool_call(|_, _| -> std::future::Ready<_> { panic!("kaput") });
    let hangs = Agent::new()
        .tools(counted("look", &runs))
        .on_tool_call(|_, _| std::future::pending());
    for (agent, seconds) in [(panics, 0), (hangs, 30)] {
        let (model, began) = (calling(&["look"]), Instant::now());
        let live = served(agent, &model).await;
        assert_eq!(told(&model, "c0")[0]["kind"], "hook_failed");
        assert_eq!(began.elapsed().as_secs(), seconds);
        assert!(live.session().await.is_ok());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

struct Steps;

#[async_trait]
impl StreamingTool for Steps {
    fn name(&self) -> &str {
        "steps"
    }
    fn description(&self) -> &str {
        "Takes steps"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        let step = yield_tx.send(json!({"step": 1, "card": "4111111111111111"}));
        step.await
            .map_err(|error| ToolError::ExecutionFailed(error.to_string()))
    }
}

#[tokio::test]
async fn value_removed_by_response_hook_is_nowhere() {
    let runs = Arc::default();
    let fails = T::simple("fails", "Fails", |_| async {
        Err(ToolError::ExecutionFailed("4111111111111111".to_owned()))
    });
    let waits = T::simple("waits", "Waits", |_| async {
        Ok(json!({"card": "4111111111111111"}))
    });
    let waits = T::long_running(waits);
    let slow = T::background(counted("slow", &runs));
    let model = calling(&[
        "look", "slow", "steps", "fails", "nothing", "waits", "manual",
    ]);
    let agent = Agent::new()
        .model("m")
        .connect_to(model.clone())
        .tools(counted("look", &runs) | slow | T::streaming(Arc::new(Steps)) | fails | waits)
        .on_tool_call(|calls, _| async move {
            let manual = calls.iter().filter(|call| call.name == "manual");
            let response = json!({"card": "4111111111111111"});
            Some(manual.map(|it| by_hand(it, response.clone())).collect())
        })
        .before_tool_response(|responses, state| async move {
            let changed = responses.into_iter().map(|mut it| {
                state.set("seen", state.get::<u64>("seen").unwrap_or_default() + 1);
                it.response = json!({"told": it.response["status"], "error": it.response["kind"]});
                it
            });
            changed.collect()
        });
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    updates
        .wait_for(|event| event.kind() == "tool_paused")
        .await;
    let paused = live.paused().await.unwrap();
    let ticket: Ticket = (&paused[0]).into();
    let supplied = live.respond(
        &ticket,
        json!({"card": "4111111111111111"}),
        Actor::embedder("desk"),
    );
    supplied.await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    let plain = json!({"told": null, "error": null});
    let status = |status: &str| json!({"told": status, "error": null});
    let error = |kind: &str| json!({"told": null, "error": kind});
    let only = vec![plain.clone()];
    assert_eq!(told(&model, "c0"), only);
    assert_eq!(told(&model, "c1"), [status("running"), status("completed")]);
    assert_eq!(told(&model, "c2"), [plain.clone(), status("completed")]);
    assert_eq!(told(&model, "c3"), [error("execution_failed")]);
    assert_eq!(told(&model, "c4"), [error("not_found")]);
    assert_eq!(told(&model, "c5"), [plain.clone(), plain.clone()]);
    assert_eq!(told(&model, "c6"), [plain]);
    assert!(live.session().await.unwrap().value("seen").is_some());
    // The arguments are excluded, because they are the model's own words.
    let facts = facts(&live).await;
    let said = facts
        .iter()
        .filter(|fact| fact.event.kind() != "function_call_received");
    for fact in said {
        let body = fact.event.body().unwrap();
        assert!(!body.contains("4111111111111111"), "{body}");
    }
}

#[tokio::test]
async fn a_response_that_the_hook_fails_to_see_is_withheld() {
    let runs = Arc::default();
    let panics = Agent::new()
        .tools(counted("look", &runs))
        .before_tool_response(|_, _| -> std::future::Ready<_> { panic!("kaput") });
    let forgets = Agent::new()
        .tools(counted("look", &runs))
        .before_tool_response(|_, _| async { Vec::new() });
    for agent in [panics, forgets] {
        let model = calling(&["look"]);
        let live = served(agent, &model).await;
        assert_eq!(told(&model, "c0")[0]["kind"], "withheld");
        let body = record(&live).await;
        assert!(!body.contains("\"run\""), "{body}");
    }
}

#[tokio::test]
async fn a_redactor_takes_out_of_everything_before_it_is_on_record() {
    let runs = Arc::default();
    let model = calling(&["look"]);
    let agent = Agent::new().tools(counted("look", &runs)).redact(|text| {
        let digits = text.chars().filter(char::is_ascii_digit).count();
        (digits >= 13).then(|| "[card]".to_owned())
    });
    let agent = agent.model("m").connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    let spoken = r#"{"serverContent":{"inputTranscription":{"text":"4111 1111 1111 1111"}}}"#;
    model.send(&ServerMessage::decode(spoken).unwrap());
    model.send(&ServerMessage::text("It is 4111 1111 1111 1111. "));
    live.send_text("go: 4111 1111 1111 1111").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("[card]Done."));
    let body = record(&live).await;
    assert!(!body.contains("4111"), "{body}");
    for redacted in [
        r#""text":"[card]""#,
        r#""speaker":"user","text":"[card]""#,
        r#""args":{"card":"[card]"}"#,
        r#""response":{"card":"[card]","run":1}"#,
    ] {
        assert!(body.contains(redacted), "{redacted} in {body}");
    }
    // The model received the user's text unredacted, and the response as it is recorded.
    let transcript = model.transcript();
    let heard: Vec<String> = transcript.told().map(|(_, words)| words).collect();
    assert_eq!(heard, ["go: 4111 1111 1111 1111"]);
    assert_eq!(told(&model, "c0")[0]["card"], "[card]");
}

#[tokio::test]
async fn hook_answers_replay_without_hooks() {
    let directory = tempfile::tempdir().unwrap();
    let runs = Arc::default();
    let model = calling(&["pay", "look", "nothing"]);
    let agent = Agent::new()
        .model("m")
        .connect_to(model)
        .tools(T::confirm(counted("pay", &runs), "Pay?") | counted("look", &runs))
        .on_tool_call(|calls, _| async move {
            let paid = calls.iter().filter(|call| call.name == "pay");
            Some(paid.map(|it| by_hand(it, json!({"paid": true}))).collect())
        })
        .before_tool_response(|responses, _| async { responses });
    let engine = store::engine(directory.path()).agent("a", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Done."));
    let replayed = recount::replay::verify(engine.ledger(), live.session_id()).await;
    let report = replayed.unwrap();
    assert!(
        report.diverged.is_none() && report.decisions > 0,
        "{report:?}"
    );
}

#[tokio::test]
async fn cancelled_call_ends_while_hook_runs() {
    let model = calling(&["look"]);
    let agent = Agent::new()
        .model("m")
        .connect_to(model.clone())
        .tools(counted("look", &Arc::default()))
        .on_tool_call(|_, _| std::future::pending());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    updates
        .wait_for(|event| event.kind() == "function_call_received")
        .await;
    model.send(&ServerMessage::cancel(["c0"]));
    let cancelled = updates.wait_for(|event| event.kind() == "call_cancelled");
    assert!(cancelled.await.is_some());
    assert_eq!(told(&model, "c0"), Vec::<Value>::new());
}

/// An agent whose hook `before_tool_response` waits for a notification at each response of `slow`.
fn looked_at(tools: Toolset, look: &Arc<Notify>) -> Agent {
    let look = look.clone();
    let hook = move |responses: Vec<FunctionResponse>, _| {
        let look = look.clone();
        async move {
            if responses[0].name == "slow" {
                look.notified().await;
            }
            responses
        }
    };
    Agent::new()
        .model("m")
        .tools(tools)
        .before_tool_response(hook)
}

async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

/// The user texts that the model received.
fn said(model: &ScriptedModel) -> Vec<String> {
    let transcript = model.transcript();
    transcript.told().map(|(_, words)| words).collect()
}

#[tokio::test]
async fn outcome_of_call_cancelled_before_delivery_is_sent_as_text() {
    let (model, look, clock) = (calling(&["slow"]), Arc::default(), ManualClock::new());
    let slow = T::simple("slow", "Never ends", |_| std::future::pending());
    let slow = T::timeout(slow, Duration::from_secs(5));
    let agent = looked_at(slow, &look).connect_to(model.clone());
    let engine = Engine::in_memory().clock(clock.clone()).agent("a", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    settle().await;
    clock.advance(Duration::from_secs(6));
    settle().await;
    model.send(&ServerMessage::cancel(["c0"]));
    settle().await;
    look.notify_one();
    settle().await;
    assert_eq!(told(&model, "c0"), Vec::<Value>::new());
    let said = said(&model);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("[tool outcome]") && said[1].contains("timeout"));
    let facts = facts(&live).await;
    let kinds: Vec<&str> = facts.iter().map(|fact| fact.event.kind()).collect();
    let issued = kinds.iter().position(|it| *it == "response_issued");
    let ended = [
        "response_issued",
        "call_cancellation_received",
        "delivery_chosen",
        "hook_answered",
    ];
    assert_eq!(kinds[issued.unwrap()..][..4], ended);
}

#[tokio::test]
async fn acknowledgement_after_disconnect_is_not_of_next_start() {
    let (ships, look) = (calling(&["ship"]), Arc::default());
    let model = calling(&["slow"]);
    let ship = T::simple("ship", "Holds the only place", |_| std::future::pending());
    let slow = T::background(counted("slow", &Arc::default()));
    let engine = Engine::in_memory()
        .running_max(1)
        .agent("a", Agent::new().model("m").tools(ship).connect_to(ships))
        .agent("b", looked_at(slow, &look).connect_to(model.clone()));
    let engine = engine.open().await.unwrap();
    let holds = engine.session("a").connect().await.unwrap();
    holds.send_text("go").await.unwrap();
    settle().await;
    let live = engine.session("b").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    settle().await;
    // The hook has answered, but another runner attaches before the session handles its answer.
    look.notify_one();
    let (ended, back) = tokio::join!(live.disconnect(), live.connect());
    ended.unwrap();
    back.unwrap();
    settle().await;
    look.notify_one();
    settle().await;
    let facts = facts(&live).await;
    let of_kind = |kind: &str| facts.iter().filter(|it| it.event.kind() == kind).count();
    let counts = ["call_started", "tool_yielded", "response_issued"].map(of_kind);
    assert_eq!(counts, [2, 2, 1], "both are on record, and one counts");
    let said = said(&model);
    let running = said.iter().filter(|it| it.contains("running"));
    assert_eq!(running.count(), 1, "{said:?}");
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn hook_answer_for_cancelled_call_is_dropped() {
    let (model, thought) = (calling(&["look", "look"]), Arc::new(Notify::new()));
    let thinks = thought.clone();
    let agent = Agent::new()
        .model("m")
        .connect_to(model.clone())
        .tools(counted("look", &Arc::default()))
        .on_tool_call(move |calls, _| {
            let thinks = thinks.clone();
            async move {
                thinks.notified().await;
                let answers = calls.iter().map(|it| by_hand(it, json!({"by": "hand"})));
                Some(answers.collect())
            }
        });
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    for _ in 0..2 {
        let received = updates.wait_for(|event| event.kind() == "function_call_received");
        assert!(received.await.is_some());
    }
    model.send(&ServerMessage::cancel(["c0"]));
    let cancelled = updates.wait_for(|event| event.kind() == "call_cancelled");
    assert!(cancelled.await.is_some());
    thought.notify_one();
    let answered = updates.wait_for(|event| event.kind() == "responses_sent");
    assert!(answered.await.is_some());
    assert_eq!(told(&model, "c0"), Vec::<Value>::new());
    assert_eq!(told(&model, "c1"), [json!({"by": "hand"})]);
    let facts = facts(&live).await;
    let said = facts
        .iter()
        .filter(|fact| fact.event.kind() == "hook_answered");
    assert_eq!(said.count(), 1);
}
