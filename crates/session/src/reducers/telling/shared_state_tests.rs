use serde_json::{Value, json};

use crate::testing::{History, given, history, toolbox, written};
use crate::*;

fn support() -> History {
    let tools = toolbox().plain("look").in_doubt("look", InDoubt::Retry);
    history().opened("support").attached(&tools).connected()
}

fn looking() -> History {
    support().call("c1", "look", json!({})).started()
}

fn program() -> Author {
    Author::Program(Actor::embedder("crm"))
}

#[test]
fn last_recorded_write_wins() {
    let told = support().state("plan", json!("weekly"));
    assert_eq!(told.value("plan"), Some(json!("weekly")));
    let hook = written(
        Author::Hook("plans".to_owned()),
        [("plan", json!("monthly"))],
    );
    let told = told.observed(hook);
    assert_eq!(told.value("plan"), Some(json!("monthly")));
}

#[test]
fn last_recorded_write_of_parallel_tools_wins() {
    let first = looking();
    let of_first = first.tool_changed([("n", json!(1))]);
    let second = first.call("c2", "look", json!({})).started();
    let of_second = second.tool_changed([("n", json!(2))]);
    let one = second
        .clone()
        .observed(of_first.clone())
        .observed(of_second.clone());
    assert_eq!(one.value("n"), Some(json!(2)));
    let other = second.observed(of_second).observed(of_first);
    assert_eq!(other.value("n"), Some(json!(1)));
}

#[test]
fn set_of_changes_applies_as_a_whole_in_order() {
    let set = [("a", json!(1)), ("b", json!(2)), ("a", json!(3))];
    let told = support().observed(written(program(), set));
    assert_eq!(told.value("a"), Some(json!(3)));
    assert_eq!(told.value("b"), Some(json!(2)));
}

#[test]
fn changes_of_an_ended_attempt_are_ignored() {
    let looking = looking();
    let late = looking.tool_changed([("found", json!(1)), ("more", json!(2))]);
    let tools = toolbox().plain("look").in_doubt("look", InDoubt::Retry);
    for over in [
        looking.clone().returned(json!({})),
        looking.clone().cancelled(),
        looking.clone().paused(None),
        looking.clone().detached(),
        looking.clone().attached(&tools).started(),
    ] {
        let told = over.observed(late.clone());
        assert_eq!((told.value("found"), told.value("more")), (None, None));
    }
    assert_eq!(looking.observed(late).value("found"), Some(json!(1)));
}

#[test]
fn changes_of_an_unknown_call_are_ignored() {
    let (call, attempt) = (Seq(999), 1);
    let stranger = written(Author::Tool { call, attempt }, [("a", json!(1))]);
    assert_eq!(support().observed(stranger).value("a"), None);
}

#[test]
fn null_removes_a_key() {
    let told = support()
        .state("plan", json!("weekly"))
        .state("plan", Value::Null);
    assert_eq!(told.value("plan"), None);
    assert!(told.session().state.is_empty());
    assert_eq!(told.state("plan", Value::Null).value("plan"), None);
}

#[test]
fn turn_values_are_removed_at_the_end_of_the_turn() {
    let told = support()
        .state("turn:topic", json!("debt"))
        .state("user:name", json!("Ada"))
        .state("plan", json!("weekly"));
    let interrupted = told.clone();
    let epoch = told.epoch();
    let interrupted = interrupted.observed(TurnInterrupted { epoch });
    assert_eq!(interrupted.value("turn:topic"), Some(json!("debt")));
    let ended = told.turn_ended();
    assert_eq!(ended.value("turn:topic"), None);
    assert_eq!(ended.value("user:name"), Some(json!("Ada")));
    assert_eq!(ended.value("plan"), Some(json!("weekly")));
}

#[test]
fn a_key_with_the_prefix_of_the_session_is_the_key_without_it() {
    let told = support().state("session:plan", json!("weekly"));
    assert_eq!(told.value("plan"), Some(json!("weekly")));
    assert_eq!(told.state("plan", Value::Null).value("session:plan"), None);
}

#[test]
fn recorded_temporary_key_changes_nothing() {
    let told = support()
        .state("temp:draft", json!(1))
        .state("session:temp:draft", json!(1));
    assert!(told.session().state.is_empty());
    assert_eq!(told.value("temp:draft"), None);
    let turn = support().state("session:turn:topic", json!("debt"));
    assert_eq!(turn.value("turn:topic"), Some(json!("debt")));
    assert_eq!(turn.turn_ended().value("turn:topic"), None);
}

#[test]
fn a_restart_keeps_the_state_and_a_close_ends_it() {
    let told = support().state("plan", json!("weekly")).detached();
    assert_eq!(told.value("plan"), Some(json!("weekly")));
    let closed = told.closed().state("plan", json!("monthly"));
    assert_eq!(closed.value("plan"), Some(json!("weekly")));
}

#[test]
fn a_change_decides_nothing_by_itself() {
    given(&looking())
        .when(written(program(), [("a", json!(1))]))
        .then_nothing();
}
