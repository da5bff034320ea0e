//! The checks of a tool at registration: its name, its policy, and policies without meaning for its
//! kind.

use std::time::Duration;

use recount_session::catalog::{Behavior, ToolDeclaration, ToolKind};
use recount_session::{
    Approvers, DEPTH_MAX, InDoubt, OnExpiry, QUORUM_MAX, ToolPolicy, recorded_key, unfit_policy,
};
use serde_json::Value;

use crate::tools::mistake::{ToolMistake, is_name};
use crate::tools::policy_tool::{Body, PolicyTool};

/// Returns the mistakes of one tool, except in its parameter schema and its relation to other
/// tools.
pub(super) fn mistakes_of(tool: &PolicyTool) -> Vec<ToolMistake> {
    let name = tool.name();
    let mut mistakes = Vec::new();
    if !is_name(name) {
        mistakes.push(ToolMistake::Name {
            tool: name.to_owned(),
        });
    }
    let senseless = senseless_forms(tool).into_iter();
    mistakes.extend(senseless.map(|(form, reason)| ToolMistake::Senseless {
        tool: name.to_owned(),
        form,
        reason,
    }));
    if tool.policy.gate_terms.payload.is_some() && !tool.takes_confirmation() {
        mistakes.push(ToolMistake::Senseless {
            tool: name.to_owned(),
            form: "confirm_payload",
            reason: "the tool is not given what a person gives with a yes",
        });
    }
    let impossible = impossible_forms(tool).into_iter();
    mistakes.extend(impossible.map(|(form, expected, found)| ToolMistake::Form {
        tool: name.to_owned(),
        form,
        expected,
        found,
    }));
    mistakes
}

/// Returns the forms without meaning for this tool, with the reason.
///
/// Such a form does not apply to the kind of tool, lacks a form that it needs, or contradicts one.
fn senseless_forms(tool: &PolicyTool) -> Vec<(&'static str, &'static str)> {
    let policy = &tool.policy;
    let mut found = Vec::new();
    let mut note = |is_so: bool, form, reason| {
        if is_so {
            found.push((form, reason));
        }
    };
    let unasked = policy.gate_terms.asks_program && tool.predicates.is_empty();
    note(
        unasked,
        "confirm_asks_program",
        "the tool has no predicate; see T::confirm_when_fn",
    );
    match tool.kind() {
        ToolKind::ServerSide => {
            for form in forms_of(tool) {
                note(true, form, "the service runs the tool and asks no person");
            }
            return found;
        }
        ToolKind::Streaming | ToolKind::InputStreaming => {
            let no_single = "a streaming tool has no single result";
            note(policy.cache, "cached", no_single);
            note(tool.long_running, "long_running", no_single);
        }
        ToolKind::LongRunning => {
            let later = "the result of a long-running tool is supplied later from outside";
            note(policy.cache, "cached", later);
        }
        ToolKind::Agent => {
            note(tool.long_running, "long_running", "it is an agent");
            let in_doubt =
                "an agent goes on where it was cut off, and its calls have rules of their own";
            note(tool.rule.is_some(), "in_doubt", in_doubt);
            note(
                !tool.secret.is_empty(),
                "secret",
                "its model is told what it is asked",
            );
        }
        ToolKind::Client => {
            let at_client = "a client runs the tool and reports its result";
            note(tool.long_running, "long_running", at_client);
            note(policy.interim_status, "interim_status", at_client);
            // A client's run neither pauses nor asks.
            let waits = policy.confirm || policy.in_doubt == InDoubt::Ask;
            note(
                policy.acknowledge_after.is_some() && !waits,
                "acknowledge_after",
                "no call of the tool waits for a person",
            );
        }
        ToolKind::Function => {}
    }
    let runs_again = policy.is_idempotent() || tool.kind() == ToolKind::Agent;
    note(
        policy.retry.is_some() && !runs_again,
        "retry",
        "the tool is not declared idempotent",
    );
    note(
        policy.background.is_some() && tool.behavior == Some(Behavior::Blocking),
        "background",
        "the tool is declared BLOCKING",
    );
    note(
        policy.cache_max_age.is_some() && !policy.cache,
        "cached_for",
        "the tool is not cached",
    );
    let no_gate = "no person is asked to confirm";
    note(
        policy.confirm_message.is_some() && !policy.confirm,
        "confirm_message",
        no_gate,
    );
    note(
        policy.gate_terms.expires_after.is_some() && !policy.confirm,
        "confirm_expires_after",
        no_gate,
    );
    let terms = &policy.gate_terms;
    note(
        terms.on_expiry.is_some() && !policy.confirm,
        "confirm_on_expiry",
        no_gate,
    );
    note(
        terms.on_expiry.is_some() && policy.confirm && terms.expires_after.is_none(),
        "confirm_on_expiry",
        "no time is set after which a question expires; see confirm_expires_after",
    );
    let allows = terms.on_expiry == Some(OnExpiry::Allow);
    if let Some(term) = terms.needs_person().filter(|_| allows && policy.confirm) {
        note(
            true,
            term,
            "its calls would run without an answer; see confirm_on_expiry",
        );
    }
    note(
        policy.gate_terms.max_open_requests.is_some() && !policy.confirm,
        "max_open_requests",
        no_gate,
    );
    for (is_set, form) in answer_terms(policy) {
        note(is_set && !policy.confirm, form, no_gate);
    }
    note(
        policy.gate_terms.may_allow_for_session && policy.gate_terms.payload.is_some(),
        "may_allow_for_session",
        "later calls would run without the payload that the gate asks for",
    );
    found
}

