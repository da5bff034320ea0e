//! Confirmation requests that outlive their process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::Reconnects;
use recount::engine::{Clock, Error};
use recount::journal::BoxFuture;
use recount::ledger::HintBy;
use recount::live::{ConnectError, Connection, Connector};
use recount::prelude::*;
use recount::session::{
    Decision, Event, OnSettled, Outcome, Rejection, Seq, Timestamp, ToolPolicy,
};
use recount::testing::{Life, ManualClock, ScriptedModel};
use serde_json::Map;

use crate::restart::world::{World, answer, approve, resume, waiting};

const TWO_WEEKS: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);

fn gated(tool: impl Into<Toolset>) -> Toolset {
    T::confirm(tool, "Pay this?")
}

fn expiring(tool: impl Into<Toolset>) -> Toolset {
    let mut policy = ToolPolicy::gate("");
    policy.gate_terms.expires_after = Some(Duration::from_secs(60 * 60));
    T::policy(tool, policy)
}

/// A request whose process died.
fn asked_and_died(world: &World, tool: Toolset) -> RequestId {
    let (life, _live) = world.asked_to_pay(tool);
    let request = waiting(&life);
    life.crash();
    request
}

#[test]
fn approval_two_weeks_after_restart_runs_once() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.pays()));
    world.clock.advance(TWO_WEEKS);

    let life = world.life(world.agent(gated(world.till.pays())));
    assert_eq!(waiting(&life), request);
    let _live = resume(&life, world.session());
    assert_eq!(world.till.attempts(), [0; 0]);
    approve(&life, request).unwrap();
    assert_eq!(world.till.attempts(), [1]);
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn answer_runs_tool_unconnected_and_resume_delivers_outcome() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.pays()));
    let life = world.life(world.agent(gated(world.till.pays())));
    approve(&life, request).unwrap();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.connections(), 1);
    assert_eq!(world.folded().deliveries.len(), 1, "parked");
    life.end();

    let life = world.life(world.agent(gated(world.till.pays())));
    assert_eq!(world.connections(), 1);
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    assert_eq!(world.till.attempts(), [1]);
    assert!(world.folded().deliveries.is_empty());
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn a_denied_call_never_runs_and_the_model_is_told_the_reason() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.pays()));
    let life = world.life(world.agent(gated(world.till.pays())));
    let _live = resume(&life, world.session());
    answer(&life, request, ToolConfirmation::denied("over the limit")).unwrap();
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].contains("over the limit"),
        "{told:?}"
    );
    assert_eq!(world.till.attempts(), [0; 0]);
    assert_eq!(world.outcome(), Outcome::Denied);
    life.end();
}

#[test]
fn expiry_over_restart_denies_and_late_answer_is_rejected() {
    let world = World::new();
    let request = asked_and_died(&world, expiring(world.till.pays()));
    world.clock.advance(2 * HOUR);
    let life = world.life(world.agent(expiring(world.till.pays())));
    life.settle();
    assert_eq!(world.outcome(), Outcome::Expired);
    assert_late(&world, &life, request);
    life.end();
}

#[test]
fn silence_while_the_process_lives_becomes_a_no_at_its_time() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(expiring(world.till.pays()));
    let request = waiting(&life);
    world.clock.advance(HOUR - Duration::from_secs(1));
    life.settle();
    assert_eq!(waiting(&life), request);
    world.clock.advance(Duration::from_secs(1));
    life.settle();
    let answered = world.answered();
    assert!(
        answered.len() == 1 && answered[0].contains("not approved in time"),
        "{answered:?}"
    );
    assert_late(&world, &life, request);
    life.end();
}

/// A process that takes over a request, with this choice for the delivery of outcomes. The request
/// is approved.
fn approved_with(world: &World, choice: OnSettled) -> Life {
    let request = asked_and_died(world, gated(world.till.pays()));
    let agent = world.agent(gated(world.till.pays())).on_settled(choice);
    let life = world.life(agent);
    approve(&life, request).unwrap();
    life.settle();
    assert_eq!(world.till.attempts(), [1]);
    life
}

