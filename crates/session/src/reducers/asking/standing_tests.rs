use serde_json::json;

use super::*;
use crate::testing::{History, Toolbox, given as told, history, toolbox};
use crate::*;

const MINUTE_MS: u64 = 60_000;

fn tools() -> Toolbox {
    toolbox().gated("mail").may_allow_for_session("mail")
}

/// A history in which one approved call gave a leave with this bound, and has ended.
fn allowed(tools: &Toolbox, bound: AllowFor) -> History {
    let support = history().opened("support").attached(tools).connected();
    let asked = support.call("c1", "mail", json!({"n": 1})).asked();
    asked.granted_for("ada", bound).returned(json!({}))
}

fn next(history: History, id: &str) -> History {
    history.call(id, "mail", json!({"n": 2}))
}

/// The leave that the history's last answer gave.
fn leave(history: &History) -> Seq {
    *history.session().leaves.keys().next_back().unwrap()
}

/// The kinds of the decisions about the current call, without its response.
fn decided(history: &History) -> Vec<&'static str> {
    let about = history.call_seq();
    let kinds = history.facts().iter().filter_map(|fact| match &fact.event {
        Event::Decided(decision) if decision.call() == Some(about) => Some(decision.kind()),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    kinds.collect()
}

/// The program's verdict on the gate of the current call.
fn verdict(history: History, gated: bool) -> History {
    let call = history.call_seq();
    history.observed(HookAnswered {
        hook: Hook::ConfirmWhen,
        call,
        of: None,
        response: None,
        failure: None,
        gated: Some(gated),
        by: None,
    })
}

fn is_asked(history: &History) -> bool {
    decided(history).contains(&"confirmation_requested")
}

fn in_a_minute(history: &History) -> AllowFor {
    AllowFor::Until(history.now().after_ms(MINUTE_MS))
}

fn refused(history: &History, answer: ToolConfirmation, by: Actor) -> &'static str {
    let command = Command::AnswerConfirmation {
        request: history.request(),
        answer: Ok(answer),
        by,
    };
    admit(history.session(), command).map_or_else(|it| it.code(), |_| "taken")
}

#[test]
fn leave_allows_calls_up_to_its_count() {
    let given = allowed(&tools(), AllowFor::Count(2));
    let of = leave(&given);
    let first = next(given, "c2").returned(json!({}));
    let second = next(first.clone(), "c3");
    let by_leave = ["policy_decided", "leave_used", "call_ready", "call_started"];
    assert_eq!(decided(&second), by_leave);
    let used = LeaveUsed {
        call: second.call_seq(),
        leave: of,
        nth: 2,
        count: Some(2),
        until_us: None,
    };
    let made = second.facts().iter().map(|it| &it.event);
    assert!(
        made.clone()
            .any(|it| *it == Event::from(Decision::from(used.clone())))
    );
    assert!(is_asked(&next(second.returned(json!({})), "c4")));
}

#[test]
fn leave_allows_calls_up_to_its_time() {
    let support = history().opened("support").attached(&tools()).connected();
    let asked = support.call("c1", "mail", json!({})).asked();
    let until = in_a_minute(&asked);
    let given = asked.granted_for("ada", until).returned(json!({}));
    let before = next(given.clone().later(MINUTE_MS - 1), "c2");
    assert!(!is_asked(&before));
    assert!(is_asked(&next(given.later(MINUTE_MS), "c2")));
}

#[test]
fn call_that_waits_when_leave_is_given_keeps_waiting() {
    let support = history().opened("support").attached(&tools()).connected();
    let waits = support.call("c1", "mail", json!({"n": 1})).asked();
    let first = waits.call_seq();
    let second = next(waits, "c2").granted_for("ada", AllowFor::Count(9));
    let still = second.at_call(first);
    assert_eq!(still.current().phase.name(), "awaiting_confirmation");
}

#[test]
fn other_tool_is_asked_about() {
    let both = tools().gated("pay").may_allow_for_session("pay");
    let given = allowed(&both, AllowFor::Count(9));
    assert!(is_asked(&given.call("c2", "pay", json!({}))));
}

#[test]
fn changed_contract_or_policy_ends_the_leave_for_good() {
    for other in [
        tools().changed("mail"),
        tools().timeout_ms("mail", 9),
        toolbox().gated("mail"),
    ] {
        let given = allowed(&tools(), AllowFor::Count(9));
        let (of, changed) = (leave(&given), given.attached(&other));
        let ended = changed.session().leaves.get(&of).unwrap().ended.clone();
        let at = changed.session().head;
        assert_eq!(ended, Some(LeaveEnd::Changed { at }));
        assert!(is_asked(&next(changed.attached(&tools()), "c2")));
    }
}

