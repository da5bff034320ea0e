//! Calls that run because no person answered in time, as the operator chose.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::audit::{Auditor, Filter, QuestionEnd, Verdict};
use recount::engine::Error;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Edits, OnExpiry, Rejection};
use recount::testing::ManualClock;

const MINUTE: Duration = Duration::from_secs(60);

fn mail() -> Toolset {
    T::simple("mail", "Sends", |_| async { Ok(json!({"sent": true})) })
}

fn agent(tools: impl Into<Toolset>) -> Agent {
    Agent::new().model("none").strict().tools(tools)
}

/// An agent whose mail is sent after a minute without an answer.
fn sends() -> Agent {
    let mail = T::confirm_within(mail(), "Send this?", MINUTE);
    agent(T::confirm_on_expiry(mail, OnExpiry::Allow))
}

async fn engine(journal: &Arc<SurvivingJournal>, clock: &Arc<ManualClock>, agent: Agent) -> Engine {
    let engine = Engine::in_memory()
        .journal(journal.clone())
        .agent("desk", agent);
    engine.clock(clock.clone()).open().await.unwrap()
}

/// Calls the tool in the background, and returns the request about the call.
async fn asked(live: &LiveHandle) -> RequestId {
    let mut updates = live.subscribe();
    let calling = live.clone();
    tokio::spawn(async move {
        let pipeline = Actor::embedder("pipeline");
        let _ = calling.call_function("mail", json!({}), pipeline).await;
    });
    let is_asked = |event: &recount::session::Event| event.kind() == "confirmation_requested";
    updates.wait_for(is_asked).await.unwrap();
    live.pending().await.unwrap().first().unwrap().id
}

/// The outcome of a call about which no person answers for a minute.
async fn after_a_minute(agent: Agent) -> &'static str {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let engine = engine(&journal, &clock, agent).await;
    let live = engine.session("desk").open().await.unwrap();
    asked(&live).await;
    let mut updates = live.subscribe();
    clock.advance(MINUTE);
    let ended = |event: &recount::session::Event| event.kind() == "response_issued";
    updates.wait_for(ended).await.unwrap();
    let ledger = Ledger::new(journal.clone());
    let auditor = Auditor::new(ledger, Filter::default()).await.unwrap();
    let audited = auditor.read(live.session_id()).await.unwrap();
    let call = audited.calls.first().unwrap();
    engine.shutdown(Duration::ZERO).await.unwrap();
    match (call.verdict, call.runs.len()) {
        (Verdict::AllowedUnanswered, 1) => {
            assert!(call.ran_without_confirmation, "{call:?}");
            let question = call.questions.first().unwrap();
            assert_eq!(question.end, QuestionEnd::AllowedUnanswered);
            assert!(
                question.by.is_none() && question.approvals.is_empty(),
                "{call:?}"
            );
            "ran"
        }
        (Verdict::Expired, 0) => "denied",
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn choice_of_the_tool_lets_its_unanswered_call_run() {
    assert_eq!(after_a_minute(sends()).await, "ran");
}

#[tokio::test]
async fn choice_of_the_agent_goes_with_its_time() {
    let of_agent = |tools: Toolset| {
        let agent = agent(tools).gates_expire_after(MINUTE);
        agent.gates_on_expiry(OnExpiry::Allow)
    };
    let gate = || T::confirm(mail(), "Send this?");
    assert_eq!(after_a_minute(of_agent(gate())).await, "ran");
    // A tool with a time or a choice of its own keeps it.
    let timed = T::confirm_within(mail(), "Send this?", MINUTE);
    assert_eq!(after_a_minute(of_agent(timed)).await, "denied");
    let denied = T::confirm_on_expiry(gate(), OnExpiry::Deny);
    assert_eq!(after_a_minute(of_agent(denied)).await, "denied");
    // Only a person can approve changed arguments.
    let edited = T::confirm_edits(gate(), Edits::ApprovedAnew);
    assert_eq!(after_a_minute(of_agent(edited)).await, "denied");
}

#[tokio::test]
async fn time_passes_while_the_process_is_gone() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let first = engine(&journal, &clock, sends()).await;
    let live = first.session("desk").open().await.unwrap();
    let request = asked(&live).await;
    let waiting = live.pending().await.unwrap();
    assert_eq!(waiting.first().unwrap().on_expiry, OnExpiry::Allow);
    first.shutdown(Duration::ZERO).await.unwrap();
    clock.advance(2 * MINUTE);
    let second = engine(&journal, &clock, sends()).await;
    let late = second.answer(
        request,
        ToolConfirmation::denied("no"),
        Actor::os_user("ada"),
    );
    let Err(Error::Refused(refused @ Rejection::RequestExpired { goes_on: true, .. })) = late.await
    else {
        panic!("the request has expired")
    };
    assert!(refused.to_string().contains("runs without an answer"));
    second.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn terms_that_only_a_person_meets_exclude_the_choice() {
    let two = T::quorum(T::confirm_within(mail(), "Send this?", MINUTE), 2);
    let two = agent(T::confirm_on_expiry(two, OnExpiry::Allow));
    let untimed = T::confirm_on_expiry(T::confirm(mail(), "Send this?"), OnExpiry::Allow);
    for (agent, expected) in [
        (
            two,
            "quorum makes no sense: its calls would run without an answer",
        ),
        (
            agent(untimed),
            "confirm_on_expiry makes no sense: no time is set",
        ),
    ] {
        let opened = Engine::in_memory().agent("desk", agent).open().await;
        let refused = opened.err().unwrap().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}
