//! The desk records answers for a session without a task, after it has recorded what is overdue.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::store;
use recount::engine::{ConfirmationVerdict, Desk, EngineBuilder, Error, Operated, Operation};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::policy::ToolPolicy;
use recount::session::{Event, Rejection, Seq, UnfitAnswer};
use recount::testing::{ManualClock, ScriptedModel, StuckJournal};

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "r", "name": "refund"}]}]}
"#;

/// An agent whose tool is gated with an expiry of one minute.
fn support() -> Agent {
    let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
    let mut policy = ToolPolicy::gate("Refund?");
    policy.gate_terms.expires_after = Some(Duration::from_secs(60));
    Agent::new()
        .model("m")
        .tools(T::policy(refund, policy))
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap())
}

/// A journal with one open request that expires after a minute; its engine is shut down.
async fn parked(place: &tempfile::TempDir, clock: &Arc<ManualClock>) -> RequestId {
    let engine = store::engine(place.path())
        .agent("support", support())
        .clock(clock.clone())
        .open()
        .await
        .unwrap();
    let (request, _live) = ask(&engine).await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    request
}

/// A new session in which the model has made its call, and the request about it.
async fn ask(engine: &Engine) -> (RequestId, LiveHandle) {
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = |event: &Event| event.kind() == "confirmation_requested";
    updates.wait_for(asked).await.unwrap();
    let request = live.pending().await.unwrap().first().unwrap().id;
    (request, live)
}

fn desk(place: &tempfile::TempDir, clock: &Arc<ManualClock>) -> (Desk, Ledger) {
    let journal = store::open(place.path());
    let ledger = Ledger::new(journal);
    (Desk::new(ledger.clone(), clock.clone()), ledger)
}

async fn kinds(ledger: &Ledger, from: Seq) -> Vec<&'static str> {
    let session = ledger.sessions().await.unwrap().first().unwrap().id;
    let facts = ledger.facts(session, from, 100).await.unwrap();
    facts.iter().map(|fact| fact.event.kind()).collect()
}

async fn head(ledger: &Ledger) -> Seq {
    Seq(ledger.sessions().await.unwrap().first().unwrap().records)
}

#[tokio::test]
async fn desk_answer_before_expiry_readies_call_and_starts_nothing() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let request = parked(&place, &clock).await;
    let (desk, ledger) = desk(&place, &clock);
    let head = head(&ledger).await;
    let answer = desk.answer(
        request,
        ToolConfirmation::confirmed(),
        Actor::os_user("ada"),
    );
    assert_eq!(answer.await.unwrap(), head.next());
    let recorded = kinds(&ledger, head.next()).await;
    assert_eq!(recorded, ["confirmation_answered", "call_ready"]);
}

#[tokio::test]
async fn desk_answer_after_unnoticed_expiry_does_not_count() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let request = parked(&place, &clock).await;
    clock.advance(Duration::from_secs(61));
    let (desk, ledger) = desk(&place, &clock);
    let head = head(&ledger).await;
    let answer = desk.answer(
        request,
        ToolConfirmation::confirmed(),
        Actor::os_user("ada"),
    );
    let Err(Error::Refused(Rejection::RequestExpired { at, goes_on: false })) = answer.await else {
        unreachable!("the request has expired")
    };
    assert_eq!(at, Seq(head.0 + 2));
    let recorded = kinds(&ledger, head.next()).await;
    let expected = [
        "deadline_passed",
        "confirmation_expired",
        "response_issued",
        "answer_refused",
    ];
    assert_eq!(recorded, expected);
}

#[tokio::test]
async fn unknown_request_is_rejected_and_nothing_is_recorded() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    parked(&place, &clock).await;
    let (desk, ledger) = desk(&place, &clock);
    let head = head(&ledger).await;
    let stranger = RequestId(uuid::Uuid::nil());
    let answer = desk.answer(
        stranger,
        ToolConfirmation::confirmed(),
        Actor::os_user("ada"),
    );
    assert!(matches!(answer.await, Err(Error::UnknownRequest { request }) if request == stranger));
    assert!(kinds(&ledger, head.next()).await.is_empty());
}

/// A journal with one call that waits for its result; its engine is shut down. `change` adapts the
/// agent first.
async fn paused(place: &tempfile::TempDir, change: impl FnOnce(Agent) -> Agent) -> Ticket {
    let pay = T::simple("pay", "Has it paid", |_| async { Ok(Value::Null) });
    let script = r#"{"on": {"text": "go"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}"#;
    let agent = Agent::new()
        .model("m")
        .tools(T::long_running(pay))
        .connect_to(ScriptedModel::parse(script).unwrap());
    let engine = store::engine(place.path())
        .agent("support", change(agent))
        .open()
        .await
        .unwrap();
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let paused = |event: &Event| event.kind() == "tool_paused";
    updates.wait_for(paused).await.unwrap();
    let ticket = Ticket::from(live.paused().await.unwrap().first().unwrap());
    engine.shutdown(Duration::ZERO).await.unwrap();
    ticket
}

