//! A person is asked: what an answer may carry, what reaches the tool, and a tool that asks by itself and goes on after a restart.
#![cfg(feature = "testing")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::Error;
use recount::ledger::{HintBy, PendingConfirmation};
use recount::prelude::*;
use recount::session::{Edits, ObjectHash, Outcome, Rejection, UnfitAnswer};
use recount::testing::ScriptedModel;
use recount::tool::{Ask, ToolContext, ToolFunction, ToolOutcome};
use serde_json::Value;

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "time_off", "args": {"days": 5}}]}]}
"#;

/// What ran, in order.
type Witness = Arc<Mutex<Vec<String>>>;

/// Asks how many days, then whether they are paid; each question goes on from the state of the one before.
struct TimeOff(Witness);

#[async_trait]
impl ToolFunction for TimeOff {
    fn name(&self) -> &str {
        "time_off"
    }

    fn description(&self) -> &str {
        "Asks for days off"
    }

    fn parameters(&self) -> Option<Value> {
        Some(json!({"type": "object", "properties": {"days": {"type": "integer"}}}))
    }

    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it asks".into()))
    }

    async fn invoke(&self, args: Value, _: ToolContext) -> ToolOutcome {
        self.0
            .lock()
            .unwrap()
            .push(format!("body {}", args["days"]));
        Ask::new("How many days?", json!({"step": 1}))
            .payload_schema(json!({"type": "object", "required": ["days"]}))
            .into()
    }

    async fn resume(
        &self,
        context: ToolContext,
        state: Value,
        answer: ToolConfirmation,
    ) -> ToolOutcome {
        let by = answer.by.as_ref().map(|by| by.name.clone());
        let said = format!(
            "resume {state} {:?} {by:?} attempt {}",
            answer.payload, context.attempt
        );
        self.0.lock().unwrap().push(said);
        if state["step"] == 1 {
            let days = answer.payload.unwrap_or_default()["days"].clone();
            return Ask::new("Paid?", json!({"step": 2, "days": days})).into();
        }
        ToolOutcome::Returned(json!({"days": state["days"]}))
    }
}

async fn serving(place: &Path, tools: Toolset) -> Engine {
    let agent = Agent::new()
        .model("m")
        .tools(tools)
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap());
    let engine = Engine::builder(place).agent("support", agent);
    engine.open().await.unwrap()
}

async fn ask_for_days(engine: &Engine) -> LiveHandle {
    let live = engine
        .session("support")
        .on_behalf_of("eve")
        .connect()
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    live
}

async fn pending(engine: &Engine) -> PendingConfirmation {
    let mut pending = engine.pending().await.unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending.pop().unwrap()
}

fn asking(witness: &Witness) -> Toolset {
    T::function(Arc::new(TimeOff(witness.clone())))
}

