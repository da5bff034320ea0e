//! Requests that need several persons: at the engine, the desk, a confirmation provider and an ADK
//! client, and when all of them answer at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::store;
use recount::adk::REQUEST_CONFIRMATION;
use recount::engine::{Desk, Error, Operated, Operation, Received, SystemClock};
use recount::ledger::{Ledger, PendingConfirmation};
use recount::prelude::*;
use recount::session::{Approvers, Barred, Event, Identity, Observation, Person, Rejection, Seq};
use recount::testing::ScriptedModel;
use tokio::sync::Barrier;

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "once": false, "send": [{"call": [{"id": "r", "name": "pay"}]}]}
"#;

/// A tool that counts its runs.
fn pay(runs: &Arc<AtomicUsize>) -> Toolset {
    let runs = runs.clone();
    let pay = T::simple("pay", "Pays", move |_| {
        let runs = runs.clone();
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(json!({"paid": true}))
        }
    });
    T::confirm(pay, "Pay?")
}

fn agent(tools: impl Into<Toolset>) -> Agent {
    Agent::new()
        .model("m")
        .tools(tools)
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap())
}

/// A new session in which the model has called the tool, and the request about the call.
async fn ask(engine: &Engine) -> (LiveHandle, PendingConfirmation) {
    let session = engine.session("till").on_behalf_of("carol");
    let live = session.connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = |event: &Event| event.kind() == "confirmation_requested";
    updates.wait_for(asked).await.unwrap();
    let request = live.pending().await.unwrap().remove(0);
    (live, request)
}

async fn serving(tools: impl Into<Toolset>) -> Engine {
    let engine = Engine::in_memory().agent("till", agent(tools));
    engine.open().await.unwrap()
}

fn yes() -> ToolConfirmation {
    ToolConfirmation::confirmed()
}

async fn kinds(ledger: &Ledger, session: SessionId, from: Seq) -> Vec<&'static str> {
    let facts = ledger.facts(session, from, 1_000).await.unwrap();
    facts.iter().map(|fact| fact.event.kind()).collect()
}

#[tokio::test]
async fn second_person_runs_the_call_that_the_first_approved() {
    let runs = Arc::new(AtomicUsize::new(0));
    let engine = serving(T::quorum(pay(&runs), 2)).await;
    let (live, asked) = ask(&engine).await;
    assert_eq!((asked.missing(), asked.approvals.len()), (2, 0));
    let answer = |by: Actor| {
        let given = Ok(yes());
        engine.operate(
            Operation::Answer {
                request: asked.id,
                given,
            },
            by,
        )
    };
    let Operated::OnRecord(first) = answer(Actor::embedder("ada")).await.unwrap() else {
        panic!("the first yes is on record")
    };
    assert_eq!(first.missing, 1);
    let open = live.pending().await.unwrap().remove(0);
    assert_eq!((open.id, open.missing()), (asked.id, 1));
    assert_eq!(open.approvals[0].by, Actor::embedder("ada"));
    assert_eq!(open.approvals[0].seq, first.seq);
    let Operated::Refused(again) = answer(Actor::embedder("ada")).await.unwrap() else {
        panic!("a person counts once")
    };
    assert_eq!(
        (again.code.as_str(), again.at),
        ("already_approved", Some(first.seq))
    );
    assert!(again.leaves_open);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let mut updates = live.subscribe();
    let Operated::OnRecord(second) = answer(Actor::embedder("bob")).await.unwrap() else {
        panic!("the second yes is on record")
    };
    assert_eq!(second.missing, 0);
    updates
        .wait_for(|event| event.kind() == "response_issued")
        .await
        .unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(live.pending().await.unwrap(), []);
    let recorded = kinds(engine.ledger(), live.session_id(), first.seq).await;
    let approved = recorded.iter().filter(|it| **it == "approval_given");
    assert_eq!(approved.count(), 1);
    assert!(recorded.contains(&"confirmation_answered") && recorded.contains(&"answer_refused"));
}