#[tokio::test]
async fn a_paused_call_gets_one_result_and_the_next_is_refused() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let ticket = paused(&place, |agent| agent).await;
    let (desk, ledger) = desk(&place, &clock);
    let head = head(&ledger).await;
    let respond = |name: &str, value: Value| {
        let (desk, ticket, name) = (desk.clone(), ticket.clone(), name.to_owned());
        async move {
            let response = FunctionResponse::new(name, value);
            desk.respond(&ticket, response, Actor::os_user("ada")).await
        }
    };
    let refused = respond("refund", json!({})).await;
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::WrongName { .. }))
    ));
    let refused = respond("pay", json!([])).await;
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::ResponseNotAnObject))
    ));
    assert!(kinds(&ledger, head.next()).await.is_empty());
    let result = respond("pay", json!({"receipt": 17})).await;
    assert_eq!(result.unwrap(), head.next());
    let recorded = kinds(&ledger, head.next()).await;
    assert_eq!(recorded, ["response_supplied", "response_issued"]);
    let refused = respond("pay", json!({"receipt": 18})).await;
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::AlreadySupplied {
            same: false,
            ..
        }))
    ));
}

#[tokio::test]
async fn desk_rejects_result_that_needs_absent_hook() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let hooked = |agent: Agent| agent.before_tool_response(|all, _| async { all });
    let ticket = paused(&place, hooked).await;
    let (desk, ledger) = desk(&place, &clock);
    let head = head(&ledger).await;
    let response = FunctionResponse::new("pay", json!({"receipt": 17}));
    let refused = desk.respond(&ticket, response, Actor::os_user("ada")).await;
    assert!(matches!(refused, Err(Error::HookMissing { .. })));
    assert!(kinds(&ledger, head.next()).await.is_empty());
    assert_eq!(ledger.paused().await.unwrap().len(), 1);
}

#[tokio::test]
async fn desk_records_expiry_even_where_it_rejects_result() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    parked(&place, &clock).await;
    clock.advance(Duration::from_secs(61));
    let (desk, ledger) = desk(&place, &clock);
    let waiting = ledger.pending().await.unwrap().remove(0);
    let head = head(&ledger).await;
    let ticket = Ticket {
        session: waiting.session,
        call: waiting.call,
        tool: waiting.tool,
    };
    let response = FunctionResponse::new("refund", json!({"refunded": true}));
    let refused = desk.respond(&ticket, response, Actor::os_user("ada")).await;
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::CallSettled { .. }))
    ));
    let recorded = kinds(&ledger, head.next()).await;
    let expected = ["deadline_passed", "confirmation_expired", "response_issued"];
    assert_eq!(recorded, expected);
}

/// Lets every task run as far as it can.
async fn turns() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A builder of an engine over this journal and clock.
fn upon(journal: &Arc<StuckJournal>, clock: &Arc<ManualClock>) -> EngineBuilder {
    Engine::in_memory()
        .journal(journal.clone())
        .clock(clock.clone())
}

/// A session in `journal` with one open request; its engine is gone.
async fn left_in(journal: &Arc<StuckJournal>, clock: &Arc<ManualClock>) -> (RequestId, SessionId) {
    let engine = upon(journal, clock).agent("support", support().strict());
    let engine = engine.open().await.unwrap();
    let (request, live) = ask(&engine).await;
    let session = live.session_id();
    drop((live, engine));
    // The engine's last records are durable before the next process starts.
    turns().await;
    (request, session)
}

#[tokio::test]
async fn abandoned_desk_answer_is_reported_to_next_and_to_subscribers() {
    let (journal, clock) = (StuckJournal::new(), ManualClock::new());
    let (request, _) = left_in(&journal, &clock).await;
    let heard = Arc::<Mutex<Vec<ConfirmationVerdict>>>::default();
    let hears = heard.clone();
    let engine = upon(&journal, &clock)
        .on_confirmation_decided(move |it| hears.lock().unwrap().push(it.verdict.clone()));
    let engine = engine.open().await.unwrap();

    journal.stick();
    let first = engine.answer(
        request,
        ToolConfirmation::confirmed(),
        Actor::embedder("ada"),
    );
    tokio::select! {
        biased;
        answered = first => unreachable!("the journal is stuck: {answered:?}"),
        // The append is in flight, and the caller drops its request.
        () = turns() => {}
    }
    let next = engine.answer(
        request,
        ToolConfirmation::denied("no"),
        Actor::embedder("bob"),
    );
    let release = async {
        turns().await;
        journal.release();
    };
    let (refused, ()) = tokio::join!(biased; next, release);
    let Err(Error::Refused(Rejection::AlreadyAnswered(first))) = refused else {
        unreachable!("the first answer counts: {refused:?}")
    };
    let by = Actor::embedder("ada");
    assert_eq!((first.confirmed, &first.by), (true, &by));

    engine.shutdown(Duration::ZERO).await.unwrap();
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    let [ConfirmationVerdict::Answered(said)] = heard.as_slice() else {
        unreachable!("it is told once: {heard:?}")
    };
    assert_eq!((said.confirmed, &said.by), (true, &by));
}

