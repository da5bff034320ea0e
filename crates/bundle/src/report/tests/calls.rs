//! Calls on the page.

use recount::session::{
    Actor, AllowFor, Command, Edits, Identity, InDoubt, Json, ToolConfirmation, ToolPolicy,
};
use recount::testing::{History, Toolbox, toolbox};
use recount_journal::Hash;
use serde_json::json;

use super::kit::{Kept, begun, bob, section, text};
use crate::disclosure::Disclose;

fn has(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "{wanted:?} is missing in: {text}");
}

fn asked(tools: &Toolbox) -> History {
    begun(tools).call("c1", "pay", json!({"cents": 4200}))
}

fn gated() -> Toolbox {
    toolbox().gated("pay")
}

fn ada() -> Actor {
    let finance = Identity::of("https://login.example").with_role("finance");
    Actor::token("ada").with_identity(finance).as_person()
}

/// A session in which ada approved a payment after 12 seconds.
fn approved(tools: &Toolbox) -> History {
    let yes = ToolConfirmation::confirmed().with_reason("checked the invoice");
    let answered = asked(tools).later(12_000).answered_by(ada(), yes);
    answered.later(3_000).returned(json!({"paid": true}))
}

#[test]
fn approval_says_what_was_shown_who_when_and_what_ran() {
    let mut kept = Kept::new();
    let session = kept.keep(&approved(&gated()), &gated());
    let shown = section(&kept.page(), "approvals");
    has(&shown, "1 approval. pay, approved by ada");
    has(
        &shown,
        "“May it pay?” and the arguments {\"cents\":4200}, SHA-256 ",
    );
    has(&shown, &Hash::of_object(br#"{"cents":4200}"#).to_string());
    has(&shown, "Answered 2025-11-21 04:40:12.000 UTC, after 12 s");
    has(
        &shown,
        "ada, verified by a token of https://login.example, role finance; acted as a",
    );
    has(&shown, "Reason checked the invoice");
    has(&shown, "rule: approval required, of the policies policies/");
    has(
        &shown,
        "start 1, by an approval, 2025-11-21 04:40:12.000 UTC, ended 2025-11-21 04:40:15",
    );
    has(
        &shown,
        "Outcome returned, 2025-11-21 04:40:15.000 UTC, record ",
    );
    has(&shown, &format!("session {}, record 4 (leaf 3)", session.0));
    has(&shown, "no proof: no checkpoint covers the answer");
}

#[test]
fn approval_under_a_checkpoint_names_its_proof() {
    let mut kept = Kept::new();
    let session = kept.keep(&approved(&gated()), &gated());
    kept.checkpoint();
    let shown = section(&kept.page(), "approvals");
    has(&shown, &format!("proof: proofs/{}-", session.0));
    assert!(!shown.contains("no proof"), "{shown}");
}

#[test]
fn edit_is_a_difference_with_the_hash_of_the_new_arguments() {
    let tools = gated().policy("pay", |it: &mut ToolPolicy| {
        it.gate_terms.edits = Some(Edits::Allowed);
    });
    let edited = Json::parse(r#"{"cents":4000}"#).unwrap();
    let yes = ToolConfirmation::confirmed().with_args(edited.to_value());
    let mut kept = Kept::new();
    kept.keep(&asked(&tools).answered_by(bob(), yes), &tools);
    let shown = section(&kept.page(), "approvals");
    has(&shown, "- \"cents\": 4200 + \"cents\": 4000");
    has(&shown, &Hash::of_object(br#"{"cents":4000}"#).to_string());
}

#[test]
fn withheld_arguments_are_shown_by_their_hash() {
    let mut kept = Kept::new();
    kept.keep(&approved(&gated()), &gated());
    let page = crate::report::html(&kept.contents(Disclose::None));
    let shown = section(&page, "approvals");
    has(
        &shown,
        "a text (withheld) and the arguments withheld, SHA-256 ",
    );
    has(&shown, &Hash::of_object(br#"{"cents":4200}"#).to_string());
    has(&shown, "Reason withheld, SHA-256");
    for secret in ["4200", "May it pay?", "checked the invoice"] {
        assert!(!text(&page).contains(secret), "{secret}");
    }
}

#[test]
fn denial_expiry_and_refusal_are_told_apart() {
    let mut kept = Kept::new();
    let denied = asked(&gated()).denied("bob", Some("wrong account"));
    kept.keep(&denied, &gated());
    let expiring = gated().expires_ms("pay", 60_000);
    kept.keep(&asked(&expiring).timed_out(), &expiring);
    let limited = toolbox().plain("look").per_session("look", 1);
    let refused = begun(&limited)
        .call("c1", "look", json!({}))
        .call("c2", "look", json!({"n": 2}));
    kept.keep(&refused, &limited);
    let shown = section(&kept.page(), "not-allowed");
    has(&shown, "1 request denied.");
    has(&shown, "wrong account");
    has(&shown, "1 request expired.");
    has(&shown, ", after 60 s no person none given");
    has(&shown, "look limit reached policies/");
    has(&shown, "No call was cancelled.");
}

#[test]
fn cancelled_call_names_its_actor() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("look");
    let started = begun(&tools).call("c1", "look", json!({}));
    let call = started.call_seq();
    let cancelled = started.commanded(Command::CancelCall {
        call,
        reason: Some("not needed".to_owned()),
        by: bob(),
    });
    kept.keep(&cancelled, &tools);
    let shown = section(&kept.page(), "not-allowed");
    has(&shown, "1 call cancelled.");
    has(
        &shown,
        "bob, user of the operating system; acted as a person not needed",
    );
}

#[test]
fn calls_without_a_person_are_grouped_by_rule() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("look").gated("pay").gates_waived("a drill");
    let calls = begun(&tools)
        .call("c1", "look", json!({}))
        .call("c2", "look", json!({"n": 2}))
        .call("c3", "pay", json!({}));
    kept.keep(&calls, &tools);
    let shown = section(&kept.page(), "unasked");
    has(
        &shown,
        "look allowed without approval: no policy asked policies/",
    );
    has(&shown, "pay approval not enforced: a drill policies/");
    has(&shown, "2 + 1 = 3 calls");
}

#[test]
fn approval_by_a_program_is_no_approval_of_a_person() {
    let mut kept = Kept::new();
    let nightly = Actor::embedder("billing").as_program("nightly refunds");
    let told = asked(&gated()).answered_by(nightly, ToolConfirmation::confirmed());
    kept.keep(&told, &gated());
    let page = kept.page();
    has(
        &section(&page, "approvals"),
        "No call was approved by a person.",
    );
    let shown = section(&page, "unasked");
    has(
        &shown,
        "pay approved automatically: program \"nightly refunds\" policies/",
    );
}

#[test]
fn leave_has_its_grant_its_uses_and_its_end() {
    let mut kept = Kept::new();
    let tools = gated().may_allow_for_session("pay");
    let granted = asked(&tools).granted_for("ada", AllowFor::Count(5));
    let leave = granted
        .facts()
        .iter()
        .rev()
        .find(|it| it.event.kind() == "confirmation_answered");
    let leave = leave.unwrap().seq;
    let used = granted
        .call("c2", "pay", json!({"cents": 1}))
        .call("c3", "pay", json!({"cents": 2}))
        .leave_revoked(leave, "carol");
    kept.keep(&used, &tools);
    let page = kept.page();
    let shown = section(&page, "leaves");
    has(&shown, "1 standing leave granted.");
    has(&shown, "for 5 further calls 2 2025-11-21");
    has(&shown, "UTC by carol, record ");
    has(
        &section(&page, "approvals"),
        "also allows later calls of the tool for 5 further calls",
    );
    has(
        &section(&page, "unasked"),
        "pay allowed by a standing leave",
    );
}

#[test]
fn call_in_doubt_says_how_it_was_settled() {
    let mut kept = Kept::new();
    let tools = gated().in_doubt("pay", InDoubt::Ask);
    let doubted = asked(&tools).granted("ada").attached(&tools);
    let request = doubted.request();
    let settled = doubted.clone().commanded(Command::AnswerConfirmation {
        request,
        answer: Ok(ToolConfirmation::settled_as_failed("the bank refused it")),
        by: bob(),
    });
    kept.keep(&settled, &tools);
    kept.keep(&doubted.denied("ada", None), &tools);
    let shown = section(&kept.page(), "doubts");
    has(&shown, "2 calls in doubt.");
    has(
        &shown,
        "settled asked 2025-11-21 04:40:00.000 UTC: found to have had no effect by bob",
    );
    has(&shown, "still unknown asked");
}

#[test]
fn sums_add_up_over_every_column() {
    let mut kept = Kept::new();
    kept.keep(&approved(&gated()), &gated());
    kept.keep(&asked(&gated()).denied("bob", None), &gated());
    kept.keep(&asked(&gated()), &gated());
    let tools = toolbox().plain("look");
    kept.keep(&begun(&tools).call("c1", "look", json!({})), &tools);
    let shown = section(&kept.page(), "population");
    has(
        &shown,
        "Allowed by a person By a rule Denied by a person Not decided All",
    );
    has(&shown, "look 0 1 0 0 1 pay 1 0 1 1 3 All 1 1 1 1 4");
    has(&shown, "1 + 1 + 1 + 1 = 4 calls");
    has(
        &shown,
        "Returned Denied Open All look 0 0 1 1 pay 1 1 1 3 All 1 1 2 4",
    );
    has(&shown, "1 + 1 + 2 = 4 calls");
    has(
        &shown,
        "Sessions of the journal 4 in scope + 0 outside the scope 4",
    );
}
