use serde_json::json;

use super::*;
use crate::policies::approvers::Approvers;
use crate::policies::condition::S;
use crate::policies::gate_terms::GateTerms;
use crate::policies::on_expiry::OnExpiry;

fn full() -> ToolPolicy {
    ToolPolicy {
        timeout: Some(Duration::from_millis(50)),
        cache: true,
        cache_max_age: Some(Duration::from_secs(60)),
        confirm: true,
        confirm_message: Some("sure?".to_owned()),
        gate_terms: GateTerms {
            expires_after: Some(Duration::from_millis(9)),
            on_expiry: Some(OnExpiry::Allow),
            when: Some(S::exists(S::arg("iban"))),
            asks_program: true,
            payload: Some(json!({"type": "object"})),
            edits: Some(Edits::Allowed),
            keeps_reason: true,
            may_allow_for_session: true,
            approvers: [Approvers::roles(["finance"])].into(),
            not_requester: true,
            quorum: Some(2),
            max_open_requests: Some(4),
        }
        .into(),
        acknowledgement: Some(json!({"status": "wait"})),
        acknowledge_after: Some(Duration::from_secs(10)),
        repeats: Repeats::PendingTicket,
        in_doubt: InDoubt::Retry,
        withdraw_on_cancel: true,
        interim_status: true,
        progress: Some(Progress::Told),
        background: Some(Background {
            scheduling: FunctionResponseScheduling::Silent,
        }),
        retry: Some(Retry {
            attempts_max: 3,
            backoff_ms: 200,
        }),
        limits: Limits {
            per_session: Some(10),
            per_minute: Some(3),
        },
        phases: Some(["negotiate".to_owned()].into()),
        when: Some(S::is_true("verified")),
    }
}

#[test]
fn an_absent_field_is_not_written_and_a_full_policy_reads_back() -> Result<(), serde_json::Error> {
    assert_eq!(serde_json::to_string(&ToolPolicy::default())?, "{}");
    let text = concat!(
        r#"{"timeout_ms":50,"cache":{"max_age_ms":60000},"confirm":{"hint":"sure?","#,
        r#""expires_after_ms":9,"on_expiry":"allow","when":{"exists":"args:iban"},"#,
        r#""asks_program":true,"#,
        r#""payload":{"type":"object"},"edits":"allowed","keeps_reason":true,"#,
        r#""may_allow_for_session":true,"#,
        r#""approvers":[{"roles":["finance"]}],"not_requester":true,"quorum":2,"#,
        r#""max_open_requests":4},"#,
        r#""acknowledgement":{"status":"wait"},"acknowledge_after_ms":10000,"#,
        r#""repeats":"pending_ticket","in_doubt":"retry","#,
        r#""withdraw_on_cancel":true,"interim_status":true,"progress":"told","#,
        r#""background":{"scheduling":"SILENT"},"retry":{"attempts_max":3,"backoff_ms":200},"#,
        r#""limits":{"per_session":10,"per_minute":3},"phases":["negotiate"],"#,
        r#""when":{"is_true":"verified"}}"#
    );
    assert_eq!(serde_json::to_string(&full())?, text);
    assert_eq!(serde_json::from_str::<ToolPolicy>(text)?, full());
    Ok(())
}

