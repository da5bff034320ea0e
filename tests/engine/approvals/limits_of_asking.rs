//! The limits of asking, several requests in one answer, and the denial of all open requests: at
//! an engine, at a desk, through the control server, and in a client's message.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::store;
use recount::control::{Client, OneAnswer, OneOutcome, Request, Unanswered};
use recount::engine::{Desk, Error, Received};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Event, Observation, Rejection, Seq};
use recount::testing::{ManualClock, ScriptedModel};

fn pay() -> Toolset {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    T::confirm(pay, "Pay?")
}

/// An agent whose model makes four calls of the gated tool in one message.
fn agent(tools: Toolset) -> Agent {
    let calls = ["c1", "c2", "c3", "c4"].map(|id| json!({"id": id, "name": "pay"}));
    let script = json!({"on": {"text": "go"}, "once": false, "send": [{"call": calls}]});
    let model = ScriptedModel::parse(&script.to_string()).unwrap();
    Agent::new()
        .model("m")
        .tools(tools)
        .strict()
        .connect_to(model)
}

async fn engine(agent: Agent, clock: &Arc<ManualClock>) -> Engine {
    let engine = Engine::in_memory().agent("a", agent).clock(clock.clone());
    engine.open().await.unwrap()
}

async fn engine_on_disk(place: &Path, agent: Agent) -> Engine {
    let engine = store::engine(place).agent("a", agent);
    engine.open().await.unwrap()
}

/// A session whose model has made its four calls, and the open requests.
async fn asked(engine: &Engine, open: usize) -> (LiveHandle, Vec<RequestId>) {
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let mut asked = 0;
    while asked < open {
        let next = updates.next().await.unwrap();
        asked += usize::from(next.fact.event.kind() == "confirmation_requested");
    }
    let pending = live.pending().await.unwrap();
    (live, pending.iter().map(|it| it.id).collect())
}

/// The codes of the refused answers of a session, with the actors.
async fn refusals(ledger: &Ledger, session: SessionId) -> Vec<(String, String)> {
    let facts = ledger.facts(session, Seq(1), 1_000).await.unwrap();
    let refused = facts.into_iter().filter_map(|fact| match fact.event {
        Event::Observed(Observation::AnswerRefused(it)) => Some((it.refusal, it.by.name)),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    refused.collect()
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

fn yes() -> ToolConfirmation {
    ToolConfirmation::confirmed()
}

/// True if a limit of one approval in a minute refused the answer.
fn is_one_too_many<T>(answered: &Result<T, Error>) -> bool {
    let max = Rejection::TooManyAnswers { max: 1 };
    matches!(answered, Err(Error::Refused(refused)) if *refused == max)
}

#[tokio::test]
async fn calls_beyond_the_open_requests_are_refused() {
    let clock = ManualClock::new();
    let of_tool = agent(T::max_open_requests(pay(), 2));
    let of_session = agent(pay()).max_open_requests(2);
    for limited in [of_tool, of_session] {
        let engine = engine(limited, &clock).await;
        let (live, open) = asked(&engine, 2).await;
        assert_eq!(open.len(), 2);
        let session = live.session().await.unwrap();
        assert_eq!((session.calls.len(), session.settled.len()), (2, 2));
        let facts = engine.ledger().facts(live.session_id(), Seq(1), 100);
        let facts = facts.await.unwrap();
        let refused = facts.iter().filter(|fact| {
            let body = fact.event.body().unwrap();
            fact.event.kind() == "response_issued" && body.contains("limit_reached")
        });
        assert_eq!(refused.count(), 2);
    }
}

#[tokio::test]
async fn two_doors_share_one_approval_in_a_minute() {
    let clock = ManualClock::new();
    let engine = engine(agent(pay()).answers_per_minute(1), &clock).await;
    let (live, open) = asked(&engine, 4).await;
    let [first, second, ..] = open[..] else {
        unreachable!("four requests are open")
    };
    let message = format!(
        r#"{{"functionResponse":{{"id":"{second}","name":"adk_request_confirmation",
            "response":{{"confirmed":true}}}}}}"#
    );
    let (direct, client) = tokio::join!(
        engine.answer(first, yes(), ada()),
        live.receive_client_message(ada(), &message),
    );
    let refused = [is_one_too_many(&direct), is_one_too_many(&client)];
    assert_eq!(refused.iter().filter(|it| **it).count(), 1, "{refused:?}");
    assert_eq!(direct.is_ok(), client.is_err());
    let expected = [("too_many_answers".to_owned(), "ada".to_owned())];
    assert_eq!(refusals(engine.ledger(), live.session_id()).await, expected);
    // The request stays open. Another person approves it, or the same one a minute later.
    assert_eq!(live.pending().await.unwrap().len(), 3);
    let other = engine.answer(open[2], yes(), Actor::embedder("bob")).await;
    assert!(other.is_ok(), "{other:?}");
    clock.advance(Duration::from_secs(60));
    let later = if direct.is_ok() { second } else { first };
    assert!(engine.answer(later, yes(), ada()).await.is_ok());
    // A denial is not limited.
    let no = ToolConfirmation::denied("no");
    assert!(engine.answer(open[3], no, ada()).await.is_ok());
}

