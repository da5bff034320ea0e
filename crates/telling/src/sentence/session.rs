//! Sentences about the session itself: its worker, its connection, its end.

use crate::text::acted;
use crate::tone::Tone;
use recount::session::{
    CatalogChanged, ConnectFailed, Connected, Disconnected, FrameRejected, GoAwayReceived,
    ReconnectScheduled, ReconnectsExhausted, ResumptionHandleReceived, RunnerAttached,
    RunnerDetached, RunnerDraining, SessionClosed, SessionOpened,
};

pub(super) fn session_opened(it: &SessionOpened) -> (String, Tone) {
    let mut text = format!("session opened, agent {}", it.agent);
    if let Some(id) = &it.external_id {
        text.push_str(&format!(", {id}"));
    }
    for (key, value) in &it.labels {
        text.push_str(&format!(", {key}={value}"));
    }
    (text, Tone::Plain)
}

pub(super) fn runner_attached(it: &RunnerAttached) -> (String, Tone) {
    match &it.gates.reason {
        Some(reason) if !it.gates.enforced => (
            format!("worker ready, approvals not enforced: {reason}"),
            Tone::Bad,
        ),
        Some(_) | None => ("worker ready".to_owned(), Tone::Plain),
    }
}

pub(super) fn catalog_changed(it: &CatalogChanged) -> (String, Tone) {
    let short: String = it.catalog.to_string().chars().take(8).collect();
    let text = format!("tools changed while the session lives, catalog {short}");
    (text, Tone::Plain)
}

pub(super) fn runner_detached(it: &RunnerDetached) -> (String, Tone) {
    if it.not_begun.is_empty() {
        return (format!("session detached: {}", it.reason), Tone::Plain);
    }
    let calls = it.not_begun.iter().map(|it| format!("#{}", it.call));
    let calls = calls.collect::<Vec<_>>().join(", ");
    let text = format!("session detached: {}; not started: {calls}", it.reason);
    (text, Tone::Plain)
}

pub(super) fn runner_draining(it: &RunnerDraining) -> (String, Tone) {
    (format!("no new calls start: {}", it.reason), Tone::Plain)
}

pub(super) fn connected(it: &Connected) -> (String, Tone) {
    let resumed = if it.resumed.is_some() {
        ", conversation resumed"
    } else {
        ""
    };
    (
        format!("connected to {}{resumed}", it.endpoint),
        Tone::Plain,
    )
}

pub(super) fn reconnect_scheduled(it: &ReconnectScheduled) -> (String, Tone) {
    (
        format!("reconnect scheduled, attempt {}", it.attempt),
        Tone::Quiet,
    )
}

pub(super) fn connect_failed(it: &ConnectFailed) -> (String, Tone) {
    let code = it
        .code
        .map(|code| format!(", code {code}"))
        .unwrap_or_default();
    (format!("connection failed{code}: {}", it.reason), Tone::Bad)
}

pub(super) fn reconnects_exhausted(it: &ReconnectsExhausted) -> (String, Tone) {
    (format!("no further reconnect: {}", it.reason), Tone::Bad)
}

pub(super) fn disconnected(it: &Disconnected) -> (String, Tone) {
    let code = it
        .code
        .map(|code| format!(", code {code}"))
        .unwrap_or_default();
    (format!("disconnected{code}: {}", it.reason), Tone::Plain)
}

pub(super) fn go_away_received(it: &GoAwayReceived) -> (String, Tone) {
    let text = match &it.time_left {
        Some(left) => format!("will close the connection, time left {left}"),
        None => "will close the connection soon".to_owned(),
    };
    (text, Tone::Plain)
}

pub(super) fn resumption_handle_received(it: &ResumptionHandleReceived) -> (String, Tone) {
    let can = if it.resumable { "can" } else { "cannot" };
    (
        format!("conversation {can} be resumed from here"),
        Tone::Quiet,
    )
}

pub(super) fn frame_rejected(it: &FrameRejected) -> (String, Tone) {
    (
        format!("message or part of it not readable: {}", it.problem),
        Tone::Bad,
    )
}

pub(super) fn session_closed(it: &SessionClosed) -> (String, Tone) {
    (
        format!("session closed {}: {}", acted("by", &it.by), it.reason),
        Tone::Plain,
    )
}
