//! Pairs of forms on each kind of tool: both apply, or registration rejects the meaningless one.

use std::collections::BTreeSet;

use async_trait::async_trait;
use recount_session::catalog::{Behavior, ToolDeclaration, ToolKind};
use recount_session::{FunctionResponseScheduling, InDoubt, OnExpiry, S};
use tokio::sync::{broadcast, mpsc};

use super::tests::{Form, Gated, LIMIT, registered};
use super::*;
use crate::ToolPolicy;
use crate::dispatch::dispatcher::ToolDispatcher;
use crate::run::input::InputEvent;
use crate::tools::mistake::ToolMistake;

/// A tool that does nothing, of both streaming kinds.
struct Quiet;

#[async_trait]
impl StreamingTool for Quiet {
    fn name(&self) -> &str {
        "pay"
    }
    fn description(&self) -> &str {
        "Pays"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, _: mpsc::Sender<Value>) -> Result<(), ToolError> {
        Ok(())
    }
    fn requires_confirmation(&self) -> bool {
        true
    }
    fn confirmation_message(&self) -> Option<&str> {
        Some("own")
    }
}

#[async_trait]
impl InputStreamingTool for Quiet {
    fn name(&self) -> &str {
        "pay"
    }
    fn description(&self) -> &str {
        "Pays"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(
        &self,
        _: Value,
        _: broadcast::Receiver<InputEvent>,
        _: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        Ok(())
    }
    fn requires_confirmation(&self) -> bool {
        true
    }
    fn confirmation_message(&self) -> Option<&str> {
        Some("own")
    }
}

fn kinds() -> [(ToolKind, Toolset); 6] {
    [
        (ToolKind::Function, Gated.into()),
        (ToolKind::LongRunning, T::long_running(Gated)),
        (ToolKind::Streaming, T::streaming(Arc::new(Quiet))),
        (
            ToolKind::InputStreaming,
            T::input_streaming(Arc::new(Quiet)),
        ),
        (
            ToolKind::ServerSide,
            T::server_side("pay", json!({"pay": {}})),
        ),
        (
            ToolKind::Client,
            T::confirm(T::client("pay", "Pays", json!({"type": "object"})), "own"),
        ),
    ]
}

/// A form: its name, its name in a mistake, its function, and a test that it applies.
struct Rule {
    name: &'static str,
    reported: &'static str,
    put: Form,
    holds: fn(&ToolPolicy, &ToolDeclaration) -> bool,
}

impl Rule {
    fn new(
        name: &'static str,
        put: Form,
        holds: fn(&ToolPolicy, &ToolDeclaration) -> bool,
    ) -> Self {
        Self {
            name,
            reported: name,
            put,
            holds,
        }
    }

