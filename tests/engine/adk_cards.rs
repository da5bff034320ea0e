//! The cards that an ADK client shows: each card ends, and a stock client can answer each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::adk::{self, REQUEST_CONFIRMATION};
use recount::engine::{AdkPosition, Error, Received};
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::session::policy::ToolPolicy;
use recount::session::{Event, Observation, Rejection, Seq, UnfitAnswer};
use recount::testing::{Life, ManualClock, ScriptedModel};

struct Scene {
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    life: Life,
    live: LiveHandle,
}

fn scene(tools: impl Into<Toolset>) -> Scene {
    scene_of(Agent::new().model("m").tools(tools))
}

fn scene_of(agent: Agent) -> Scene {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse("").unwrap();
    let agent = agent.connect_to(model.clone());
    let life = Life::begin(&journal, &clock, [("bank", agent)]);
    let live = life.run(life.engine().session("bank").connect()).unwrap();
    Scene {
        clock,
        model,
        life,
        live,
    }
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

impl Scene {
    fn hears(&self, message: &ServerMessage) {
        self.model.send(message);
        self.life.settle();
    }

    fn calls(&self, id: &str, name: &str, args: Value) {
        let call = FunctionCall::new(id, name, args);
        self.hears(&ServerMessage::tool_call([call]));
    }

    fn events(&self) -> Vec<Value> {
        let session = self.live.session_id();
        let events = self.life.run(self.life.engine().adk_events(session));
        let json = |it: &adk::Event| serde_json::from_str(&it.to_json()).unwrap();
        events.unwrap().iter().map(json).collect()
    }

    /// The open cards of a client that loads the page now: long-running calls without a final
    /// response.
    fn open_cards(&self) -> BTreeSet<String> {
        let mut open = BTreeSet::new();
        for event in self.events() {
            let ids = event["longRunningToolIds"].as_array().into_iter().flatten();
            open.extend(ids.map(|id| id.as_str().unwrap().to_owned()));
            for response in responses(&event) {
                open.remove(response["id"].as_str().unwrap());
            }
        }
        open
    }

    /// The calls without a response, by id.
    fn unanswered(&self) -> BTreeSet<String> {
        let (events, mut open) = (self.events(), BTreeSet::new());
        for event in &events {
            let calls = parts(event).filter_map(|part| part["functionCall"]["id"].as_str());
            open.extend(calls.map(str::to_owned));
            for response in responses(event) {
                open.remove(response["id"].as_str().unwrap());
            }
        }
        open
    }

    /// The responses to the call with this id.
    fn responses_to(&self, id: &str) -> Vec<Value> {
        let events = self.events();
        let of_call = events
            .iter()
            .flat_map(responses)
            .filter(|it| it["id"] == id);
        of_call.map(|it| it["response"].clone()).collect()
    }

    /// The id and the arguments of the newest confirmation call.
    fn card(&self) -> (String, Value) {
        let events = self.events();
        let parts = events.iter().rev().flat_map(parts);
        let mut calls = parts.filter_map(|part| part.get("functionCall").cloned());
        let card = calls.find(|it| it["name"] == REQUEST_CONFIRMATION);
        let mut card = card.unwrap();
        (card["id"].as_str().unwrap().to_owned(), card["args"].take())
    }

    fn sends(&self, id: &str, name: &str, response: Value) -> Result<Vec<Received>, Error> {
        let part = json!({"functionResponse": {"id": id, "name": name, "response": response}});
        let message = json!({"role": "user", "parts": [part]}).to_string();
        let sent = self.live.receive_client_message(ada(), &message);
        let taken = self.life.run(sent);
        self.life.settle();
        taken
    }

    /// Presses the button of ADK's own web page.
    ///
    /// It sends the payload of the card, or else the arguments of the call.
    fn presses(&self, confirmed: bool) -> Result<Vec<Received>, Error> {
        let (id, card) = self.card();
        let shown = &card["toolConfirmation"]["payload"];
        let args = &card["originalFunctionCall"]["args"];
        let payload = if shown.is_null() { args } else { shown };
        let answer = json!({"confirmed": confirmed, "payload": payload});
        self.sends(&id, REQUEST_CONFIRMATION, answer)
    }

    /// The events, each read by a new client that starts at the last client's position.
    fn read_one_by_one(&self) -> Vec<Value> {
        let (mut read, mut position) = (Vec::new(), AdkPosition::START);
        for _ in self.events() {
            let mut events = self.live.adk_events_from(position);
            let event = self.life.run(events.next()).unwrap().unwrap();
            read.push(serde_json::from_str(&event.to_json()).unwrap());
            position = events.position().to_string().parse().unwrap();
        }
        let rest = self
            .life
            .engine()
            .adk_events_from(self.live.session_id(), position);
        assert_eq!(self.life.run(rest).unwrap().events, []);
        read
    }

    fn given(&self) -> Vec<Option<Value>> {
        let session = self.live.session_id();
        let facts = self.life.engine().ledger().facts(session, Seq(1), 1000);
        let facts = self.life.run(facts).unwrap();
        let answers = facts.iter().filter_map(|fact| match &fact.event {
            Event::Observed(Observation::ConfirmationAnswered(it)) => Some(it.payload.as_ref()),
            Event::Observed(_) | Event::Decided(_) => None,
        });
        answers.map(|it| it.map(|it| it.to_value())).collect()
    }
}

fn parts(event: &Value) -> impl Iterator<Item = &Value> {
    event["content"]["parts"].as_array().into_iter().flatten()
}

fn responses(event: &Value) -> impl Iterator<Item = &Value> {
    parts(event).filter_map(|part| part.get("functionResponse"))
}

fn plain(name: &str) -> Toolset {
    T::simple(name, "Does it", |_| async { Ok(json!({"status": "ok"})) })
}

fn paused(name: &str) -> Toolset {
    T::long_running(T::simple(name, "Asks", |_| async { Ok(Value::Null) }))
}

#[test]
fn card_ends_where_the_model_cancels() {
    let gated = T::withdraw_on_cancel(T::confirm(plain("pay"), "Pay?"));
    let scene = scene(gated | T::withdraw_on_cancel(paused("ask")));
    scene.calls("c1", "pay", json!({}));
    scene.calls("c2", "ask", json!({}));
    let (request, _) = scene.card();
    let open = BTreeSet::from([request.clone(), "c2".to_owned()]);
    assert_eq!(scene.open_cards(), open);
    scene.hears(&ServerMessage::cancel(["c1", "c2"]));
    assert_eq!(scene.open_cards(), BTreeSet::new());
    let events = scene.events();
    let ended: Vec<_> = events.iter().flat_map(responses).collect();
    let of = |id: &str| *ended.iter().rfind(|it| it["id"] == id).unwrap();
    assert_eq!(of(&request)["name"], REQUEST_CONFIRMATION);
    assert_eq!(of(&request)["response"]["confirmed"], false);
    assert_eq!(of(&request)["response"]["status"], "withdrawn");
    for call in ["c1", "c2"] {
        let told = of(call)["response"]["error"].as_str().unwrap();
        assert!(told.contains("the model"), "{told}");
    }
    let is_last = |it: &&Value| responses(it).any(|it| it["id"] == "c1");
    let last = events.iter().rfind(is_last).unwrap();
    assert_eq!(last["author"], "bank", "no user said so");
    assert_eq!(last["invocationId"], events[0]["invocationId"]);
}

#[test]
fn card_ends_where_the_session_closes() {
    let scene = scene(T::confirm(plain("pay"), "Pay?") | paused("ask"));
    scene.calls("c1", "pay", json!({}));
    scene.calls("c2", "ask", json!({}));
    let mut events = scene.live.adk_events();
    assert_eq!(scene.open_cards().len(), 2);
    scene.life.run(scene.live.close("done", ada())).unwrap();
    scene.life.settle();
    assert_eq!(scene.open_cards(), BTreeSet::new());
    let shutdown = scene.life.engine().shutdown(Duration::ZERO);
    scene.life.run(shutdown).unwrap();
    let mut followed = Vec::new();
    while let Some(event) = scene.life.run(events.next()).unwrap() {
        followed.push(serde_json::from_str::<Value>(&event.to_json()).unwrap());
    }
    assert_eq!(
        followed,
        scene.events(),
        "a client that follows sees it, too"
    );
}

#[test]
fn card_ends_where_its_time_is_up() {
    let mut policy = ToolPolicy::gate("Pay?");
    policy.gate_terms.expires_after = Some(Duration::from_secs(60));
    let scene = scene(T::policy(plain("pay"), policy));
    scene.calls("c1", "pay", json!({}));
    let (request, _) = scene.card();
    scene.clock.advance(Duration::from_secs(61));
    scene.life.settle();
    assert_eq!(scene.open_cards(), BTreeSet::new());
    let events = scene.events();
    let mut ended = events.iter().flat_map(responses);
    let ended = ended.find(|it| it["id"] == request).unwrap();
    assert_eq!(ended["response"]["status"], "expired");
}

/// If the tool has changed, a new request is asked and the first card is void.
#[test]
fn card_ends_where_the_question_is_asked_anew() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse("").unwrap();
    let begin = |tool: Toolset| {
        let agent = Agent::new().model("m").tools(T::confirm(tool, "Pay?"));
        let agent = agent.connect_to(model.clone());
        Life::begin(&journal, &clock, [("bank", agent)])
    };
    let life = begin(plain("pay"));
    let live = life.run(life.engine().session("bank").connect()).unwrap();
    model.send(&ServerMessage::tool_call([FunctionCall::new(
        "c1",
        "pay",
        json!({}),
    )]));
    life.settle();
    let session = live.session_id();
    drop(live);
    life.end();

    let takes = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let other = T::simple_with("pay", "Pays", takes, |args| async move { Ok(args) });
    let life = begin(other);
    let live = life.run(life.engine().resume(session)).unwrap();
    life.settle();
    let scene = Scene {
        clock: clock.clone(),
        model: model.clone(),
        life,
        live,
    };
    let (request, _) = scene.card();
    assert_eq!(scene.open_cards(), BTreeSet::from([request]));
    assert_eq!(scene.read_one_by_one(), scene.events());
}