#[tokio::test]
async fn wrong_person_is_refused_on_record_and_the_request_stays_open() {
    let runs = Arc::new(AtomicUsize::new(0));
    let people = Approvers::roles(["finance"]).or(Approvers::names([Person::os_user("ada")]));
    let tools = T::not_requester(T::approvers(pay(&runs), people));
    let engine = serving(tools).await;
    let (live, asked) = ask(&engine).await;
    let finance = |name: &str| {
        let identity = Identity::of("https://login.example").with_role("finance");
        Actor::token(name).as_person().with_identity(identity)
    };
    let refused = async |by: Actor| match engine.answer(asked.id, yes(), by).await {
        Err(Error::Refused(Rejection::Barred(barred))) => barred,
        other => panic!("{other:?}"),
    };
    for (by, barred) in [
        (Actor::embedder("ada"), Barred::NotAnApprover),
        (Actor::token("bob"), Barred::NotAnApprover),
        (Actor::unverified("ada"), Barred::Unverified),
        (Actor::os_user("ada").as_program("--yes"), Barred::Automatic),
        (finance("carol"), Barred::Requester),
    ] {
        assert_eq!(refused(by).await, barred);
    }
    assert_eq!(live.pending().await.unwrap().len(), 1);
    let recorded = kinds(engine.ledger(), live.session_id(), Seq(1)).await;
    let on_record = recorded.iter().filter(|it| **it == "answer_refused");
    assert_eq!(on_record.count(), 5);
    engine
        .answer(asked.id, yes(), finance("bob"))
        .await
        .unwrap();
    assert_eq!(live.pending().await.unwrap(), []);
}

