use serde_json::json;

use super::*;
use crate::run::context::ToolContext;
use crate::run::outcome::{Pending, ToolOutcome};
use recount_session::catalog::ToolKind;
use recount_session::policy::{Background, Edits, GateTerms, InDoubt, Limits, Retry};
use recount_session::{Seq, SessionId};
use std::time::Duration;

fn mistakes(text: &str) -> Vec<String> {
    parse(text).unwrap_err().mistakes
}

fn example() -> ToolDispatcher {
    parse(include_str!("../../../../fixtures/tools/support.toml")).unwrap()
}

#[test]
fn the_example_file_says_what_it_means() {
    let tools = example();
    assert_eq!(
        tools.names().collect::<Vec<_>>(),
        [
            "ask_warehouse",
            "charge_restocking_fee",
            "echo",
            "lookup_order",
            "refund",
            "ship_replacement"
        ]
    );
    let policy = |name: &str| tools.get(name).unwrap().policy().clone();
    let refund = ToolPolicy {
        timeout: Some(Duration::from_secs(30)),
        in_doubt: InDoubt::Ask,
        ..ToolPolicy::gate("Refund this order?")
    };
    assert_eq!(policy("refund"), refund);
    assert!(policy("lookup_order").is_idempotent());
    assert_eq!(policy("echo"), ToolPolicy::default());
    assert_eq!(
        tools.get("ask_warehouse").unwrap().kind(),
        ToolKind::LongRunning
    );
    assert_eq!(
        tools.check_arguments("refund", &json!({})),
        Err("missing properties 'order_id'".to_owned())
    );
}

#[test]
fn what_a_tool_runs_is_part_of_its_contract() {
    let contract = |lines: &str| {
        let text = format!("[[tool]]\nname = \"pay\"\ndescription = \"\"\n{lines}");
        let tools = parse(&text).unwrap();
        let tool = tools.get("pay").unwrap();
        recount_session::catalog::contract_hash(&tool.declaration(), tool.policy())
    };
    let cat = contract("command = [\"cat\"]");
    assert_eq!(contract("command = [\"cat\"]\nenv = [\"TOKEN\"]"), cat);
    assert_ne!(contract("command = [\"cat\", \"-v\"]"), cat);
    assert_ne!(contract("command = [\"tac\"]"), cat);
    let pinned = contract("command = [\"cat\"]\npin_program = true");
    assert_ne!(pinned, cat);
    let text = "[[tool]]\nname = \"a\"\ndescription = \"\"\ncommand = [\"cat\"]\n\
                env = [\"A=B\"]\nunpinned = [\"x\"]";
    assert_eq!(
        mistakes(text),
        [
            "tool \"a\": env: expected a list of names of variables, found [\"A=B\"]",
            "tool \"a\": unpinned: expected words of the command, found \"x\""
        ]
    );
}

