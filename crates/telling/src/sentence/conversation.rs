//! Sentences about the conversation: words, turns, and messages to the model.

use super::names::Names;
use super::phrases::clause;
use crate::tone::Tone;
use recount::session::{
    HistoryForm, HistorySent, MediaCount, MediaCounted, ResponsesSent, TranscriptReceived,
    TurnCompleted,
};

pub(super) fn history_sent(it: &HistorySent) -> (String, Tone) {
    (
        match it.form {
            HistoryForm::Turns | HistoryForm::Announced => {
                format!("conversation so far sent to the model, {} turns", it.turns)
            }
            HistoryForm::LiveText => format!(
                "conversation so far sent to the model, {} turns in one message",
                it.turns
            ),
        },
        Tone::Quiet,
    )
}

pub(super) fn responses_sent(it: &ResponsesSent, names: &Names) -> (String, Tone) {
    let calls: Vec<String> = it.responses.iter().map(|seq| names.about(*seq)).collect();
    let responses = match calls.len() {
        1 => "response",
        _ => "responses",
    };
    (
        format!("{responses} sent to the model: {}", calls.join(", ")),
        Tone::Quiet,
    )
}

pub(super) fn transcript_received(it: &TranscriptReceived) -> (String, Tone) {
    // The column before the sentence names the speaker.
    (format!("spoken: “{}”", it.text), Tone::Speech)
}

pub(super) fn turn_completed(it: &TurnCompleted) -> (String, Tone) {
    (
        format!("turn completed{}", clause(it.reason.as_deref())),
        Tone::Quiet,
    )
}

pub(super) fn media_counted(it: &MediaCounted) -> (String, Tone) {
    let count = |what: &str, it: &MediaCount| {
        let (audio, video) = (it.audio, it.video);
        format!(
            "{what} {} audio frames ({} bytes), {} video frames ({} bytes)",
            audio.frames, audio.bytes, video.frames, video.bytes
        )
    };
    let (received, sent) = (count("received", &it.heard), count("sent", &it.sent));
    let withheld = match it.withheld.is_none() {
        true => String::new(),
        false => format!("; {}", count("withheld", &it.withheld)),
    };
    (format!("{received}; {sent}{withheld}"), Tone::Quiet)
}
