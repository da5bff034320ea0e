//! The recorded messages of the vendor's client libraries, and those sent to them.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use recount::live::wire::{ClientMessage, ServerMessage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{frame_of, split};
use super::client::{self, ClientFrame, user_text};
use super::declaring::with_tools;
use super::responses::{responses_frame, split_responses};
use super::setup::{ContextUpdate, Setup};
use super::vendor::{self, VendorFrame};

/// A line of a recording. Extra fields are those of the recorder.
#[derive(Deserialize)]
struct Line {
    platform: String,
    case: String,
    message: Box<RawValue>,
}

impl Line {
    /// The message as it was on the wire.
    fn frame(&self) -> String {
        // A message that is no JSON was recorded as a string.
        let text = self.message.get();
        serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
    }
}

fn lines(prefix: &str) -> Vec<Line> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/gemini-live");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(prefix) && name.ends_with(".jsonl")
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_meant).collect();
    paths.sort();
    let mut lines = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        lines.extend(
            text.lines()
                .map(|it| serde_json::from_str::<Line>(it).unwrap()),
        );
    }
    assert!(lines.len() > 90, "{prefix}: {}", lines.len());
    lines
}

/// The class of a case by its name.
fn expected(case: &str) -> ClientFrame {
    let (kind, variant) = case.split_once(['.', ':']).unwrap_or((case, ""));
    match (kind, variant) {
        ("setup" | "model_form", _) => ClientFrame::Setup,
        ("realtime_input", "text" | "two_fields") => ClientFrame::RealtimeText,
        ("realtime_input", _) => ClientFrame::Realtime,
        ("tool_response", _) | ("legacy_send", "function_response") => ClientFrame::ToolResponse,
        ("context_update", _) => ClientFrame::ContextUpdate,
        ("client_content", _) | ("legacy_send", _) => ClientFrame::Content,
        (kind, _) => unreachable!("the kind {kind} of a case is unknown"),
    }
}

#[test]
fn every_client_message_has_its_class() {
    for line in lines("client_") {
        let class = client::look(line.frame().as_bytes());
        assert_eq!(class, expected(&line.case), "{}", line.case);
    }
}

/// Everything the gateway reads of a client's message, as text.
fn reading(frame: &str) -> String {
    match client::look(frame.as_bytes()) {
        ClientFrame::Setup => {
            let setup = Setup::read(frame).unwrap();
            let declared = &setup.declared;
            let schemas: Vec<_> = declared.iter().map(|it| it.parameters.clone()).collect();
            let words: Vec<_> = declared.iter().map(|it| it.description.clone()).collect();
            format!("{setup:?} {schemas:?} {words:?}")
        }
        ClientFrame::ContextUpdate => format!("{:?}", ContextUpdate::read(frame).unwrap()),
        ClientFrame::ToolResponse => {
            let divided = split_responses(frame).unwrap();
            assert!(divided.rest.is_none() && divided.beside_responses.is_empty());
            let told = divided.responses.iter().map(|it| {
                (
                    &it.id,
                    &it.name,
                    it.response,
                    it.will_continue,
                    &it.scheduling,
                )
            });
            format!("{:?}", told.collect::<Vec<_>>())
        }
        class @ (ClientFrame::Realtime
        | ClientFrame::RealtimeText
        | ClientFrame::Content
        | ClientFrame::Other
        | ClientFrame::Malformed(_)) => format!("{class:?} {:?}", user_text(frame)),
    }
}