#[test]
fn leave_outlives_restart_rewording_and_absence_of_tool() {
    let given = allowed(&tools(), AllowFor::Count(9));
    for again in [
        given.clone().detached().attached(&tools()),
        given.clone().attached(&tools().reworded("mail")),
        given.attached(&tools().without("mail")).attached(&tools()),
    ] {
        assert!(!is_asked(&next(again, "c2")));
    }
}

#[test]
fn revoked_leave_allows_no_later_call() {
    let given = allowed(&tools(), AllowFor::Count(9));
    let of = leave(&given);
    let revoked = given.leave_revoked(of, "bob");
    let again = Command::RevokeLeave {
        leave: of,
        reason: None,
        by: Actor::embedder("eve"),
    };
    let told = admit(revoked.session(), again).map_err(|it| it.to_string());
    let at = revoked.session().head;
    let expected = format!("standing leave {of}: it was revoked by bob before, at seq {at}");
    assert_eq!(told, Err(expected));
    assert!(is_asked(&next(revoked, "c2")));
}

#[test]
fn leave_that_ends_before_the_start_holds_its_call() {
    let given = allowed(&tools(), AllowFor::Count(1));
    let of = leave(&given);
    let ready = next(given.detached(), "c2");
    assert_eq!(ready.current().phase.name(), "ready");
    let revoked = ready.clone().leave_revoked(of, "ada").attached(&tools());
    assert!(is_asked(&revoked));
    assert!(is_asked(&ready.clone().attached(&tools().changed("mail"))));
    // The use was counted at the verdict, so the call starts although the leave is used up.
    let started = ready.attached(&tools()).started();
    assert_eq!(started.attempt(), 1);
}

#[test]
fn leave_that_runs_out_before_the_start_holds_its_call() {
    let support = history().opened("support").attached(&tools()).connected();
    let asked = support.call("c1", "mail", json!({})).asked();
    let until = in_a_minute(&asked);
    let given = asked.granted_for("ada", until).returned(json!({}));
    let ready = next(given.detached(), "c2").later(MINUTE_MS);
    assert!(is_asked(&ready.attached(&tools())));
}

#[test]
fn only_gated_calls_use_the_leave() {
    let large = S::compares(S::arg("n"), Comparison::Greater, 10);
    let some = tools().policy("mail", |policy| policy.gate_terms.when = Some(large));
    let support = history().opened("support").attached(&some).connected();
    let asked = support.call("c1", "mail", json!({"n": 11})).asked();
    let given = asked
        .granted_for("ada", AllowFor::Count(1))
        .returned(json!({}));
    let small = given.call("c2", "mail", json!({"n": 1}));
    assert!(!decided(&small).contains(&"leave_used"));
    let small = small.returned(json!({}));
    assert!(decided(&small.call("c3", "mail", json!({"n": 12}))).contains(&"leave_used"));
}

#[test]
fn program_decides_its_gate_before_the_leave() {
    let by_program = tools().gated_by_program("mail");
    let support = history()
        .opened("support")
        .attached(&by_program)
        .connected();
    let asked = verdict(support.call("c1", "mail", json!({})), true);
    let given = asked
        .granted_for("ada", AllowFor::Count(1))
        .returned(json!({}));
    let waits = next(given, "c2");
    assert_eq!(waits.current().phase.name(), "awaiting_verdict");
    assert!(!decided(&verdict(waits.clone(), false)).contains(&"leave_used"));
    assert!(decided(&verdict(waits, true)).contains(&"leave_used"));
}

#[test]
fn leave_allows_no_second_run() {
    let once_more = tools().in_doubt("mail", InDoubt::Retry);
    let given = allowed(&once_more, AllowFor::Count(9));
    let of = leave(&given);
    let cut_off = next(given, "c2").started().detached();
    let revoked = cut_off
        .clone()
        .leave_revoked(of, "ada")
        .attached(&once_more);
    assert!(is_asked(&revoked));
    // The permission of the first start holds for the retry, and is not counted again.
    let again = cut_off.attached(&once_more).started();
    assert_eq!(again.session().leaves.get(&of).unwrap().used, 1);
}

#[test]
fn waived_gate_uses_no_leave() {
    let given = allowed(&tools(), AllowFor::Count(1));
    let waived = next(given.attached(&tools().gates_waived("a test bench")), "c2");
    assert!(decided(&waived).contains(&"gate_waived"));
    let enforced = next(waived.returned(json!({})).attached(&tools()), "c3");
    assert!(decided(&enforced).contains(&"leave_used"));
}

