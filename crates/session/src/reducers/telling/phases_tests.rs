use serde_json::{Value, json};

use crate::testing::{History, Toolbox, given, history, toolbox, written};
use crate::*;

/// A phase with an instruction, the tools that may be called in it (empty for all), and its
/// transitions.
fn phase(name: &str, tools: &[&str], leads: &[(&str, Condition)]) -> PhaseDeclaration {
    let transition = |(to, when): &(&str, Condition)| Transition {
        to: (*to).to_owned(),
        when: when.clone(),
    };
    PhaseDeclaration {
        name: name.to_owned(),
        instruction: Some(format!("Do {name}.")),
        tools: (!tools.is_empty()).then(|| tools.iter().map(|it| (*it).to_owned()).collect()),
        transitions: leads.iter().map(transition).collect(),
    }
}

/// The phases `verify`, `inform` and `negotiate`. `look` is available from the second phase on.
fn tools() -> Toolbox {
    toolbox().plain("verify").plain("look").phases([
        phase("verify", &["verify"], &[("inform", S::is_true("verified"))]),
        phase("inform", &[], &[("negotiate", S::exists("plan"))]),
        phase("negotiate", &[], &[]),
    ])
}

fn support() -> History {
    history().opened("support").attached(&tools())
}

fn entered(phase: &str, from: Option<&str>, when: Option<Condition>) -> Decision {
    PhaseEntered {
        phase: phase.to_owned(),
        from: from.map(str::to_owned),
        when,
    }
    .into()
}

/// The phases in the order in which they were entered.
fn entered_phases(history: &History) -> Vec<String> {
    let facts = history.facts().iter();
    let entered = |fact: &Fact| match &fact.event {
        Event::Decided(Decision::PhaseEntered(it)) => Some(it.phase.clone()),
        Event::Decided(_) | Event::Observed(_) => None,
    };
    facts.filter_map(entered).collect()
}