#[test]
fn connection_opened_for_outcome_delivers_and_closes_when_idle() {
    let world = World::new();
    let life = approved_with(&world, OnSettled::Connect);
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    assert_eq!(world.outcome(), Outcome::Returned);
    let vias = |via: &str| {
        let facts = world.facts();
        let routes = facts.iter().map(|it| format!("{:?}", it.event));
        routes.filter(|it| it.contains(via)).count()
    };
    assert_eq!(vias("route: Connect"), 1, "the choice is on record");

    world.clock.advance(Duration::from_secs(59));
    life.settle();
    assert_eq!(world.count("disconnected"), 1, "the loss by the crash");
    world.clock.advance(Duration::from_secs(1));
    life.settle();
    assert_eq!(world.count("disconnected"), 2);
    assert!(world.folded().deliveries.is_empty());
    life.end();
}

/// A connector that fails a number of times first.
struct Barred {
    model: ScriptedModel,
    times: AtomicUsize,
}

#[async_trait]
impl Connector for Barred {
    fn endpoint(&self) -> String {
        self.model.endpoint()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let left = self.times.load(Ordering::SeqCst);
        if left == 0 {
            return self.model.connect().await;
        }
        self.times.store(left - 1, Ordering::SeqCst);
        Err(ConnectError::Unreachable {
            endpoint: self.endpoint(),
            reason: "no route".to_owned(),
        })
    }
}

#[test]
fn retries_of_delivery_connection_continue_in_next_process() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.pays()));
    let agent = |times| {
        let (model, times) = (world.model.clone(), AtomicUsize::new(times));
        let agent = world.agent(gated(world.till.pays()));
        agent
            .on_settled(OnSettled::Connect)
            .connect_to(Barred { model, times })
    };
    let life = world.life(agent(1));
    approve(&life, request).unwrap();
    life.settle();
    assert_eq!(world.count("connect_failed"), 1);
    assert_eq!(world.count("reconnect_scheduled"), 1);
    life.crash();

    let life = world.life(agent(2));
    life.settle();
    assert_eq!(
        world.count("connect_failed"),
        2,
        "what is untold is open work"
    );
    for _ in 0..4 {
        world.clock.advance(Duration::from_secs(60));
        life.settle();
    }
    assert_eq!(world.connections(), 2);
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    assert_eq!(world.till.attempts(), [1]);
    life.end();
}

/// A script in which the model closes the connection at each of the first twenty outcomes.
fn hears_nothing() -> String {
    let closes = r#"{"on": {"text": "[tool outcome]"}, "send": [{"close": {"code": 1011}}]}"#;
    let call = r#"{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay"}]}]}"#;
    format!("{call}\n{}", format!("{closes}\n").repeat(20))
}

#[test]
fn connection_lost_on_every_delivery_is_retried_a_limited_time() {
    let world = World::with(&hears_nothing());
    let life = approved_with(&world, OnSettled::Connect);
    assert_eq!(
        (world.connections(), world.count("reconnect_scheduled")),
        (2, 1)
    );
    for _ in 0..20 {
        world.clock.advance(Duration::from_secs(60));
        life.settle();
    }
    assert_eq!(world.connections(), 9, "as often as the agent tries");
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn a_model_that_says_nothing_to_what_it_is_told_is_told_once() {
    let call = r#"{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay"}]}]}"#;
    let world = World::with(call);
    let life = approved_with(&world, OnSettled::Connect);
    for _ in 0..5 {
        world.clock.advance(Duration::from_secs(61));
        life.settle();
    }
    assert_eq!((world.connections(), world.told(2).len()), (2, 1));
    assert_eq!(
        world.folded().deliveries.len(),
        1,
        "the delivery is not proved"
    );
    let _live = resume(&life, world.session());
    assert_eq!(world.told(3).len(), 1);
    life.end();
}

#[test]
fn running_call_survives_failed_delivery_connection() {
    let both = concat!(
        r#"{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay"}, {"id": "#,
        r#""c2", "name": "look"}]}]}"#,
    );
    let world = World::with(both);
    let agent = |times| {
        let (model, times) = (world.model.clone(), AtomicUsize::new(times));
        let look = T::simple("look", "Looks", |_| async { Ok(json!({"seen": true})) });
        let tools = gated(world.till.hangs()) | T::confirm(look, "Look?");
        let agent = world.agent(tools).on_settled(OnSettled::Connect);
        // All attempts together take less than the timeout of a tool.
        let (first, longest) = (Duration::from_millis(10), Duration::from_millis(100));
        agent
            .reconnects(Reconnects::default().waits(first, longest))
            .connect_to(Barred { model, times })
    };
    let life = world.life(agent(0));
    let live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("settle").await.unwrap();
        live
    });
    life.settle();
    drop(live);
    life.crash();

    let life = world.life(agent(usize::MAX));
    for waiting in life.run(life.engine().pending()).unwrap() {
        approve(&life, waiting.id).unwrap();
    }
    for _ in 0..20 {
        world.clock.advance(Duration::from_secs(1));
        life.settle();
    }
    assert_eq!(world.count("reconnects_exhausted"), 1);
    assert_eq!((world.till.attempts(), world.till.dropped()), (vec![1], 0));
    assert_eq!(world.folded().calls.len(), 1);
    life.crash();
}

