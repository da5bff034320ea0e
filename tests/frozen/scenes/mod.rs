//! Short sessions, one for every string that a decision can carry.
//!
//! Policies are read from their stored form, so a scene does not depend on the shape of the types.

mod people;
mod policies;
mod runs;

use recount::session::{FunctionCallReceived, Json};
use recount::testing::{History, Toolbox, history, toolbox};
use serde_json::{Value, json};

/// A named session.
pub(crate) type Scene = (&'static str, History);

/// All scenes, in the order in which their decisions are pinned.
pub(crate) fn scenes() -> Vec<Scene> {
    [
        policies::refusals(),
        policies::hooks(),
        policies::availability(),
        policies::limits(),
        people::questions(),
        people::verdicts(),
        people::withdrawals(),
        people::own_questions(),
        runs::doubts(),
        runs::runs(),
        runs::agents(),
        runs::routes(),
        runs::envelopes(),
        runs::standings(),
    ]
    .concat()
}

/// A session with these tools and a live connection.
pub(crate) fn connected(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

/// One tool with the policy whose stored form is `policy`.
pub(crate) fn one_tool(name: &str, policy: Value) -> Toolbox {
    let stored = serde_json::from_value(policy).expect("a stored policy");
    toolbox().plain(name).policy(name, |it| *it = stored)
}

fn hint() -> Value {
    json!({"confirm": {"hint": "Pay this?"}})
}

fn paying(policy: Value) -> History {
    connected(&one_tool("pay", policy)).call("c1", "pay", json!({"cents": 4200}))
}

/// The record of a call, which a scene changes before observing it.
fn raw_call(session: &History) -> FunctionCallReceived {
    FunctionCallReceived {
        epoch: session.epoch(),
        id: Some("c9".into()),
        name: Some("look".into()),
        args: Some(Json::of(&json!({"n": 1}))),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    }
}

fn look() -> History {
    connected(&toolbox().plain("look"))
}