#[test]
fn a_part_of_a_millisecond_is_a_whole_one() -> Result<(), serde_json::Error> {
    let short = ToolPolicy {
        timeout: Some(Duration::from_nanos(1)),
        ..ToolPolicy::default()
    };
    assert_eq!(serde_json::to_string(&short)?, r#"{"timeout_ms":1}"#);
    Ok(())
}

#[test]
fn merging_takes_the_stricter_of_each_whichever_comes_first() {
    let other = ToolPolicy {
        timeout: Some(Duration::from_millis(70)),
        cache_max_age: Some(Duration::from_secs(5)),
        acknowledge_after: Some(Duration::from_secs(20)),
        in_doubt: InDoubt::Ask,
        background: Some(Background {
            scheduling: FunctionResponseScheduling::Interrupt,
        }),
        retry: Some(Retry {
            attempts_max: 5,
            backoff_ms: 900,
        }),
        limits: Limits {
            per_session: Some(4),
            per_minute: None,
        },
        phases: Some(["negotiate".to_owned(), "verify".to_owned()].into()),
        when: Some(S::exists("plan")),
        ..ToolPolicy::gate("really?")
    };
    let merged = full().merged(other.clone());
    let expected = ToolPolicy {
        timeout: Some(Duration::from_millis(50)),
        cache_max_age: Some(Duration::from_secs(5)),
        confirm_message: Some("sure?; really?".to_owned()),
        gate_terms: GateTerms {
            on_expiry: Some(OnExpiry::Deny),
            when: None,
            asks_program: false,
            edits: None,
            may_allow_for_session: false,
            ..full().gate_terms.into_terms()
        }
        .into(),
        in_doubt: InDoubt::Ask,
        retry: Some(Retry {
            attempts_max: 3,
            backoff_ms: 900,
        }),
        limits: Limits {
            per_session: Some(4),
            per_minute: Some(3),
        },
        when: Some(S::and([S::is_true("verified"), S::exists("plan")])),
        ..full()
    };
    assert_eq!(merged, expected);
    let turned = ToolPolicy {
        confirm_message: Some("really?; sure?".to_owned()),
        when: Some(S::and([S::exists("plan"), S::is_true("verified")])),
        ..expected
    };
    assert_eq!(other.merged(full()), turned);
}

#[test]
fn merging_with_nothing_or_with_itself_changes_nothing() {
    assert_eq!(full().merged(ToolPolicy::default()), full());
    assert_eq!(ToolPolicy::default().merged(full()), full());
    assert_eq!(full().merged(full()), full());
}

#[test]
fn merged_gates_apply_if_either_does_and_both_allow_edits() {
    let gate = |key: &str, edits| {
        let mut gate = ToolPolicy::gate("");
        gate.gate_terms.when = Some(S::exists(key));
        gate.gate_terms.payload = Some(json!({"required": [key]}));
        gate.gate_terms.edits = Some(edits);
        gate
    };
    let both = gate("a", Edits::Allowed).merged(gate("b", Edits::ApprovedAnew));
    let either = S::or([S::exists("a"), S::exists("b")]);
    assert_eq!(both.gate_terms.when, Some(either));
    assert_eq!(both.gate_terms.edits, Some(Edits::ApprovedAnew));
    let payload = json!({"allOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(both.gate_terms.payload, Some(payload));
    let always = gate("a", Edits::Allowed).merged(ToolPolicy::gate("always"));
    assert_eq!(always.gate_terms.when, None);
    assert_eq!(always.gate_terms.edits, None);
    // Only one of the two policies is a gate, so the edits of either count.
    let mut edits = ToolPolicy::default();
    edits.gate_terms.edits = Some(Edits::ApprovedAnew);
    for (one, two) in [
        (edits.clone(), ToolPolicy::gate("")),
        (ToolPolicy::gate(""), edits),
    ] {
        assert_eq!(one.merged(two).gate_terms.edits, Some(Edits::ApprovedAnew));
    }
    let mut by_program = ToolPolicy::gate("");
    by_program.gate_terms.asks_program = true;
    let either = gate("a", Edits::Allowed).merged(by_program.clone());
    assert_eq!(either.gate_terms.when, Some(S::exists("a")));
    assert!(either.gate_terms.asks_program);
    let always = by_program.merged(ToolPolicy::gate("always"));
    assert!(always.confirm && !always.gate_terms.asks_program);
}

#[test]
fn the_wait_doubles_and_never_overflows() {
    let retry = Retry {
        attempts_max: u32::MAX,
        backoff_ms: 3,
    };
    assert_eq!([1, 2, 5].map(|attempt| retry.wait_ms(attempt)), [3, 6, 48]);
    assert_eq!(retry.wait_ms(u32::MAX), u64::MAX);
}

#[test]
fn the_stored_name_of_a_rule_is_its_name_in_code() -> Result<(), serde_json::Error> {
    for rule in [InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown] {
        assert_eq!(serde_json::to_value(rule)?, rule.as_str());
    }
    Ok(())
}

#[test]
fn terms_without_a_gate_have_no_effect() {
    let mut no_gate = ToolPolicy::default();
    no_gate.gate_terms.asks_program = true;
    let mut by_data = ToolPolicy::gate("");
    by_data.gate_terms.when = Some(S::exists("plan"));
    for merged in [
        no_gate.clone().merged(by_data.clone()),
        by_data.clone().merged(no_gate.clone()),
    ] {
        assert!(merged.confirm && !merged.gate_terms.asks_program);
    }
    let mut by_program = by_data.clone();
    by_program.gate_terms.asks_program = true;
    for merged in [
        by_program.clone().merged(by_data.clone()),
        by_data.merged(by_program.clone()),
        by_program.clone().merged(no_gate.clone()),
        no_gate.merged(by_program),
    ] {
        assert!(merged.confirm && merged.gate_terms.asks_program);
    }
}
