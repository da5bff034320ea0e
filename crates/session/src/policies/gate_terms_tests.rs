use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Person;
use crate::S;
use crate::catalog::{ToolDeclaration, contract_hash, declaration_hash};
use crate::policy::ToolPolicy;

/// The terms of the answers alone.
fn answers() -> impl Strategy<Value = GateTerms> {
    let finance = Approvers::roles(["finance"]);
    let ada = Approvers::names([Person::os_user("ada")]).or(Approvers::groups(["eu"]));
    let approvers = proptest::sample::subsequence(vec![finance, ada], 0..=2);
    let fields = (approvers, any::<bool>(), 0..4_u32);
    fields.prop_map(|(approvers, not_requester, quorum)| GateTerms {
        approvers: approvers.into_iter().collect(),
        not_requester,
        quorum: Some(quorum).filter(|it| *it > 0),
        ..GateTerms::default()
    })
}

fn terms() -> impl Strategy<Value = GateTerms> {
    let whens = vec![S::exists("a"), S::is_true("b")];
    let payloads = vec![json!({"required": ["a"]}), json!({"type": "object"})];
    let edits = vec![Edits::Allowed, Edits::ApprovedAnew];
    let fields = (
        option::of((1..9_u64).prop_map(Duration::from_millis)),
        option::of(select(whens)),
        any::<bool>(),
        option::of(select(payloads)),
        option::of(select(edits)),
        any::<bool>(),
        any::<bool>(),
        answers(),
        option::of(1..4_u32),
    );
    fields.prop_map(
        |(expires_after, when, asks_program, payload, edits, keeps_reason, may, answers, open)| {
            GateTerms {
                expires_after,
                when,
                asks_program,
                payload,
                edits,
                keeps_reason,
                max_open_requests: open,
                may_allow_for_session: may,
                ..answers
            }
        },
    )
}

/// Policies with and without terms, and with and without a gate.
fn policies() -> impl Strategy<Value = ToolPolicy> {
    (any::<bool>(), option::of(terms())).prop_map(|(confirm, terms)| ToolPolicy {
        confirm,
        gate_terms: terms.map(OptionalGateTerms::from).unwrap_or_default(),
        ..ToolPolicy::default()
    })
}

/// Returns the policy with its terms allocated, even if they are the default.
fn with_room(mut policy: ToolPolicy) -> ToolPolicy {
    let _: &mut GateTerms = &mut policy.gate_terms;
    assert!(policy.gate_terms.0.is_some());
    policy
}

proptest! {
    #[test]
    fn empty_terms_equal_none(one in policies(), other in policies()) {
        let roomy = with_room(one.clone());
        prop_assert_eq!(&roomy, &one);
        let stored = [&roomy, &one].map(|it| json!(it).to_string());
        prop_assert_eq!(&stored[0], &stored[1]);
        let tool = ToolDeclaration::new("pay", "Pays");
        prop_assert_eq!(contract_hash(&tool, &roomy), contract_hash(&tool, &one));
        prop_assert_eq!(declaration_hash(&tool, &roomy), declaration_hash(&tool, &one));
        prop_assert_eq!(roomy.clone().merged(other.clone()), one.clone().merged(other.clone()));
        prop_assert_eq!(other.clone().merged(roomy), other.merged(one));
    }

    #[test]
    fn terms_survive_only_on_a_gate(policy in policies()) {
        let stored = serde_json::from_value::<ToolPolicy>(json!(policy));
        let kept = if policy.confirm { policy } else { ToolPolicy::default() };
        prop_assert_eq!(stored.ok(), Some(kept));
    }

    #[test]
    fn merged_terms_without_any_take_no_room(one: bool, other: bool) {
        let [one, other] = [one, other].map(|confirm| {
            with_room(ToolPolicy { confirm, ..ToolPolicy::default() })
        });
        prop_assert!(one.merged(other).gate_terms.0.is_none());
    }
}

proptest! {
    #[test]
    fn merged_gate_admits_only_what_both_admit(one in answers(), other in answers()) {
        let merged = one.clone().merged(true, other.clone(), true);
        let turned = other.clone().merged(true, one.clone(), true);
        prop_assert_eq!(&merged, &turned);
        for terms in [one, other] {
            prop_assert!(merged.approvers.is_superset(&terms.approvers));
            prop_assert!(merged.not_requester >= terms.not_requester);
            prop_assert!(merged.quorum >= terms.quorum);
        }
    }

    #[test]
    fn terms_of_answers_are_kept_and_part_of_the_contract(terms in answers(), confirm: bool) {
        let tool = ToolDeclaration::new("pay", "Pays");
        let plain = ToolPolicy { confirm, ..ToolPolicy::default() };
        let policy = ToolPolicy { gate_terms: terms.clone().into(), ..plain.clone() };
        let set = terms.restrict_answers() && confirm;
        prop_assert_eq!(policy.needs_rules_2(), set);
        let differs = contract_hash(&tool, &policy) != contract_hash(&tool, &plain);
        prop_assert_eq!(differs, set);
    }
}

#[test]
fn quorum_of_zero_is_not_read() {
    let stored = |quorum: u32| json!({"confirm": {"quorum": quorum}});
    assert!(serde_json::from_value::<ToolPolicy>(stored(0)).is_err());
    let one = serde_json::from_value::<ToolPolicy>(stored(1)).ok();
    assert_eq!(one.and_then(|it| it.gate_terms.quorum), Some(1));
    let mut none = ToolPolicy::gate("");
    none.gate_terms.quorum = Some(0);
    assert_eq!(json!(none), stored(1));
}

#[test]
fn both_gates_must_permit_a_standing_leave() {
    let policy = |confirm, may_allow_for_session| ToolPolicy {
        confirm,
        gate_terms: GateTerms {
            may_allow_for_session,
            ..GateTerms::default()
        }
        .into(),
        ..ToolPolicy::default()
    };
    let merged = |one, other| {
        let merged: ToolPolicy = ToolPolicy::merged(one, other);
        merged.gate_terms.may_allow_for_session
    };
    assert!(merged(policy(true, true), policy(true, true)));
    assert!(!merged(policy(true, true), policy(true, false)));
    assert!(merged(policy(true, true), policy(false, false)));
    assert!(merged(policy(true, false), policy(false, true)));
}

#[test]
fn leave_term_is_contract_and_needs_rules_2() {
    let plain = ToolPolicy::gate("Pay?");
    let mut permits = plain.clone();
    permits.gate_terms.may_allow_for_session = true;
    let tool = ToolDeclaration::new("pay", "Pays");
    assert_ne!(contract_hash(&tool, &plain), contract_hash(&tool, &permits));
    assert!(permits.needs_rules_2() && !plain.needs_rules_2());
    permits.confirm = false;
    assert!(!permits.needs_rules_2());
}

#[test]
fn policy_holds_its_terms_in_a_pointer() {
    assert_eq!(size_of::<OptionalGateTerms>(), size_of::<usize>());
}
