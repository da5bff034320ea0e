#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::{Value, json};

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

const ISSUER: &str = "https://login.example";

/// A person whose token has this role.
fn with_role(name: &str, role: &str) -> Actor {
    let identity = Identity::of(ISSUER).with_role(role);
    Actor::token(name).as_person().with_identity(identity)
}

fn finance(name: &str) -> Actor {
    with_role(name, "finance")
}

fn paying() -> Toolbox {
    toolbox().gated("pay")
}

fn two() -> Toolbox {
    paying().quorum("pay", 2)
}

fn called(tools: &Toolbox) -> History {
    let opened = history().opened_for("support", "carol");
    let support = opened.attached(tools).connected();
    support.call("c1", "pay", json!({"cents": 4200})).asked()
}

fn yes() -> ToolConfirmation {
    ToolConfirmation::confirmed()
}

fn no() -> ToolConfirmation {
    ToolConfirmation::denied("too much")
}

fn refused(asked: &History, by: Actor, answer: ToolConfirmation) -> &'static str {
    asked.rejection(asked.answer_of(by, answer)).code()
}

/// The name of the current call's phase, or of its outcome.
fn state(history: &History) -> String {
    match history.session().calls.get(&history.call_seq()) {
        Some(call) => call.phase.name().to_owned(),
        None => format!(
            "{:?}",
            history.session().settled[&history.call_seq()].outcome
        ),
    }
}

fn missing(asked: &History) -> u32 {
    asked.session().requests[&asked.request()].missing()
}

#[test]
fn last_yes_that_is_needed_decides() {
    let asked = called(&two());
    assert_eq!(missing(&asked), 2);
    let first = asked.answer_of(Actor::os_user("ada"), yes());
    given(&asked).when_asked(first).then_nothing();
    let one = asked.answered_by(Actor::os_user("ada"), yes());
    assert_eq!(one.kinds().last(), Some(&"approval_given"));
    assert_eq!(missing(&one), 1);
    let second = one.answer_of(Actor::os_user("bob"), yes());
    given(&one)
        .when_asked(second)
        .then_kinds(["call_ready", "call_started"]);
    let both = one.answered_by(Actor::os_user("bob"), yes());
    assert!(both.kinds().contains(&"confirmation_answered"));
    assert_eq!(state(&both), "running");
}

#[test]
fn first_no_decides_whatever_was_said_before() {
    let one = called(&two()).answered_by(Actor::os_user("ada"), yes());
    for who in ["ada", "bob"] {
        let denied = one.clone().answered_by(Actor::os_user(who), no());
        assert_eq!(state(&denied), "Denied");
    }
}

#[test]
fn person_counts_once() {
    let one = called(&two()).answered_by(Actor::os_user("ada"), yes());
    let again = [Actor::os_user("ada"), Actor::os_user("ada").as_person()];
    for by in again {
        assert_eq!(refused(&one, by, yes()), "already_approved");
    }
    // The same name of another issuer is another person.
    let both = one.answered_by(finance("ada"), yes());
    assert_eq!(state(&both), "running");
}

#[test]
fn automatic_and_unverified_answers_never_count() {
    let program = Actor::os_user("ada").as_program("recount run --approve-all");
    let unknown = Actor::unverified("ada");
    let people = Approvers::names([Person::os_user("ada")]);
    for tools in [
        paying().quorum("pay", 1),
        two(),
        paying().approvers("pay", people),
        paying().not_requester("pay"),
    ] {
        let asked = called(&tools);
        for answer in [yes(), no()] {
            let code = refused(&asked, program.clone(), answer.clone());
            assert_eq!(code, "automatic_answer");
            let code = refused(&asked, unknown.clone(), answer);
            assert_eq!(code, "unverified_answer");
        }
    }
    let plain = called(&paying()).answered_by(program, yes());
    assert_eq!(state(&plain), "running");
}

#[test]
fn only_an_approver_may_answer() {
    let asked = called(&paying().approvers("pay", Approvers::roles(["finance"])));
    for answer in [yes(), no()] {
        for by in [with_role("bob", "sales"), Actor::os_user("bob")] {
            assert_eq!(refused(&asked, by, answer.clone()), "not_an_approver");
        }
    }
    let approved = asked.clone().answered_by(finance("bob"), yes());
    assert_eq!(state(&approved), "running");
    assert_eq!(state(&asked.answered_by(finance("bob"), no())), "Denied");
}