#[test]
fn resume_takes_over_delivery_connection() {
    let world = World::new();
    let life = approved_with(&world, OnSettled::Connect);
    let live = resume(&life, world.session());
    for _ in 0..3 {
        world.clock.advance(Duration::from_secs(60));
        life.settle();
    }
    assert_eq!((world.connections(), world.count("disconnected")), (2, 1));
    assert!(life.run(live.connect()).is_err(), "it is theirs already");
    drop(live);
    life.settle();
    assert_eq!(world.count("disconnected"), 2);
    life.end();
}

#[test]
fn a_resumption_that_comes_to_nothing_leaves_alone_what_runs() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.hangs()));
    let (model, times) = (world.model.clone(), AtomicUsize::new(usize::MAX));
    let agent = world.agent(gated(world.till.hangs()));
    let life = world.life(agent.connect_to(Barred { model, times }));
    approve(&life, request).unwrap();
    assert!(life.run(life.engine().resume(world.session())).is_err());
    life.settle();
    assert_eq!((world.till.attempts(), world.till.dropped()), (vec![1], 0));
    assert_eq!(world.folded().calls.len(), 1);
    life.crash();
}

#[test]
fn outcome_for_program_only_is_not_sent_to_later_conversation() {
    let world = World::new();
    let life = approved_with(&world, OnSettled::Notify);
    assert_eq!(world.connections(), 1);
    assert!(world.folded().deliveries.is_empty());
    let _live = resume(&life, world.session());
    life.settle();
    assert_eq!(world.told(2), [""; 0]);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

/// The number of live tasks of a process.
fn tasks(life: &Life) -> usize {
    life.settle();
    life.run(async {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    })
}

#[test]
fn session_waiting_for_expiry_has_no_task_and_still_expires() {
    let world = World::new();
    let life = world.life(world.agent(expiring(world.till.pays())));
    let none = tasks(&life);
    life.end();

    // The session is detached while its process lives, or left behind by a process that died.
    for dies in [false, true] {
        let world = World::new();
        let (life, live) = world.asked_to_pay(expiring(world.till.pays()));
        let request = waiting(&life);
        let life = if dies {
            life.crash();
            world.life(world.agent(expiring(world.till.pays())))
        } else {
            drop(live);
            life
        };
        assert_eq!(tasks(&life), none, "dies: {dies}");
        world.clock.advance(HOUR - Duration::from_secs(1));
        assert_eq!(tasks(&life), none);
        assert_eq!(waiting(&life), request);
        world.clock.advance(Duration::from_secs(1));
        life.settle();
        assert_eq!(world.outcome(), Outcome::Expired);
        assert_late(&world, &life, request);
        assert_eq!(tasks(&life), none);
        life.end();
    }
}

#[test]
fn accepted_answer_counts_if_expiry_passes_during_append() {
    let world = World::new();
    let request = asked_and_died(&world, expiring(world.till.pays()));
    let clock = Arc::new(Leaping {
        clock: world.clock.clone(),
        leaps: AtomicBool::new(false),
    });
    // The timeout of the run itself must not expire.
    let pay = T::timeout(expiring(world.till.pays()), TWO_WEEKS);
    let agent = world.agent(pay);
    let life = Life::begin(&world.journal, &clock, [("support", agent)]);
    let _live = resume(&life, world.session());
    clock.leaps.store(true, Ordering::SeqCst);
    approve(&life, request).unwrap();
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(world.till.attempts(), [1]);
    life.end();
}

/// A clock that advances by hours just after one reading.
struct Leaping {
    clock: Arc<ManualClock>,
    leaps: AtomicBool,
}

impl Clock for Leaping {
    fn now(&self) -> Timestamp {
        let now = self.clock.now();
        if self.leaps.swap(false, Ordering::SeqCst) {
            self.clock.advance(2 * HOUR);
        }
        now
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        self.clock.reached(due)
    }

    fn new_session(&self) -> SessionId {
        self.clock.new_session()
    }
}

fn assert_late(world: &World, life: &Life, request: RequestId) {
    let expired = world.facts();
    let expired = expired
        .iter()
        .find(|it| it.event.kind() == "confirmation_expired");
    let expired = expired.unwrap().seq;
    match approve(life, request) {
        Err(Error::Refused(Rejection::RequestExpired { at, goes_on: false })) => {
            assert_eq!(at, expired)
        }
        other => panic!("expected a refusal, found {other:?}"),
    }
    assert_eq!(world.count("answer_refused"), 1);
    assert_eq!(world.till.attempts(), [0; 0]);
}

#[test]
fn a_session_that_merely_waits_gets_no_event_at_a_restart() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(gated(world.till.pays()));
    life.end();
    let before = world.facts();
    for _ in 0..3 {
        world.clock.advance(TWO_WEEKS);
        let life = world.life(world.agent(gated(world.till.pays())));
        life.settle();
        waiting(&life);
        life.end();
    }
    assert_eq!(world.facts(), before);
    assert_eq!(world.connections(), 1);
}

