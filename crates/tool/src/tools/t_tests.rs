use std::time::Duration;

use async_trait::async_trait;

use super::*;
use crate::ToolPolicy;
use crate::agents::llm_agent::LlmAgent;
use crate::dispatch::dispatcher::ToolDispatcher;
use crate::kinds::long_running::LongRunningFunctionTool;
use crate::models::scripted_llm::ScriptedLlm;
use recount_session::InDoubt;
use recount_session::catalog::ToolKind;

/// A tool that declares its own gate.
pub(super) struct Gated;

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

pub(super) type Form = fn(Toolset) -> Toolset;

pub(super) const LIMIT: Duration = Duration::from_millis(50);

fn forms() -> [(&'static str, Form); 6] {
    [
        ("confirm", |tool| T::confirm(tool, "hint")),
        ("timeout", |tool| T::timeout(tool, LIMIT)),
        ("in_doubt", |tool| T::in_doubt(tool, InDoubt::Ask)),
        ("long_running", T::long_running),
        ("withdraw", T::withdraw_on_cancel),
        ("function", |tool| tool | Vec::new()),
    ]
}

pub(super) fn registered(tools: Toolset) -> PolicyTool {
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    dispatcher.get("pay").unwrap().clone()
}

/// Applies all forms to the tool in every order.
fn each_order(
    tool: &Toolset,
    left: &[(&'static str, Form)],
    path: &str,
    check: &dyn Fn(&str, PolicyTool),
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
fn own_gate_survives_every_form() {
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
fn repeated_policy_keeps_the_stricter_value() {
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
fn declared_default_in_doubt_rule_is_kept() {
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
fn policy_on_a_set_applies_to_its_tools_only() {
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
fn long_running_note_appears_exactly_once() {
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

#[test]
fn policies_skip_tools_that_came_with_an_agent() {
    let own = plain().map(PolicyTool::for_agents);
    let careful = T::secret(T::confirm(own, "Pay?"), "/card");
    let tool = careful.tools().first().unwrap();
    assert!(tool.requires_confirmation() && tool.declaration().inner);
    assert_eq!(tool.declaration().secret, ["/card"]);
    let clerk = || LlmAgent::new("clerk", ScriptedLlm::new([])).tools(plain());
    let boss = LlmAgent::new("boss", ScriptedLlm::new([]));
    let boss = boss.tools(T::confirm(
        T::agent("clerk", "Serves", clerk()),
        "Ask the clerk?",
    ));
    let all = T::confirm(T::agent("boss", "Rules", boss), "Ask the boss?");
    let declared = all.tools().iter();
    let declared: Vec<_> = declared
        .map(|it| (it.name(), it.confirmation_message(), it.declaration().inner))
        .collect();
    let expected = [
        ("boss", Some("Ask the boss?"), false),
        ("clerk", Some("Ask the clerk?"), true),
        ("pay", None, true),
    ];
    assert_eq!(declared, expected);
}