#[test]
fn answer_needs_a_match_in_each_entry() {
    let tools = paying()
        .approvers("pay", Approvers::roles(["finance"]))
        .approvers("pay", Approvers::groups(["eu"]));
    let asked = called(&tools);
    assert_eq!(refused(&asked, finance("ada"), yes()), "not_an_approver");
    let identity = Identity::of(ISSUER).with_role("finance").with_group("eu");
    let both = Actor::token("ada").as_person().with_identity(identity);
    assert_eq!(state(&asked.answered_by(both, yes())), "running");
}

#[test]
fn requester_may_deny_but_not_approve() {
    let asked = called(&paying().not_requester("pay"));
    // The session names its party without an issuer, so the name of any issuer is the requester.
    for by in [Actor::os_user("carol"), finance("carol")] {
        assert_eq!(refused(&asked, by.clone(), yes()), "is_the_requester");
        assert_eq!(state(&asked.clone().answered_by(by, no())), "Denied");
    }
    let other = asked.answered_by(Actor::os_user("ada"), yes());
    assert_eq!(state(&other), "running");
}

/// Opens the session for this party and asks about a call.
fn asked_for(party: &str) -> History {
    let opened = history().opened_for("support", party);
    let support = opened.attached(&paying().not_requester("pay")).connected();
    support.call("c1", "pay", json!({})).asked()
}

#[test]
fn requester_without_issuer_is_compared_loosely() {
    for party in [
        "Carol",
        " carol",
        "https://login.example:carol",
        "os_user:CAROL",
    ] {
        let by = match party.starts_with("https") {
            true => finance("carol"),
            false => Actor::os_user("carol"),
        };
        assert_eq!(refused(&asked_for(party), by, yes()), "is_the_requester");
    }
}

#[test]
fn blank_requester_is_unknown() {
    for party in ["", " "] {
        let code = refused(&asked_for(party), Actor::os_user("ada"), yes());
        assert_eq!(code, "requester_unknown");
    }
}

#[test]
fn name_without_a_voucher_counts_towards_no_quorum() {
    let one = called(&two()).answered_by(Actor::os_user("ada"), yes());
    let posing = |issuer: &str| finance("ada").with_identity(Identity::of(issuer));
    for by in [
        Actor::os_user(""),
        posing(""),
        posing("os_user"),
        posing("embedder"),
    ] {
        assert_eq!(refused(&one, by, yes()), "unverified_answer");
    }
}

#[test]
fn program_that_called_is_the_requester() {
    let tools = paying().not_requester("pay");
    let opened = history().opened_for("support", "carol").attached(&tools);
    let asked = opened.connected().observed(FunctionCallReceived {
        epoch: Seq(0),
        id: None,
        name: Some("pay".to_owned()),
        args: None,
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: Some(Actor::embedder("billing").as_program("nightly")),
        parent: None,
        beyond_max: None,
        key: None,
    });
    let own = Actor::embedder("billing").as_person();
    assert_eq!(refused(&asked, own, yes()), "is_the_requester");
    let carol = asked.clone().answered_by(Actor::os_user("carol"), yes());
    assert_eq!(state(&carol), "running");
    let namesake = asked.answered_by(Actor::os_user("billing"), yes());
    assert_eq!(state(&namesake), "running");
}

#[test]
fn unknown_requester_lets_no_person_approve() {
    let opened = history().opened("support");
    let support = opened.attached(&paying().not_requester("pay")).connected();
    let asked = support.call("c1", "pay", json!({})).asked();
    let ada = Actor::os_user("ada");
    assert_eq!(refused(&asked, ada.clone(), yes()), "requester_unknown");
    assert_eq!(state(&asked.answered_by(ada, no())), "Denied");
}