fn leave(schema: Value) -> Toolset {
    let leave = TypedTool::with_context(
        "leave",
        "Asks for days off",
        |_: Value, _: ToolContext| async { Ok(json!({})) },
    );
    T::confirm_payload(T::confirm(leave, "How many days?"), schema)
}

fn days(days: Value) -> Value {
    json!({"type": "object", "required": ["days"], "properties": {"days": days}})
}

#[test]
fn stock_client_answers_a_gate_with_a_payload_schema() {
    let schema = days(json!({"type": "integer"}));
    let scene = scene(leave(schema.clone()));
    scene.calls("c1", "leave", json!({"from": "Monday", "n": 5}));
    let (_, card) = scene.card();
    assert_eq!(card["toolConfirmation"]["payload"], json!({"days": 0}));
    assert_eq!(card["toolConfirmation"]["payloadSchema"], schema);
    let events = scene.events();
    let mut asked = events
        .iter()
        .map(|it| &it["actions"]["requestedToolConfirmations"]["c1"]);
    let asked = asked.find(|it| !it.is_null()).unwrap();
    assert_eq!(*asked, card["toolConfirmation"]);
    scene.presses(true).unwrap();
    assert_eq!(scene.given(), [Some(json!({"days": 0}))]);
    assert_eq!(scene.open_cards(), BTreeSet::new());
}