/// The terms of the answers, each with whether it is set.
fn answer_terms(policy: &ToolPolicy) -> [(bool, &'static str); 4] {
    let terms = &policy.gate_terms;
    [
        (!terms.approvers.is_empty(), "approvers"),
        (terms.not_requester, "not_requester"),
        (terms.quorum.is_some(), "quorum"),
        (terms.may_allow_for_session, "may_allow_for_session"),
    ]
}

/// Returns the forms of a tool. A category is not one, because it only groups tools.
fn forms_of(tool: &PolicyTool) -> Vec<&'static str> {
    let policy = &tool.policy;
    let forms = [
        (policy.timeout.is_some(), "timeout"),
        (policy.cache || policy.cache_max_age.is_some(), "cached"),
        (
            policy.confirm
                || policy.confirm_message.is_some()
                || policy.gate_terms.expires_after.is_some()
                || policy.gate_terms.on_expiry.is_some(),
            "confirm",
        ),
        (
            tool.rule.is_some() || policy.in_doubt != Default::default(),
            "in_doubt",
        ),
        (policy.repeats != Default::default(), "pending_ticket"),
        (policy.acknowledge_after.is_some(), "acknowledge_after"),
        (policy.withdraw_on_cancel, "withdraw_on_cancel"),
        (policy.interim_status, "interim_status"),
        (policy.progress.is_some(), "progress"),
        (policy.background.is_some(), "background"),
        (policy.retry.is_some(), "retry"),
        (policy.limits.per_session.is_some(), "limit_per_session"),
        (policy.limits.per_minute.is_some(), "limit_per_minute"),
        (
            policy.gate_terms.max_open_requests.is_some(),
            "max_open_requests",
        ),
        (policy.phases.is_some(), "in_phases"),
        (policy.when.is_some(), "when"),
        (!tool.secret.is_empty(), "secret"),
        (tool.behavior.is_some(), "behavior"),
        (tool.long_running, "long_running"),
    ];
    let forms = forms.into_iter().chain(answer_terms(policy));
    let put = forms.filter(|(is_put, _)| *is_put);
    put.map(|(_, form)| form).collect()
}