#[test]
fn unfit_leaves_are_refused() {
    let asked = |tools: &Toolbox| {
        let support = history().opened("support").attached(tools).connected();
        support.call("c1", "mail", json!({})).asked()
    };
    let (ada, program) = (
        Actor::embedder("ada"),
        Actor::embedder("ada").as_program("night"),
    );
    let yes = || ToolConfirmation::confirmed();
    let waits = asked(&tools().policy("mail", |policy| {
        policy.gate_terms.edits = Some(Edits::Allowed);
    }));
    let (now, count) = (waits.now(), AllowFor::Count(2));
    let month = AllowFor::Until(now.after_ms(ALLOW_FOR_MS_MAX));
    for (answer, by, code) in [
        (yes().and_allow_for(count), &ada, "taken"),
        (yes().and_allow_for(month), &ada, "taken"),
        (
            yes().and_allow_for(AllowFor::Count(ALLOW_COUNT_MAX)),
            &ada,
            "taken",
        ),
        (yes().and_allow_for(count), &program, "invalid_leave"),
        (
            ToolConfirmation::denied("no").and_allow_for(count),
            &ada,
            "invalid_leave",
        ),
        (
            yes().with_args(json!({})).and_allow_for(count),
            &ada,
            "invalid_leave",
        ),
        (
            yes().and_allow_for(AllowFor::Count(0)),
            &ada,
            "invalid_leave",
        ),
        (
            yes().and_allow_for(AllowFor::Count(ALLOW_COUNT_MAX + 1)),
            &ada,
            "invalid_leave",
        ),
        (
            yes().and_allow_for(AllowFor::Until(now)),
            &ada,
            "invalid_leave",
        ),
    ] {
        assert_eq!(
            refused(&waits, answer.clone(), by.clone()),
            code,
            "{answer:?}"
        );
    }
    let plain = asked(&toolbox().gated("mail"));
    let code = refused(&plain, yes().and_allow_for(count), ada.clone());
    assert_eq!(code, "leave_not_permitted");
    let with_payload = asked(&tools().policy("mail", |policy| {
        policy.gate_terms.payload = Some(json!({"type": "object"}));
    }));
    let code = refused(&with_payload, yes().and_allow_for(count), ada.clone());
    assert_eq!(code, "leave_not_permitted");
    let own = asked(&tools()).granted("ada").asks("Which one?");
    let code = refused(&own, yes().and_allow_for(count), ada);
    assert_eq!(code, "leave_not_permitted");
}

/// Admission refuses these answers. Records of them, as an altered export may have, approve their
/// call and give no leave.
#[test]
fn unfit_answer_on_record_gives_no_leave() {
    let edits = |policy: &mut ToolPolicy| policy.gate_terms.edits = Some(Edits::Allowed);
    let may = tools().policy("mail", edits);
    let (ada, count) = (Actor::embedder("ada"), AllowFor::Count(2));
    let yes = |bound| ToolConfirmation::confirmed().and_allow_for(bound);
    let asked = |tools: &Toolbox| {
        let support = history().opened("support").attached(tools).connected();
        support.call("c1", "mail", json!({"n": 1})).asked()
    };
    let now = asked(&may).now();
    let too_late = AllowFor::Until(now.after_ms(ALLOW_FOR_MS_MAX + 1));
    let program = ada.clone().as_program("night");
    for (answer, by, tools) in [
        (yes(count).with_args(json!({"n": 2})), &ada, &may),
        (yes(count), &program, &may),
        (yes(AllowFor::Count(0)), &ada, &may),
        (yes(AllowFor::Count(ALLOW_COUNT_MAX + 1)), &ada, &may),
        (yes(AllowFor::Until(now)), &ada, &may),
        (yes(too_late), &ada, &may),
        (yes(count), &ada, &toolbox().gated("mail")),
    ] {
        let asked = asked(tools);
        let record = answer.into_record(asked.request(), by.clone());
        let told = asked.observed(record).started();
        assert!(told.session().leaves.is_empty(), "{}", told.story());
    }
}

#[test]
fn call_from_before_the_leave_is_asked_about() {
    let by_program = tools().gated_by_program("mail");
    let support = history().opened("support").attached(&by_program);
    let first = verdict(support.connected().call("c1", "mail", json!({})), true).asked();
    let allowed = next(first, "c2")
        .about("c1")
        .granted_for("ada", AllowFor::Count(9));
    assert!(is_asked(&verdict(allowed.about("c2"), true)));
}

#[test]
fn call_that_was_started_is_asked_about_again() {
    let large = |policy: &mut ToolPolicy| policy.gate_terms.when = Some(S::is_true("large"));
    let tools = tools()
        .policy("mail", large)
        .in_doubt("mail", InDoubt::Retry);
    let support = history().opened("support").attached(&tools).connected();
    let asked = support
        .state("large", json!(true))
        .call("c1", "mail", json!({}));
    let given = asked
        .granted_for("ada", AllowFor::Count(9))
        .returned(json!({}));
    let cut_off = next(given.state("large", json!(false)), "c2")
        .started()
        .detached();
    let again = cut_off.state("large", json!(true)).attached(&tools);
    assert!(is_asked(&again));
}

