use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use recount_session::policy::{
    Background, Edits, GateTerms, InDoubt, Progress, Repeats, Retry, ToolPolicy,
};
use recount_session::{
    Approvers, CacheChange, Comparison, FunctionResponseScheduling, GateChange, OnExpiry, Person,
    PhaseDeclaration, S, ToolPolicyChanges, Transition,
};

/// A file with every key, in JSON.
pub(in crate::policy_file) const WHOLE: &str = r#"{
  "$schema": "policy.schema.json",
  "running_max": 4, "calls_per_message_max": 128, "open_calls_max": false,
  "max_open_requests": 20, "answers_per_minute": 6,
  "timeout": "30s", "acknowledge_after": "20s",
  "defaults": {"limit_per_session": 100},
  "tools": {
    "refund": {
      "confirm": "Refund?", "confirm_when": {"compares": ["args:cents", ">", 1000]}, "confirm_expires_after": "10m",
      "confirm_on_expiry": "deny",
      "timeout": "10s", "in_doubt": "retry", "cached": "5m", "background": "SILENT",
      "retry": {"attempts": 3, "backoff": "200ms"}, "limit_per_session": 10, "limit_per_minute": 3,
      "phases": ["pay"], "when": {"is_true": "verified"}, "repeats": "pending_ticket",
      "confirm_payload": {"type": "object"}, "confirm_edits": "approved_anew", "keep_reason": true,
      "approvers": {"roles": ["finance"], "names": ["os_user:ada"]}, "not_requester": true,
      "quorum": 2, "may_allow_for_session": true,
      "acknowledge": {"status": "A colleague decides."}, "acknowledge_after": "10s",
      "withdraw_on_cancel": true,
      "interim_status": true, "progress": "told", "max_open_requests": 3
    },
    "look": {
      "confirm": false, "confirm_when": false, "confirm_expires_after": false, "confirm_on_expiry": false, "timeout": false, "cached": false,
      "background": false, "retry": false, "limit_per_session": false, "limit_per_minute": false, "phases": false,
      "when": false, "repeats": "run", "in_doubt": "ask", "confirm_payload": false, "confirm_edits": false,
      "approvers": false, "not_requester": false, "quorum": false, "may_allow_for_session": false,
      "acknowledge": false, "acknowledge_after": false, "keep_reason": false,
      "withdraw_on_cancel": false,
      "interim_status": false, "progress": false, "max_open_requests": false
    }
  },
  "phases": [
    {"name": "verify", "instruction": "Verify.", "tools": ["look"], "transitions": [{"to": "pay", "when": {"is_true": "verified"}}]},
    {"name": "pay"}
  ]
}"#;

pub(in crate::policy_file) fn whole() -> PolicyChanges {
    let people = Approvers::roles(["finance"]).or(Approvers::names([Person::os_user("ada")]));
    let refund = ToolPolicyChanges {
        confirm: Some(GateChange::Closed {
            hint: Some("Refund?".to_owned()),
        }),
        confirm_when: Some(Some(S::compares("args:cents", Comparison::Greater, 1000))),
        confirm_expires_after: Some(Some(Duration::from_secs(600))),
        confirm_on_expiry: Some(Some(OnExpiry::Deny)),
        timeout: Some(Some(Duration::from_secs(10))),
        in_doubt: Some(InDoubt::Retry),
        cached: Some(CacheChange::On {
            max_age: Some(Duration::from_secs(300)),
        }),
        background: Some(Some(Background {
            scheduling: FunctionResponseScheduling::Silent,
        })),
        retry: Some(Some(Retry {
            attempts_max: 3,
            backoff_ms: 200,
        })),
        limit_per_session: Some(Some(10)),
        limit_per_minute: Some(Some(3)),
        phases: Some(Some(["pay".to_owned()].into())),
        when: Some(Some(S::is_true("verified"))),
        repeats: Some(Repeats::PendingTicket),
        confirm_payload: Some(Some(json!({"type": "object"}))),
        confirm_edits: Some(Some(Edits::ApprovedAnew)),
        acknowledge: Some(Some(json!({"status": "A colleague decides."}))),
        acknowledge_after: Some(Some(Duration::from_secs(10))),
        keep_reason: Some(true),
        approvers: Some([people].into()),
        not_requester: Some(true),
        quorum: Some(Some(2)),
        may_allow_for_session: Some(true),
        withdraw_on_cancel: Some(true),
        interim_status: Some(true),
        progress: Some(Some(Progress::Told)),
        max_open_requests: Some(Some(3)),
    };
    let look = ToolPolicyChanges {
        confirm: Some(GateChange::Open),
        confirm_when: Some(None),
        confirm_expires_after: Some(None),
        confirm_on_expiry: Some(None),
        timeout: Some(None),
        in_doubt: Some(InDoubt::Ask),
        cached: Some(CacheChange::Off),
        background: Some(None),
        retry: Some(None),
        limit_per_session: Some(None),
        limit_per_minute: Some(None),
        phases: Some(None),
        when: Some(None),
        repeats: Some(Repeats::Run),
        confirm_payload: Some(None),
        confirm_edits: Some(None),
        acknowledge: Some(None),
        acknowledge_after: Some(None),
        keep_reason: Some(false),
        approvers: Some(BTreeSet::new()),
        not_requester: Some(false),
        quorum: Some(None),
        may_allow_for_session: Some(false),
        withdraw_on_cancel: Some(false),
        interim_status: Some(false),
        progress: Some(None),
        max_open_requests: Some(None),
    };
    let verify = PhaseDeclaration {
        name: "verify".to_owned(),
        instruction: Some("Verify.".to_owned()),
        tools: Some(["look".to_owned()].into()),
        transitions: vec![Transition {
            to: "pay".to_owned(),
            when: S::is_true("verified"),
        }],
    };
    let pay = PhaseDeclaration {
        name: "pay".to_owned(),
        ..PhaseDeclaration::default()
    };
    PolicyChanges {
        running_max: Some(Some(4)),
        calls_per_message_max: Some(Some(128)),
        open_calls_max: Some(None),
        max_open_requests: Some(Some(20)),
        answers_per_minute: Some(Some(6)),
        timeout: Some(Some(Duration::from_secs(30))),
        acknowledge_after: Some(Some(Duration::from_secs(20))),
        phases: Some(vec![verify, pay]),
        defaults: ToolPolicyChanges {
            limit_per_session: Some(Some(100)),
            ..ToolPolicyChanges::default()
        },
        tools: [("refund".to_owned(), refund), ("look".to_owned(), look)].into(),
    }
}

