//! Sentences about calls, tools and hooks.

use super::names::Names;
use super::phrases::{clause, failure_in};
use crate::text::acted;
use crate::tone::Tone;
use recount::session::{
    Author, CallCancellationReceived, Deadline, DeadlinePassed, FunctionCallReceived, HookAnswered,
    LlmAsked, LlmReplied, StateChanged, ToolAsked, ToolEventEmitted, ToolPaused, ToolReturned,
    ToolYielded,
};

pub(super) fn function_call_received(it: &FunctionCallReceived) -> (String, Tone) {
    let name = it.name.as_deref().unwrap_or("a function without a name");
    let problem = it
        .invalid_args
        .as_deref()
        .or(it.malformed_args.as_ref().map(|it| it.problem.as_str()));
    match (problem, &it.args) {
        (Some(problem), _) => (
            format!("calls {name} with invalid arguments: {problem}"),
            Tone::Bad,
        ),
        (None, Some(args)) => {
            let key = it.key.as_ref().map(|key| format!(" with key {key}"));
            let (args, key) = (args.as_str(), key.unwrap_or_default());
            (format!("calls {name} {args}{key}"), Tone::Call)
        }
        (None, None) => (format!("calls {name}"), Tone::Call),
    }
}

pub(super) fn hook_answered(it: &HookAnswered, names: &Names) -> (String, Tone) {
    let (tool, hook) = (names.call(it.call), it.hook.as_str());
    match (&it.response, &it.failure) {
        (Some(response), _) => {
            let text = format!("hook {hook} answered {tool}: {}", response.as_str());
            (text, Tone::Plain)
        }
        (None, Some(failure)) => (format!("{tool}: {failure}"), Tone::Bad),
        (None, None) => (
            format!("hook {hook} changed nothing for {tool}"),
            Tone::Quiet,
        ),
    }
}

pub(super) fn call_cancellation_received(it: &CallCancellationReceived) -> (String, Tone) {
    (format!("cancels {}", it.ids.join(", ")), Tone::Plain)
}

pub(super) fn tool_returned(it: &ToolReturned, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    if it.failed {
        (
            format!("{tool} failed: {}", failure_in(&it.response)),
            Tone::Bad,
        )
    } else {
        let ends = it.ends_session.as_ref();
        let ends = ends.map(|why| format!(", session ends: {why}"));
        (
            format!(
                "{tool} returned {}{}",
                it.response.as_str(),
                ends.unwrap_or_default()
            ),
            Tone::Good,
        )
    }
}

pub(super) fn tool_yielded(it: &ToolYielded, names: &Names) -> (String, Tone) {
    let (tool, response) = (names.call(it.call), it.response.as_str());
    (format!("interim result of {tool}: {response}"), Tone::Plain)
}

pub(super) fn tool_event_emitted(it: &ToolEventEmitted, names: &Names) -> (String, Tone) {
    let (tool, data) = (names.call(it.call), it.data.as_str());
    (format!("{tool} emitted {} {data}", it.name), Tone::Plain)
}

pub(super) fn state_changed(it: &StateChanged, names: &Names) -> (String, Tone) {
    let author = match &it.author {
        Author::Tool { call, .. } => format!("by {}", names.call(*call)),
        Author::Hook(name) => format!("by hook {name}"),
        Author::Program(actor) => acted("by", actor),
    };
    let changes = it.changes.iter();
    let changes = changes.map(|it| format!("{} = {}", it.key, it.value));
    let changes: Vec<String> = changes.collect();
    (
        format!("state set {author}: {}", changes.join(", ")),
        Tone::Plain,
    )
}

pub(super) fn tool_asked(it: &ToolAsked, names: &Names) -> (String, Tone) {
    let (tool, hint) = (names.call(it.call), &it.hint);
    let now = if it.in_place {
        "waits for the answer"
    } else {
        "stops until the answer"
    };
    let text = format!("{tool} asks for approval and {now}: {hint}");
    (text, Tone::Ask)
}

pub(super) fn llm_asked(it: &LlmAsked, names: &Names) -> (String, Tone) {
    let (tool, of, turn) = (names.call(it.call), &it.of, it.turn);
    let text = format!("{tool}: agent {of} calls model {}, turn {turn}", it.model);
    (text, Tone::Plain)
}

pub(super) fn llm_replied(it: &LlmReplied, names: &Names) -> (String, Tone) {
    let texts = it.parts.iter().filter_map(|part| part.text.as_deref());
    let text = texts.collect::<Vec<_>>().concat();
    let what = if it.calls() > 0 {
        "makes calls"
    } else {
        "replied"
    };
    let (tool, words) = (names.call(it.call), clause(Some(&text)));
    let text = format!("{tool}: its model {what}{words}");
    (text, Tone::Plain)
}

pub(super) fn tool_paused(it: &ToolPaused, names: &Names) -> (String, Tone) {
    let tool = names.call(it.call);
    (
        format!("{tool} paused, waiting for its result from outside"),
        Tone::Ask,
    )
}

pub(super) fn deadline_passed(it: &DeadlinePassed, names: &Names) -> (String, Tone) {
    match it.deadline {
        Deadline::Run { call, attempt } => (
            format!("{} timed out, attempt {attempt}", names.call(call)),
            Tone::Bad,
        ),
        Deadline::Confirmation { call, .. } => (
            format!("approval request for {} timed out", names.call(call)),
            Tone::Bad,
        ),
        Deadline::Lease { call, attempt } => (
            format!("lease of {} passed, attempt {attempt}", names.call(call)),
            Tone::Bad,
        ),
        Deadline::Retry { call, attempt } => (
            format!("retry of {} due, attempt {attempt}", names.call(call)),
            Tone::Quiet,
        ),
        Deadline::Acknowledgement { call } => (
            format!("acknowledgement of {} due", names.call(call)),
            Tone::Quiet,
        ),
    }
}