#[test]
fn every_yes_is_to_the_same_content() {
    let tools = two().policy("pay", |it| {
        it.gate_terms.edits = Some(Edits::Allowed);
        it.gate_terms.payload = Some(json!({}));
    });
    let less = |cents: u32| yes().with_args(json!({"cents": cents}));
    let asked = called(&tools);
    let one = asked.clone().answered_by(Actor::os_user("ada"), less(4000));
    let bob = || Actor::os_user("bob");
    for other in [yes(), less(1), less(4000).with_payload(json!({"a": 1}))] {
        assert_eq!(refused(&one, bob(), other), "other_content");
    }
    let both = one.answered_by(bob(), less(4000));
    assert_eq!(both.current().args.to_value(), json!({"cents": 4000}));
    assert_eq!(state(&both), "running");
    let plain = asked.answered_by(Actor::os_user("ada"), yes());
    assert_eq!(refused(&plain, bob(), less(4000)), "other_content");
}

#[test]
fn changed_contract_voids_the_approvals() {
    let one = called(&two()).answered_by(Actor::os_user("ada"), yes());
    let again = one.attached(&two().changed("pay")).asked();
    assert!(again.kinds().contains(&"confirmation_reopened"));
    assert_eq!(missing(&again), 2);
    let anew = again.answered_by(Actor::os_user("ada"), yes());
    assert_eq!(missing(&anew), 1);
}

#[test]
fn other_terms_replace_the_request() {
    let asked = called(&paying());
    let stricter = asked.attached(&two()).asked();
    assert_eq!(missing(&stricter), 2);
    let one = stricter.answered_by(Actor::os_user("ada"), yes());
    let looser = one.attached(&paying()).asked();
    assert_eq!(missing(&looser), 1);
}

#[test]
fn expiry_counts_for_the_whole_request() {
    let one = called(&two().expires_ms("pay", 500));
    let one = one.later(400).answered_by(Actor::os_user("ada"), yes());
    assert_eq!(state(&one.timed_out()), "Expired");
}

#[test]
fn doubt_is_answered_by_the_same_people() {
    let tools = two()
        .approvers("pay", Approvers::roles(["finance"]))
        .in_doubt("pay", InDoubt::Ask);
    let both = |asked: History| {
        let one = asked.answered_by(finance("ada"), yes());
        one.answered_by(finance("bob"), yes())
    };
    let doubt = both(called(&tools)).started().detached().attached(&tools);
    let doubt = doubt.asked();
    assert_eq!(
        refused(&doubt, Actor::os_user("x"), yes()),
        "not_an_approver"
    );
    let done = || ToolConfirmation::settled_as_done(json!({"receipt": 1}));
    assert_eq!(
        refused(&doubt, Actor::os_user("x"), done()),
        "not_an_approver"
    );
    assert_eq!(missing(&doubt), 2);
    // A stated outcome runs nothing, so one approver may state it.
    let settled = doubt.clone().answered_by(finance("ada"), done());
    assert_eq!(state(&settled), "Supplied");
    assert_eq!(state(&both(doubt)), "running");
}

#[test]
fn own_question_of_the_tool_has_no_terms() {
    let tools = two().not_requester("pay");
    let one = called(&tools).answered_by(Actor::os_user("ada"), yes());
    let running = one.answered_by(Actor::os_user("bob"), yes()).started();
    let asked = running.asks("Which account?").asked();
    assert_eq!(missing(&asked), 1);
    // Under another contract the question is the only leave, so it has the terms of the gate.
    let anew = asked.clone().attached(&tools.changed("pay")).asked();
    assert_eq!(missing(&anew), 2);
    assert_eq!(
        refused(&anew, Actor::os_user("carol"), yes()),
        "is_the_requester"
    );
    let answered = asked.answered_by(Actor::os_user("carol"), yes());
    assert_eq!(state(&answered), "running");
}

