//! State that survives the process that called: a call that was cut off, a question of the server,
//! an approval.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use recount::engine::Error;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, Seq};
use recount::testing::{ScriptedModel, SurvivingJournal};

use crate::child_process::{ChildProcess, obey, order, say};
use crate::rounds::until;
use crate::server::stdio;

const THIS_TEST: &str = "survives::killed_call_is_in_doubt_and_reruns_only_by_rule";

/// A model that calls the tool.
pub(crate) fn model(tool: &str) -> ScriptedModel {
    let call = json!({"id": "c", "name": tool, "args": {}});
    let script = format!(
        "{}\n{}",
        json!({"on": {"text": "go"}, "once": false, "send": [{"call": [call]}]}),
        json!({"on": "otherwise", "once": false, "send": [{"say": "Understood."}]})
    );
    ScriptedModel::parse(&script).unwrap()
}

#[test]
fn killed_call_is_in_doubt_and_reruns_only_by_rule() {
    if let Some(order) = order() {
        let home = Path::new(order["home"].as_str().unwrap());
        let rule: InDoubt = serde_json::from_value(order["rule"].clone()).unwrap();
        let tool = order["tool"].as_str().unwrap();
        return obey(async {
            match order["second"] == true {
                false => first_life(home, rule, tool).await,
                true => second_life(home, rule, tool).await,
            }
        });
    }
    for (tool, rule, outcome, ran) in [
        ("slow", InDoubt::SettleUnknown, Outcome::Unknown, 1),
        ("slow", InDoubt::Retry, Outcome::Returned, 2),
        ("slow", InDoubt::Ask, Outcome::Returned, 2),
        ("ask", InDoubt::SettleUnknown, Outcome::Unknown, 1),
    ] {
        let place = tempfile::tempdir().unwrap();
        let home = place.path();
        let mut order = json!({"home": home.to_str(), "rule": rule, "tool": tool});
        let mut first = ChildProcess::start(THIS_TEST, &order);
        first.until("under way");
        first.kill();

        order["second"] = json!(true);
        let mut second = ChildProcess::start(THIS_TEST, &order);
        let ended: Outcome = serde_json::from_str(&second.until("ended")).unwrap();
        assert_eq!(ended, outcome, "{tool} {rule:?}");
        assert_eq!(second.until("pending"), "0", "{tool} {rule:?}");
        second.end();

        // Both servers notice that their client is gone, and each releases its lock as it ends.
        let witness = std::fs::File::open(home.join("called")).unwrap();
        witness.lock().unwrap();
        let count = |what: &str| noted(home).lines().filter(|it| *it == what).count();
        assert_eq!(count(&format!("called {tool}")), ran, "{tool} {rule:?}");
        assert_eq!(count("ended"), 2, "{tool} {rule:?}");
    }
}

fn noted(home: &Path) -> String {
    std::fs::read_to_string(home.join("called")).unwrap_or_default()
}

async fn open(home: &Path, rule: InDoubt, tool: &str) -> Engine {
    let witness = home.join("called");
    let tools = T::mcp(stdio(&json!({"witness": witness}))).await.unwrap();
    let agent = Agent::new()
        .model("m")
        .tools(T::in_doubt(tools, rule))
        .connect_to(model(tool));
    let engine = Engine::builder(home.join("journal")).agent("desk", agent);
    engine.open().await.unwrap()
}

/// The model calls. The process is killed once the server has the call, or has asked a question.
async fn first_life(home: &Path, rule: InDoubt, tool: &str) {
    let engine = open(home, rule, tool).await;
    let live = engine.session("desk").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    until("the server has the call", async || !noted(home).is_empty()).await;
    let asks = async || tool != "ask" || !live.pending().await.unwrap().is_empty();
    until("the server asks", asks).await;
    say("under way");
    pending::<()>().await;
}