/// The outcome of the one call, once it has one.
async fn outcome(engine: &Engine, session: SessionId) -> Outcome {
    loop {
        let loaded = engine.ledger().load(session).await.unwrap().session;
        if let Some(settled) = loaded.settled.values().next() {
            return settled.outcome;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_tool_that_asks_goes_on_after_a_restart_and_may_ask_again() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let engine = serving(place.path(), asking(&witness)).await;
    let session = ask_for_days(&engine).await.session_id();
    let first = pending(&engine).await;
    assert_eq!(
        (first.hint.as_deref(), first.hint_by),
        (Some("How many days?"), HintBy::Tool)
    );
    assert_eq!(first.on_behalf_of.as_deref(), Some("eve"));
    assert!(first.payload_schema.is_some());
    engine.shutdown(Duration::ZERO).await.unwrap();

    let engine = serving(place.path(), asking(&witness)).await;
    let ada = Actor::embedder("ada");
    let days = ToolConfirmation::confirmed().with_payload(json!({"days": 3}));
    engine.answer(first.id, days, ada.clone()).await.unwrap();
    let second = loop {
        match engine.pending().await.unwrap().pop() {
            Some(pending) if pending.id != first.id => break pending,
            Some(_) | None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(second.hint.as_deref(), Some("Paid?"));
    engine.shutdown(Duration::ZERO).await.unwrap();

    let engine = serving(place.path(), asking(&witness)).await;
    let yes = ToolConfirmation::confirmed();
    engine.answer(second.id, yes, ada).await.unwrap();
    assert_eq!(outcome(&engine, session).await, Outcome::Returned);
    assert_eq!(
        *witness.lock().unwrap(),
        [
            "body 5",
            r#"resume {"step":1} Some(Object {"days": Number(3)}) Some("ada") attempt 2"#,
            r#"resume {"days":3,"step":2} None Some("ada") attempt 3"#,
        ]
    );
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_no_to_a_tool_that_asks_ends_the_call_and_the_tool_does_not_go_on() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let engine = serving(place.path(), asking(&witness)).await;
    let session = ask_for_days(&engine).await.session_id();
    let no = ToolConfirmation::denied("not in August");
    let asked = pending(&engine).await.id;
    engine
        .answer(asked, no, Actor::embedder("ada"))
        .await
        .unwrap();
    assert_eq!(outcome(&engine, session).await, Outcome::Denied);
    assert_eq!(*witness.lock().unwrap(), ["body 5"]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_dispatcher_alone_asks_its_provider_for_a_tool_that_asks() {
    let witness = Witness::default();
    let mut tools = ToolDispatcher::new();
    tools.register(asking(&witness)).unwrap();
    let alone = tools.call_function("time_off", json!({"days": 5})).await;
    assert!(matches!(alone, Err(ToolError::Cancelled(_))), "{alone:?}");
    let days = |_: ConfirmationRequest| async {
        ToolConfirmation::confirmed().with_payload(json!({"days": 2}))
    };
    let mut tools = ToolDispatcher::new();
    tools.register(asking(&witness)).unwrap();
    tools.set_confirmation_provider(Arc::new(days));
    let asked = tools.call_function("time_off", json!({"days": 5})).await;
    assert_eq!(asked, Ok(json!({"days": 2})));
}

/// Tells with what it ran.
struct Takes(Witness);

#[async_trait]
impl ToolFunction for Takes {
    fn name(&self) -> &str {
        "time_off"
    }

    fn description(&self) -> &str {
        "Takes days off"
    }

    fn parameters(&self) -> Option<Value> {
        None
    }

    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::NotAvailable("it wants the answer".into()))
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let payload = context.confirmation().and_then(|it| it.payload.clone());
        self.0.lock().unwrap().push(format!("{args} {payload:?}"));
        Ok(json!({}))
    }
}

fn gated(witness: &Witness, edits: Option<Edits>) -> Toolset {
    let tool = T::function(Arc::new(Takes(witness.clone())));
    let policy = ToolPolicy {
        confirm_payload: Some(json!({"type": "object", "required": ["cover"]})),
        confirm_edits: edits,
        ..ToolPolicy::gate("Days off?")
    };
    T::policy(tool, policy)
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_on_record_and_the_right_one_reaches_the_tool() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let engine = serving(place.path(), gated(&witness, Some(Edits::Allowed))).await;
    let live = ask_for_days(&engine).await;
    let (session, asked) = (live.session_id(), pending(&engine).await);
    let ada = Actor::embedder("ada");
    let right = || ToolConfirmation::confirmed().with_payload(json!({"cover": "bob"}));
    let refused = [
        ToolConfirmation::confirmed(),
        right().to_request(ObjectHash::of(b"another")),
        right().with_args(json!([5])),
    ];
    for confirmation in refused {
        let refused = engine.answer(asked.id, confirmation, ada.clone()).await;
        let Err(Error::Refused(Rejection::UnfitAnswer(_))) = refused else {
            panic!("{refused:?}")
        };
    }
    let right = right()
        .to_request(asked.request_hash)
        .with_args(json!({"days": 4}));
    engine.answer(asked.id, right, ada).await.unwrap();
    assert_eq!(outcome(&engine, session).await, Outcome::Returned);
    assert_eq!(
        *witness.lock().unwrap(),
        [r#"{"days":4} Some(Object {"cover": String("bob")})"#]
    );
    let facts = engine
        .ledger()
        .facts(session, recount::session::Seq(1), 100)
        .await
        .unwrap();
    let refusals = facts
        .iter()
        .filter(|fact| fact.event.kind() == "answer_refused");
    assert_eq!(refusals.count(), 3);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn changed_arguments_that_are_asked_about_anew_are_what_is_shown() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let engine = serving(place.path(), gated(&witness, Some(Edits::ApprovedAnew))).await;
    let session = ask_for_days(&engine).await.session_id();
    let yes = || ToolConfirmation::confirmed().with_payload(json!({"cover": "bob"}));
    let first = pending(&engine).await;
    let edited = yes().with_args(json!({"days": 4}));
    engine
        .answer(first.id, edited, Actor::embedder("ada"))
        .await
        .unwrap();
    let second = pending(&engine).await;
    assert_ne!(second.id, first.id);
    assert_eq!(second.args.as_str(), r#"{"days":4}"#);
    assert!(witness.lock().unwrap().is_empty());
    engine
        .answer(second.id, yes(), Actor::embedder("grace"))
        .await
        .unwrap();
    assert_eq!(outcome(&engine, session).await, Outcome::Returned);
    assert_eq!(witness.lock().unwrap().len(), 1);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn what_a_tool_asks_for_must_be_a_schema() {
    let tool = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let odd = T::confirm_payload(T::confirm(tool, "Pay?"), json!({"type": 7}));
    let refused = ToolDispatcher::new()
        .register(odd)
        .expect_err("it is no schema");
    assert!(
        refused.to_string().contains("invalid payload schema"),
        "{refused}"
    );
    let unfit = UnfitAnswer::Malformed {
        problem: "x".into(),
    };
    assert!(unfit.to_string().contains("malformed"));
}