#[test]
fn one_of_64_simultaneous_answers_counts_and_others_learn_it() {
    for first in [true, false] {
        let world = World::new();
        let request = asked_and_died(&world, gated(world.till.pays()));
        let life = world.life(world.agent(gated(world.till.pays())));
        let answers = life.run(async {
            let answers = (0..64).map(|n| {
                let engine = life.engine().clone();
                let by = Actor::embedder(format!("person {n}"));
                let says = if (n % 2 == 0) == first {
                    ToolConfirmation::confirmed()
                } else {
                    ToolConfirmation::denied("rather not")
                };
                tokio::spawn(async move { engine.answer(request, says, by).await })
            });
            let mut told = Vec::new();
            for answer in answers.collect::<Vec<_>>() {
                told.push(answer.await.unwrap());
            }
            told
        });
        life.settle();
        let counted: Vec<_> = answers.iter().flatten().collect();
        assert_eq!(counted.len(), 1);
        for refused in answers.iter().filter_map(|it| it.as_ref().err()) {
            match refused {
                Error::Refused(Rejection::AlreadyAnswered(answered)) => {
                    assert_eq!((&answered.at, answered.confirmed), (counted[0], first));
                }
                other => panic!("expected to be told what was decided, found {other}"),
            }
        }
        assert_eq!(world.count("confirmation_answered"), 1);
        assert_eq!(
            world.count("answer_refused"),
            17,
            "16, and one that says that no more follow"
        );
        let (runs, outcome): (&[u32], _) = if first {
            (&[1], Outcome::Returned)
        } else {
            (&[], Outcome::Denied)
        };
        assert_eq!(world.till.attempts(), runs);
        assert_eq!(world.outcome(), outcome);
        life.end();
    }
}

/// The result of a gated call without an answer: its runs, its open requests, and the reason for a
/// waived gate.
fn unanswered(
    on_disk: bool,
    chosen: impl FnOnce(Agent) -> Agent,
) -> (usize, usize, Option<String>) {
    let world = World::new();
    let agent = chosen(world.agent(gated(world.till.pays())));
    let life = if on_disk {
        world.life(agent)
    } else {
        Life::of(Engine::in_memory().agent("support", agent))
    };
    let live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    let facts = life.engine().ledger().facts(live.session_id(), Seq(1), 100);
    let facts = life.run(facts).unwrap();
    let waived = facts.iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::GateWaived(it)) => Some(it.reason.clone()),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    let pending = life.run(life.engine().pending()).unwrap().len();
    drop(live);
    life.end();
    (world.till.attempts().len(), pending, waived)
}

#[test]
fn gate_holds_with_durable_journal_else_waiver_is_recorded() {
    assert_eq!(unanswered(true, |agent| agent), (0, 1, None));
    assert_eq!(unanswered(false, Agent::strict), (0, 1, None));
    let why = "no durable journal and no confirmation provider".to_owned();
    assert_eq!(unanswered(false, |agent| agent), (1, 0, Some(why)));
    let why = "the embedding program chose unenforced confirmations".to_owned();
    let chosen = unanswered(true, Agent::unenforced_confirmations);
    assert_eq!(chosen, (1, 0, Some(why)));
}