#[tokio::test]
async fn session_resumed_during_desk_answer_starts_after_it() {
    let (journal, clock) = (StuckJournal::new(), ManualClock::new());
    let (request, session) = left_in(&journal, &clock).await;
    let engine = upon(&journal, &clock).open().await.unwrap();
    journal.stick();
    let answer = engine.answer(
        request,
        ToolConfirmation::confirmed(),
        Actor::os_user("ada"),
    );
    let resume = async {
        // The append of the answer is in flight.
        engine.register("support", support().strict()).unwrap();
        engine.resume(session).await
    };
    let release = async {
        turns().await;
        journal.release();
    };
    let (answered, resumed, ()) = tokio::join!(biased; answer, resume, release);
    answered.unwrap();
    let live = resumed.unwrap();
    assert!(live.pending().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_operation_at_the_desk_says_what_is_on_record_or_refused() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let request = parked(&place, &clock).await;
    let (desk, ledger) = desk(&place, &clock);
    let pending = ledger.pending().await.unwrap();
    let (waiting, ada) = (pending.first().unwrap(), Actor::os_user("ada"));
    let cancel = || Operation::Cancel {
        session: waiting.session,
        call: waiting.call,
        reason: None,
    };
    let answer = |given| Operation::Answer { request, given };
    let unfit = UnfitAnswer::Malformed {
        problem: "neither yes nor no".to_owned(),
    };
    let refused = desk.operate(answer(Err(unfit)), ada.clone()).await;
    assert!(matches!(refused, Ok(Operated::Refused(it)) if it.code == "malformed_answer"));
    let Ok(Operated::OnRecord(cancelled)) = desk.operate(cancel(), ada.clone()).await else {
        panic!("it is open");
    };
    assert_eq!(
        (cancelled.tool.as_str(), cancelled.by, cancelled.attempts),
        ("refund", ada.clone(), 0)
    );
    let Ok(Operated::Refused(late)) = desk.operate(cancel(), ada.clone()).await else {
        panic!("it has ended");
    };
    assert_eq!(late.code, "call_settled");
    // The record that ended the call follows the record of the cancellation.
    assert!(late.at > Some(cancelled.seq), "{:?}", late.at);
    let unknown = Operation::Answer {
        request: RequestId(uuid::Uuid::nil()),
        given: Ok(ToolConfirmation::confirmed()),
    };
    let unknown = desk.operate(unknown, ada).await;
    assert!(matches!(unknown, Err(Error::UnknownRequest { .. })));
}

#[tokio::test]
async fn an_operation_at_an_engine_goes_through_the_sessions_task() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let engine = store::engine(place.path())
        .agent("support", support())
        .clock(clock.clone())
        .open()
        .await
        .unwrap();
    let (request, live) = ask(&engine).await;
    let mut updates = live.subscribe();
    let operation = Operation::Answer {
        request,
        given: Ok(ToolConfirmation::confirmed()),
    };
    let answered = engine.operate(operation, Actor::embedder("ada")).await;
    let Ok(Operated::OnRecord(answered)) = answered else {
        panic!("it is open: {answered:?}");
    };
    assert_eq!(
        (answered.session, answered.tool.as_str()),
        (live.session_id(), "refund")
    );
    let ran = |event: &Event| event.kind() == "tool_returned";
    updates.wait_for(ran).await.unwrap();
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn session_is_closed_once_at_the_desk_and_at_an_engine() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let engine = store::engine(place.path())
        .agent("support", support())
        .clock(clock.clone())
        .open()
        .await
        .unwrap();
    let close = |session| Operation::Close {
        session,
        reason: "done".to_owned(),
    };
    let (_, first) = ask(&engine).await;
    let second = engine.session("support").open().await.unwrap();
    let (first, second) = (first.session_id(), second.session_id());
    let by = Actor::embedder("ada");
    let at_engine = engine.operate(close(first), by.clone()).await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let agentless = store::engine(place.path()).clock(clock.clone());
    let agentless = agentless.open().await.unwrap();
    let nowhere = agentless.operate(close(second), by.clone()).await;
    assert!(matches!(nowhere, Err(Error::UnknownAgent { .. })));
    agentless.shutdown(Duration::ZERO).await.unwrap();
    drop((engine, agentless));

    let (desk, ledger) = desk(&place, &clock);
    let at_desk = desk.operate(close(second), by.clone()).await;
    for (session, closed) in [(first, at_engine), (second, at_desk)] {
        let Ok(Operated::OnRecord(closed)) = closed else {
            panic!("it is open: {closed:?}");
        };
        let fact = ledger.fact(session, closed.seq).await.unwrap().unwrap();
        assert_eq!(fact.event.kind(), "session_closed");
        assert_eq!((closed.tool.as_str(), closed.by), ("", by.clone()));
        let late = desk.operate(close(session), by.clone()).await;
        assert!(matches!(late, Ok(Operated::Refused(it)) if it.code == "session_closed"));
    }
    assert!(ledger.pending().await.unwrap().is_empty());
}
