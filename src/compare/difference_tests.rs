use std::collections::BTreeMap;

use serde_json::Value;

use super::super::story::Turn;
use super::*;
use crate::session::Seq;

fn turn(user: &str, model: &str) -> Turn {
    Turn {
        user: user.to_owned(),
        model: model.to_owned(),
        ..Turn::default()
    }
}

fn call(seq: u64, turn: usize, tool: &str, args: &str) -> CallTold {
    CallTold {
        place: Place::Seq(Seq(seq)),
        turn,
        tool: tool.to_owned(),
        args: Json::parse(args).unwrap(),
        policy: Json::empty_object(),
        decisions: vec!["call_ready {}".to_owned()],
        reports: vec![r#"tool_returned {"response":{}}"#.to_owned()],
    }
}

fn story(calls: Vec<CallTold>) -> Story {
    Story {
        about: BTreeMap::new(),
        turns: vec![turn("hello", "good day"), turn("refund 7", "done")],
        calls,
        events: Vec::new(),
    }
}

/// The differences, each as its kind and the seqs of its calls.
fn found(a: &Story, b: &Story) -> Vec<String> {
    let told = |it: &Difference| {
        let it = serde_json::to_value(it).unwrap();
        let seq = |side: &str| it.get(side).and_then(|it| it.get("seq")).cloned();
        let kind = it.get("difference").and_then(Value::as_str).unwrap();
        match (seq("call"), seq("b")) {
            (Some(a), Some(b)) => format!("{kind} {a} {b}"),
            (Some(call), None) => format!("{kind} {call}"),
            (None, _) => kind.to_owned(),
        }
    };
    differences(a, b).iter().map(told).collect()
}

#[test]
fn seqs_and_key_order_are_no_difference() {
    let a = story(vec![call(5, 1, "refund", r#"{"order":7,"cents":1}"#)]);
    let b = story(vec![call(9, 1, "refund", r#"{ "cents": 1, "order": 7 }"#)]);
    assert!(found(&a, &b).is_empty());
}

#[test]
fn a_call_is_missing_added_or_elsewhere() {
    let (look, pay) = (
        |seq| call(seq, 0, "look", r#"{"n":1}"#),
        |seq| call(seq, 0, "pay", "{}"),
    );
    let (a, b) = (story(vec![look(5), pay(9)]), story(vec![look(5)]));
    assert_eq!(found(&a, &b), ["call_missing 9"]);
    assert_eq!(found(&b, &a), ["call_added 9"]);
    // One of the two calls keeps its place. The other one has moved.
    let b = story(vec![pay(4), look(8)]);
    let reordered = found(&a, &b);
    assert_eq!(reordered.len(), 1, "{reordered:?}");
    assert!(reordered.iter().all(|it| it.starts_with("call_reordered")));
}

#[test]
fn call_in_another_turn_is_reordered() {
    let look = |seq, turn| call(seq, turn, "look", r#"{"n":1}"#);
    let (a, b) = (story(vec![look(5, 0)]), story(vec![look(9, 1)]));
    assert_eq!(found(&a, &b), ["call_reordered 5 9"]);
    assert_eq!(found(&a, &a), Vec::<String>::new());
}

#[test]
fn call_stays_in_its_turn_when_turn_numbers_shift() {
    let (look, pay) = (
        |seq, turn| call(seq, turn, "look", "{}"),
        |seq, turn| call(seq, turn, "pay", "{}"),
    );
    let within = |a: &Story, b: &Story| -> Vec<bool> {
        let moved = |it: Difference| {
            if let Difference::CallReordered { within_turn, .. } = it {
                Some(within_turn)
            } else {
                None
            }
        };
        differences(a, b).into_iter().filter_map(moved).collect()
    };
    let a = story(vec![look(5, 1), pay(9, 1)]);
    let b = Story {
        turns: [vec![turn("wait", "yes?")], a.turns.clone()].concat(),
        ..story(vec![pay(12, 2), look(16, 2)])
    };
    assert_eq!(within(&a, &b), [true]);
    // The same number, but another turn.
    let b = Story {
        calls: vec![pay(12, 1), look(16, 2)],
        ..b
    };
    assert_eq!(within(&a, &b), [false]);
}

#[test]
fn equal_calls_belong_to_their_own_turns() {
    let look = |seq, turn| call(seq, turn, "look", r#"{"n":1}"#);
    let a = story(vec![look(5, 0), look(9, 1)]);
    let b = Story {
        turns: vec![turn("refund 7", "done")],
        ..story(vec![look(4, 0)])
    };
    assert_eq!(found(&a, &b), ["turn_missing", "call_missing 5"]);
    assert_eq!(found(&b, &a), ["turn_added", "call_added 5"]);
    // The same holds if only the second turn has lost its call.
    let b = story(vec![look(5, 0)]);
    assert_eq!(found(&a, &b), ["call_missing 9"]);
}

#[test]
fn turn_that_lost_its_call_is_matched_by_words() {
    let a = story(vec![call(9, 1, "look", "{}")]);
    let b = Story {
        turns: vec![turn("refund 7", "no")],
        ..story(Vec::new())
    };
    assert_eq!(
        found(&a, &b),
        ["turn_missing", "words_changed", "call_missing 9"]
    );
}

#[test]
fn turn_with_an_equal_is_not_paired_again() {
    let calls = || vec![call(5, 0, "look", "{}"), call(9, 1, "pay", "{}")];
    let of = |turns: Vec<Turn>| Story {
        turns,
        ..story(calls())
    };
    let a = of(vec![turn("yes", ""), turn("yes", "")]);
    let b = of(vec![turn("yes", ""), turn("yes please", "")]);
    assert_eq!(found(&a, &b), ["words_changed"]);
    assert_eq!(found(&b, &a), ["words_changed"]);
    // The same holds if the turn with equal words has lost its call.
    let mut without = b.clone();
    without.calls.remove(0);
    assert_eq!(found(&a, &without), ["words_changed", "call_missing 5"]);
    // A turn waits for its equal words elsewhere instead of taking the turn at its place.
    let of = |words: &[&str]| Story {
        turns: words.iter().map(|it| turn(it, "")).collect(),
        ..story(Vec::new())
    };
    assert_eq!(
        found(
            &of(&["no", "ok", "thanks"]),
            &of(&["never", "ok", "thanks", "no"])
        ),
        ["turn_missing", "turn_added", "turn_added"]
    );
}

#[test]
fn added_call_is_listed_at_its_place() {
    let say = |seq, n: u8| call(seq, 0, "say", &format!(r#"{{"n":{n}}}"#));
    let a = story(vec![say(5, 1), say(9, 3)]);
    let mut later = say(13, 3);
    later.reports.clear();
    let b = story(vec![say(5, 1), call(9, 0, "look", "{}"), later]);
    assert_eq!(found(&a, &b), ["call_added 9", "report_changed 9 13"]);
}

#[test]
fn event_of_no_call_counts_in_its_turn() {
    let wrote = |seq, turn, value: u8| EventTold {
        place: Place::Seq(Seq(seq)),
        turn,
        said: format!("state_changed {value}"),
    };
    let of = |events: Vec<EventTold>| Story {
        events,
        ..story(Vec::new())
    };
    let a = of(vec![wrote(4, 0, 1), wrote(9, 2, 2)]);
    assert_eq!(
        found(&a, &of(vec![wrote(5, 0, 1), wrote(8, 2, 2)])),
        Vec::<String>::new()
    );
    let told = |a: &Story, b: &Story| serde_json::to_value(differences(a, b)).unwrap();
    let b = of(vec![wrote(4, 0, 1)]);
    let missing = serde_json::json!([
        {"difference": "event_missing", "event": {"seq": 9, "turn": 3, "said": "state_changed 2"}}
    ]);
    assert_eq!(told(&a, &b), missing);
    assert_eq!(found(&b, &a), ["event_added"]);
    let in_another_turn = of(vec![wrote(4, 1, 1), wrote(9, 2, 2)]);
    assert_eq!(
        found(&a, &in_another_turn),
        ["event_missing", "event_added"]
    );
}

#[test]
fn event_of_an_unpaired_turn_is_paired_anywhere() {
    let wrote = |seq, turn, value: u8| EventTold {
        place: Place::Seq(Seq(seq)),
        turn,
        said: format!("state_changed {value}"),
    };
    let (hello, pay) = (turn("hello", ""), turn("pay", ""));
    let of = |turns: Vec<&Turn>, events| Story {
        turns: turns.into_iter().cloned().collect(),
        events,
        ..Story::default()
    };
    // The event comes after the last turn of `a`, and in the next turn of `b`.
    let a = of(vec![&hello], vec![wrote(5, 1, 1)]);
    let b = of(vec![&hello, &pay], vec![wrote(5, 1, 1)]);
    assert_eq!(found(&a, &b), ["turn_added"]);
    assert_eq!(found(&b, &a), ["turn_missing"]);
    // Each event has one partner at most.
    let twice = of(vec![&hello, &pay], vec![wrote(5, 1, 1), wrote(6, 1, 1)]);
    assert_eq!(found(&a, &twice), ["turn_added", "event_added"]);
    assert_eq!(found(&twice, &a), ["turn_missing", "event_missing"]);
    let other = of(vec![&hello, &pay], vec![wrote(5, 1, 2)]);
    assert_eq!(
        found(&a, &other),
        ["turn_added", "event_missing", "event_added"]
    );
}

#[test]
fn moved_call_is_not_paired_with_another_of_its_tool() {
    let (look, say) = (
        |seq| call(seq, 0, "look", "{}"),
        |seq, n: u8| call(seq, 0, "say", &format!(r#"{{"n":{n}}}"#)),
    );
    let a = story(vec![look(5), say(9, 1)]);
    let b = story(vec![say(5, 1), look(9), say(13, 2)]);
    assert_eq!(found(&a, &b), ["call_reordered 9 5", "call_added 13"]);
}

#[test]
fn sessions_of_different_agents_differ() {
    let (mut a, mut b) = (story(Vec::new()), story(Vec::new()));
    a.about.insert("agent".to_owned(), "support".to_owned());
    b.about.insert("agent".to_owned(), "sales".to_owned());
    assert_eq!(found(&a, &b), ["session_changed"]);
    assert_eq!(found(&a, &a), Vec::<String>::new());
}

#[test]
fn changed_arguments_name_their_pointers() {
    let a = story(vec![call(5, 1, "refund", r#"{"order":7,"by":{"card":1}}"#)]);
    let b = story(vec![call(6, 1, "refund", r#"{"order":7,"by":{"card":2}}"#)]);
    let all = differences(&a, &b);
    let [Difference::ArgumentsChanged { changes, .. }] = all.as_slice() else {
        unreachable!("{all:?}")
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].at, "/by/card");
    let sides = [&changes[0].a, &changes[0].b].map(|it| it.as_ref().map(Json::as_str));
    assert_eq!(sides, [Some("1"), Some("2")]);
}

#[test]
fn policy_decision_and_report_differ_separately() {
    let before = call(5, 1, "refund", "{}");
    let mut after = before.clone();
    after.policy = Json::parse(r#"{"confirm":true}"#).unwrap();
    after
        .decisions
        .insert(0, "confirmation_requested {}".to_owned());
    after.reports.clear();
    let all = differences(&story(vec![before]), &story(vec![after]));
    let [
        Difference::PolicyChanged { changes, .. },
        Difference::DecisionChanged {
            only_a: none,
            only_b: asked,
            ..
        },
        Difference::ReportChanged {
            only_a: returned,
            only_b: nothing,
            ..
        },
    ] = all.as_slice()
    else {
        unreachable!("{all:?}")
    };
    assert_eq!(changes[0].at, "/confirm");
    assert_eq!(
        (none.len(), asked.as_slice()),
        (0, &["confirmation_requested {}".to_owned()][..])
    );
    assert_eq!((returned.len(), nothing.len()), (1, 0));
}

#[test]
fn turns_are_matched_by_words_of_the_user() {
    let of = |turns: Vec<Turn>| Story {
        turns,
        ..Story::default()
    };
    let (hello, pay) = (turn("hello", "good day"), turn("pay", "paid"));
    let a = of(vec![hello.clone(), pay.clone()]);
    assert_eq!(found(&a, &of(vec![pay.clone()])), ["turn_missing"]);
    assert_eq!(found(&of(vec![pay.clone()]), &a), ["turn_added"]);
    let other = of(vec![hello, turn("pay", "no")]);
    let all = differences(&a, &other);
    let [
        Difference::WordsChanged {
            turn,
            speaker,
            a,
            b,
        },
    ] = all.as_slice()
    else {
        unreachable!("{all:?}")
    };
    assert_eq!(
        (*turn, *speaker, a.as_str(), b.as_str()),
        (2, Speaker::Model, "paid", "no")
    );
    let cut = of(vec![Turn {
        interrupted: true,
        phases: vec!["open".to_owned()],
        ..pay.clone()
    }]);
    assert_eq!(
        found(&of(vec![pay]), &cut),
        ["phases_changed", "interruption_changed"]
    );
}