#[test]
fn strict_dispatcher_of_agent_enforces_gates() {
    let strict = |agent: Agent| agent.tools(ToolDispatcher::new().strict());
    assert_eq!(unanswered(false, strict), (0, 1, None));
    let lax = |agent: Agent| agent.tools(ToolDispatcher::new().unenforced_confirmations());
    assert_eq!(unanswered(true, lax), (0, 1, None));
}

#[test]
fn a_provider_answers_and_is_asked_again_after_a_restart() {
    let world = World::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let silent = move |_request: ConfirmationRequest| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    };
    let with = |provider: Arc<dyn ConfirmationProvider>| {
        world
            .agent(gated(world.till.pays()))
            .confirmation_provider(provider)
    };
    let life = world.life(with(Arc::new(silent)));
    let _live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    life.crash();

    let life = world.life(with(StaticConfirmation::allow_all()));
    life.settle();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(world.connections(), 1);
    life.end();
}

#[test]
fn provider_gets_full_request_and_hung_provider_blocks_nothing() {
    let world = World::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let silent = move |request: ConfirmationRequest| {
        seen.lock().unwrap().push(request);
        std::future::pending()
    };
    let schema = json!({"type": "object", "required": ["from"]});
    let tools = T::confirm_payload(expiring(world.till.pays()), schema);
    let tools = T::confirm(tools, "Pay this?");
    let agent = world
        .agent(tools)
        .confirmation_provider(Arc::new(silent) as Arc<dyn ConfirmationProvider>);
    let life = world.life(agent);
    let _live = life.run(async {
        let session = life.engine().session("support").external_id("ticket-7");
        let session = session.on_behalf_of("bob").label("tenant", "acme");
        let live = session.connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    let pending = life.run(life.engine().pending()).unwrap().remove(0);
    let told = asked.lock().unwrap().remove(0);
    assert_eq!(
        (told.id, told.session, told.request, told.call),
        (pending.id, pending.session, pending.request, pending.call)
    );
    assert_eq!(
        (told.request_hash, told.call_hash),
        (Some(pending.request_hash), Some(pending.call_hash))
    );
    assert_eq!(
        (Some(told.contract), Some(told.declaration)),
        (pending.contract, pending.declaration)
    );
    assert_eq!(
        (
            &told.agent,
            &told.external_id,
            &told.on_behalf_of,
            &told.labels
        ),
        (
            &pending.agent,
            &pending.external_id,
            &pending.on_behalf_of,
            &pending.labels
        )
    );
    assert_eq!(told.labels.get("tenant").unwrap(), "acme");
    assert_eq!(
        (&told.tool_name, &told.args_text, &told.sealed_args),
        (&pending.tool, &pending.args, &pending.sealed_args)
    );
    assert_eq!(told.args, pending.args.to_value());
    assert_eq!(
        (&told.message, &told.payload_schema, told.about),
        (&pending.hint, &pending.payload_schema, pending.about)
    );
    assert!(told.message.is_some() && told.payload_schema.is_some() && told.expires_at.is_some());
    assert!(!told.message_by_tool && pending.hint_by == HintBy::Declaration);
    assert_eq!(
        (
            told.requested_at,
            told.expires_at,
            told.parent,
            told.model_lost_interest
        ),
        (pending.requested_at, pending.expires_at, None, false)
    );

    let yes = ToolConfirmation::confirmed().with_payload(json!({"from": "Monday"}));
    let yes = yes.to_request(told.request_hash.unwrap());
    let answered = life.engine().answer(told.id, yes, Actor::embedder("ada"));
    life.run(answered).unwrap();
    life.settle();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.outcome(), Outcome::Returned);
    assert!(asked.lock().unwrap().is_empty(), "it was asked once");
    life.end();
}

#[test]
fn answer_after_unnoticed_expiry_is_late() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(expiring(world.till.pays()));
    let request = waiting(&life);
    world.clock.advance(HOUR);
    let late = approve(&life, request);
    assert!(
        matches!(late, Err(Error::Refused(Rejection::RequestExpired { .. }))),
        "{late:?}"
    );
    assert_eq!(world.till.attempts(), [0; 0]);
    assert_eq!(world.outcome(), Outcome::Expired);
    life.end();
}

