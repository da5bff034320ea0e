//! Every entry point for JSON, as the schema of the events lists them.
//!
//! JSON that no record can carry costs one call or one command, and never the session.

mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use recount::prelude::*;
use recount::session::{Observation, event_schema};

use self::world::{BAD_KINDS, World, deep};

/// The fields of observations that carry any JSON, as paths of member names:
/// `state_changed.changes.value`.
fn fields_of_any_json() -> BTreeSet<String> {
    let schema = event_schema();
    let mut found = BTreeSet::new();
    for kind in Observation::KINDS {
        let body = &schema["$defs"][*kind];
        walk(&schema, body, kind.to_string(), &mut found);
    }
    found
}

fn walk(whole: &Value, schema: &Value, path: String, found: &mut BTreeSet<String>) {
    let is_any = match schema {
        Value::Bool(any) => *any,
        Value::Object(keywords) => keywords
            .keys()
            .all(|it| it == "description" || it == "default"),
        _ => false,
    };
    if is_any {
        found.insert(path);
        return;
    }
    if let Some(named) = schema["$ref"].as_str() {
        let named = whole.pointer(named.trim_start_matches('#')).unwrap();
        return walk(whole, named, path, found);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        walk(whole, member, format!("{path}.{name}"), found);
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        for one in schema[several].as_array().into_iter().flatten() {
            walk(whole, one, path.clone(), found);
        }
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            walk(whole, &schema[inner], path.clone(), found);
        }
    }
}

#[test]
fn unfit_json_at_any_entrance_leaves_the_session_alive() {
    let fields = fields_of_any_json();
    assert!(fields.len() >= 18, "{fields:?}");
    for field in &fields {
        for (bad, words) in BAD_KINDS {
            let told = World::enters(field, &bad());
            // Some entry points have no caller that gets an error.
            if let Some(told) = told {
                assert!(told.contains(words), "{field} {words}: {told}");
            }
        }
    }
}

#[test]
fn actor_too_large_for_a_refusal_is_only_refused() {
    let world = World::new(&Value::Null);
    world.calls("pay", json!({}));
    let pending = world.life.run(world.life.engine().pending()).unwrap();
    let answer = ToolConfirmation::confirmed();
    let by = Actor::embedder("x".repeat(5 << 20));
    let refused = world.life.engine().answer(pending[0].id, answer, by);
    assert!(world.life.run(refused).is_err());
    world.is_alive("the actor");
}

#[test]
fn opening_that_no_record_carries_is_refused() {
    let world = World::new(&Value::Null);
    let open = || world.life.engine().session("a");
    let large = || "x".repeat(5 << 20);
    for session in [
        open().label("tenant", large()),
        open().external_id(large()),
        open().on_behalf_of(large()),
    ] {
        let error = world.life.run(session.open()).unwrap_err().to_string();
        assert!(error.contains("bytes on record"), "{error}");
    }
    assert_eq!(
        world
            .life
            .run(world.life.engine().sessions())
            .unwrap()
            .len(),
        1
    );
}

/// A formatter that returns this value for a call that waits.
struct Awaits(Value);

impl ResultFormatter for Awaits {
    fn format_running(&self, _: &FunctionCall) -> Value {
        json!({})
    }
    fn format_awaiting(&self, _: &str) -> Value {
        self.0.clone()
    }
    fn format_result(&self, _: &FunctionCall, _: Result<Value, ToolError>) -> Value {
        json!({})
    }
    fn format_cancelled(&self, _: &str) -> Value {
        json!({})
    }
}

#[test]
fn policy_that_no_decision_could_repeat_is_a_mistake() {
    let pay = || T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let deep = || deep(65, json!(1));
    let large = || "x".repeat(5 << 20);
    let words = ToolExecutionMode::Background {
        formatter: Some(Arc::new(Awaits(deep()))),
        scheduling: None,
    };
    let agents = [
        Agent::new().tools(T::confirm(pay(), large())),
        Agent::new().tools(T::confirm_payload(
            T::confirm(
                TypedTool::with_context("pay", "Pays", |_: Value, _: ToolContext| async {
                    Ok(json!({}))
                }),
                "?",
            ),
            json!({"const": deep()}),
        )),
        Agent::new().tools(T::acknowledge(T::confirm(pay(), "?"), deep())),
        Agent::new()
            .tools(T::confirm(pay(), "?"))
            .tool_execution_mode("pay", words),
        Agent::new()
            .tools(pay())
            .phase("a")
            .transition("a", S::equals("k", deep()))
            .done(),
    ];
    for (index, agent) in agents.into_iter().enumerate() {
        let engine = Engine::in_memory().agent("a", agent.model("m")).open();
        let opened = recount::journal::block_on(engine);
        let Err(error) = opened else {
            panic!("{index} is opened");
        };
        let error = error.to_string();
        assert!(error.contains("record"), "{index}: {error}");
    }
}

/// Each value fits alone, but the verdict on a call repeats both.
#[test]
fn state_too_large_for_a_verdict_is_refused() {
    let world = World::reading(["one", "two"]);
    let by = || Actor::embedder("ada");
    let writes = |key: &'static str| {
        let write = move |state: &State| state.set(key, "x".repeat(2 << 20));
        world.life.run(world.live.change_state(by(), write))
    };
    assert!(writes("one").is_ok());
    let refused = writes("two").unwrap_err().to_string();
    assert!(refused.contains("bytes on record"), "{refused}");
    world.is_alive("a state of two large values");
}

#[test]
fn sealing_that_nests_too_deep_refuses_the_call() {
    // The secret is at the last allowed level, and its sealed form nests one level deeper.
    let world = World::sealing(&"/a".repeat(64));
    let args = (0..64).fold(json!("4711"), |inner, _| json!({ "a": inner }));
    world.calls("secret", args);
    world.is_alive("a sealed argument");
    assert!(
        world.record().contains("not to be recorded"),
        "{}",
        world.record()
    );
}
