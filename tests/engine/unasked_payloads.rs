//! A payload that no request asked for is recorded as rejected at every entry point; the request
//! stays open.

use std::sync::Arc;

use crate::surviving::SurvivingJournal;
use recount::adk::REQUEST_CONFIRMATION;
use recount::engine::{Desk, Error};
use recount::ledger::Ledger;
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::session::policy::{InDoubt, ToolPolicy};
use recount::session::{Event, Observation, Rejection, Seq, UnfitAnswer};
use recount::testing::{Life, ManualClock, ScriptedModel};

fn transfer() -> Toolset {
    let transfer = T::simple("transfer", "Sends money", |args| async move { Ok(args) });
    T::confirm(transfer, "Send it?")
}

struct Scene {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    life: Life,
    live: LiveHandle,
}

/// A session whose model calls `transfer`.
fn scene(agent: Agent) -> Scene {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse("").unwrap();
    let agent = agent.model("m").connect_to(model.clone());
    let life = Life::begin(&journal, &clock, [("bank", agent)]);
    let live = life.run(life.engine().session("bank").connect()).unwrap();
    let scene = Scene {
        journal,
        clock,
        model,
        life,
        live,
    };
    scene.calls("c1");
    scene
}

impl Scene {
    fn calls(&self, id: &str) {
        let args = json!({"amount": 50, "to": "bob"});
        let call = FunctionCall::new(id, "transfer", args);
        self.model.send(&ServerMessage::tool_call([call]));
        self.life.settle();
    }

    fn request(&self) -> RequestId {
        let pending = self.life.run(self.live.pending()).unwrap();
        pending.first().unwrap().id
    }

    fn refusals(&self) -> Vec<String> {
        refusals(&self.life, self.live.session_id())
    }
}

fn refusals(life: &Life, session: SessionId) -> Vec<String> {
    let facts = life.engine().ledger().facts(session, Seq(1), 1000);
    let facts = life.run(facts).unwrap();
    let refused = facts.iter().filter_map(|fact| match &fact.event {
        Event::Observed(Observation::AnswerRefused(it)) => Some(it.refusal.clone()),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    refused.collect()
}

fn with_payload() -> ToolConfirmation {
    ToolConfirmation::confirmed().with_payload(json!({"limit": 5000}))
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

#[track_caller]
fn is_unasked<T: std::fmt::Debug>(answered: &Result<T, Error>) {
    let Err(Error::Refused(Rejection::UnfitAnswer(UnfitAnswer::InvalidPayload { problem }))) =
        answered
    else {
        panic!("{answered:?}");
    };
    assert!(problem.contains("asks for none"), "{problem}");
}

#[test]
fn unasked_payload_is_refused_at_every_door_of_an_engine() {
    let scene = scene(Agent::new().tools(transfer()));
    let (request, session) = (scene.request(), scene.live.session_id());
    let engine = scene.life.engine();
    is_unasked(
        &scene
            .life
            .run(engine.answer(request, with_payload(), ada())),
    );
    is_unasked(
        &scene
            .life
            .run(scene.live.answer(request, with_payload(), ada())),
    );
    let no = ToolConfirmation::denied("too much").with_payload(json!(1));
    is_unasked(&scene.life.run(engine.answer(request, no, ada())));
    for payload in [
        json!({"limit": 5000}),
        json!({"amount": 51, "to": "bob"}),
        json!(false),
    ] {
        let response = json!({"confirmed": true, "payload": payload});
        let message = json!({"functionResponse": {
            "id": request, "name": REQUEST_CONFIRMATION, "response": response,
        }});
        let message = message.to_string();
        let sent = scene.live.receive_client_message(ada(), &message);
        is_unasked(&scene.life.run(sent));
    }
    assert_eq!(scene.refusals(), ["invalid_payload"; 6]);
    assert_eq!(scene.request(), request, "it stays open");
    let Scene {
        journal,
        clock,
        life,
        live,
        ..
    } = scene;
    drop(live);
    life.end();

    let desk = Desk::new(Ledger::new(journal.clone()), clock.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    is_unasked(&runtime.block_on(desk.answer(request, with_payload(), ada())));
    let yes = desk.answer(request, ToolConfirmation::confirmed(), ada());
    runtime.block_on(yes).unwrap();
    let life = Life::begin(&journal, &clock, []);
    assert_eq!(refusals(&life, session).len(), 7);
}

#[test]
fn unasked_payload_of_a_provider_is_refused_on_record() {
    let provider = |_: ConfirmationRequest| async { with_payload() };
    let agent = Agent::new().tools(transfer());
    let scene = scene(agent.confirmation_provider(Arc::new(provider)));
    assert_eq!(scene.refusals(), ["invalid_payload"]);
    let request = scene.request();
    let yes = ToolConfirmation::confirmed();
    let answered = scene.life.engine().answer(request, yes, ada());
    scene.life.run(answered).unwrap();
}

#[tokio::test]
async fn unasked_payload_of_a_dispatchers_provider_runs_nothing() {
    let provider = |_: ConfirmationRequest| async { with_payload() };
    let mut tools = ToolDispatcher::new();
    tools.register(transfer()).unwrap();
    let tools = tools.with_confirmation_provider(Arc::new(provider));
    let called = tools.call_function("transfer", json!({"amount": 1})).await;
    assert!(
        matches!(&called, Err(ToolError::Cancelled(why)) if why.contains("asks for none")),
        "{called:?}"
    );
}

/// The request of a call in doubt accepts no payload, even if the tool's gate does.
#[test]
fn payload_for_a_doubt_is_refused() {
    let hangs = || {
        TypedTool::with_context("transfer", "Sends money", |_: Value, _: ToolContext| {
            std::future::pending()
        })
    };
    let mut policy = ToolPolicy {
        in_doubt: InDoubt::Ask,
        ..ToolPolicy::gate("Send it?")
    };
    policy.gate_terms.payload = Some(json!({"type": "object"}));
    let tool = || T::policy(hangs(), policy.clone());
    let scene = scene(Agent::new().tools(tool()));
    let (request, session) = (scene.request(), scene.live.session_id());
    let answered = scene.life.engine().answer(request, with_payload(), ada());
    scene.life.run(answered).unwrap();
    let Scene {
        journal,
        clock,
        model,
        life,
        ..
    } = scene;
    life.settle();
    life.crash();

    let agent = Agent::new().tools(tool()).model("m").connect_to(model);
    let life = Life::begin(&journal, &clock, [("bank", agent)]);
    life.settle();
    let doubt = life.run(life.engine().pending()).unwrap().remove(0).id;
    assert_ne!(doubt, request);
    for answer in [
        with_payload(),
        ToolConfirmation::settled_as_failed("no money").with_payload(json!(1)),
    ] {
        is_unasked(&life.run(life.engine().answer(doubt, answer, ada())));
    }
    assert_eq!(refusals(&life, session), ["invalid_payload"; 2]);
}
