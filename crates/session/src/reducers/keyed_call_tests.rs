use serde_json::{Value, json};

use crate::testing::{History, history, toolbox};
use crate::*;

const KEY: &str = "refund-of-order-7";

fn support() -> History {
    let tools = toolbox().plain("look").gated("pay");
    history().opened("support").attached(&tools)
}

fn call_of(key: &str, name: &str, args: &str) -> FunctionCallReceived {
    FunctionCallReceived {
        epoch: Seq(0),
        id: None,
        name: Some(name.to_owned()),
        args: Json::parse(args).ok(),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: Some(Actor::embedder("pipeline")),
        parent: None,
        beyond_max: None,
        key: Some(key.to_owned()),
    }
}

fn starts(history: &History) -> usize {
    let kinds = history.kinds();
    kinds.iter().filter(|it| **it == "call_started").count()
}

#[test]
fn same_key_is_same_call_while_it_runs_and_after() {
    let called = support().keyed_call(KEY, "look", json!({"n": 1})).started();
    let call = called.call_seq();
    let again = called.keyed_call(KEY, "look", json!({"n": 1}));
    assert_eq!((again.call_seq(), starts(&again)), (call, 1));
    let ended = again.returned(json!({"found": 1}));
    let late = ended.keyed_call(KEY, "look", json!({"n": 1}));
    assert_eq!(starts(&late), 1);
    assert_eq!(late.session().settled.len(), 1);
    assert_eq!(
        late.kinds().last(),
        Some(&"function_call_received"),
        "nothing follows from a repeated call"
    );
}

#[test]
fn earlier_call_compares_tool_and_canonical_arguments() {
    let args = r#"{"a":1,"b":{"x":[1],"y":2}}"#;
    let called = support().keyed_call(KEY, "look", json!({"a": 1, "b": {"x": [1], "y": 2}}));
    let (session, call) = (called.session(), called.call_seq());
    let asked = |key: &str, name: &str, args: &str| {
        let known = earlier_call(session, &call_of(key, name, args));
        known.map_err(|it| it.code())
    };
    assert_eq!(asked(KEY, "look", args), Ok(Some(call)));
    let reordered = r#"{"b":{"y":2,"x":[1]},"a":1}"#;
    assert_eq!(asked(KEY, "look", reordered), Ok(Some(call)));
    assert_eq!(asked("another", "pay", "{}"), Ok(None));
    for (name, args) in [
        ("pay", args),
        ("look", "{}"),
        ("look", r#"{"a":1.0,"b":{"x":[1],"y":2}}"#),
    ] {
        assert_eq!(asked(KEY, name, args), Err("key_reused"), "{name} {args}");
    }
    let unkeyed = FunctionCallReceived {
        key: None,
        ..call_of(KEY, "look", "{}")
    };
    assert_eq!(earlier_call(session, &unkeyed), Ok(None));
}

#[test]
fn key_takes_one_to_two_hundred_bytes() {
    let support = support();
    let asked = |key: &str| earlier_call(support.session(), &call_of(key, "look", "{}"));
    assert_eq!(asked(&"k".repeat(KEY_BYTES_MAX)), Ok(None));
    for key in [String::new(), "k".repeat(KEY_BYTES_MAX + 1)] {
        let bytes = key.len();
        assert_eq!(asked(&key), Err(Rejection::UnfitKey { bytes }));
    }
}

#[test]
fn recorded_call_under_a_known_key_changes_nothing() {
    let called = support().keyed_call(KEY, "look", json!({})).started();
    let before = called.session().calls.clone();
    // The engine refuses it. A record of it must not run anything either.
    let other = called.keyed_call(KEY, "pay", json!({}));
    assert_eq!(other.session().calls, before);
    assert_eq!(other.kinds().last(), Some(&"function_call_received"));
}

#[test]
fn sealed_argument_is_compared_in_its_sealed_form() {
    let sealed = |seal: &str| {
        let args = format!(r#"{{"card":{{"$sealed":"{seal}"}}}}"#);
        let sealed_args = vec!["/card".to_owned()];
        FunctionCallReceived {
            sealed_args,
            ..call_of(KEY, "look", &args)
        }
    };
    let called = support().keys_allowed().observed(sealed("v1.aa"));
    let known = earlier_call(called.session(), &sealed("v1.aa"));
    assert_eq!(known, Ok(Some(called.call_seq())));
    let other = earlier_call(called.session(), &sealed("v1.bb"));
    assert_eq!(other.map_err(|it| it.code()), Err("key_reused"));
}

#[test]
fn only_program_calls_have_keys() {
    let of_model = FunctionCallReceived {
        by: None,
        ..call_of(KEY, "look", "{}")
    };
    let twice = support()
        .connected()
        .observed(of_model.clone())
        .observed(of_model);
    assert_eq!(twice.session().calls.len(), 2);
}

#[test]
fn session_with_keys_stays_at_rules_2() {
    let terms = |history: &History| {
        let Terms {
            catalog, policies, ..
        } = &history.session().terms;
        history.session().rules_needed(catalog, policies)
    };
    assert_eq!(terms(&support()), RULES_MIN);
    let keyed = support().keyed_call(KEY, "look", json!({}));
    assert_eq!(keyed.session().rules, RULES_OF_KEYS);
    assert_eq!(terms(&keyed), RULES_OF_KEYS);
}

#[test]
fn keyed_call_ends_like_any_other() {
    let denied = support().keyed_call(KEY, "pay", json!({})).asked();
    let denied = denied.denied("ada", None);
    let settled = denied.session().settled.get(&denied.call_seq());
    assert_eq!(settled.map(|it| it.outcome), Some(Outcome::Denied));
    let again = denied.keyed_call(KEY, "pay", Value::Object(Default::default()));
    assert!(again.session().calls.is_empty());
}

#[test]
fn program_driven_session_owes_no_connection() {
    let tools = toolbox().plain("look").gated("pay").streaming("watch");
    let tools = tools.on_settled(OnSettled::Connect);
    let support = history().opened("support").attached(&tools);
    let kinds = |effects: Vec<Effect>| {
        let is_of_a_connection = |it: &Effect| {
            matches!(
                it,
                Effect::Connect | Effect::SendResponse { .. } | Effect::SendInstruction { .. }
            )
        };
        effects.into_iter().any(|it| is_of_a_connection(&it))
    };
    let watches = support.program_call("watch", json!({})).yielded(json!({}));
    assert!(!kinds(owed(watches.session())));
    let returned = watches.returned(json!({}));
    let refused = returned.program_call("unknown", json!({}));
    let asked = refused.program_call("pay", json!({})).asked();
    let cut_off = asked.granted("ada").started().detached();
    let attached = cut_off.attached(&tools);
    assert!(!kinds(owed(attached.session())));
    assert!(attached.session().deliveries.is_empty());
    let unknown = attached.session().settled.get(&attached.call_seq());
    assert_eq!(unknown.map(|it| it.outcome), Some(Outcome::Unknown));
    let found = attached.clone().commanded(Command::ReconcileOutcome {
        call: attached.call_seq(),
        name: "pay".to_owned(),
        found: Finding::done(&json!({"receipt": 7})),
        by: Actor::embedder("ops"),
    });
    assert!(!kinds(owed(found.session())));
    assert!(
        open_work(found.session())
            .iter()
            .all(|(_, it)| it.kind != OpenKind::Untold)
    );
}
