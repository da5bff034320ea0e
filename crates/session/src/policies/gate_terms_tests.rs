use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::S;
use crate::catalog::{ToolDeclaration, contract_hash, declaration_hash};
use crate::policy::ToolPolicy;

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
    );
    fields.prop_map(
        |(expires_after, when, asks_program, payload, edits, keeps, may)| GateTerms {
            expires_after,
            when,
            asks_program,
            payload,
            edits,
            keeps_reason: keeps,
            may_allow_for_session: may,
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
