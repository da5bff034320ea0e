use async_trait::async_trait;
use serde_json::json;

use super::*;
use crate::session::catalog::ToolKind;
use crate::tool::{LongRunningFunctionTool, ToolDispatcher};

/// A tool that declares its gate itself.
struct Gated;

#[async_trait]
impl ToolFunction for Gated {
    fn name(&self) -> &str {
        "pay"
    }
    fn description(&self) -> &str {
        "Pays"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        Ok(args)
    }
    fn requires_confirmation(&self) -> bool {
        true
    }
    fn confirmation_message(&self) -> Option<&str> {
        Some("own")
    }
}

fn plain() -> Toolset {
    T::simple("pay", "Pays", |args| async { Ok(args) })
}

type Form = fn(Toolset) -> Toolset;

const LIMIT: Duration = Duration::from_millis(50);

fn forms() -> [(&'static str, Form); 6] {
    [
        ("confirm", |tool| T::confirm(tool, "hint")),
        ("timeout", |tool| T::timeout(tool, LIMIT)),
        ("in_doubt", |tool| T::in_doubt(tool, InDoubt::Ask)),
        ("long_running", |tool| T::long_running(tool)),
        ("withdraw", |tool| T::withdraw_on_cancel(tool)),
        ("function", |tool| tool | Vec::new()),
    ]
}

fn registered(tools: Toolset) -> RegisteredTool {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    dispatcher.get("pay").unwrap().clone()
}

/// Every order of every one of the forms, applied to the tool.
fn each_order(
    tool: &Toolset,
    left: &[(&'static str, Form)],
    path: &str,
    check: &dyn Fn(&str, RegisteredTool),
) {
    if left.is_empty() {
        check(path, registered(tool.clone()));
    }
    for (index, (name, form)) in left.iter().enumerate() {
        let mut rest = left.to_vec();
        rest.remove(index);
        each_order(&form(tool.clone()), &rest, &format!("{path} {name}"), check);
    }
}

#[test]
fn no_order_of_policies_loses_one() {
    each_order(&plain(), &forms(), "", &|path, tool| {
        let expected = ToolPolicy {
            timeout: Some(LIMIT),
            in_doubt: InDoubt::Ask,
            withdraw_on_cancel: true,
            ..ToolPolicy::gate("hint")
        };
        assert_eq!(tool.policy(), &expected, "{path}");
        assert_eq!(tool.kind(), ToolKind::LongRunning, "{path}");
    });
}

#[test]
fn a_gate_of_the_tools_own_survives_every_form_around_it() {
    let around: [fn() -> Toolset; 5] = [
        || T::function(Arc::new(Gated)),
        || Gated.into(),
        || T::toolset(vec![Arc::new(Gated)]),
        || LongRunningFunctionTool::new(Arc::new(Gated)).into(),
        || LongRunningFunctionTool::new(Arc::new(Arc::new(Gated))).into(),
    ];
    for tool in around {
        assert_eq!(registered(tool()).policy(), &ToolPolicy::gate("own"));
        for (name, form) in forms() {
            let gated = registered(form(tool()));
            let hint = if name == "confirm" {
                "own; hint"
            } else {
                "own"
            };
            assert!(gated.policy().confirm, "{name}");
            assert_eq!(
                gated.policy().confirm_message.as_deref(),
                Some(hint),
                "{name}"
            );
        }
        let reset = T::policy(tool(), ToolPolicy::default());
        assert!(registered(reset).policy().confirm);
    }
}

#[test]
fn the_same_policy_twice_is_the_stricter_one() {
    let twice = |one: Duration, two: Duration| {
        registered(T::timeout(T::timeout(plain(), one), two))
            .policy()
            .timeout
    };
    assert_eq!(twice(LIMIT, LIMIT * 2), Some(LIMIT));
    assert_eq!(twice(LIMIT * 2, LIMIT), Some(LIMIT));
    let hints = registered(T::confirm(T::confirm(plain(), "inner"), "outer"));
    assert_eq!(hints.policy(), &ToolPolicy::gate("inner; outer"));
    let silent = registered(T::confirm(T::confirm(plain(), "only"), ""));
    assert_eq!(silent.policy(), &ToolPolicy::gate("only"));
}

#[test]
fn a_declared_rule_is_not_taken_for_none_though_it_is_the_default() {
    let rule = |one, two| {
        registered(T::in_doubt(T::in_doubt(plain(), one), two))
            .policy()
            .in_doubt
    };
    assert_eq!(
        rule(InDoubt::Retry, InDoubt::SettleUnknown),
        InDoubt::SettleUnknown
    );
    assert_eq!(
        rule(InDoubt::SettleUnknown, InDoubt::Retry),
        InDoubt::SettleUnknown
    );
    assert_eq!(rule(InDoubt::Retry, InDoubt::Ask), InDoubt::Ask);
    assert_eq!(rule(InDoubt::Retry, InDoubt::Retry), InDoubt::Retry);
    let retry = ToolPolicy {
        in_doubt: InDoubt::Retry,
        ..ToolPolicy::default()
    };
    let settled = T::policy(T::in_doubt(plain(), InDoubt::SettleUnknown), retry);
    assert_eq!(
        registered(settled).policy().in_doubt,
        InDoubt::SettleUnknown
    );
}

#[test]
fn a_policy_on_a_set_holds_for_each_tool_of_it_and_for_no_other() {
    let set = T::confirm(
        plain() | T::simple("b", "", |_| async { Ok(json!(1)) }),
        "both",
    ) | T::simple("c", "", |_| async { Ok(json!(1)) });
    let gated: Vec<_> = set
        .tools()
        .iter()
        .map(|tool| tool.policy().confirm)
        .collect();
    assert_eq!(gated, [true, true, false]);
}

#[test]
fn only_a_long_running_tool_tells_the_model_not_to_repeat_it_and_tells_it_once() {
    let notes = |tool: Toolset| {
        registered(tool)
            .declaration()
            .description
            .matches("Do not call")
            .count()
    };
    assert_eq!(notes(plain()), 0);
    assert_eq!(notes(T::long_running(T::long_running(plain()))), 1);
    assert_eq!(
        notes(T::long_running(LongRunningFunctionTool::new(Arc::new(
            Gated
        )))),
        1
    );
}
