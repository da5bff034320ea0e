//! Confirmation requests: what an answer may carry, what reaches the tool, and tools that ask by
//! themselves and continue after a restart.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::store;
use async_trait::async_trait;
use recount::engine::Error;
use recount::ledger::{HintBy, PendingConfirmation};
use recount::prelude::*;
use recount::session::{
    About, CancelReason, Edits, Event, Json, ObjectHash, Observation, Outcome, Rejection,
    RequestId, Seq, UnfitAnswer,
};
use recount::testing::ScriptedModel;
use recount::tool::{Ask, ToolOutcome};

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "time_off", "args": {"days": 5}}]}]}
"#;

/// The arguments of a tool that accepts any.
type Object = serde_json::Map<String, Value>;

/// The runs and questions, in order.
type Witness = Arc<Mutex<Vec<String>>>;

/// A tool that asks for the number of days, then if they are paid. Each question carries the state
/// of the last one.
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
    let engine = store::engine(place).agent("support", agent);
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

/// Waits for the outcome of the only call.
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
async fn no_to_question_of_tool_ends_call_without_continuing_tool() {
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

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Days {
    days: u32,
}

/// A gated tool that notes its arguments and its payload.
fn gated(witness: &Witness, edits: Option<Edits>) -> Toolset {
    let ran = witness.clone();
    let takes = move |Days { days }: Days, context: ToolContext| {
        let payload = context.confirmation().and_then(|it| it.payload.clone());
        let line = format!("{days} {payload:?}");
        ran.lock().unwrap().push(line);
        async { Ok(json!({})) }
    };
    let tool = TypedTool::with_context("time_off", "Takes days off", takes);
    let mut policy = ToolPolicy::gate("Days off?");
    policy.gate_terms.payload = Some(json!({"type": "object", "required": ["cover"]}));
    policy.gate_terms.edits = edits;
    T::policy(tool, policy)
}

#[tokio::test]
async fn mismatched_answer_is_recorded_as_rejected_valid_one_counts() {
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
        right().with_args(json!({"days": "five"})),
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
        [r#"4 Some(Object {"cover": String("bob")})"#]
    );
    let facts = engine.ledger().facts(session, Seq(1), 100).await.unwrap();
    let refusals = facts
        .iter()
        .filter(|fact| fact.event.kind() == "answer_refused");
    assert_eq!(refusals.count(), 4);
    let on_record = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::FunctionCallReceived(it)) => it.args.clone(),
        Event::Observed(Observation::ConfirmationAnswered(it)) => it.edited_args.clone(),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    let on_record: Vec<String> = on_record.map(|args| args.to_string()).collect();
    assert_eq!(on_record, [r#"{"days":5}"#, r#"{"days":4}"#]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn confirmation_asked_again_shows_changed_arguments() {
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
async fn late_outcome_names_the_arguments_that_ran() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let model = ScriptedModel::parse(ONE_CALL).unwrap();
    let agent = Agent::new()
        .model("m")
        .tools(gated(&witness, Some(Edits::Allowed)))
        .connect_to(model.clone());
    let engine = store::engine(place.path()).agent("support", agent);
    let engine = engine.open().await.unwrap();
    let live = ask_for_days(&engine).await;
    let mut updates = live.subscribe();
    model.drop_connection(1011, "Internal error encountered.");
    let lost = updates.wait_for(|event| event.kind() == "disconnected");
    lost.await.unwrap();
    let fewer = ToolConfirmation::confirmed()
        .with_payload(json!({"cover": "bob"}))
        .with_args(json!({"days": 4}));
    let asked = pending(&engine).await.id;
    engine
        .answer(asked, fewer, Actor::embedder("ada"))
        .await
        .unwrap();
    assert_eq!(outcome(&engine, live.session_id()).await, Outcome::Returned);
    live.connect().await.unwrap();
    let told = updates.wait_for(|event| event.kind() == "responses_sent");
    told.await.unwrap();
    let transcript = model.transcript();
    let words: Vec<String> = transcript.told().map(|(_, words)| words).collect();
    let ran = r#"Your earlier call time_off({"days":4})"#;
    assert!(words.iter().any(|it| it.contains(ran)), "{words:?}");
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn payload_schema_of_tool_must_be_a_schema() {
    let tool = TypedTool::with_context("pay", "Pays", |_: Value, _: ToolContext| async {
        Ok(json!({}))
    });
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

/// Asks twice within one run, and returns the answers.
async fn waits_twice(
    witness: Witness,
    args: Object,
    context: ToolContext,
) -> Result<Value, ToolError> {
    let witness = |what: String| witness.lock().unwrap().push(what);
    let mut heard = Vec::new();
    for what in ["How many days?", "Paid?"] {
        witness(format!("asks {what}"));
        let ask = Ask::from(what).expires_after(Duration::from_secs(3600));
        let answer = context.request_confirmation(ask).await?;
        heard.push(json!([answer.confirmed, answer.reason, answer.payload]));
    }
    witness(format!("done {}", Value::Object(args)));
    Ok(json!(heard))
}

fn waiting_tool(witness: &Witness, timeout: Duration) -> Toolset {
    let witness = witness.clone();
    let waits = move |args, context| waits_twice(witness.clone(), args, context);
    let tool = TypedTool::with_context("time_off", "Asks for days off", waits);
    T::timeout(tool, timeout)
}

/// Works for 20 seconds of the paused clock, asks, and then works forever.
async fn works_and_asks(_: Object, context: ToolContext) -> Result<Value, ToolError> {
    tokio::time::advance(Duration::from_secs(20)).await;
    context.request_confirmation("Send it?").await?;
    std::future::pending().await
}

/// Waits for an open request other than `before`.
async fn next_question(engine: &Engine, before: Option<RequestId>) -> PendingConfirmation {
    loop {
        match engine.pending().await.unwrap().pop() {
            Some(pending) if Some(pending.id) != before => return pending,
            Some(_) | None => tokio::task::yield_now().await,
        }
    }
}

async fn kinds(engine: &Engine, session: SessionId) -> Vec<&'static str> {
    let facts = engine.ledger().facts(session, Seq(1), 100).await.unwrap();
    facts.iter().map(|fact| fact.event.kind()).collect()
}

#[tokio::test]
async fn waiting_tool_gets_two_answers_in_one_run() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let engine = serving(
        place.path(),
        waiting_tool(&witness, Duration::from_secs(30)),
    )
    .await;
    let live = ask_for_days(&engine).await;
    let session = live.session_id();
    let ada = Actor::embedder("ada");
    let first = next_question(&engine, None).await;
    assert_eq!(
        (first.hint.as_deref(), first.hint_by, first.tool.as_str()),
        (Some("How many days?"), HintBy::Tool, "time_off")
    );
    let days = ToolConfirmation::confirmed().with_payload(json!({"days": 3}));
    engine.answer(first.id, days, ada.clone()).await.unwrap();
    let second = next_question(&engine, Some(first.id)).await;
    let no = ToolConfirmation::denied("not this year");
    engine.answer(second.id, no, ada).await.unwrap();
    assert_eq!(outcome(&engine, session).await, Outcome::Returned);
    assert_eq!(
        *witness.lock().unwrap(),
        ["asks How many days?", "asks Paid?", r#"done {"days":5}"#]
    );
    let kinds = kinds(&engine, session).await;
    let of = |kind: &str| kinds.iter().filter(|it| **it == kind).count();
    assert_eq!((of("call_started"), of("tool_asked")), (1, 2));
    let returned = engine.ledger().facts(session, Seq(1), 100).await.unwrap();
    let told = returned.iter().find_map(|fact| match &fact.event {
        Event::Observed(Observation::ToolReturned(it)) => Some(it.response.as_str().to_owned()),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    assert_eq!(
        told.as_deref(),
        Some(r#"{"output":[[true,null,{"days":3}],[false,"not this year",null]]}"#)
    );
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn tool_waiting_inside_ended_process_is_in_doubt_and_not_asked() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let tools = || waiting_tool(&witness, Duration::from_secs(30));
    let engine = serving(place.path(), tools()).await;
    let live = ask_for_days(&engine).await;
    let session = live.session_id();
    let asked = next_question(&engine, None).await.id;
    // A shutdown does not wait for an approver, however long its grace is.
    engine.shutdown(Duration::from_secs(600)).await.unwrap();
    let engine = serving(place.path(), tools()).await;
    assert_eq!(outcome(&engine, session).await, Outcome::Unknown);
    assert!(engine.pending().await.unwrap().is_empty());
    let yes = ToolConfirmation::confirmed();
    let late = engine.answer(asked, yes, Actor::embedder("ada")).await;
    let Err(Error::Refused(Rejection::RequestWithdrawn { reason, .. })) = late else {
        panic!("{late:?}")
    };
    assert_eq!(reason, CancelReason::RunnerGone);
    assert_eq!(*witness.lock().unwrap(), ["asks How many days?"]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

/// An engine whose provider gives these answers in order, and the list of its requests.
async fn provided(
    place: &Path,
    tools: Toolset,
    answers: Vec<ToolConfirmation>,
) -> (Engine, Arc<Mutex<Vec<ConfirmationRequest>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, answers) = (asked.clone(), Mutex::new(answers.into_iter()));
    let provider = move |request: ConfirmationRequest| {
        seen.lock().unwrap().push(request);
        let answer = answers.lock().unwrap().next().unwrap();
        async { answer }
    };
    let agent = Agent::new()
        .model("m")
        .tools(tools)
        .confirmation_provider(Arc::new(provider))
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap());
    let engine = store::engine(place).agent("support", agent);
    (engine.open().await.unwrap(), asked)
}

#[tokio::test]
async fn provider_knows_that_tool_wrote_question() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let yes = || ToolConfirmation::confirmed().with_payload(json!({"days": 3}));
    let (engine, asked) = provided(place.path(), asking(&witness), vec![yes(), yes()]).await;
    let live = ask_for_days(&engine).await;
    assert_eq!(outcome(&engine, live.session_id()).await, Outcome::Returned);
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    let told: Vec<_> = asked
        .iter()
        .map(|it| (it.message.as_deref(), it.message_by_tool, it.about))
        .collect();
    assert_eq!(
        told,
        [
            (Some("How many days?"), true, About::Tool),
            (Some("Paid?"), true, About::Tool)
        ]
    );
    let schema = asked[0].payload_schema.as_ref().map(Json::as_str);
    assert_eq!(schema, Some(r#"{"required":["days"],"type":"object"}"#));
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn provider_asked_again_sees_changed_arguments() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let yes = || ToolConfirmation::confirmed().with_payload(json!({"cover": "bob"}));
    let answers = vec![yes().with_args(json!({"days": 4})), yes()];
    let tools = gated(&witness, Some(Edits::ApprovedAnew));
    let (engine, asked) = provided(place.path(), tools, answers).await;
    let live = ask_for_days(&engine).await;
    assert_eq!(outcome(&engine, live.session_id()).await, Outcome::Returned);
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    let [first, second] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(
        (&first.args, first.args_text.as_str()),
        (&json!({"days": 5}), r#"{"days":5}"#)
    );
    assert_eq!(
        (&second.args, second.args_text.as_str()),
        (&json!({"days": 4}), r#"{"days":4}"#)
    );
    assert!(first.id != second.id && first.call == second.call);
    assert!(!first.message_by_tool && !second.message_by_tool);
    assert_eq!(witness.lock().unwrap().len(), 1);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_provider_answers_a_tool_that_waits_too() {
    let (place, witness) = (tempfile::tempdir().unwrap(), Witness::default());
    let asked = Witness::default();
    let seen = asked.clone();
    let provider = move |request: ConfirmationRequest| {
        seen.lock()
            .unwrap()
            .push(request.message.unwrap_or_default());
        async { ToolConfirmation::confirmed() }
    };
    let agent = Agent::new()
        .model("m")
        .tools(waiting_tool(&witness, Duration::from_secs(30)))
        .confirmation_provider(Arc::new(provider))
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap());
    let engine = store::engine(place.path()).agent("support", agent);
    let engine = engine.open().await.unwrap();
    let live = ask_for_days(&engine).await;
    assert_eq!(outcome(&engine, live.session_id()).await, Outcome::Returned);
    assert_eq!(*asked.lock().unwrap(), ["How many days?", "Paid?"]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn standalone_dispatcher_asks_provider_and_pauses_tool_timeout() {
    let witness = Witness::default();
    let limit = Duration::from_secs(30);
    let mut tools = ToolDispatcher::new();
    tools.register(waiting_tool(&witness, limit)).unwrap();
    let alone = tools.call_function("time_off", json!({"days": 5})).await;
    let Err(ToolError::NotAvailable(told)) = alone else {
        panic!("{alone:?}")
    };
    assert!(told.contains("nobody can be asked"), "{told}");
    // Much longer than the tool's timeout.
    let slow = |_: ConfirmationRequest| async {
        tokio::time::advance(Duration::from_secs(600)).await;
        ToolConfirmation::confirmed()
    };
    let mut tools = ToolDispatcher::new();
    tools.register(waiting_tool(&witness, limit)).unwrap();
    tools.set_confirmation_provider(Arc::new(slow));
    let asked = tools.call_function("time_off", json!({"days": 5})).await;
    assert_eq!(asked, Ok(json!([[true, null, null], [true, null, null]])));
    // Without an answer in time, the tool receives a denial.
    let silent = |_: ConfirmationRequest| std::future::pending();
    let mut tools = ToolDispatcher::new();
    tools.register(waiting_tool(&witness, limit)).unwrap();
    tools.set_confirmation_provider(Arc::new(silent));
    let asked = tools.call_function("time_off", json!({"days": 5})).await;
    let no = json!([false, "nobody answered in time", null]);
    assert_eq!(asked, Ok(json!([no, no])));
}

#[tokio::test(start_paused = true)]
async fn run_after_answer_has_the_rest_of_its_timeout() {
    let slow = |_: ConfirmationRequest| async {
        tokio::time::advance(Duration::from_secs(600)).await;
        ToolConfirmation::confirmed()
    };
    let tool = TypedTool::with_context("send", "Sends", works_and_asks);
    let mut tools = ToolDispatcher::new();
    let limit = Duration::from_secs(30);
    tools.register(T::timeout(tool, limit)).unwrap();
    tools.set_confirmation_provider(Arc::new(slow));
    let begun = tokio::time::Instant::now();
    let late = tools.call_function("send", json!({})).await;
    assert_eq!(late, Err(ToolError::Timeout(limit)));
    assert_eq!(begun.elapsed(), Duration::from_secs(630));
}
