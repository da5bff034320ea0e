//! Sentences about the conversation: words, turns, and what the model was told.

use super::names::Names;
use super::phrases::clause;
use crate::terminal::Tone;
use recount::session::{
    HistoryForm, HistorySent, MediaCount, MediaCounted, ResponsesSent, Speaker, TranscriptReceived,
    TurnCompleted,
};

pub(super) fn history_sent(it: &HistorySent) -> (String, Tone) {
    (
        match it.form {
            HistoryForm::Turns | HistoryForm::Announced => {
                format!("told the model the story so far, {} turns", it.turns)
            }
            HistoryForm::LiveText => format!(
                "told the model the story so far, {} turns in one message",
                it.turns
            ),
        },
        Tone::Quiet,
    )
}

pub(super) fn responses_sent(it: &ResponsesSent, names: &Names) -> (String, Tone) {
    let told: Vec<String> = it.responses.iter().map(|seq| names.about(*seq)).collect();
    (
        format!("told the model about {}", told.join(", ")),
        Tone::Quiet,
    )
}

pub(super) fn transcript_received(it: &TranscriptReceived) -> (String, Tone) {
    let speaker = match it.speaker {
        Speaker::User => "heard",
        Speaker::Model => "spoke",
    };
    (format!("{speaker} “{}”", it.text), Tone::Speech)
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
            "{what} {} frames of audio ({} bytes) and {} of video ({} bytes)",
            audio.frames, audio.bytes, video.frames, video.bytes
        )
    };
    let (heard, sent) = (count("heard", &it.heard), count("sent", &it.sent));
    let withheld = match it.withheld.is_none() {
        true => String::new(),
        false => format!(", {}", count("withheld", &it.withheld)),
    };
    (format!("{heard}, {sent}{withheld}"), Tone::Quiet)
}