/// The Python library writes other spellings and another order than the JavaScript library.
#[test]
fn both_libraries_are_read_alike() {
    let mut readings: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for line in lines("client_") {
        readings
            .entry((line.platform.clone(), line.case.clone()))
            .or_default()
            .push(reading(&line.frame()));
    }
    let both = readings.iter().filter(|(_, it)| it.len() > 1);
    let mut compared = 0;
    for (case, readings) in both {
        compared += 1;
        assert!(
            readings.windows(2).all(|it| it[0] == it[1]),
            "{case:?}: {readings:#?}"
        );
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn responses_are_rebuilt_without_loss() {
    let mut seen = 0;
    for line in lines("client_") {
        let frame = line.frame();
        if client::look(frame.as_bytes()) != ClientFrame::ToolResponse {
            continue;
        }
        seen += 1;
        let divided = split_responses(&frame).unwrap();
        let texts: Vec<_> = divided.responses.iter().map(|it| it.text).collect();
        let rebuilt = responses_frame(&texts, divided.spelling);
        assert_eq!(
            ClientMessage::decode(&rebuilt),
            ClientMessage::decode(&frame)
        );
        // The spelling of the outer keys stays.
        let key = frame.split('"').nth(1);
        assert_eq!(rebuilt.split('"').nth(1), key);
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn tools_are_added_to_every_setup() {
    let declaration = serde_json::json!({"name": "hosted"});
    for line in lines("client_") {
        let frame = line.frame();
        if client::look(frame.as_bytes()) != ClientFrame::Setup {
            continue;
        }
        let changed = with_tools(&frame, std::slice::from_ref(&declaration)).unwrap();
        let (before, after) = (Setup::read(&frame).unwrap(), Setup::read(&changed).unwrap());
        let names: Vec<_> = after.declared.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.last(), Some(&"hosted"), "{}", line.case);
        assert_eq!(
            after.declared.len(),
            before.declared.len() + 1,
            "{}",
            line.case
        );
        // One insertion and nothing else.
        let same = frame
            .bytes()
            .zip(changed.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let (head, tail) = frame.split_at(same);
        assert!(
            changed.starts_with(head) && changed.ends_with(tail),
            "{changed}"
        );
    }
}

#[test]
fn every_server_message_has_its_class() {
    for line in lines("server_") {
        let frame = line.frame();
        let class = vendor::look(frame.as_bytes());
        let Ok(message) = ServerMessage::decode(&frame) else {
            assert_ne!(class, VendorFrame::Passing, "{}", line.case);
            continue;
        };
        let matters = message.tool_call.is_some() || message.tool_call_cancellation.is_some();
        if matters {
            assert_eq!(class, VendorFrame::Deciding, "{}", line.case);
        }
        if line.case.starts_with("server_content.audio") {
            assert_eq!(class, VendorFrame::Passing, "{}", line.case);
        }
        if line.case.contains("turn_complete") || line.case.contains("transcription") {
            assert_eq!(class, VendorFrame::Recorded, "{}", line.case);
        }
    }
}

/// A call that is sent alone is the same call to the engine's reader and to the divider.
#[test]
fn lone_call_is_read_alike_by_both_readers() {
    let mut seen = 0;
    for line in lines("server_") {
        let frame = line.frame();
        let (Ok(divided), Ok(message)) = (split(&frame), ServerMessage::decode(&frame)) else {
            continue;
        };
        let calls = message.tool_call.map(|it| it.function_calls.into_vec());
        let calls = calls.unwrap_or_default();
        assert_eq!(divided.calls.len(), calls.len(), "{}", line.case);
        for (ours, theirs) in divided.calls.iter().zip(calls) {
            seen += 1;
            let alone = frame_of(&[ours.text]);
            assert_eq!(vendor::look(alone.as_bytes()), VendorFrame::Deciding);
            let again = ServerMessage::decode(&alone).unwrap().tool_call.unwrap();
            assert_eq!(again.function_calls[..], [theirs], "{}", line.case);
            let again = split(&alone).unwrap();
            assert!(again.rest.is_none());
            assert_eq!(again.calls[0].text, ours.text);
            assert_eq!(again.calls[0].id, ours.id);
            assert_eq!(again.calls[0].name, ours.name);
        }
        let cancelled = message.tool_call_cancellation.map(|it| it.ids.into_vec());
        assert_eq!(
            divided.cancelled.map(|it| it.ids),
            cancelled,
            "{}",
            line.case
        );
        if let Some(rest) = divided.rest {
            let rest = ServerMessage::decode(&rest).unwrap();
            assert_eq!(rest.server_content, message.server_content, "{}", line.case);
            assert_eq!(rest.usage_metadata, message.usage_metadata, "{}", line.case);
        }
    }
    assert!(seen > 5, "{seen}");
}