/// Returns the forms that could never hold, with the expected and the found value.
fn impossible_forms(tool: &PolicyTool) -> Vec<(&'static str, &'static str, String)> {
    let policy = &tool.policy;
    let mut found = Vec::new();
    let mut note = |form, expected, what: Option<String>| {
        found.extend(what.map(|what| (form, expected, what)));
    };
    let zero = |limit: Option<Duration>| limit.filter(Duration::is_zero).map(|_| "0".to_owned());
    note("timeout", "at least 1 ms", zero(policy.timeout));
    note("cached_for", "at least 1 ms", zero(policy.cache_max_age));
    note(
        "acknowledge_after",
        "at least 1 ms",
        zero(policy.acknowledge_after),
    );
    note(
        "confirm_within",
        "at least 1 ms",
        zero(policy.gate_terms.expires_after),
    );
    note(
        "quorum",
        "from 1 to 16 persons",
        policy
            .gate_terms
            .quorum
            .filter(|it| !(1..=QUORUM_MAX).contains(it))
            .map(|it| it.to_string()),
    );
    let approvers = policy.gate_terms.approvers.iter();
    let empty = approvers.filter(|it| it.is_empty()).count();
    note(
        "approvers",
        "at least one role, group or name",
        (empty > 0).then(|| "none, so no person may answer".to_owned()),
    );
    let mut approvers = policy.gate_terms.approvers.iter();
    let blank = approvers.any(Approvers::have_blank_entry);
    note(
        "approvers",
        "roles, groups and names that are not blank",
        blank.then(|| "a blank one".to_owned()),
    );
    let attempts = policy.retry.map(|retry| retry.attempts_max);
    note(
        "retry",
        "at least 2 attempts, the first one counted",
        attempts.filter(|it| *it < 2).map(|it| it.to_string()),
    );
    let none = |limit: Option<u32>| limit.filter(|it| *it == 0).map(|it| it.to_string());
    note(
        "limit_per_session",
        "at least 1",
        none(policy.limits.per_session),
    );
    note(
        "limit_per_minute",
        "at least 1",
        none(policy.limits.per_minute),
    );
    note(
        "max_open_requests",
        "at least 1",
        none(policy.gate_terms.max_open_requests),
    );
    let phases = policy
        .phases
        .as_ref()
        .filter(|phases| phases.is_empty())
        .map(|_| "none, or lists that have none in common".to_owned());
    note("in_phases", "at least one phase", phases);
    let keys = policy.when.iter().flat_map(|when| when.keys());
    let unfit: Vec<_> = keys
        .filter_map(|key| recorded_key(key).err())
        .map(|problem| problem.to_string())
        .collect();
    note(
        "when",
        "keys that stand on record",
        (!unfit.is_empty()).then(|| unfit.join("; ")),
    );
    let unfit = |part: Option<&Value>| {
        // The text is later nested: in a renewed request, or in a response.
        let rejection = part.and_then(|it| unfit_policy(it, DEPTH_MAX - 1));
        rejection.map(|it| it.to_string())
    };
    let carried = "what a record carries";
    note(
        "confirm_payload",
        carried,
        unfit(policy.gate_terms.payload.as_ref()),
    );
    note(
        "acknowledge",
        carried,
        unfit(policy.acknowledgement.as_ref()),
    );
    let approvers = Some(&policy.gate_terms.approvers).filter(|it| !it.is_empty());
    let approvers = approvers.and_then(|it| unfit_policy(it, DEPTH_MAX - 1));
    note("approvers", carried, approvers.map(|it| it.to_string()));
    let hint = policy.confirm_message.as_ref();
    let hint = hint.and_then(|hint| unfit_policy(hint, DEPTH_MAX));
    note("confirm", carried, hint.map(|it| it.to_string()));
    let pointers = tool.secret.iter();
    let odd = pointers
        .filter(|path| !path.starts_with('/'))
        .map(|path| format!("{path:?}"))
        .next();
    note("secret", "a JSON Pointer such as \"/card/number\"", odd);
    let categories: Vec<_> = tool.categories.iter().map(|it| format!("{it:?}")).collect();
    note(
        "category",
        "one",
        (categories.len() > 1).then(|| categories.join(" and ")),
    );
    if let Body::ServerSide { declaration, .. } = &tool.body {
        note(
            "server_side",
            "an object with one field such as {\"googleSearch\":{}} that is not functionDeclarations",
            (!is_server_side(declaration)).then(|| declaration.to_string()),
        );
    }
    found
}

/// True if the declaration has one field that declares no functions. Functions declared here would
/// bypass every check.
fn is_server_side(declaration: &Value) -> bool {
    let Some(fields) = declaration.as_object() else {
        return false;
    };
    let functions = ["functionDeclarations", "function_declarations"];
    fields.len() == 1 && !fields.keys().any(|it| functions.contains(&it.as_str()))
}

/// Returns the mistake of two tools with one name.
pub(super) fn duplicate(one: &ToolDeclaration, other: &ToolDeclaration) -> ToolMistake {
    let defined = one.definition.as_ref().or(other.definition.as_ref());
    let server = defined.and_then(|it| it.get("server")?.as_str());
    let tool = one.name.clone();
    match server {
        Some(server) => ToolMistake::DuplicateOfServer {
            tool,
            server: server.to_owned(),
        },
        None => ToolMistake::Duplicate { tool },
    }
}