/// The shipped scripts call tools of the shipped file with valid arguments.
#[test]
fn shipped_scripts_call_shipped_tools_as_declared() {
    let tools = example();
    let scripts = [
        include_str!("../../../../fixtures/scripts/demo.jsonl"),
        include_str!("../../../../fixtures/scripts/refund.jsonl"),
        include_str!("../../../../fixtures/scripts/voice.jsonl"),
    ];
    let mut fitting = 0;
    let lines = scripts.iter().flat_map(|it| it.lines());
    for line in lines.filter(|it| it.starts_with('{')) {
        let rule: Value = serde_json::from_str(line).unwrap();
        let steps = rule.get("send").and_then(Value::as_array);
        let calls = steps
            .into_iter()
            .flatten()
            .filter_map(|it| it.get("call")?.as_array());
        for call in calls.flatten() {
            let name = call.get("name").and_then(Value::as_str).unwrap();
            if tools.get(name).is_some() {
                let args = call.get("args").unwrap();
                assert_eq!(tools.check_arguments(name, args), Ok(()), "{line}");
                fitting += 1;
            }
        }
    }
    assert!(fitting >= 3, "{fitting}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_tools_of_the_example_file_run() {
    let tools = example();
    let session = SessionId(uuid::Uuid::nil());
    let context = ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1");
    for (name, expected) in [
        (
            "lookup_order",
            ToolOutcome::Returned(json!({"status": "shipped", "carrier": "post"})),
        ),
        (
            "refund",
            ToolOutcome::Returned(json!({"refunded": true, "key": "key-1"})),
        ),
        ("ask_warehouse", ToolOutcome::Paused(Pending::new())),
        ("echo", ToolOutcome::Returned(json!({"order_id": "A-17"}))),
    ] {
        let outcome = tools
            .get(name)
            .unwrap()
            .run(json!({"order_id": "A-17"}), context.clone(), |_| async {
                Ok(())
            })
            .await;
        let outcome = match outcome {
            ToolOutcome::Text(text) => ToolOutcome::Returned(text.to_value()),
            other => other,
        };
        assert_eq!(outcome, expected, "{name}");
    }
}

#[test]
fn every_mistake_is_reported_at_once_with_its_tool_and_key() {
    let text = r#"
        tols = 1

        [[tool]]
        name = "pay"
        descripton = "Pays"
        command = "pay.sh"
        parameters = "{"
        confirm = 1
        timeout = "10 parsecs"
        in_doubt = "try"
        long_running = "yes"
        colour = "red"

        [[tool]]
        description = "Has no name"
        command = []

        [[tool]]
        name = "not a name"
        description = ""
        command = ["true"]
        timeout = "0s"
        parameters = { type = "nothing" }

        [[tool]]
        name = "twice"
        description = ""
        command = ["true"]

        [[tool]]
        name = "twice"
        description = ""
        command = ["true"]
    "#;
    let expected = [
        "tols: unknown key; did you mean \"tool\"?",
        "tool \"pay\": colour: unknown key; expected one of name, description, command, \
         parameters, long_running, secret, env, pin_program, unpinned, confirm, confirm_when, \
         confirm_expires_after, confirm_on_expiry, confirm_payload, confirm_edits, approvers, \
         not_requester, quorum, may_allow_for_session, acknowledge, acknowledge_after, \
         keep_reason, withdraw_on_cancel, timeout, in_doubt, cached, background, retry, \
         limit_per_session, limit_per_minute, phases, when, repeats, interim_status, progress, \
         max_open_requests",
        "tool \"pay\": descripton: unknown key; did you mean \"description\"?",
        "tool \"pay\": description: expected a string, found nothing",
        "tool \"pay\": command: expected a list of at least one string, found \"pay.sh\"",
        "tool \"pay\": parameters: expected a table or a string of JSON, found \"{\"",
        "tool \"pay\": long_running: expected true or false, found \"yes\"",
        "tool \"pay\": confirm: expected a hint, true or false, found 1",
        "tool \"pay\": timeout: expected a time of at least 1 ms such as \"500ms\", \"10s\", \
         \"2m\" or \"1h\", or false, found \"10 parsecs\"",
        "tool \"pay\": in_doubt: expected \"retry\", \"ask\" or \"settle_unknown\", found \"try\"",
        "tool number 2: name: expected a string, found nothing",
        "tool number 2: command: expected a list of at least one string, found an empty list",
        "tool \"not a name\": timeout: expected a time of at least 1 ms such as \"500ms\", \
         \"10s\", \"2m\" or \"1h\", or false, found \"0s\"",
        "tool \"not a name\": expected a name of 1 to 64 letters, digits and `_ : . -` \
         that begins with a letter or `_`",
        "tool \"not a name\": invalid parameter schema: expected a schema of type \"object\", \
         found type string \"nothing\"",
        "tool \"twice\" is registered twice",
    ];
    assert_eq!(mistakes(text), expected);
}

#[test]
fn invalid_tools_file_is_rejected() {
    assert_eq!(mistakes(""), ["expected at least one [[tool]], found none"]);
    assert_eq!(
        mistakes("tool = []"),
        ["expected tools as [[tool]], found an empty list"]
    );
    assert_eq!(
        mistakes("[tool]\nname = \"a\""),
        ["expected tools as [[tool]], found a table"]
    );
    let syntax = mistakes("[[tool]\n");
    assert!(
        syntax.len() == 1 && syntax.iter().all(|text| text.contains("line 1")),
        "{syntax:?}"
    );
    assert_eq!(mistakes("tool = [1]").len(), 3);
}

/// Returns a file with one tool that also has these lines.
fn with(lines: &str) -> String {
    format!("[[tool]]\nname = \"t\"\ndescription = \"d\"\ncommand = [\"cat\"]\n{lines}")
}

#[test]
fn file_sets_payload_and_edits_of_a_gate() {
    let lines = "confirm = true\nconfirm_payload = { type = \"object\" }\n\
        confirm_edits = \"allowed\"\nacknowledge = \"A colleague decides.\"\n\
        keep_reason = true\nwithdraw_on_cancel = true\n";
    let tools = parse(&with(lines)).unwrap();
    let expected = ToolPolicy {
        confirm: true,
        acknowledgement: Some(json!("A colleague decides.")),
        gate_terms: GateTerms {
            payload: Some(json!({"type": "object"})),
            edits: Some(Edits::Allowed),
            keeps_reason: true,
            ..GateTerms::default()
        }
        .into(),
        withdraw_on_cancel: true,
        ..ToolPolicy::default()
    };
    assert_eq!(tools.get("t").unwrap().policy(), &expected);
}

#[test]
fn file_sets_cache_background_retry_and_limits() {
    let policy = |lines: &str| {
        parse(&with(lines))
            .unwrap()
            .get("t")
            .unwrap()
            .policy()
            .clone()
    };
    let all = policy(
        "cached = \"5m\"\nbackground = \"INTERRUPT\"\nin_doubt = \"retry\"\n\
         retry = { attempts = 3, backoff = \"200ms\" }\nlimit_per_session = 10\n\
         limit_per_minute = 2",
    );
    let expected = ToolPolicy {
        cache: true,
        cache_max_age: Some(Duration::from_secs(300)),
        background: Some(Background {
            scheduling: recount_session::FunctionResponseScheduling::Interrupt,
        }),
        in_doubt: InDoubt::Retry,
        retry: Some(Retry {
            attempts_max: 3,
            backoff_ms: 200,
        }),
        limits: Limits {
            per_session: Some(10),
            per_minute: Some(2),
        },
        ..ToolPolicy::default()
    };
    assert_eq!(all, expected);
    assert!(policy("cached = true").cache && !policy("cached = false").cache);
    let background = policy("background = true").background;
    assert_eq!(background, Some(Background::default()));
    assert_eq!(policy("background = false"), ToolPolicy::default());
}

#[test]
fn mistakes_in_cache_background_retry_and_limits_are_reported() {
    let lines =
        "cached = 5\nbackground = \"LATER\"\nretry = { attempts = 3 }\nlimit_per_minute = -1";
    assert_eq!(
        mistakes(&with(lines)),
        [
            "tool \"t\": cached: expected a time such as \"5m\", true or false, found 5",
            "tool \"t\": background: expected \"INTERRUPT\", \"WHEN_IDLE\", \"SILENT\", true or \
             false, found \"LATER\"",
            "tool \"t\": retry: expected { attempts = 3, backoff = \"200ms\" } with at least 2 \
             attempts, or false, found a table",
            "tool \"t\": limit_per_minute: expected a whole number of at least 1, or false, found \
             -1",
        ]
    );
    let lines = "retry = { attempts = 3, backoff = \"1s\" }\nlimit_per_session = 0";
    assert_eq!(
        mistakes(&with(lines)),
        [
            "tool \"t\": limit_per_session: expected a whole number of at least 1, or false, found \
             0",
            "tool \"t\": retry makes no sense: the tool is not declared idempotent",
        ]
    );
}
