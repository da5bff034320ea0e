//! Scenes in which an approver or the program is asked.

use recount::session::*;
use recount::testing::{History, history, toolbox};
use serde_json::{Value, json};

use super::{Scene, connected, hint, look, one_tool, paying};

pub(super) fn questions() -> Vec<Scene> {
    let acknowledged = one_tool("pay", hint()).acknowledges();
    let words = json!({"confirm": {}, "acknowledgement": {"say": "A colleague decides."}});
    let worded = one_tool("pay", words).acknowledges();
    let expiring = json!({"confirm": {"hint": "Pay this?", "expires_after_ms": 60_000,
        "payload": {"type": "object"}, "keeps_reason": true, "edits": "allowed"}});
    let changed = one_tool("pay", hint()).changed("pay");
    let mut single = Capabilities::default();
    single.will_continue = false;
    let ships = toolbox().long_running("ship").acknowledges();
    let attached = history().opened("support").attached(&ships);
    let shipping = attached
        .connected_as(Some(single))
        .call("c1", "ship", json!({}));
    let merged = stored(hint()).merged(stored(json!({"confirm": {"hint": "Really?"}})));
    let twice_gated = toolbox().plain("pay").policy("pay", |it| *it = merged);
    vec![
        ("a yes", paying(hint()).granted("ada").returned(json!({}))),
        (
            "a call by a standing leave",
            paying(json!({"confirm": {"may_allow_for_session": true}}))
                .granted_for("ada", AllowFor::Count(2))
                .returned(json!({}))
                .call("c2", "pay", json!({"cents": 1})),
        ),
        ("a no", paying(hint()).denied("ada", None)),
        (
            "a no with a reason",
            paying(hint()).denied("ada", Some("not this customer")),
        ),
        (
            "a no whose reason is kept",
            paying(expiring.clone()).denied("ada", Some("a fraud")),
        ),
        ("no answer", paying(expiring).timed_out()),
        (
            "no answer to a call that then runs",
            paying(json!({"confirm": {"expires_after_ms": 60_000, "on_expiry": "allow"}}))
                .timed_out()
                .returned(json!({})),
        ),
        (
            "a gate that does not hold",
            connected(&one_tool("pay", hint()).gates_waived("no durable journal")).call(
                "c1",
                "pay",
                json!({}),
            ),
        ),
        (
            "a contract that changed",
            paying(hint()).detached().attached(&changed),
        ),
        (
            "two hints joined",
            connected(&twice_gated).call("c1", "pay", json!({})),
        ),
        (
            "a question that is acknowledged",
            connected(&acknowledged).call("c1", "pay", json!({})),
        ),
        (
            "an acknowledgement in words of the tool",
            connected(&worded).call("c1", "pay", json!({})),
        ),
        (
            "a pause that is acknowledged",
            shipping.paused(None).supplied(json!({"shipped": true})),
        ),
    ]
}

/// Gates that the embedding program decides.
pub(super) fn verdicts() -> Vec<Scene> {
    let by_program = json!({"confirm": {"asks_program": true}});
    let program = |gated: bool| {
        let asked = paying(by_program.clone());
        let call = asked.call_seq();
        asked.observed(HookAnswered {
            hook: Hook::ConfirmWhen,
            call,
            of: None,
            response: None,
            failure: None,
            gated: Some(gated),
            by: None,
        })
    };
    vec![
        ("a program that lets it run", program(false)),
        ("a program that asks", program(true)),
    ]
}

fn stored(policy: Value) -> ToolPolicy {
    serde_json::from_value(policy).expect("a stored policy")
}

pub(super) fn withdrawals() -> Vec<Scene> {
    let withdraws = json!({"confirm": {}, "withdraw_on_cancel": true});
    let with_words = |session: History| {
        let cancel = Observation::from(OperatorCancelled {
            call: session.call_seq(),
            reason: Some("a test".into()),
            response: Some(Json::of(&json!({"status": "cancelled", "call_id": "c1"}))),
            by: Actor::embedder("ops"),
        });
        session.observed(cancel)
    };
    let running = || look().call("c1", "look", json!({})).started();
    vec![
        (
            "a question withdrawn by the model",
            paying(withdraws).taken_back("c1"),
        ),
        (
            "a question withdrawn by an operator",
            paying(hint()).cancelled(),
        ),
        ("a question withdrawn by a close", paying(hint()).closed()),
        ("a call taken back by the model", running().taken_back("c1")),
        ("a call cancelled by an operator", running().cancelled()),
        ("a call cancelled in other words", with_words(running())),
        ("a call that a close ends", running().closed()),
    ]
}

pub(super) fn own_questions() -> Vec<Scene> {
    let running = || look().call("c1", "look", json!({})).started();
    let asks = || running().asks("How many days?");
    let expiring = |in_place: bool| {
        let running = running();
        let asked = ToolAsked {
            call: running.call_seq(),
            attempt: 1,
            hint: "How many days?".into(),
            payload_schema: Some(Json::of(&json!({"type": "integer"}))),
            state: Json::of(&json!({"wanted": 5})),
            expires_after_ms: Some(60_000),
            in_place,
        };
        running.observed(asked)
    };
    let keeps = json!({"confirm": {"keeps_reason": true}});
    vec![
        (
            "a tool's question and a yes",
            asks().granted("ada").returned(json!({})),
        ),
        ("a tool's question and a no", asks().denied("ada", None)),
        (
            "a tool's question and a no with a reason",
            asks().denied("ada", Some("too long")),
        ),
        (
            "a tool's question whose reason is kept",
            paying(keeps)
                .granted("ada")
                .asks("How many?")
                .denied("ada", Some("a fraud")),
        ),
        (
            "a tool's question without an answer",
            expiring(false).timed_out(),
        ),
        (
            "a question in place without an answer",
            expiring(true).timed_out().returned(json!({})),
        ),
        (
            "a question in place whose runner is gone",
            expiring(true).detached(),
        ),
        (
            "a question in place whose tool went on",
            expiring(true).returned(json!({})),
        ),
    ]
}
