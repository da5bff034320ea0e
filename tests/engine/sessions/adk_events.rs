//! The events that an ADK client sees of a session: each fact once, live and when the page is
//! loaded again.

use crate::surviving::SurvivingJournal;
use recount::adk;
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::testing::{Life, ManualClock, ScriptedModel};

struct Scene {
    life: Life,
    live: LiveHandle,
    model: ScriptedModel,
}

fn scene(agent: Agent) -> Scene {
    let model = ScriptedModel::parse("").unwrap();
    let agent = agent.model("m").connect_to(model.clone());
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let life = Life::begin(&journal, &clock, [("support", agent)]);
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    Scene { life, live, model }
}

impl Scene {
    fn says(&self, text: &str) {
        self.life.run(self.live.send_text(text)).unwrap();
        self.life.settle();
    }

    fn hears(&self, message: &ServerMessage) {
        self.model.send(message);
        self.life.settle();
    }

    fn calls(&self, id: &str, name: &str) {
        self.hears(&ServerMessage::tool_call([FunctionCall::new(
            id,
            name,
            json!({}),
        )]));
    }

    fn answers(&self, part: Value) {
        let by = Actor::embedder("ada");
        let message = part.to_string();
        let taken = self
            .life
            .run(self.live.receive_client_message(by, &message));
        taken.unwrap();
        self.life.settle();
    }

    fn events(&self) -> Vec<adk::Event> {
        let session = self.live.session_id();
        self.life
            .run(self.life.engine().adk_events(session))
            .unwrap()
    }

    /// The events in a few words each, without their ids and times.
    fn shown(&self) -> Vec<String> {
        self.events().iter().map(in_a_word).collect()
    }
}

fn in_a_word(event: &adk::Event) -> String {
    let event: Value = serde_json::from_str(&event.to_json()).unwrap();
    let mut words = vec![event["author"].as_str().unwrap().to_owned()];
    for part in event["content"]["parts"].as_array().into_iter().flatten() {
        if let Some(text) = part["text"].as_str() {
            words.push(format!("{text:?}"));
        }
        if let Some(call) = part.get("functionCall") {
            words.push(format!("{}()", call["name"].as_str().unwrap()));
        }
        if let Some(response) = part.get("functionResponse") {
            let scheduling = response["scheduling"].as_str().map(|it| format!(" {it}"));
            let (name, body) = (response["name"].as_str().unwrap(), &response["response"]);
            words.push(format!("{name}: {body}{}", scheduling.unwrap_or_default()));
        }
    }
    for (key, word) in [("turnComplete", "turn"), ("interrupted", "cut off")] {
        if event[key] == true {
            words.push(word.to_owned());
        }
    }
    let written = event["actions"]["stateDelta"].as_object().unwrap();
    words.extend(written.iter().map(|(key, value)| format!("{key}={value}")));
    words.join(" ")
}

#[test]
fn a_conversation_is_shown_in_the_order_in_which_it_was_heard() {
    let look = T::simple("look", "Looks", |_| async { Ok(json!({"sky": "clear"})) });
    let scene = scene(Agent::new().tools(look));
    scene.says("How is it?");
    scene.hears(&ServerMessage::text("Let me "));
    scene.hears(&ServerMessage::text("look."));
    scene.calls("c1", "look");
    scene.hears(&ServerMessage::text("It is clear."));
    scene.hears(&ServerMessage::turn_complete());
    scene.says("Thanks.");
    let expected = [
        r#"user "How is it?""#,
        r#"support "Let me look.""#,
        "support look()",
        r#"support look: {"sky":"clear"}"#,
        r#"support "It is clear." turn"#,
        r#"user "Thanks.""#,
    ];
    assert_eq!(scene.shown(), expected);
    let events = scene.events();
    let turns: Vec<&str> = events.iter().map(|it| it.invocation_id.as_str()).collect();
    assert!(turns[..5].iter().all(|turn| *turn == turns[0]));
    assert_ne!(turns[5], turns[0]);
    let ids: std::collections::BTreeSet<&str> = events.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), events.len());
}