    fn reported_as(self, reported: &'static str) -> Self {
        Self { reported, ..self }
    }
}

/// True if both hints are there: the tool's own and the form's.
fn asks(policy: &ToolPolicy) -> bool {
    let hint = policy.confirm_message.as_deref().unwrap_or_default();
    policy.confirm && hint.starts_with("own; hint")
}

fn rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "timeout",
            |tool| T::timeout(tool, LIMIT),
            |it, _| it.timeout == Some(LIMIT),
        ),
        Rule::new("cached", T::cached, |it, _| it.cache),
        Rule::new(
            "cached_for",
            |tool| T::cached_for(tool, LIMIT),
            |it, _| it.cache && it.cache_max_age == Some(LIMIT),
        )
        .reported_as("cached"),
        Rule::new("confirm", |tool| T::confirm(tool, "hint"), |it, _| asks(it)),
        Rule::new(
            "confirm_within",
            |tool| T::confirm_within(tool, "hint", LIMIT),
            |it, _| asks(it) && it.gate_terms.expires_after == Some(LIMIT),
        )
        .reported_as("confirm"),
        Rule::new(
            "confirm_on_expiry",
            |tool| {
                let timed = T::confirm_within(tool, "hint", LIMIT);
                T::confirm_on_expiry(timed, OnExpiry::Deny)
            },
            |it, _| asks(it) && it.gate_terms.on_expiry == Some(OnExpiry::Deny),
        )
        .reported_as("confirm"),
        Rule::new(
            "acknowledge_after",
            |tool| T::acknowledge_after(tool, LIMIT),
            |it, _| it.acknowledge_after == Some(LIMIT),
        ),
        Rule::new("withdraw_on_cancel", T::withdraw_on_cancel, |it, _| {
            it.withdraw_on_cancel
        }),
        Rule::new("background", T::background, |it, _| it.background.is_some()),
        Rule::new(
            "background_with",
            |tool| T::background_with(tool, FunctionResponseScheduling::Silent),
            |it, declared| {
                it.background.map(|it| it.scheduling) == Some(FunctionResponseScheduling::Silent)
                    && declared.behavior == Some(Behavior::NonBlocking)
            },
        )
        .reported_as("background"),
        Rule::new("idempotent", T::idempotent, |it, _| {
            it.in_doubt != InDoubt::SettleUnknown
        })
        .reported_as("in_doubt"),
        Rule::new(
            "in_doubt",
            |tool| T::in_doubt(tool, InDoubt::Ask),
            |it, _| it.in_doubt == InDoubt::Ask,
        ),
        Rule::new(
            "retry",
            |tool| T::retry(tool, 3, LIMIT),
            |it, _| {
                it.retry
                    .is_some_and(|it| (it.attempts_max, it.backoff_ms) == (3, 50))
            },
        ),
        Rule::new(
            "limit_per_session",
            |tool| T::limit_per_session(tool, 9),
            |it, _| it.limits.per_session == Some(9),
        ),
        Rule::new(
            "limit_per_minute",
            |tool| T::limit_per_minute(tool, 3),
            |it, _| it.limits.per_minute == Some(3),
        ),
        Rule::new(
            "max_open_requests",
            |tool| T::max_open_requests(tool, 2),
            |it, _| it.gate_terms.max_open_requests == Some(2),
        ),
        Rule::new(
            "in_phases",
            |tool| T::in_phases(tool, ["a", "b"]),
            |it, _| it.phases.as_ref().is_some_and(|it| it.contains("b")),
        ),
        Rule::new(
            "in_fewer_phases",
            |tool| T::in_phases(tool, ["b"]),
            |it, _| it.phases == Some(["b".to_owned()].into()),
        )
        .reported_as("in_phases"),
        Rule::new(
            "when",
            |tool| T::when(tool, S::is_true("a")),
            |it, _| it.when == Some(S::is_true("a")),
        ),
        Rule::new(
            "secret",
            |tool| T::secret(tool, "/card"),
            |_, declared| declared.secret == ["/card"],
        ),
        Rule::new(
            "category",
            |tool| T::category(tool, "action"),
            |_, declared| declared.category.as_deref() == Some("action"),
        ),
        Rule::new(
            "blocking",
            |tool| T::behavior(tool, Behavior::Blocking),
            |_, declared| declared.behavior == Some(Behavior::Blocking),
        )
        .reported_as("behavior"),
        Rule::new(
            "non_blocking",
            |tool| T::behavior(tool, Behavior::NonBlocking),
            |_, declared| declared.behavior.is_some(),
        )
        .reported_as("behavior"),
        Rule::new("long_running", T::long_running, |_, declared| {
            declared.kind == ToolKind::LongRunning
        }),
        Rule::new("beside_others", |tool| tool | Vec::new(), |_, _| true),
    ]
}

/// Returns the meaningless ones of two forms on a kind of tool: an independent statement of the
/// rules.
fn senseless(kind: ToolKind, forms: [&Rule; 2]) -> BTreeSet<&'static str> {
    let has = |name: &str| forms.iter().any(|rule| rule.name == name);
    let streams = matches!(kind, ToolKind::Streaming | ToolKind::InputStreaming);
    let is_later = kind == ToolKind::LongRunning || has("long_running");
    let is_idempotent = has("idempotent") && !has("in_doubt");
    let is_senseless = |rule: &&&Rule| match (kind, rule.reported) {
        (_, "category" | "beside_others") => false,
        (ToolKind::ServerSide, _) => true,
        (ToolKind::Client, "long_running" | "interim_status") => true,
        (ToolKind::Client, "cached") => false,
        (_, "cached") => streams || is_later,
        (_, "long_running") => streams,
        (_, "retry") => !is_idempotent,
        (_, "background") => has("blocking"),
        (_, _) => false,
    };
    let found = forms.iter().filter(is_senseless);
    found.map(|rule| rule.reported).collect()
}

#[test]
fn every_pair_of_forms_applies_or_is_rejected() {
    let rules = rules();
    let (mut accepted, mut refused) = (0, 0);
    for (kind, tool) in kinds() {
        for (first, second) in rules.iter().flat_map(|a| rules.iter().map(move |b| (a, b))) {
            let path = format!("{} {} {kind:?}", second.name, first.name);
            let expected = senseless(kind, [first, second]);
            let mut dispatcher = ToolDispatcher::new();
            let outcome = dispatcher.register((second.put)((first.put)(tool.clone())));
            if let Err(error) = outcome {
                let found = error.mistakes.iter().map(|mistake| match mistake {
                    ToolMistake::Senseless { form, .. } => *form,
                    _ => "something else",
                });
                assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{path}: {error}");
                refused += 1;
                continue;
            }
            assert_eq!(expected, BTreeSet::new(), "{path}");
            let both = dispatcher.get("pay").unwrap();
            let (policy, declared) = (both.policy(), both.declaration());
            assert!(
                (first.holds)(policy, &declared) && (second.holds)(policy, &declared),
                "{path}: {both:?}"
            );
            assert!(policy.confirm || kind == ToolKind::ServerSide, "{path}");
            let turned = registered((first.put)((second.put)(tool.clone())));
            assert_eq!(
                (turned.policy(), turned.declaration()),
                (policy, declared),
                "{path}"
            );
            accepted += 1;
        }
    }
    assert_eq!(accepted + refused, 6 * rules.len() * rules.len());
    assert!(accepted > 1000, "{accepted}");
}