pub(in crate::policy_file) fn mistakes(text: &str) -> Vec<String> {
    let error = parse(text).unwrap_err();
    error.mistakes.iter().map(ToString::to_string).collect()
}

/// Every field of a policy has a key, except those that only code can set. A new field fails here
/// until it has a key or is listed as an exception.
#[test]
fn every_policy_field_has_a_key() {
    let mut set = parse(WHOLE)
        .unwrap()
        .changed("refund", ToolPolicy::default());
    assert!(!set.gate_terms.asks_program, "code alone says it");
    set.gate_terms.asks_program = true;
    let ToolPolicy {
        timeout: Some(_),
        cache: true,
        cache_max_age: Some(_),
        confirm: true,
        confirm_message: Some(_),
        gate_terms,
        acknowledgement: Some(_),
        acknowledge_after: Some(_),
        interim_status: true,
        progress: Some(Progress::Told),
        repeats: Repeats::PendingTicket,
        in_doubt: InDoubt::Retry,
        withdraw_on_cancel: true,
        background: Some(_),
        retry: Some(_),
        limits: _,
        phases: Some(_),
        when: Some(_),
    } = set
    else {
        panic!("a field is not set: {set:?}");
    };
    let GateTerms {
        expires_after: Some(_),
        on_expiry: Some(_),
        when: Some(_),
        asks_program: true,
        payload: Some(_),
        edits: Some(_),
        keeps_reason: true,
        max_open_requests: Some(_),
        approvers: _,
        not_requester: true,
        quorum: Some(_),
        may_allow_for_session: true,
    } = *gate_terms
    else {
        panic!("a field is not set: {gate_terms:?}");
    };
}

#[test]
fn payload_schema_that_cannot_be_checked_is_a_mistake() {
    let wrong = r#"{"tools": {"pay": {"confirm_payload": {"type": "int"}}}}"#;
    let found = mistakes(wrong);
    let named = "line 1: tools.pay.confirm_payload: expected a JSON Schema: ";
    assert!(found.len() == 1 && found[0].starts_with(named), "{found:?}");
}

#[test]
fn every_key_says_what_it_means() {
    assert_eq!(parse(WHOLE), Ok(whole()));
    assert_eq!(parse("{}"), Ok(PolicyChanges::default()));
}

#[test]
fn all_json_mistakes_have_line_and_field() {
    let text = r#"{
      "runing_max": 4,
      "timeout": "0s",
      "defaults": 5,
      "tools": {
        "pay": {"confirm": 1, "timout": "1s",
                "limit_per_minute": 0, "phases": ["nowhere"]},
        "look": {"when": {"is_tru": "x"}, "retry": {"attempts": 1, "backoff": "1s"}},
        "see": {"when": {"exists": "args:a"}, "confirm_when": {"exists": "temp:a"}}
      },
      "phases": [
        {"name": "a", "transitions": [{"to": "b", "when": {"exists": "x"}}, {"to": "a"}]},
        {"name": "a", "tool": []},
        {"instruction": 3}
      ]
    }"#;
    let expected = [
        "line 2: runing_max: unknown key; did you mean \"running_max\"?",
        "line 3: timeout: expected a time of at least 1 ms such as \"500ms\", \"10s\", \"2m\" or \
         \"1h\", or false, found \"0s\"",
        "line 4: defaults: expected a table of policies, found 5",
        "line 6: tools.pay.timout: unknown key; did you mean \"timeout\"?",
        "line 6: tools.pay.confirm: expected a hint, true or false, found 1",
        "line 7: tools.pay.limit_per_minute: expected a whole number of at least 1, or false, \
         found 0",
        "line 7: tools.pay.phases: expected phases of this file, found \"nowhere\"; there are a, a",
        "line 8: tools.look.retry: expected { attempts = 3, backoff = \"200ms\" } with at least 2 \
         attempts, or false, found a table",
        "line 8: tools.look.when: expected a condition, found a table: unknown variant `is_tru`, \
         expected one of `is_true`, `exists`, `equals`, `compares`, `and`, `or`, `not`",
        "line 9: tools.see.confirm_when: \"temp:a\" is temporary: it is not on record, so nothing \
         on record may read or write it",
        "line 9: tools.see.when: expected keys of the state, found the argument \"args:a\", which \
         only a gate may read",
        "line 12: phases.0.transitions.1.when: expected a condition, found nothing",
        "line 12: phases.0.transitions.0.to: expected a phase, found \"b\"; there are a, a",
        "line 13: phases.1.tool: unknown key; did you mean \"tools\"?",
        "line 13: phases.1.name: expected a name of its own, found \"a\" again",
        "line 14: phases.2.name: expected a text, found nothing",
        "line 14: phases.2.instruction: expected a text, found 3",
    ];
    assert_eq!(mistakes(text), expected);
}