#[tokio::test]
async fn client_message_reports_each_of_its_answers() {
    let clock = ManualClock::new();
    let engine = engine(agent(pay()).answers_per_minute(1), &clock).await;
    let (live, open) = asked(&engine, 4).await;
    let part = |id: &RequestId, confirmed: bool| {
        json!({"functionResponse": {"id": id, "name": "adk_request_confirmation",
            "response": {"confirmed": confirmed}}})
    };
    let parts = [
        part(&open[0], true),
        part(&open[1], true),
        part(&open[2], false),
    ];
    let message = json!({"parts": parts, "role": "user"}).to_string();
    let sent = live.receive_client_message(ada(), &message).await;
    let Err(Error::PartlyTaken { taken, refused }) = sent else {
        unreachable!("one of three is refused: {sent:?}")
    };
    let answered = taken.iter().map(|it| match it {
        Received::Answered { request, .. } => *request,
        other => unreachable!("{other:?}"),
    });
    assert_eq!(answered.collect::<Vec<_>>(), [open[0], open[2]]);
    let [(id, why)] = refused.as_slice() else {
        unreachable!("{refused:?}")
    };
    assert_eq!(id, &open[1].to_string());
    let max = Rejection::TooManyAnswers { max: 1 };
    assert!(matches!(why, Error::Refused(why) if *why == max));
}

#[tokio::test]
async fn one_answer_to_several_requests_has_an_outcome_for_each() {
    let clock = ManualClock::new();
    let engine = engine(agent(pay()), &clock).await;
    let (live, open) = asked(&engine, 4).await;
    engine.answer(open[1], yes(), ada()).await.unwrap();
    let unknown = RequestId(uuid::Uuid::nil());
    let ids = [open[0], open[1], unknown, open[2], open[0]];
    let outcomes = engine.answer_many(ids, yes(), ada()).await;
    let answered: Vec<RequestId> = outcomes.iter().map(|(id, _)| *id).collect();
    assert_eq!(answered, [open[0], open[1], unknown, open[2]]);
    let [(_, one), (_, two), (_, three), (_, four)] = outcomes.as_slice() else {
        unreachable!("{outcomes:?}")
    };
    assert!(one.is_ok() && four.is_ok());
    assert!(matches!(
        two,
        Err(Error::Refused(Rejection::AlreadyAnswered(_)))
    ));
    assert!(matches!(three, Err(Error::UnknownRequest { .. })));
    assert_eq!(live.pending().await.unwrap().len(), 1);
}

#[tokio::test]
async fn all_open_requests_of_one_session_are_denied() {
    let clock = ManualClock::new();
    let engine = engine(agent(pay()).answers_per_minute(1), &clock).await;
    let (live, open) = asked(&engine, 4).await;
    let (other, _) = asked(&engine, 4).await;
    let session = live.session_id();
    let denied = engine.deny_all(session, Some("on hold"), ada()).await;
    let denied = denied.unwrap();
    let ids: Vec<RequestId> = denied.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, open);
    assert!(denied.iter().all(|(_, it)| it.is_ok()), "{denied:?}");
    assert!(live.pending().await.unwrap().is_empty());
    assert_eq!(other.pending().await.unwrap().len(), 4);
    let facts = engine.ledger().facts(session, Seq(1), 1_000).await.unwrap();
    let reasons = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::ConfirmationAnswered(it)) => it.reason.as_deref(),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["on hold"; 4]);
    let again = engine.deny_all(session, None, ada()).await.unwrap();
    assert!(again.is_empty());
    let unknown = SessionId(uuid::Uuid::nil());
    assert!(engine.deny_all(unknown, None, ada()).await.is_err());
}