#[test]
fn bare_yes_stands_for_the_defaults_that_were_shown() {
    let scene = scene(leave(days(json!({"type": "integer", "default": 3}))));
    scene.calls("c1", "leave", json!({}));
    let (id, card) = scene.card();
    assert_eq!(card["toolConfirmation"]["payload"], json!({"days": 3}));
    let yes = json!({"confirmed": true});
    scene.sends(&id, REQUEST_CONFIRMATION, yes).unwrap();
    assert_eq!(scene.given(), [Some(json!({"days": 3}))]);
}

/// A bare yes cannot fill in a value for which the tool declares no default.
#[test]
fn bare_yes_without_defaults_is_refused_and_says_why() {
    let scene = scene(leave(days(json!({"type": "integer", "minimum": 1}))));
    scene.calls("c1", "leave", json!({}));
    let (id, _) = scene.card();
    for answer in [
        json!({"confirmed": true}),
        json!({"confirmed": true, "payload": null}),
        json!({"confirmed": true, "payload": {"days": 0}}),
    ] {
        let refused = scene.sends(&id, REQUEST_CONFIRMATION, answer);
        assert!(
            matches!(
                refused,
                Err(Error::Refused(Rejection::UnfitAnswer(
                    UnfitAnswer::InvalidPayload { .. }
                )))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(scene.open_cards(), BTreeSet::from([id.clone()]));
    let edited = json!({"confirmed": true, "payload": {"days": 2}});
    scene.sends(&id, REQUEST_CONFIRMATION, edited).unwrap();
    assert_eq!(scene.given(), [Some(json!({"days": 2}))]);
}

/// The payload then holds the call's arguments, as JavaScript writes them.
#[test]
fn stock_client_answers_a_gate_that_asks_for_no_payload() {
    for confirmed in [true, false] {
        let scene = scene(T::confirm(plain("pay"), "Pay?"));
        let call = r#"{"toolCall":{"functionCalls":[{"id":"c1","name":"pay",
            "args":{"to":"bob","n":1.0,"id":18446744073709551615}}]}}"#;
        scene.hears(&ServerMessage::decode(call).unwrap());
        let (id, card) = scene.card();
        assert_eq!(card["toolConfirmation"].get("payload"), None);
        let args = json!({"to": "bob", "n": 1, "id": 18446744073709551615.0});
        let answer = json!({"confirmed": confirmed, "payload": args});
        scene.sends(&id, REQUEST_CONFIRMATION, answer).unwrap();
        assert_eq!(scene.given(), [None]);
    }
}