/// The engine resumes the session by itself, and every question is confirmed.
async fn second_life(home: &Path, rule: InDoubt, tool: &str) {
    let engine = open(home, rule, tool).await;
    let session = engine.sessions().await.unwrap()[0].id;
    let folded = async || engine.ledger().load(session).await.unwrap().session;
    until("the call ends", async || {
        for question in engine.pending().await.unwrap() {
            let yes = ToolConfirmation::confirmed();
            // A question of the dead process may be withdrawn meanwhile.
            let _ = engine
                .answer(question.id, yes, Actor::embedder("ada"))
                .await;
        }
        !folded().await.settled.is_empty()
    })
    .await;
    let ended = folded().await.settled.values().next().unwrap().outcome;
    say(format!("ended {}", json!(ended)));
    say(format!("pending {}", engine.pending().await.unwrap().len()));
    let replayed = recount::replay::verify(engine.ledger(), session)
        .await
        .unwrap();
    assert_eq!(replayed.diverged, None);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn server_question_is_asked_with_schema_and_answer_returned() {
    let model = model("ask");
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(stdio(&json!({}))).await.unwrap())
        .connect_to(model.clone());
    let engine = Engine::in_memory()
        .agent("desk", agent)
        .open()
        .await
        .unwrap();
    for (answer, told) in [
        (
            ToolConfirmation::confirmed().with_payload(json!({"table": 7})),
            r#"{"action":"accept","content":{"table":7}}"#,
        ),
        (
            ToolConfirmation::denied("none is free"),
            r#"{"action":"decline"}"#,
        ),
    ] {
        let live = engine.session("desk").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        asked.await.unwrap();
        let question = live.pending().await.unwrap().remove(0);
        assert_eq!(
            question.hint.as_deref(),
            Some("The MCP server \"test\" asks: Which table?")
        );
        let schema = question.payload_schema.as_ref().unwrap().to_value();
        assert_eq!(schema["properties"]["table"]["type"], "integer");
        let by = || Actor::embedder("ada");
        let unfit = ToolConfirmation::confirmed().with_payload(json!({"table": "seven"}));
        assert!(engine.answer(question.id, unfit, by()).await.is_err());
        engine.answer(question.id, answer, by()).await.unwrap();
        let sent = updates.wait_for(|event| event.kind() == "tool_returned");
        sent.await.unwrap();
        let returned = returned(&engine, live.session_id()).await;
        assert!(returned.contains(told), "{returned}");
    }
}

/// The recorded results of the session's tools, as text.
async fn returned(engine: &Engine, session: SessionId) -> String {
    let facts = engine.ledger().facts(session, Seq(1), 1_000).await.unwrap();
    let returned = facts.iter().filter_map(|it| match &it.event {
        Event::Observed(Observation::ToolReturned(returned)) => Some(json!(returned).to_string()),
        _ => None,
    });
    returned.collect()
}

#[tokio::test]
async fn an_approval_does_not_hold_for_a_definition_that_has_changed() {
    let journal = SurvivingJournal::new();
    let open = async |config: Value| {
        let server = stdio(&config).policy("echo", ToolPolicy::gate("Give it back?"));
        let agent = Agent::new()
            .model("m")
            .tools(T::mcp(server).await.unwrap())
            .connect_to(model("echo"));
        let engine = Engine::in_memory().journal(journal.clone());
        engine.agent("desk", agent).open().await.unwrap()
    };
    let place = tempfile::tempdir().unwrap();
    let witness = place.path().join("called");
    let engine = open(json!({"witness": witness})).await;
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    let before = live.pending().await.unwrap().remove(0);
    drop((updates, live));
    engine.shutdown(Duration::ZERO).await.unwrap();

    let changed = json!({"witness": witness, "description": "Gives back, and sends to all"});
    let engine = open(changed).await;
    let yes = engine.answer(
        before.id,
        ToolConfirmation::confirmed(),
        Actor::embedder("ada"),
    );
    let Err(Error::Refused(refused)) = yes.await else {
        panic!("the approval counts for another definition");
    };
    assert_eq!(refused.code(), "request_superseded");
    let now = engine.pending().await.unwrap().remove(0);
    assert_ne!(now.contract, before.contract);
    assert!(!noted(place.path()).contains("called echo"));
    engine.shutdown(Duration::ZERO).await.unwrap();
}
