//! The records of a session that a program of rules 1 would overlook, or refuse by name only.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields of policies under rules 1. A `*` is any key or index. Values at `**` have any form.
const POLICIES: [&str; 44] = [
    "acknowledges",
    "calls_per_message_max",
    "hooks",
    "hooks/before_tool_response",
    "hooks/on_tool_call",
    "on_settled",
    "open_calls_max",
    "phases",
    "phases/*/instruction",
    "phases/*/name",
    "phases/*/tools",
    "phases/*/transitions",
    "phases/*/transitions/*/to",
    "phases/*/transitions/*/when/**",
    "response",
    "running_max",
    "timeout_ms",
    "tools",
    "tools/*",
    "tools/*/acknowledgement/**",
    "tools/*/background",
    "tools/*/background/scheduling",
    "tools/*/cache",
    "tools/*/cache/max_age_ms",
    "tools/*/confirm",
    "tools/*/confirm/asks_program",
    "tools/*/confirm/edits",
    "tools/*/confirm/expires_after_ms",
    "tools/*/confirm/hint",
    "tools/*/confirm/keeps_reason",
    "tools/*/confirm/payload/**",
    "tools/*/confirm/when/**",
    "tools/*/in_doubt",
    "tools/*/interim_status",
    "tools/*/limits",
    "tools/*/limits/per_minute",
    "tools/*/limits/per_session",
    "tools/*/phases",
    "tools/*/progress",
    "tools/*/repeats",
    "tools/*/retry/**",
    "tools/*/timeout_ms",
    "tools/*/when/**",
    "tools/*/withdraw_on_cancel",
];

/// The fields of catalogs under rules 1.
const CATALOG: [&str; 15] = [
    "tools",
    "tools/*",
    "tools/*/agent",
    "tools/*/agent/tools",
    "tools/*/behavior",
    "tools/*/category",
    "tools/*/definition/**",
    "tools/*/description",
    "tools/*/implementation/**",
    "tools/*/inner",
    "tools/*/kind",
    "tools/*/name",
    "tools/*/parameters/**",
    "tools/*/secret",
    "tools/*/server_side/**",
];

/// The kinds of tools under rules 1.
const TOOL_KINDS: [&str; 6] = [
    "agent",
    "function",
    "input_streaming",
    "long_running",
    "server_side",
    "streaming",
];

/// The kinds of records under rules 1.
const KINDS: &str = "
    answer_refused background_spawned call_cancellation_received call_cancelled call_ready
    call_started confirmation_answered confirmation_expired confirmation_reopened
    confirmation_requested confirmation_withdrawn connect_failed connected deadline_passed
    delivery_chosen disconnected frame_rejected function_call_received gate_waived
    go_away_received history_sent hook_answered instruction_sent llm_asked llm_replied
    media_counted model_output_received operator_cancelled outcome_found outcome_reconciled
    phase_entered policy_decided reconnect_scheduled reconnects_exhausted response_issued
    response_supplied responses_sent result_reused resumption_handle_received retry_scheduled
    runner_attached runner_detached runner_draining session_closed session_opened state_changed
    switch_planned tool_asked tool_event_emitted tool_paused tool_returned tool_yielded
    transcript_received turn_completed turn_interrupted usage_reported user_text_sent
";

/// A record, as far as the comparison needs it.
pub(crate) struct Known {
    pub(crate) kind: String,
    pub(crate) body: Value,
}

impl Known {
    /// True if the body names rules after 1.
    pub(crate) fn names_later_rules(&self) -> bool {
        self.body["rules"].as_u64().is_some_and(|rules| rules > 1)
    }
}

/// Returns the problem of a session whose later terms are on record before the rules that they
/// need. `objects` are the named ones by hash.
pub(crate) fn problem(records: &[Known], objects: &BTreeMap<String, Value>) -> Option<String> {
    let mut overlooked = records
        .iter()
        .enumerate()
        .filter_map(|(at, record)| Some((at, what_is_overlooked(record, objects)?)));
    let (at, what) = overlooked.next()?;
    let named = records.iter().position(Known::names_later_rules);
    if named.is_some_and(|named| named <= at) {
        return None;
    }
    Some(format!(
        "record {} has {what} before rules 2 are named",
        at + 1
    ))
}

/// Returns what a program of rules 1 does not know in a record.
fn what_is_overlooked(record: &Known, objects: &BTreeMap<String, Value>) -> Option<String> {
    if !KINDS.split_whitespace().any(|kind| kind == record.kind) {
        return Some(format!("the kind {}", record.kind));
    }
    let named = |role: &str| objects.get(record.body[role].as_str()?);
    let catalog = named("catalog").and_then(|it| {
        let tools = it["tools"]
            .as_object()
            .into_iter()
            .flat_map(|it| it.values());
        let mut kinds = tools.filter_map(|tool| tool["kind"].as_str());
        let later = kinds.find(|kind| !TOOL_KINDS.contains(kind));
        let field = || unknown(it, &CATALOG, &mut Vec::new());
        later
            .map(|kind| format!("the kind of tool {kind}"))
            .or_else(field)
    });
    catalog.or_else(|| unknown(named("policies")?, &POLICIES, &mut Vec::new()))
}

/// Returns the first field of `value` that `known` does not list.
fn unknown<'v>(value: &'v Value, known: &[&str], at: &mut Vec<&'v str>) -> Option<String> {
    if known.iter().any(|pattern| is_free(pattern, at)) {
        return None;
    }
    let is_known = at.is_empty() || known.iter().any(|pattern| matches(pattern, at));
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, field)| {
            at.push(key);
            let found = unknown(field, known, at);
            at.pop();
            found
        }),
        Value::Array(items) => items.iter().find_map(|item| {
            at.push("*");
            let found = unknown(item, known, at);
            at.pop();
            found
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
    .or_else(|| {
        (!is_known && at.last() != Some(&"*")).then(|| format!("the field {}", at.join("/")))
    })
}

fn matches(pattern: &str, at: &[&str]) -> bool {
    let steps: Vec<&str> = pattern.split('/').collect();
    steps.len() == at.len() && covers(&steps, at)
}

/// True if the values at this place have any form.
fn is_free(pattern: &str, at: &[&str]) -> bool {
    let Some(place) = pattern.strip_suffix("/**") else {
        return false;
    };
    let steps: Vec<&str> = place.split('/').collect();
    steps.len() == at.len() && covers(&steps, at)
}

fn covers(steps: &[&str], at: &[&str]) -> bool {
    let mut both = steps.iter().zip(at);
    both.all(|(step, key)| *step == "*" || step == key)
}