/// An ADK client recognizes the progress of a long-running call by its status, without
/// `willContinue`.
#[test]
fn status_that_a_tool_declares_is_interim() {
    let scene = scene(T::interim_status(paused("ship")) | paused("ask"));
    scene.calls("c1", "ship", json!({}));
    scene.calls("c2", "ask", json!({}));
    let open = || scene.life.run(scene.live.paused()).unwrap().len();
    for status in ["pending", "in_progress"] {
        let news = json!({"status": status, "packed": 3});
        scene.sends("c1", "ship", news).unwrap();
        assert_eq!(open(), 2, "{status}");
    }
    let ticket = scene.life.run(scene.live.paused()).unwrap();
    let ticket = Ticket::from(ticket.iter().find(|it| it.tool == "ship").unwrap());
    let news = json!({"status": "pending"});
    let news = scene.live.respond(&ticket, news, ada());
    scene.life.run(news).unwrap();
    assert_eq!(open(), 2, "at every door");
    let pending = || json!({"status": "pending"});
    scene.sends("c2", "ask", pending()).unwrap();
    assert_eq!(open(), 1, "where it is not declared, it is the result");
    let shipped = json!({"status": "shipped", "was": pending()});
    scene.sends("c1", "ship", shipped).unwrap();
    assert_eq!(open(), 0);
    let late = scene.sends("c1", "ship", pending());
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
}

/// A policy in an operator's file also holds for a tool from another source.
#[test]
fn status_is_interim_where_a_policy_file_says_so() {
    let file = "[tools.ship]\ninterim_status = true\n";
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse("").unwrap();
    let agent = Agent::new().model("m").tools(paused("ship"));
    let agent = agent
        .policies(recount::tool::policy_file::parse(file).unwrap())
        .connect_to(model.clone());
    let life = Life::begin(&journal, &clock, [("bank", agent)]);
    let live = life.run(life.engine().session("bank").connect()).unwrap();
    let scene = Scene {
        clock,
        model,
        life,
        live,
    };
    scene.calls("c1", "ship", json!({}));
    scene
        .sends("c1", "ship", json!({"status": "pending"}))
        .unwrap();
    assert_eq!(scene.life.run(scene.live.paused()).unwrap().len(), 1);
}

#[test]
fn events_are_read_on_from_a_position() {
    let scene = scene(plain("look"));
    scene.calls("c1", "look", json!({}));
    let (engine, session) = (scene.life.engine(), scene.live.session_id());
    let page = scene
        .life
        .run(engine.adk_events_from(session, AdkPosition::START));
    let first = page.unwrap();
    scene.calls("c2", "look", json!({}));
    let more = scene
        .life
        .run(engine.adk_events_from(session, first.next))
        .unwrap();
    let all = scene.life.run(engine.adk_events(session)).unwrap();
    assert_eq!([first.events, more.events].concat(), all);
    assert_eq!(scene.read_one_by_one(), scene.events());
    let beyond = "18446744073709551615.4294967295".parse().unwrap();
    let none = scene
        .life
        .run(engine.adk_events_from(session, beyond))
        .unwrap();
    assert_eq!((none.events, none.next), (Vec::new(), beyond));
}

