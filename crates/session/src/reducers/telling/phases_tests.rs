use serde_json::{Value, json};

use crate::testing::{History, Toolbox, given, history, toolbox, written};
use crate::*;

/// A phase with an instruction, the tools that may be called in it (none = all), and where it
/// leads.
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

/// Verify, then inform, then negotiate; `look` is there from the second on.
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
fn way(history: &History) -> Vec<String> {
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

/// The verdict on the last call: what, by which rule, and by which inputs.
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
    assert_eq!(way(&begun), ["verify"]);
    let last = begun.facts().last().map(|fact| fact.event.clone());
    assert_eq!(last, Some(Event::Decided(entered("verify", None, None))));
    // The same declarations again change nothing.
    given(&begun).when(attached).then_nothing();
}

#[test]
fn a_change_that_makes_a_guard_true_leads_to_the_next_phase() {
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
fn guards_that_lead_in_a_circle_end_after_as_many_phases_as_there_are() {
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
    assert_eq!(way(&round), ["a", "b", "c", "a"]);
    // It goes on with the next change, and stands still otherwise.
    let call = round.connected().call("c1", "nothing", json!({}));
    assert_eq!(way(&call).len(), 4);
    assert_eq!(way(&call.turn_ended()).len(), 7);
}

#[test]
fn a_guard_is_looked_at_again_when_the_turn_ends() {
    let silent = toolbox().phases([
        phase("talk", &[], &[("quiet", S::not(S::exists("turn:said")))]),
        phase("quiet", &[], &[]),
    ]);
    let talk = history().opened("support").attached(&silent).connected();
    let said = talk.state("turn:said", json!("hello"));
    assert_eq!(said.phase(), Some("talk"));
    // The turn's values are gone first.
    assert_eq!(said.turn_ended().phase(), Some("quiet"));
}

#[test]
fn a_restart_keeps_the_phase_and_enters_nothing() {
    let inform = support().state("verified", json!(true));
    let again = inform.detached().attached(&tools());
    assert_eq!((again.phase(), way(&again).len()), (Some("inform"), 2));
}

#[test]
fn a_phase_that_is_not_declared_any_more_gives_way_to_the_first() {
    let inform = support().state("verified", json!(true));
    let renamed = toolbox().phases([
        phase("identify", &[], &[("explain", S::is_true("verified"))]),
        phase("explain", &[], &[]),
    ]);
    let again = inform.attached(&renamed);
    let last = again.facts().last().map(|fact| fact.event.clone());
    let first = entered("identify", Some("inform"), None);
    assert_eq!(last, Some(Event::Decided(first)));
    // What held before leads on with the next turn.
    let on = again.connected().turn_ended();
    assert_eq!(on.phase(), Some("explain"));
    // Where no phase is declared any more, none says anything.
    let free = on
        .attached(&toolbox().plain("look"))
        .call("c1", "look", json!({}));
    assert_eq!(verdict(&free), (Verdict::Allowed, Rule::Default, None));
}

#[test]
fn other_guards_count_from_the_next_change_however_much_happened_before() {
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
fn a_guard_that_leads_to_no_phase_leads_to_the_first_one() {
    let lost = toolbox().phases([
        phase("a", &[], &[("b", S::exists("x"))]),
        phase("b", &[], &[("nowhere", S::exists("y"))]),
    ]);
    let a = history().opened("support").attached(&lost);
    let changed = a.observed(program(&[("x", json!(1)), ("y", json!(1))]));
    assert_eq!(changed.phase(), Some("a"));
    assert!(way(&changed).len() <= 5);
}

#[test]
fn a_closed_session_enters_nothing() {
    given(&support().closed())
        .when(program(&[("verified", json!(true))]))
        .then_nothing();
}

#[test]
fn a_call_outside_its_phase_is_answered_with_an_error_and_its_sibling_runs() {
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
    // What it finds out leads on, and the other tool is there.
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
fn a_tool_that_names_phases_is_in_no_conversation_without_them() {
    let tools = toolbox().plain("look").only_in("look", ["negotiate"]);
    let without = history().opened("support").attached(&tools).connected();
    let called = without.call("c1", "look", json!({}));
    assert_eq!(verdict(&called), (Verdict::Refused, Rule::Phase, None));
}

#[test]
fn a_condition_that_does_not_hold_refuses_and_what_it_read_is_on_record() {
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
fn a_call_that_was_let_through_is_not_stopped_by_a_later_phase() {
    let running = support()
        .connected()
        .call("c1", "verify", json!({}))
        .started();
    let on = running
        .state("verified", json!(true))
        .state("plan", json!(1));
    assert!(on.current().phase.is_running());
}

/// What the model is still to be told: the `phase_entered`, and the connection.
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
    assert_eq!(instruction(&support()), None, "nobody is there to be told");
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
    // A setup that was made before the phase was entered carried another one.
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
fn the_next_phase_owes_its_own_instruction_and_no_longer_the_one_before() {
    let talking = support().connected();
    let before = stay(&talking);
    let on = talking.state("verified", json!(true));
    assert_eq!(instruction(&on), Some((stay(&on), on.epoch())));
    let (epoch, phase) = (on.epoch(), before);
    let late = on.observed(InstructionSent { epoch, phase });
    assert!(instruction(&late).is_some(), "the one of before was sent");
}

#[test]
fn what_was_sent_on_a_connection_that_is_gone_changes_nothing() {
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
fn every_entry_names_its_stay() {
    let circle = toolbox().phases([
        phase("a", &[], &[("b", S::exists("x"))]),
        phase("b", &[], &[("a", S::not(S::exists("x")))]),
    ]);
    let a = history().opened("support").attached(&circle);
    let b = a.clone().state("x", json!(1));
    let a_again = b.clone().state("x", Value::Null);
    let stays = [stay(&a), stay(&b), stay(&a_again)];
    assert_eq!(way(&a_again), ["a", "b", "a"]);
    assert!(stays[0] < stays[1] && stays[1] < stays[2]);
}