#[tokio::test]
async fn desk_answers_several_and_denies_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine_on_disk(place.path(), agent(pay()).answers_per_minute(1)).await;
    let (live, open) = asked(&engine, 4).await;
    let session = live.session_id();
    drop(live);
    engine.shutdown(Duration::ZERO).await.unwrap();
    let journal = store::open(place.path());
    let ledger = Ledger::new(journal);
    let desk = Desk::new(ledger.clone(), ManualClock::new());
    let both = desk.answer_many([open[0], open[1]], yes(), ada()).await;
    let [(_, one), (_, two)] = both.as_slice() else {
        unreachable!("{both:?}")
    };
    assert!(one.is_ok() && is_one_too_many(two), "{both:?}");
    let expected = [("too_many_answers".to_owned(), "ada".to_owned())];
    assert_eq!(refusals(&ledger, session).await, expected);
    let denied = desk.deny_all(session, None, ada()).await.unwrap();
    let ids: Vec<RequestId> = denied.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, open[1..]);
    assert!(denied.iter().all(|(_, it)| it.is_ok()), "{denied:?}");
    assert!(ledger.pending().await.unwrap().is_empty());
}

#[tokio::test]
async fn control_server_sends_an_outcome_for_each_answer() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine_on_disk(place.path(), agent(pay())).await;
    let (live, open) = asked(&engine, 4).await;
    engine.answer(open[0], yes(), ada()).await.unwrap();
    let mut client = Client::connect(place.path()).await.unwrap();
    let unknown = RequestId(uuid::Uuid::nil());
    let answer = serde_json::value::RawValue::from_string(r#"{"confirmed":true}"#.to_owned());
    let request = Request::AnswerMany {
        requests: vec![open[0], open[1], unknown, open[1]],
        answer: answer.unwrap(),
        claimed: Some("ada".to_owned()),
    };
    let answers = client.items::<OneAnswer>(&request).await.unwrap();
    let ids: Vec<RequestId> = answers.iter().map(|it| it.request).collect();
    assert_eq!(ids, [open[0], open[1], unknown]);
    let outcomes: Vec<&OneOutcome> = answers.iter().map(|it| &it.outcome).collect();
    let [
        OneOutcome::Refused(one),
        OneOutcome::Done(two),
        OneOutcome::Error(three),
    ] = outcomes[..]
    else {
        unreachable!("{outcomes:?}")
    };
    assert_eq!(one.code, "already_answered");
    assert_eq!((two.tool.as_str(), two.by.name.as_str()), ("pay", "ada"));
    assert_eq!(three.code, "unknown_request");
    let deny = |session| Request::DenyAll {
        session,
        reason: Some("on hold".to_owned()),
        claimed: None,
    };
    let denied = client.items::<OneAnswer>(&deny(live.session_id())).await;
    let denied = denied.unwrap();
    let ids: Vec<RequestId> = denied.iter().map(|it| it.request).collect();
    assert_eq!(ids, open[2..]);
    let all = denied.iter();
    assert!(
        all.clone()
            .all(|it| matches!(it.outcome, OneOutcome::Done(_)))
    );
    let unknown = client
        .done(&deny(SessionId(uuid::Uuid::from_u128(7))))
        .await;
    assert!(matches!(unknown, Err(Unanswered::Failed(it)) if it.code == "unknown_session"));
    assert!(live.pending().await.unwrap().is_empty());
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn limit_of_zero_is_a_mistake_of_the_agent() {
    let zero = agent(pay()).max_open_requests(0).answers_per_minute(0);
    let engine = Engine::in_memory().agent("a", zero).open().await;
    let Err(Error::Configuration { mistakes }) = engine else {
        unreachable!("no request could ever be asked")
    };
    assert_eq!(
        mistakes,
        [
            "agent \"a\": max_open_requests: expected at least 1, found 0",
            "agent \"a\": answers_per_minute: expected at least 1, found 0",
        ]
    );
}