/// A second card would have an id of its own, which nothing ends.
#[test]
fn call_delivered_twice_has_one_card() {
    let scene = scene(paused("ask"));
    let cards = || {
        let events = scene.events();
        let calls = events.iter().flat_map(parts);
        calls.filter(|it| it.get("functionCall").is_some()).count()
    };
    for again in ["while it is open", "after its end"] {
        scene.calls("c2", "ask", json!({}));
        scene.calls("c2", "ask", json!({}));
        assert_eq!(cards(), 1, "{again}");
        if scene.unanswered().contains("c2") {
            scene.sends("c2", "ask", json!({"a": 1})).unwrap();
        }
        assert_eq!(scene.unanswered(), BTreeSet::new(), "{again}");
    }
    assert_eq!(scene.responses_to("c2"), [json!({"a": 1})]);
    assert_eq!(scene.read_one_by_one(), scene.events());
}

/// The content of a response that the hook has not seen is not shown.
#[test]
fn close_ends_a_call_whose_response_waits_for_the_hook() {
    let agent = Agent::new()
        .model("m")
        .tools(T::confirm(plain("pay"), "Pay?"));
    let scene = scene_of(agent.before_tool_response(|_, _| std::future::pending()));
    scene.calls("c1", "pay", json!({}));
    let (card, _) = scene.card();
    scene.presses(false).unwrap();
    assert_eq!(scene.unanswered(), BTreeSet::from(["c1".to_owned()]));
    scene.life.run(scene.live.close("done", ada())).unwrap();
    scene.life.settle();
    assert_eq!(scene.unanswered(), BTreeSet::new());
    let withheld = json!({"kind": "withheld", "error": "the response was withheld"});
    assert_eq!(scene.responses_to("c1"), [withheld]);
    assert_eq!(scene.responses_to(&card).len(), 1);
    assert_eq!(scene.read_one_by_one(), scene.events());
}

/// The model then receives the response as issued, and so does the client.
#[test]
fn response_is_shown_once_the_agent_has_no_hook() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse("").unwrap();
    let agent = || {
        Agent::new()
            .model("m")
            .tools(T::confirm(plain("pay"), "Pay?"))
    };
    let begin = |agent: Agent| {
        let agent = agent.connect_to(model.clone());
        Life::begin(&journal, &clock, [("bank", agent)])
    };
    let life = begin(agent().before_tool_response(|_, _| std::future::pending()));
    let live = life.run(life.engine().session("bank").connect()).unwrap();
    let scene = |life: Life, live: LiveHandle| Scene {
        clock: clock.clone(),
        model: model.clone(),
        life,
        live,
    };
    let first = scene(life, live);
    first.calls("c1", "pay", json!({}));
    first.presses(false).unwrap();
    assert_eq!(first.responses_to("c1"), [] as [Value; 0]);
    let Scene { life, live, .. } = first;
    let session = live.session_id();
    drop(live);
    life.crash();

    let life = begin(agent());
    let live = life.run(life.engine().resume(session)).unwrap();
    life.settle();
    let second = scene(life, live);
    let shown = second.responses_to("c1");
    let error = shown.first().and_then(|it| it["error"].as_str());
    assert!(
        shown.len() == 1 && error.is_some_and(|it| it.contains("denied")),
        "{shown:?}"
    );
    assert_eq!(second.unanswered(), BTreeSet::new());
}

#[test]
fn response_of_the_hook_for_calls_is_shown() {
    let agent = Agent::new().model("m").tools(plain("look"));
    let scene = scene_of(agent.on_tool_call(|calls, _| async move {
        let respond = |it: &recount::tool::FunctionCall| FunctionResponse {
            id: it.id.clone(),
            name: it.name.clone(),
            response: json!({"seen": true}),
        };
        Some(calls.iter().map(respond).collect())
    }));
    scene.calls("c1", "look", json!({}));
    assert_eq!(scene.responses_to("c1"), [json!({"seen": true})]);
}