#[test]
fn the_lines_of_many_mistakes_are_found_at_once() {
    let text: String = (0..20_000)
        .map(|it| format!("\"wrong{it}\": 1,\n"))
        .collect();
    let json = format!("{{\n{text}\"timeout\": \"1s\"}}");
    let found = parse(&json).unwrap_err().mistakes;
    assert_eq!((found.len(), found[19_999].line), (20_000, Some(20_001)));
}

#[test]
fn unreadable_json_is_reported_with_its_line() {
    let syntax = mistakes("{\n\"tools\": }");
    assert!(
        syntax.len() == 1 && syntax[0].starts_with("line 2: expected JSON: "),
        "{syntax:?}"
    );
    let twice = mistakes(r#"{"timeout": "1s", "timeout": "2s"}"#);
    assert!(
        twice.len() == 1 && twice[0].contains("\"timeout\""),
        "{twice:?}"
    );
}

fn fits(schema: &Value, text: &str) -> bool {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("policy.json", schema.clone())
        .unwrap();
    let index = compiler.compile("policy.json", &mut schemas).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    schemas.validate(&value, index).is_ok()
}

#[test]
fn schema_and_reader_accept_the_same() {
    let schema = schema();
    for (text, sound) in [
        (WHOLE, true),
        ("{}", true),
        (r#"{"timout": "1s"}"#, false),
        (r#"{"timeout": 5}"#, false),
        (r#"{"timeout": "0s"}"#, false),
        (r#"{"timeout": "1 h"}"#, true),
        (r#"{"running_max": 0}"#, false),
        (r#"{"max_open_requests": 0}"#, false),
        (r#"{"answers_per_minute": 0}"#, false),
        (r#"{"tools": {"a": {"max_open_requests": 0}}}"#, false),
        (r#"{"tools": {"a": {"confirm": 1}}}"#, false),
        (r#"{"tools": {"a": {"colour": 1}}}"#, false),
        (
            r#"{"tools": {"a": {"cached": true, "background": true}}}"#,
            true,
        ),
        (r#"{"tools": {"a": {"in_doubt": false}}}"#, false),
        (
            r#"{"tools": {"a": {"retry": {"attempts": 1, "backoff": "1s"}}}}"#,
            false,
        ),
        (
            r#"{"tools": {"a": {"retry": {"attempts": 2, "backoff": "0s"}}}}"#,
            true,
        ),
        (
            r#"{"tools": {"a": {"limit_per_minute": 4294967296}}}"#,
            false,
        ),
        (r#"{"tools": {"a": {"phases": []}}}"#, false),
        (r#"{"tools": {"a": {"repeats": "never"}}}"#, false),
        (r#"{"tools": {"a": {"repeats": false}}}"#, true),
        (r#"{"tools": {"": {}}}"#, false),
        (
            concat!(
                r#"{"tools": {"a": {"when": {"or": [{"not": {"exists": "a"}}, {"equals": ["b", "#,
                r#"null]}]}}}}"#,
            ),
            true,
        ),
        (r#"{"tools": {"a": {"when": {"is_tru": "a"}}}}"#, false),
        (
            r#"{"tools": {"a": {"when": {"compares": ["a", "=", 1]}}}}"#,
            false,
        ),
        (r#"{"phases": [{}]}"#, false),
        (
            r#"{"phases": [{"name": "a", "transitions": [{"to": "a"}]}]}"#,
            false,
        ),
    ] {
        let read = parse(text);
        assert_eq!(read.is_ok(), sound, "{text}: {read:?}");
        assert_eq!(fits(&schema, text), sound, "{text}");
    }
}

#[test]
fn published_schema_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");
    let published = std::fs::read_to_string(path).unwrap();
    let own = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    assert!(
        published == own,
        "docs/policy.schema.json is not the schema of the reader; `recount policy schema > \
         docs/policy.schema.json` writes it anew"
    );
}
