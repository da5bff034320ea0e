//! The result of one script as text: the events, the messages to the service, and the outcomes.

use std::fmt::Write as _;
use std::sync::Arc;

use recount::ledger::Recorded;
use recount::session::Session;
use recount::simulator::{ConnectionId, Event, Standing, Transcript};
use serde_json::Value;

/// The whole result as text.
pub(crate) fn told(
    seen: &[Arc<Recorded>],
    transcript: &Transcript,
    refused: Option<String>,
    session: &Session,
    runs: &[&str],
) -> String {
    let mut text = "what the user saw\n".to_owned();
    lines(&mut text, seen.iter().filter_map(|it| shown(it)));
    text.push_str("\nwhat the service received\n");
    lines(&mut text, received(transcript));
    text.push_str("\nhow it ended\n");
    if let Some(refused) = refused {
        writeln!(text, "  not connected: {refused}").unwrap();
    }
    let [heard, said] = ["heard", "sent"].map(|way| sound(seen, way));
    writeln!(text, "  sound: {heard} pieces heard, {said} said").unwrap();
    writeln!(text, "  runs: {}", runs.join(", ")).unwrap();
    for (call, settled) in &session.settled {
        writeln!(text, "  call {call}: {:?}", settled.outcome).unwrap();
    }
    for (call, open) in session.calls.iter() {
        writeln!(text, "  call {call} of {} is open", open.name).unwrap();
    }
    let closed = if session.closed { "closed" } else { "open" };
    writeln!(text, "  the session is {closed}").unwrap();
    text
}

/// Writes one line per item, and counts repetitions of the same line.
fn lines(text: &mut String, things: impl Iterator<Item = String>) {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for thing in things {
        match counted.last_mut() {
            Some((last, count)) if *last == thing => *count += 1,
            Some(_) | None => counted.push((thing, 1)),
        }
    }
    for (thing, count) in counted {
        let times = if count > 1 {
            format!(" ({count} times)")
        } else {
            String::new()
        };
        writeln!(text, "  {thing}{times}").unwrap();
    }
}

/// The parts of an event that matter to a user.
fn shown(recorded: &Recorded) -> Option<String> {
    let event = &recorded.fact.event;
    let fields = SHOWN.iter().find(|(kind, _)| *kind == event.kind())?.1;
    let body: Value = serde_json::from_str(&event.body().unwrap()).unwrap();
    let values = fields.iter().filter_map(|field| {
        let value = body.get(field)?;
        Some(format!(" {field}: {value}"))
    });
    let seq = recorded.fact.seq;
    let named = if NAMED.contains(&event.kind()) {
        format!("{seq} ")
    } else {
        String::new()
    };
    Some(format!(
        "{named}{}{}",
        event.kind(),
        values.collect::<String>()
    ))
}

/// The number of recorded audio frames. Their distribution over turns depends on the reads of the
/// socket.
fn sound(seen: &[Arc<Recorded>], way: &str) -> u64 {
    let counted = seen
        .iter()
        .filter(|it| it.fact.event.kind() == "media_counted");
    let frames = counted.filter_map(|it| {
        let body: Value = serde_json::from_str(&it.fact.event.body().unwrap()).unwrap();
        body.pointer(&format!("/{way}/audio/frames"))?.as_u64()
    });
    frames.sum()
}

/// The messages that the service received, by connection.
fn received(transcript: &Transcript) -> impl Iterator<Item = String> {
    let connected = transcript.entries().iter();
    let connected = connected.filter(|it| it.event == Event::Connected);
    connected.flat_map(|it| {
        let on = it.connection;
        let came = received_on(transcript, on).into_iter();
        let came = came.map(|line| format!("  {line}"));
        std::iter::once(format!("connection {on}")).chain(came)
    })
}

/// The messages on one connection, and the standing of responses that the service rejected.
///
/// Audio frames are counted at the end, because their order among other messages is not fixed.
fn received_on(transcript: &Transcript, on: ConnectionId) -> Vec<String> {
    let (mut told, mut sound) = (Vec::new(), 0);
    let entries = transcript.entries().iter();
    for entry in entries.filter(|it| it.connection == on) {
        match &entry.event {
            Event::Received { message, answers } => {
                if message.realtime_input.is_some() {
                    sound += 1;
                } else if let Some(setup) = &message.setup {
                    let asked = setup.session_resumption.as_ref();
                    let handle = asked.and_then(|it| it.handle.as_deref());
                    told.push(format!("setup, handle: {}", handle.unwrap_or("none")));
                } else {
                    told.push(message.encode());
                }
                let answers = answers.iter();
                let untaken = answers.filter(|it| it.standing != Standing::Accepted);
                told.extend(untaken.map(|it| format!("  {:?}", it.standing)));
            }
            Event::Unreadable { problem } => told.push(format!("unreadable: {problem}")),
            Event::Connected | Event::Sent(_) | Event::SentRaw(_) | Event::Closed { .. } => {}
        }
    }
    if sound > 0 {
        told.push(format!("{sound} pieces of sound"));
    }
    told
}

/// The kinds that matter to a user, each with its fields to show.
const SHOWN: &[(&str, &[&str])] = &[
    ("call_cancelled", &["call", "reason"]),
    ("call_cancellation_received", &["ids"]),
    ("call_started", &["call", "attempt"]),
    ("confirmation_answered", &["request", "confirmed"]),
    ("confirmation_requested", &["call", "hint"]),
    ("confirmation_withdrawn", &["call", "reason"]),
    ("connect_failed", &["attempt", "code", "reason", "rejected"]),
    ("connected", &["resumed"]),
    ("delivery_chosen", &["response", "route"]),
    ("disconnected", &["code", "reason"]),
    ("frame_rejected", &["problem"]),
    ("function_call_received", &["id", "name"]),
    ("go_away_received", &["time_left"]),
    ("history_sent", &["turns", "answer_wanted"]),
    ("model_output_received", &["text"]),
    ("reconnect_scheduled", &["attempt", "resumes"]),
    ("reconnects_exhausted", &["attempts", "reason"]),
    ("response_issued", &["call", "outcome", "route"]),
    ("resumption_handle_received", &["resumable"]),
    ("runner_detached", &["reason"]),
    ("session_closed", &["reason"]),
    ("switch_planned", &[]),
    ("tool_yielded", &["call"]),
    ("transcript_received", &["speaker"]),
    ("turn_completed", &["reason"]),
    ("turn_interrupted", &[]),
    ("user_text_sent", &["text"]),
];

/// The kinds to which other records refer by seq.
const NAMED: &[&str] = &[
    "confirmation_requested",
    "connected",
    "function_call_received",
    "response_issued",
];