#[test]
fn leave_ends_once_and_by_no_program() {
    let given = allowed(&tools(), AllowFor::Count(9));
    let of = leave(&given);
    let revoke = |by: Actor| Command::RevokeLeave {
        leave: of,
        reason: None,
        by,
    };
    let program = Actor::embedder("ada").as_program("night");
    assert_eq!(given.rejection(revoke(program)).code(), "automatic_answer");
    let closed = given.clone().closed();
    let late = closed.rejection(revoke(Actor::embedder("ada")));
    assert_eq!(late, Rejection::SessionClosed);
    let revoked = given.leave_revoked(of, "ada");
    let ended = |history: &History| history.session().leaves.get(&of).unwrap().ended.clone();
    let second = revoked.clone().observed(LeaveRevoked {
        leave: of,
        by: Actor::embedder("eve"),
        reason: None,
        rules: RULES,
    });
    assert_eq!(ended(&second), ended(&revoked));
}

#[test]
fn leave_in_force_is_open_work() {
    let listed = |history: &History| {
        let open = open_work(history.session()).into_iter();
        let leaves = open.filter(|(_, it)| it.kind == OpenKind::Leave);
        leaves
            .map(|(seq, it)| (seq, it.deadline))
            .collect::<Vec<_>>()
    };
    let given = allowed(&tools(), AllowFor::Count(1));
    let of = leave(&given);
    assert_eq!(listed(&given), [(of, None)]);
    let used_up = next(given.clone(), "c2");
    assert_eq!(listed(&used_up), []);
    assert_eq!(listed(&given.clone().leave_revoked(of, "ada")), []);
    assert_eq!(listed(&given.closed()), []);
}

#[test]
fn revocation_needs_rules_2() {
    let given = allowed(&tools(), AllowFor::Count(1));
    let of = leave(&given);
    let revoke = Command::RevokeLeave {
        leave: of,
        reason: None,
        by: Actor::embedder("ada"),
    };
    let revoked = admit(given.session(), revoke.clone()).unwrap();
    assert_eq!((revoked.rules(), given.session().rules), (Some(2), 2));
    told(&given).when_asked(revoke).then_nothing();
}

/// A question about mail that needs two approvals by these people.
fn of_two() -> History {
    let people = ["ada", "bob", "eve"].map(Person::embedder);
    let two = tools()
        .quorum("mail", 2)
        .approvers("mail", Approvers::names(people));
    let support = history().opened("support").attached(&two).connected();
    support.call("c1", "mail", json!({"n": 1})).asked()
}

fn yes(history: History, by: &str, bound: Option<AllowFor>) -> History {
    let mut answer = ToolConfirmation::confirmed();
    answer.allow_for = bound;
    history.answered_by(Actor::embedder(by), answer)
}

#[test]
fn leave_of_quorum_needs_every_approval_and_takes_the_least() {
    let count = |count| Some(AllowFor::Count(count));
    for (first, second, expected) in [
        (count(3), count(2), count(2)),
        (count(2), count(3), count(2)),
        (count(2), None, None),
        (None, count(2), None),
    ] {
        let approved = yes(yes(of_two(), "ada", first), "bob", second);
        let mut leaves = approved.session().leaves.values();
        assert_eq!(leaves.next().map(|it| it.allow_for), expected);
        assert!(expected.is_none() || leaves.next().is_none());
    }
    let both = yes(yes(of_two(), "ada", count(1)), "bob", count(1));
    let leave = both.session().leaves.values().next().unwrap();
    assert_eq!(leave.by, [Actor::embedder("ada"), Actor::embedder("bob")]);
}

#[test]
fn bounds_of_a_quorum_are_of_one_kind() {
    let first = yes(of_two(), "ada", Some(AllowFor::Count(2)));
    let until = in_a_minute(&first);
    let other = ToolConfirmation::confirmed().and_allow_for(until);
    assert_eq!(
        refused(&first, other, Actor::embedder("bob")),
        "invalid_leave"
    );
}

#[test]
fn only_people_who_could_give_the_leave_revoke_it() {
    let count = Some(AllowFor::Count(2));
    let given = yes(yes(of_two(), "ada", count), "bob", count);
    let leave = leave(&given);
    let revoked_by = |by| {
        let reason = None;
        let revoke = Command::RevokeLeave { leave, reason, by };
        admit(given.session(), revoke).map_or_else(|it| it.code(), |it| it.kind())
    };
    let eve = Actor::embedder("eve");
    assert_eq!(revoked_by(eve.clone()), "leave_revoked");
    assert_eq!(revoked_by(Actor::embedder("mallory")), "not_an_approver");
    assert_eq!(revoked_by(Actor::os_user("eve")), "not_an_approver");
    assert_eq!(revoked_by(eve.as_program("night")), "automatic_answer");
}