#[test]
fn a_long_running_call_pauses_and_its_result_is_shown_once() {
    let ask = T::simple("ask", "Asks", |_| async { Ok(json!({"ticket": "T-1"})) });
    let scene = scene(Agent::new().tools(T::long_running(ask)));
    scene.calls("c1", "ask");
    let called = scene.events().remove(0);
    assert_eq!(called.long_running_tool_ids, Some(vec!["c1".to_owned()]));
    assert!(called.should_pause());
    scene.says("And now?");
    scene.answers(json!({"functionResponse": {"id": "c1", "name": "ask",
        "response": {"status": "approved"}}}));
    let expected = [
        "support ask()",
        r#"support ask: {"ticket":"T-1"}"#,
        r#"user "And now?""#,
        r#"user ask: {"status":"approved"}"#,
    ];
    assert_eq!(scene.shown(), expected);
    let events = scene.events();
    assert_eq!(
        events[3].invocation_id, called.invocation_id,
        "it belongs to the turn of its call"
    );
    assert_ne!(events[2].invocation_id, called.invocation_id);
}

#[test]
fn value_removed_by_hook_is_not_shown_to_client() {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"card": "4111"})) });
    let agent = Agent::new()
        .tools(T::confirm(pay, "Pay?"))
        .before_tool_response(|responses, _| async move {
            let hidden = |mut it: FunctionResponse| {
                it.response = json!({"withheld": true});
                it
            };
            responses.into_iter().map(hidden).collect()
        });
    let scene = scene(agent);
    for (call, confirmed) in [("c1", false), ("c2", true)] {
        scene.calls(call, "pay");
        let events = scene.events();
        let asked = events.iter().rev().flat_map(|it| it.calls()).next();
        let id = asked.unwrap().id.clone();
        let response = json!({"confirmed": confirmed, "reason": "as I say"});
        scene.answers(
            json!({"functionResponse": {"id": id, "name": "adk_request_confirmation",
            "response": response}}),
        );
    }
    let shown = scene.shown();
    let expected = [
        "support pay()",
        "support adk_request_confirmation()",
        r#"support pay: {"withheld":true}"#,
        r#"user adk_request_confirmation: {"confirmed":false,"reason":"as I say"}"#,
        r#"support pay: {"withheld":true}"#,
        "support pay()",
        "support adk_request_confirmation()",
        r#"support pay: {"withheld":true}"#,
        r#"user adk_request_confirmation: {"confirmed":true,"reason":"as I say"}"#,
        r#"support pay: {"withheld":true}"#,
    ];
    assert_eq!(shown, expected);
}

#[test]
fn adk_events_show_scheduling_and_state_writes() {
    let search = T::simple("search", "Searches", |_| async { Ok(json!({"found": 3})) });
    let scene = scene(Agent::new().tools(T::background(search)));
    scene.calls("c1", "search");
    let by = Actor::embedder("ada");
    let written = scene.live.change_state(by, |state| {
        state.set("agreed", true);
    });
    scene.life.run(written).unwrap();
    let expected = [
        "support search()",
        r#"support search: {"status":"running","tool":"search"}"#,
        r#"support search: {"result":{"found":3},"status":"completed","tool":"search"} WHEN_IDLE"#,
        "support agreed=true",
    ];
    assert_eq!(scene.shown(), expected);
}

#[test]
fn event_stream_ends_when_session_has_no_task() {
    let look = T::simple("look", "Looks", |_| async { Ok(json!({})) });
    let scene = scene(Agent::new().tools(look));
    scene.says("before");
    let mut events = scene.live.adk_events();
    let mut next = || {
        scene
            .life
            .run(events.next())
            .unwrap()
            .map(|it| in_a_word(&it))
    };
    assert_eq!(next().as_deref(), Some("user \"before\""));
    scene.calls("c1", "look");
    assert_eq!(next().as_deref(), Some("support look()"));
    assert_eq!(next().as_deref(), Some("support look: {}"));
    scene.says("after");
    let closed = scene.live.close("done", Actor::embedder("ada"));
    scene.life.run(closed).unwrap();
    let engine = scene.life.engine().clone();
    assert_eq!(next().as_deref(), Some("user \"after\""));
    scene
        .life
        .run(engine.shutdown(std::time::Duration::ZERO))
        .unwrap();
    assert_eq!(next(), None);
}