fn program(changes: &[(&'static str, Value)]) -> StateChanged {
    let author = Author::Program(Actor::embedder("crm"));
    written(author, changes.to_vec())
}

/// The verdict on the last call: its result, its rule and its inputs.
fn verdict(history: &History) -> (Verdict, Rule, Option<String>) {
    let decided = history
        .facts()
        .iter()
        .rev()
        .find_map(|fact| match &fact.event {
            Event::Decided(Decision::PolicyDecided(it)) => Some(it.clone()),
            Event::Decided(_) | Event::Observed(_) => None,
        });
    let decided = decided.unwrap_or_else(|| unreachable!("a call has a verdict"));
    (
        decided.verdict,
        decided.rule,
        decided.inputs.map(|it| it.to_string()),
    )
}

#[test]
fn the_first_phase_is_entered_when_a_runner_declares_it() {
    let opened = history().opened("support");
    assert_eq!(opened.phase(), None);
    let mut library = opened.session().library().clone();
    let attached = tools().attached("support", &mut library);
    let undeclared = opened.attached(&toolbox());
    assert_eq!(undeclared.phase(), None);
    let begun = undeclared.attached(&tools());
    assert_eq!(begun.phase(), Some("verify"));
    assert_eq!(entered_phases(&begun), ["verify"]);
    let last = begun.facts().last().map(|fact| fact.event.clone());
    assert_eq!(last, Some(Event::Decided(entered("verify", None, None))));
    // The same declarations again change nothing.
    given(&begun).when(attached).then_nothing();
}

#[test]
fn change_that_satisfies_guard_enters_next_phase() {
    let when = Some(S::is_true("verified"));
    given(&support())
        .when(program(&[("verified", json!(true))]))
        .then([entered("inform", Some("verify"), when)]);
    given(&support())
        .when(program(&[("verified", json!("true"))]))
        .then_nothing();
    given(&support())
        .when(program(&[("plan", json!("weekly"))]))
        .then_nothing();
}

#[test]
fn one_change_may_lead_through_several_phases() {
    given(&support())
        .when(program(&[
            ("plan", json!("weekly")),
            ("verified", json!(true)),
        ]))
        .then([
            entered("inform", Some("verify"), Some(S::is_true("verified"))),
            entered("negotiate", Some("inform"), Some(S::exists("plan"))),
        ]);
}

#[test]
fn the_first_guard_that_holds_counts() {
    let fork = toolbox().phases([
        phase(
            "start",
            &[],
            &[("left", S::exists("a")), ("right", S::exists("b"))],
        ),
        phase("left", &[], &[]),
        phase("right", &[], &[]),
    ]);
    let start = history().opened("support").attached(&fork);
    assert_eq!(start.clone().state("b", json!(1)).phase(), Some("right"));
    let both = program(&[("b", json!(1)), ("a", json!(1))]);
    assert_eq!(start.observed(both).phase(), Some("left"));
}

#[test]
fn circular_guards_stop_after_the_number_of_phases() {
    let on = || S::is_true("on");
    let circle = toolbox().phases([
        phase("a", &[], &[("b", on())]),
        phase("b", &[], &[("c", on())]),
        phase("c", &[], &[("a", on())]),
    ]);
    let round = history()
        .opened("support")
        .attached(&circle)
        .state("on", json!(true));
    assert_eq!(entered_phases(&round), ["a", "b", "c", "a"]);
    // Only the next change, or the end of the turn, continues the circle.
    let call = round.connected().call("c1", "nothing", json!({}));
    assert_eq!(entered_phases(&call).len(), 4);
    assert_eq!(entered_phases(&call.turn_ended()).len(), 7);
}

#[test]
fn guard_is_evaluated_again_at_the_end_of_the_turn() {
    let silent = toolbox().phases([
        phase("talk", &[], &[("quiet", S::not(S::exists("turn:said")))]),
        phase("quiet", &[], &[]),
    ]);
    let talk = history().opened("support").attached(&silent).connected();
    let said = talk.state("turn:said", json!("hello"));
    assert_eq!(said.phase(), Some("talk"));
    // The values of turn scope are removed before the guards are evaluated.
    assert_eq!(said.turn_ended().phase(), Some("quiet"));
}

#[test]
fn a_restart_keeps_the_phase_and_enters_nothing() {
    let inform = support().state("verified", json!(true));
    let again = inform.detached().attached(&tools());
    assert_eq!(
        (again.phase(), entered_phases(&again).len()),
        (Some("inform"), 2)
    );
}

#[test]
fn undeclared_phase_is_replaced_by_the_first() {
    let inform = support().state("verified", json!(true));
    let renamed = toolbox().phases([
        phase("identify", &[], &[("explain", S::is_true("verified"))]),
        phase("explain", &[], &[]),
    ]);
    let again = inform.attached(&renamed);
    let last = again.facts().last().map(|fact| fact.event.clone());
    let first = entered("identify", Some("inform"), None);
    assert_eq!(last, Some(Event::Decided(first)));
    // A guard that held before leads to the next phase at the end of the turn.
    let on = again.connected().turn_ended();
    assert_eq!(on.phase(), Some("explain"));
    // Without declared phases, no phase restricts a call.
    let free = on
        .attached(&toolbox().plain("look"))
        .call("c1", "look", json!({}));
    assert_eq!(verdict(&free), (Verdict::Allowed, Rule::Default, None));
}

#[test]
fn new_guards_count_from_the_next_change() {
    let sooner = || {
        toolbox().plain("look").phases([
            phase("verify", &[], &[("inform", S::exists("name"))]),
            phase("inform", &[], &[]),
        ])
    };
    let named = support().state("name", json!("Ada"));
    let declared = named.attached(&sooner());
    assert_eq!(declared.phase(), Some("verify"));
    assert_eq!(declared.state("other", json!(1)).phase(), Some("inform"));
}

#[test]
fn guard_to_undeclared_phase_enters_the_first() {
    let lost = toolbox().phases([
        phase("a", &[], &[("b", S::exists("x"))]),
        phase("b", &[], &[("nowhere", S::exists("y"))]),
    ]);
    let a = history().opened("support").attached(&lost);
    let changed = a.observed(program(&[("x", json!(1)), ("y", json!(1))]));
    assert_eq!(changed.phase(), Some("a"));
    assert!(entered_phases(&changed).len() <= 5);
}

#[test]
fn a_closed_session_enters_nothing() {
    given(&support().closed())
        .when(program(&[("verified", json!(true))]))
        .then_nothing();
}

#[test]
fn call_outside_its_phase_is_refused_and_its_sibling_runs() {
    let talking = support().connected();
    let outside = talking.call("c1", "look", json!({}));
    let inputs = Some(r#"{"phase":"verify"}"#.to_owned());
    assert_eq!(verdict(&outside), (Verdict::Refused, Rule::Phase, inputs));
    let last = outside.facts().last().map(|fact| fact.event.clone());
    let Some(Event::Decided(Decision::ResponseIssued(told))) = last else {
        unreachable!("a refused call is answered");
    };
    let error = json!({
        "error": "\"look\" is not available in the phase \"verify\" of the conversation",
        "kind": "not_available",
    });
    assert_eq!(told.response.map(|it| it.to_value()), Some(error));
    let sibling = outside.call("c2", "verify", json!({})).started();
    // The tool's change of the state leads to the next phase, where the other tool is available.
    let informed = sibling
        .tool_state("verified", json!(true))
        .returned(json!({}));
    let inside = informed.call("c3", "look", json!({})).started();
    let inputs = Some(r#"{"phase":"inform"}"#.to_owned());
    assert_eq!(verdict(&inside), (Verdict::Allowed, Rule::Default, inputs));
}

#[test]
fn a_tool_may_name_its_phases_itself() {
    let tools = tools().only_in("look", ["negotiate"]);
    let inform = history()
        .opened("support")
        .attached(&tools)
        .connected()
        .state("verified", json!(true));
    assert_eq!(
        verdict(&inform.clone().call("c1", "look", json!({}))).1,
        Rule::Phase
    );
    let negotiate = inform.state("plan", json!(1)).call("c1", "look", json!({}));
    assert_eq!(verdict(&negotiate).1, Rule::Default);
}

#[test]
fn tool_with_phases_is_unavailable_without_phases() {
    let tools = toolbox().plain("look").only_in("look", ["negotiate"]);
    let without = history().opened("support").attached(&tools).connected();
    let called = without.call("c1", "look", json!({}));
    assert_eq!(verdict(&called), (Verdict::Refused, Rule::Phase, None));
}

#[test]
fn false_condition_refuses_and_records_its_inputs() {
    let condition = S::and([S::is_true("verified"), S::exists("plan")]);
    let tools = toolbox().plain("pay").when("pay", condition);
    let talking = history().opened("support").attached(&tools).connected();
    let refused = talking.clone().call("c1", "pay", json!({}));
    let inputs = Some(r#"{"state":{}}"#.to_owned());
    assert_eq!(
        verdict(&refused),
        (Verdict::Refused, Rule::Condition, inputs)
    );
    let half = talking
        .state("verified", json!(true))
        .state("other", json!(1));
    let refused = half.clone().call("c1", "pay", json!({}));
    let inputs = Some(r#"{"state":{"verified":true}}"#.to_owned());
    assert_eq!(
        verdict(&refused),
        (Verdict::Refused, Rule::Condition, inputs)
    );
    let whole = half.state("plan", json!({"months": 3}));
    let allowed = whole.call("c1", "pay", json!({})).started();
    let inputs = Some(r#"{"state":{"plan":{"months":3},"verified":true}}"#.to_owned());
    assert_eq!(verdict(&allowed), (Verdict::Allowed, Rule::Default, inputs));
}

#[test]
fn allowed_call_is_not_stopped_by_a_later_phase() {
    let running = support()
        .connected()
        .call("c1", "verify", json!({}))
        .started();
    let on = running
        .state("verified", json!(true))
        .state("plan", json!(1));
    assert!(on.current().phase.is_running());
}

/// The instruction that is owed to the model: the `phase_entered`, and the connection.
fn instruction(history: &History) -> Option<(Seq, Seq)> {
    history.instruction_owed()
}

fn stay(history: &History) -> Seq {
    history
        .session()
        .phase
        .as_ref()
        .map_or(Seq(0), |it| it.entered)
}

#[test]
fn the_instruction_is_owed_once_on_each_connection() {
    assert_eq!(instruction(&support()), None, "there is no connection");
    let talking = support().connected();
    let owes = Some((stay(&talking), talking.epoch()));
    assert_eq!(instruction(&talking), owes);
    let told = talking.instructed();
    assert_eq!(instruction(&told), None);
    let again = told.disconnected();
    assert_eq!(instruction(&again), None);
    let again = again.connected();
    assert_eq!(instruction(&again), Some((stay(&again), again.epoch())));
}

#[test]
fn a_setup_that_carries_the_instruction_settles_it() {
    let talking = support().connected_and_instructed();
    assert_eq!(instruction(&talking), None);
    // A setup from before the phase was entered carried an older instruction.
    let older = stay(&talking);
    let on = talking.disconnected().state("verified", json!(true));
    let connected = on.observed(Connected {
        capabilities: None,
        non_blocking: Vec::new(),
        model: "m".to_owned(),
        endpoint: "ws://127.0.0.1:1".to_owned(),
        phase: Some(older),
        resumed: None,
    });
    let owes = Some((stay(&connected), connected.epoch()));
    assert_eq!(instruction(&connected), owes);
}

#[test]
fn next_phase_replaces_the_owed_instruction() {
    let talking = support().connected();
    let before = stay(&talking);
    let on = talking.state("verified", json!(true));
    assert_eq!(instruction(&on), Some((stay(&on), on.epoch())));
    let (epoch, phase) = (on.epoch(), before);
    let late = on.observed(InstructionSent { epoch, phase });
    assert!(instruction(&late).is_some(), "the one of before was sent");
}

#[test]
fn instruction_sent_on_lost_connection_changes_nothing() {
    let first = support().connected();
    let (phase, gone) = (stay(&first), first.epoch());
    let second = first.disconnected().connected().instructed();
    let late = second.observed(InstructionSent { epoch: gone, phase });
    assert_eq!(instruction(&late), None, "it is told on this connection");
}

#[test]
fn a_phase_without_an_instruction_owes_nothing() {
    let wordless = PhaseDeclaration {
        name: "quiet".to_owned(),
        ..PhaseDeclaration::default()
    };
    let quiet = history()
        .opened("support")
        .attached(&toolbox().phases([wordless]));
    assert_eq!(instruction(&quiet.connected()), None);
    assert_eq!(instruction(&support().connected().closed()), None);
}

#[test]
fn each_phase_entry_has_its_own_seq() {
    let circle = toolbox().phases([
        phase("a", &[], &[("b", S::exists("x"))]),
        phase("b", &[], &[("a", S::not(S::exists("x")))]),
    ]);
    let a = history().opened("support").attached(&circle);
    let b = a.clone().state("x", json!(1));
    let a_again = b.clone().state("x", Value::Null);
    let stays = [stay(&a), stay(&b), stay(&a_again)];
    assert_eq!(entered_phases(&a_again), ["a", "b", "a"]);
    assert!(stays[0] < stays[1] && stays[1] < stays[2]);
}