/// A provider answers as a program, so its yes is refused and the request waits for a person.
#[tokio::test]
async fn answer_of_a_provider_does_not_count_towards_a_quorum() {
    let runs = Arc::new(AtomicUsize::new(0));
    let agent =
        agent(T::quorum(pay(&runs), 1)).confirmation_provider(StaticConfirmation::allow_all());
    let engine = Engine::in_memory().agent("till", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("till").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let refused = |event: &Event| event.kind() == "answer_refused";
    let refused = updates.wait_for(refused).await.unwrap();
    let Event::Observed(Observation::AnswerRefused(it)) = &refused.fact.event else {
        panic!("{refused:?}")
    };
    assert_eq!(it.refusal, "automatic_answer");
    let asked = live.pending().await.unwrap().remove(0);
    engine
        .answer(asked.id, yes(), Actor::embedder("ada"))
        .await
        .unwrap();
    assert_eq!(live.pending().await.unwrap(), []);
}

#[tokio::test]
async fn desk_counts_approvals_between_processes() {
    let (place, runs) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let tools = || T::quorum(pay(&runs), 2);
    let engine = store::engine(place.path()).agent("till", agent(tools()));
    let engine = engine.open().await.unwrap();
    let (live, asked) = ask(&engine).await;
    engine
        .answer(asked.id, yes(), Actor::embedder("ada"))
        .await
        .unwrap();
    let session = live.session_id();
    drop(live);
    engine.shutdown(Duration::ZERO).await.unwrap();
    let journal = store::open(place.path());
    let ledger = Ledger::new(journal);
    let desk = Desk::new(ledger.clone(), SystemClock::shared());
    let again = desk.answer(asked.id, yes(), Actor::embedder("ada")).await;
    assert!(matches!(
        again,
        Err(Error::Refused(Rejection::AlreadyApproved { .. }))
    ));
    assert_eq!(ledger.pending().await.unwrap()[0].missing(), 1);
    let at = desk
        .answer(asked.id, yes(), Actor::os_user("ada"))
        .await
        .unwrap();
    let recorded = kinds(&ledger, session, at).await;
    assert_eq!(recorded, ["confirmation_answered", "call_ready"]);
}

/// The payloads of all approvers must be equal, also if the redactor hides what they contain.
#[tokio::test]
async fn redacted_payloads_are_compared_as_they_are_recorded() {
    let schema = json!({"type": "object"});
    let pay = TypedTool::with_context("pay", "Pays", |_: Value, _: ToolContext| async {
        Ok(json!({"paid": true}))
    });
    let tools = T::quorum(T::confirm_payload(T::confirm(pay, "Pay?"), schema), 2);
    let hidden = |text: &str| text.contains("4711").then(|| "[number]".to_owned());
    let engine = Engine::in_memory().agent("till", agent(tools).redact(hidden));
    let engine = engine.open().await.unwrap();
    let (live, asked) = ask(&engine).await;
    let answer = |cost_centre: &str, by: &str| {
        let payload = json!({"cost_centre": cost_centre});
        engine.answer(asked.id, yes().with_payload(payload), Actor::embedder(by))
    };
    answer("4711", "ada").await.unwrap();
    let other = answer("12", "bob").await;
    assert!(matches!(
        other,
        Err(Error::Refused(Rejection::OtherContent { .. }))
    ));
    answer("4711", "bob").await.unwrap();
    assert_eq!(live.pending().await.unwrap(), []);
}

/// An answer as an ADK client sends it.
fn client_message(request: RequestId, confirmed: bool) -> String {
    let response = json!({"confirmed": confirmed});
    let part = json!({
        "functionResponse": {
            "id": request.to_string(),
            "name": REQUEST_CONFIRMATION,
            "response": response,
        },
    });
    json!({"role": "user", "parts": [part]}).to_string()
}

#[tokio::test]
async fn adk_client_is_told_what_is_missing_and_its_card_stays_open() {
    let runs = Arc::new(AtomicUsize::new(0));
    let engine = serving(T::quorum(pay(&runs), 2)).await;
    let (live, asked) = ask(&engine).await;
    let says = |by: &str| {
        let message = client_message(asked.id, true);
        let (live, by) = (live.clone(), Actor::embedder(by));
        async move { live.receive_client_message(by, &message).await }
    };
    let responses = async || {
        let events = engine.adk_events(live.session_id()).await.unwrap();
        let text: String = events.iter().map(|it| it.to_json()).collect();
        text.matches(&format!(r#""functionResponse":{{"id":"{}""#, asked.id))
            .count()
    };
    let first = says("ada").await.unwrap();
    let [
        Received::Approved {
            request,
            missing: 1,
            ..
        },
    ] = first.as_slice()
    else {
        panic!("{first:?}")
    };
    assert_eq!(*request, asked.id);
    assert_eq!(responses().await, 0, "the card is open");
    assert!(matches!(says("ada").await, Err(Error::Refused(_))));
    let second = says("bob").await.unwrap();
    assert!(matches!(second.as_slice(), [Received::Answered { .. }]));
    assert_eq!(responses().await, 1, "the card is over");
}

/// The number of races: 200, or `RECOUNT_RACES`.
fn races() -> u64 {
    std::env::var("RECOUNT_RACES").map_or(200, |races| races.parse().unwrap())
}

/// The result of an approval, as its approver gets it.
#[derive(Debug, PartialEq)]
enum Told {
    Counts,
    Decides,
    TooLate,
}

const PEOPLE: usize = 64;

/// Approves through one of three doors.
async fn approve(live: LiveHandle, engine: Engine, request: RequestId, door: usize) -> Told {
    let by = Actor::embedder(format!("person {door}"));
    let refused = |error: Error| match error {
        Error::Refused(Rejection::AlreadyAnswered(answered)) if answered.confirmed => Told::TooLate,
        other => panic!("{other:?}"),
    };
    let told = |missing| match missing {
        0 => Told::Decides,
        _ => Told::Counts,
    };
    match door % 3 {
        0 => match live.answer(request, yes(), by).await {
            Ok(at) => {
                let session = live.session_id();
                let missing = engine.ledger().approvals_missing(session, at).await;
                told(missing.unwrap())
            }
            Err(error) => refused(error),
        },
        1 => {
            let given = Ok(yes());
            let operation = Operation::Answer { request, given };
            match engine.operate(operation, by).await.unwrap() {
                Operated::OnRecord(it) => told(it.missing),
                Operated::Refused(it) if it.code == "already_answered" => Told::TooLate,
                other => panic!("{other:?}"),
            }
        }
        _ => {
            let message = client_message(request, true);
            match live.receive_client_message(by, &message).await {
                Ok(received) => match received.as_slice() {
                    [Received::Answered { .. }] => Told::Decides,
                    [Received::Approved { missing, .. }] => told(*missing),
                    other => panic!("{other:?}"),
                },
                Err(error) => refused(error),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_of_64_approvers_count_and_one_decides() {
    let runs = Arc::new(AtomicUsize::new(0));
    let engine = serving(T::quorum(pay(&runs), 2)).await;
    for race in 1..=races() {
        let (live, asked) = ask(&engine).await;
        let mut updates = live.subscribe();
        let start = Arc::new(Barrier::new(PEOPLE));
        let approvers: Vec<_> = (0..PEOPLE)
            .map(|door| {
                let (live, engine, start) = (live.clone(), engine.clone(), start.clone());
                let request = asked.id;
                tokio::spawn(async move {
                    start.wait().await;
                    approve(live, engine, request, door).await
                })
            })
            .collect();
        let mut told = Vec::new();
        for approver in approvers {
            told.push(approver.await.unwrap());
        }
        let number = |what: Told| told.iter().filter(|it| **it == what).count();
        assert_eq!(
            (
                number(Told::Counts),
                number(Told::Decides),
                number(Told::TooLate)
            ),
            (1, 1, PEOPLE - 2),
            "race {race}"
        );
        updates
            .wait_for(|event| event.kind() == "tool_returned")
            .await
            .unwrap();
        assert_eq!(runs.load(Ordering::SeqCst) as u64, race);
        let recorded = kinds(engine.ledger(), live.session_id(), asked.request).await;
        let number = |kind: &str| recorded.iter().filter(|it| **it == kind).count();
        let kinds = ["approval_given", "confirmation_answered", "call_started"];
        assert_eq!(kinds.map(number), [1, 1, 1], "race {race}");
        live.close("over", Actor::embedder("test")).await.unwrap();
    }
}
