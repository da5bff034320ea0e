//! Mutated terms of answers: removed, widened or misspelt, they never let a call run that the whole
//! terms would hold.
//!
//! Answers are given under one set of terms, and another set is in force when the call could start.
//! The terms are part of the contract, so every answer to the other question is void.

#![expect(
    clippy::expect_used,
    reason = "a test that meets the impossible must stop"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use recount_session::testing::{History, Toolbox, history, toolbox};
use recount_session::{
    Actor, Approvers, Event, Identity, Observation, Person, Phase, PolicySet, ToolConfirmation,
    ToolPolicy, admit,
};
use serde_json::{Map, Value, json};

const TERMS: [&str; 3] = ["approvers", "not_requester", "quorum"];

/// The stored terms of a gate.
fn terms() -> impl Strategy<Value = Map<String, Value>> {
    let finance = json!({"roles": ["finance"]});
    let both = json!({"roles": ["finance"], "names": [Person::os_user("bob")]});
    let approvers = vec![
        None,
        Some(json!([finance])),
        Some(json!([both])),
        Some(json!([finance, {"groups": ["eu"]}])),
    ];
    let fields = (select(approvers), any::<bool>(), 0..4_u32);
    fields.prop_map(|(approvers, not_requester, quorum)| {
        let mut terms = Map::new();
        terms.extend(approvers.map(|it| ("approvers".to_owned(), it)));
        terms.extend(not_requester.then(|| ("not_requester".to_owned(), true.into())));
        terms.extend((quorum > 0).then(|| ("quorum".to_owned(), quorum.into())));
        terms
    })
}

/// One term removed, widened or misspelt. `None` if the terms have none of it.
fn mutated(terms: &Map<String, Value>, term: usize, how: u8) -> Option<Map<String, Value>> {
    let name = *TERMS.get(term)?;
    let mut terms = terms.clone();
    let value = terms.remove(name)?;
    match (how % 3, name) {
        (0, _) => {}
        (1, "approvers") => {
            let wide = json!([{
                "roles": ["finance", "sales"],
                "groups": ["eu"],
                "names": [Person::os_user("ada"), Person::os_user("bob")],
            }]);
            terms.insert(name.to_owned(), wide);
        }
        (1, "quorum") => _ = terms.insert(name.to_owned(), 1.into()),
        (1, _) => _ = terms.insert(name.to_owned(), false.into()),
        (_, _) => _ = terms.insert(format!("{name}s"), value),
    }
    Some(terms)
}

fn tools(terms: &Map<String, Value>) -> Toolbox {
    let set = json!({"tools": {"pay": {"confirm": terms}}});
    let set = PolicySet::from_bytes(set.to_string().as_bytes()).expect("a policy set");
    let read: ToolPolicy = set.of("pay").clone();
    toolbox()
        .gated("pay")
        .policy("pay", |policy| *policy = read)
}

fn person(die: u8) -> Actor {
    let of_role = |role: &str| Identity::of("https://login.example").with_role(role);
    let issued = |name: &str, role: &str| {
        let actor = Actor::token(name).as_person();
        actor.with_identity(of_role(role))
    };
    match die % 8 {
        0 => Actor::os_user("ada"),
        1 => Actor::os_user("bob"),
        2 => issued("ada", "finance"),
        3 => issued("dave", "finance"),
        4 => issued("eve", "sales"),
        5 => {
            let identity = of_role("finance").with_group("eu");
            Actor::token("fay").as_person().with_identity(identity)
        }
        6 => Actor::os_user("carol"),
        _ => Actor::os_user("ada").as_program("--approve-all"),
    }
}

/// The call asked about under these terms, with every answer that counts. No runner is attached, so
/// an approved call waits.
fn answered(terms: &Map<String, Value>, people: &[u8]) -> History {
    let opened = history().opened_for("support", "carol");
    let asked = opened.attached(&tools(terms)).detached();
    let mut told = asked.call("c1", "pay", json!({"cents": 4200}));
    for die in people {
        if !matches!(told.current().phase, Phase::AwaitingConfirmation { .. }) {
            break;
        }
        let yes = told.answer_of(person(*die), ToolConfirmation::confirmed());
        if let Ok(observation) = admit(told.session(), yes) {
            told = told.observed(observation);
        }
    }
    told
}

fn runs(told: &History) -> bool {
    told.kinds().contains(&"call_started")
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn answers_under_mutated_terms_start_nothing(
        whole in terms(),
        term in 0..TERMS.len(),
        how: u8,
        people in vec(any::<u8>(), 0..8),
    ) {
        let mutated = mutated(&whole, term, how);
        let differs = |it: &Map<String, Value>| tools(it) != tools(&whole);
        let Some(mutated) = mutated.filter(differs) else {
            return Ok(());
        };
        for (before, after) in [(&mutated, &whole), (&whole, &mutated)] {
            let told = answered(before, &people).attached(&tools(after));
            prop_assert!(!runs(&told), "{}", told.story());
        }
        // The deploy of equal terms shows that the answers may suffice.
        let same = answered(&whole, &people).attached(&tools(&whole));
        let enough = same.facts().iter().any(|fact| {
            matches!(fact.event, Event::Observed(Observation::ConfirmationAnswered(_)))
        });
        prop_assert_eq!(runs(&same), enough);
    }

    #[test]
    fn stricter_terms_run_no_more_calls(
        one in terms(),
        other in terms(),
        people in vec(any::<u8>(), 0..8),
    ) {
        let policy = |terms: &Map<String, Value>| tools(terms).policies().of("pay").clone();
        let merged = policy(&one).merged(policy(&other));
        let stored: Value = json!(merged);
        let merged = stored.get("confirm").and_then(Value::as_object).cloned().unwrap_or_default();
        let runs = |terms: &Map<String, Value>| {
            runs(&answered(terms, &people).attached(&tools(terms)))
        };
        if runs(&merged) {
            prop_assert!(runs(&one) && runs(&other), "{merged:?}");
        }
    }
}

#[test]
fn misspelt_entry_of_approvers_is_no_policy() {
    for entry in ["role", "group", "name", "Roles"] {
        let set = json!({"tools": {"pay": {"confirm": {"approvers": [{entry: ["a"]}]}}}});
        let read = PolicySet::from_bytes(set.to_string().as_bytes());
        assert!(read.is_err(), "{entry}");
    }
    let none = json!({"tools": {"pay": {"confirm": {"approvers": [{}]}}}});
    let read = PolicySet::from_bytes(none.to_string().as_bytes()).expect("a policy set");
    let none = &read.of("pay").gate_terms.approvers;
    assert_eq!(none, &[Approvers::default()].into());
}