#[test]
fn own_question_does_not_pass_a_gate_that_closed_since() {
    let tools = two().policy("pay", |it| {
        it.gate_terms.when = Some(S::is_true("large"));
    });
    let opened = history().opened("support").attached(&tools).connected();
    let running = opened.call("c1", "pay", json!({})).started();
    let asked = running.asks("Which account?").asked();
    let small = asked.clone().answered_by(Actor::unverified("eve"), yes());
    assert_eq!(state(&small), "running");
    let large = asked.state("large", json!(true));
    let gated = large.answered_by(Actor::unverified("eve"), yes()).asked();
    assert_eq!(state(&gated), "awaiting_confirmation");
    assert_eq!(missing(&gated), 2);
    let one = gated.answered_by(Actor::os_user("ada"), yes());
    assert_eq!(state(&one), "awaiting_confirmation");
    let both = one.answered_by(Actor::os_user("bob"), yes());
    assert_eq!(state(&both), "running");
}

#[test]
fn own_question_with_the_terms_of_the_gate_passes_it() {
    let tools = two().may_allow_for_session("pay");
    let allow = |by| (Actor::os_user(by), yes().and_allow_for(AllowFor::Count(9)));
    let (ada, bob) = (allow("ada"), allow("bob"));
    let one = called(&tools).answered_by(ada.0, ada.1);
    let first = one.answered_by(bob.0, bob.1).returned(json!({}));
    let second = first.call("c2", "pay", json!({})).started();
    let asked = second.asks("Which account?").asked();
    assert_eq!(missing(&asked), 2);
    let one = asked.answered_by(Actor::os_user("ada"), yes());
    let both = one.answered_by(Actor::os_user("bob"), yes());
    assert_eq!(state(&both), "running");
}

#[test]
fn answer_that_admission_would_refuse_changes_nothing() {
    let asked = called(&two().approvers("pay", Approvers::roles(["finance"])));
    let request = asked.request();
    let wrong = |by: Actor| yes().into_record(request, by);
    let same = asked.clone().observed(wrong(Actor::os_user("x")));
    assert_eq!(
        (state(&same), missing(&same)),
        ("awaiting_confirmation".to_owned(), 2)
    );
    // A decisive record of a first yes does not decide, and neither does an approval that is the
    // last one that is needed.
    let none = same.observed(wrong(finance("ada")));
    assert_eq!(missing(&none), 2);
    let one = none.observed(ApprovalGiven::from(wrong(finance("ada"))));
    assert_eq!(missing(&one), 1);
    for name in ["ada", "bob"] {
        let again = one
            .clone()
            .observed(ApprovalGiven::from(wrong(finance(name))));
        assert_eq!(missing(&again), 1);
    }
    let plain = called(&paying());
    let yes = yes().into_record(plain.request(), Actor::os_user("ada"));
    let same = plain.observed(ApprovalGiven::from(yes));
    assert_eq!(state(&same), "awaiting_confirmation");
}

#[test]
fn gate_with_terms_is_never_waived() {
    let waived = |tools: Toolbox| {
        let tools = tools.gates_waived("no durable journal");
        let opened = history().opened("support").attached(&tools).connected();
        state(&opened.call("c1", "pay", json!({})))
    };
    assert_eq!(waived(paying()), "running");
    assert_eq!(waived(paying().quorum("pay", 1)), "awaiting_confirmation");
}

#[test]
fn request_pins_its_terms() {
    let tools = two()
        .approvers("pay", Approvers::names([Person::os_user("ada")]))
        .not_requester("pay");
    let asked = called(&tools);
    let question = asked.facts().iter().find_map(|fact| match &fact.event {
        Event::Decided(decision) => decision.question().cloned(),
        Event::Observed(_) => None,
    });
    let expected: Value = json!({
        "approvers": [{"names": [{"issuer": "os_user", "subject": "ada"}]}],
        "not_requester": true,
        "requester": {"name": "carol"},
        "quorum": 2,
    });
    assert_eq!(json!(question.unwrap().needs), expected);
    let plain = called(&paying());
    let body = plain.facts().iter().map(|it| it.event.body().unwrap());
    assert!(!body.collect::<String>().contains("needs"));
}

#[test]
fn snapshot_keeps_the_approvals() {
    let one = called(&two()).answered_by(Actor::os_user("ada"), yes());
    let bytes = snapshot::of(one.session()).unwrap();
    let read = snapshot::Snapshot::read(&bytes).unwrap();
    let library = one.session().library().clone();
    assert_eq!(read.restored(library).as_ref(), Some(one.session()));
}