#[test]
fn tool_that_waited_in_ended_process_is_not_asked_about_again() {
    let world = World::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let agent = || {
        let count = asked.clone();
        let silent = move |_: ConfirmationRequest| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        };
        let waits = |_: Map<String, Value>, context: ToolContext| async move {
            context.request_confirmation("Pay this?").await?;
            Ok(json!({"paid": true}))
        };
        let silent: Arc<dyn ConfirmationProvider> = Arc::new(silent);
        let agent = world.agent(TypedTool::with_context("pay", "Pays", waits));
        agent.confirmation_provider(silent)
    };
    let life = world.life(agent());
    let _live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    life.crash();

    let life = world.life(agent());
    life.settle();
    assert_eq!(world.outcome(), Outcome::Unknown);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    life.end();
}

#[test]
fn panicking_provider_leaves_request_to_other_entry_points() {
    let world = World::new();
    let panics = |request: ConfirmationRequest| async move {
        assert_ne!(request.tool_name, "pay", "the provider falls over");
        ToolConfirmation::confirmed()
    };
    let agent = world
        .agent(gated(world.till.pays()))
        .confirmation_provider(Arc::new(panics));
    let life = world.life(agent);
    let _live = life.run(async {
        let live = life.engine().session("support").connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    let request = waiting(&life);
    assert_eq!(world.till.attempts(), [0; 0]);
    approve(&life, request).unwrap();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.answered(), [r#"{"paid":true}"#]);
    life.end();
}

#[test]
fn session_of_absent_agent_is_listed_and_answered_but_not_run() {
    let world = World::new();
    let request = asked_and_died(&world, gated(world.till.pays()));
    let before = world.facts();
    let life = Life::begin(
        &world.journal,
        &world.clock,
        [("sales", world.agent(gated(world.till.pays())))],
    );
    assert_eq!(waiting(&life), request);
    let listed = life.run(life.engine().sessions()).unwrap();
    assert_eq!(listed[0].agent, "support");
    life.settle();
    assert_eq!(world.facts(), before, "reading records nothing");
    approve(&life, request).unwrap();
    let again = approve(&life, request).unwrap_err();
    assert!(matches!(
        again,
        Error::Refused(Rejection::AlreadyAnswered(_))
    ));
    life.end();
    assert_eq!(world.till.attempts(), [0; 0], "no agent has the tool");

    let life = world.life(world.agent(gated(world.till.pays())));
    life.settle();
    assert_eq!(world.till.attempts(), [1], "it runs where its agent is");
    life.end();
}

#[test]
fn request_of_cancelled_call_stays_open_with_its_age() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(gated(world.till.pays()));
    let asked = life.run(live.pending()).unwrap();
    world.clock.advance(HOUR);
    life.run(live.send_text("No, stop!")).unwrap();
    life.settle();
    let still = life.run(live.pending()).unwrap();
    assert_eq!(
        (asked[0].model_lost_interest, still[0].model_lost_interest),
        (false, true)
    );
    assert_eq!(still[0].requested_at, asked[0].requested_at);
    approve(&life, still[0].id).unwrap();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(
        world.answered(),
        [""; 0],
        "nothing is sent for an id that was taken back"
    );
    assert_eq!(world.told(1).len(), 1);
    life.end();
}

#[test]
fn labels_and_the_callers_own_name_are_found_in_every_listing() {
    let world = World::new();
    let life = world.life(world.agent(gated(world.till.pays())));
    let live = life.run(async {
        let session = life.engine().session("support");
        let session = session.external_id("ticket-7").label("tenant", "acme");
        let live = session.connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    let pending = life.run(live.pending()).unwrap();
    life.crash();

    let life = world.life(world.agent(gated(world.till.pays())));
    let sessions = life.run(life.engine().sessions()).unwrap();
    let asked = life.run(life.engine().pending()).unwrap();
    assert_eq!(asked, pending);
    let found = [
        (
            &sessions[0].agent,
            &sessions[0].external_id,
            &sessions[0].labels,
        ),
        (&asked[0].agent, &asked[0].external_id, &asked[0].labels),
    ];
    for (agent, external_id, labels) in found {
        assert_eq!(
            (agent.as_str(), external_id.as_deref()),
            ("support", Some("ticket-7"))
        );
        assert_eq!(labels.get("tenant").map(String::as_str), Some("acme"));
    }
    assert_eq!(sessions[0].open["confirmation"], 1);
    life.end();
}
