//! Steps: the actions of the service in order, as scripts write them.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use recount_wire::{
    Blob, Content, DecodeError, Fields, Other, Part, RawJson, Repeated, ServerContent,
    ServerMessage,
};

use super::reading::{exactly, nothing_left, number, unknown};

/// One step of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Send(Box<ServerMessage>),
    /// Sends bytes that need not be a message.
    SendRaw(RawFrame),
    /// Issues a handle that is valid from then on, or reports that there is none now.
    Handle(Option<String>),
    /// Makes the handle invalid.
    Expire(String),
    /// Drops the pending steps of this connection.
    DropRest,
    Wait(Duration),
    /// Stops or resumes reading from the client.
    Read(bool),
    Close {
        code: u16,
        reason: String,
    },
}

/// A frame that need not be a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame {
    /// The bytes; for a text frame, valid UTF-8.
    pub bytes: Vec<u8>,
    /// True for a text frame, false for a binary one.
    pub is_text: bool,
}

impl Step {
    fn send(message: ServerMessage) -> Step {
        Step::Send(Box::new(message))
    }
}

/// Parses the steps of a `send`.
pub(super) fn steps_of(fields: &mut Fields) -> Result<Vec<Step>, DecodeError> {
    let steps: Vec<Step> = fields
        .items("send", |item| steps(&item))?
        .into_iter()
        .flatten()
        .collect();
    if steps.len() > STEPS_MAX {
        return Err(DecodeError::new(
            format!("at most {STEPS_MAX} steps"),
            steps.len().to_string(),
        )
        .under("send"));
    }
    let closes_early = steps
        .iter()
        .rev()
        .skip(1)
        .any(|step| matches!(step, Step::Close { .. }));
    if closes_early {
        return Err(DecodeError::new("nothing after a close", "more").under("send"));
    }
    Ok(steps)
}

/// Parses one entry of `send`: a short form, or a message of the protocol.
fn steps(item: &RawJson) -> Result<Vec<Step>, DecodeError> {
    let mut fields = Fields::of(item)?;
    let steps = if let Some(said) = fields.raw("say")? {
        say(&said, &mut fields)?
    } else if let calls = fields.function_calls("call")?
        && calls.is_present()
    {
        vec![Step::send(ServerMessage::tool_call(calls))]
    } else if let ids = fields.strings("cancel")?
        && ids.is_present()
    {
        vec![Step::send(ServerMessage::cancel(ids))]
    } else if let ids = fields.strings("interrupt")?
        && ids.is_present()
    {
        interrupt(ids)
    } else if let Some(close) = fields.raw("close")? {
        vec![closing(&close).map_err(|error| error.under("close"))?]
    } else if let Some(time_left) = short_go_away(&mut fields)? {
        vec![Step::send(ServerMessage::go_away(time_left))]
    } else if let Some(millis) = number(&mut fields, "waitMs")? {
        vec![Step::Wait(Duration::from_millis(millis.into()))]
    } else if let Some(handle) = fields.string("handle")? {
        vec![Step::Handle(Some(handle))]
    } else if fields.boolean("noHandle")? == Some(true) {
        vec![Step::Handle(None)]
    } else if let Some(handle) = fields.string("expire")? {
        vec![Step::Expire(handle)]
    } else if let Some(reads) = fields.boolean("read")? {
        vec![Step::Read(reads)]
    } else if let Some(audio) = fields.raw("audio")? {
        self::audio(&audio).map_err(|error| error.under("audio"))?
    } else if let Some(text) = fields.string("raw")? {
        vec![raw(text, &mut fields)?]
    } else if let Some(data) = fields.string("rawBase64")? {
        vec![raw_bytes(&data)?]
    } else if let Some(times) = number(&mut fields, "repeat")? {
        repeated(times, item, &mut fields)?
    } else {
        return verbatim(item).map(|step| vec![step]);
    };
    nothing_left(&mut fields, &[])?;
    steps.iter().try_for_each(small_enough)?;
    Ok(steps)
}

/// Parses `"say": "text"`, or a list of pieces with a pause between them.
fn say(said: &RawJson, fields: &mut Fields) -> Result<Vec<Step>, DecodeError> {
    let pieces = match said.to::<String>() {
        Ok(text) => vec![text],
        Err(_) => said
            .to::<Vec<String>>()
            .map_err(|_| DecodeError::new("a text or a list of texts", "neither").under("say"))?,
    };
    let pause = number(fields, "everyMs")?.map(|it| Step::Wait(Duration::from_millis(it.into())));
    let mut steps = Vec::new();
    for piece in pieces {
        steps.push(Step::send(ServerMessage::text(piece)));
        steps.extend(pause.clone());
    }
    steps.push(Step::send(ServerMessage::generation_complete()));
    steps.push(Step::send(ServerMessage::turn_complete()));
    Ok(steps)
}

/// The steps for an interruption by the client: drops the rest of the turn and cancels its calls.
fn interrupt(ids: Repeated<String>) -> Vec<Step> {
    let interrupted = ServerMessage {
        server_content: Some(ServerContent {
            interrupted: Some(true),
            ..ServerContent::default()
        }),
        ..ServerMessage::default()
    };
    let mut steps = vec![Step::DropRest, Step::send(interrupted)];
    if !ids.is_empty() {
        steps.push(Step::send(ServerMessage::cancel(ids)));
    }
    steps.push(Step::send(ServerMessage::turn_complete()));
    steps
}

/// Creates audio in frames of the same length. Each begins with its number, so that tests notice a
/// lost or swapped frame.
fn audio(audio: &RawJson) -> Result<Vec<Step>, DecodeError> {
    let mut fields = Fields::of(audio)?;
    let frames = number(&mut fields, "frames")?.unwrap_or(1);
    let pause = number(&mut fields, "everyMs")?.unwrap_or(0);
    let bytes = number(&mut fields, "bytes")?.unwrap_or(AUDIO_FRAME_BYTES);
    nothing_left(&mut fields, &["frames", "every_ms", "bytes"])?;
    if !(4..=AUDIO_BYTES_MAX).contains(&bytes) {
        let expected = format!("4 to {AUDIO_BYTES_MAX}");
        return Err(DecodeError::new(expected, bytes.to_string()).under("bytes"));
    }
    if frames > STEPS_MAX as u32 {
        let expected = format!("at most {STEPS_MAX}");
        return Err(DecodeError::new(expected, frames.to_string()).under("frames"));
    }
    let mut steps = Vec::new();
    for frame in 0..frames {
        let mut sound = frame.to_le_bytes().to_vec();
        sound.resize(bytes as usize, 0);
        steps.push(Step::send(sounding(STANDARD.encode(sound))));
        if pause > 0 {
            steps.push(Step::Wait(Duration::from_millis(pause.into())));
        }
    }
    Ok(steps)
}

fn sounding(data: String) -> ServerMessage {
    let blob = Blob {
        mime_type: Some("audio/pcm;rate=24000".to_owned()),
        data: Some(data),
        other: Other::default(),
    };
    let part = Part {
        inline_data: Some(blob),
        ..Part::default()
    };
    ServerMessage {
        server_content: Some(ServerContent {
            model_turn: Some(Content {
                role: Some("model".to_owned()),
                parts: vec![part].into(),
                other: Other::default(),
            }),
            ..ServerContent::default()
        }),
        ..ServerMessage::default()
    }
}

fn raw(text: String, fields: &mut Fields) -> Result<Step, DecodeError> {
    let is_text = match fields.string("opcode")?.as_deref() {
        None | Some("binary") => false,
        Some("text") => true,
        Some(other) => {
            return Err(DecodeError::new("\"text\" or \"binary\"", exactly(other)).under("opcode"));
        }
    };
    Ok(Step::SendRaw(RawFrame {
        bytes: text.into_bytes(),
        is_text,
    }))
}

fn raw_bytes(data: &str) -> Result<Step, DecodeError> {
    let bytes = STANDARD
        .decode(data)
        .map_err(|error| DecodeError::new("base64", error.to_string()).under("raw_base64"))?;
    Ok(Step::SendRaw(RawFrame {
        bytes,
        is_text: false,
    }))
}

/// Repeats the steps and replaces `{n}` in them by the count, from 1.
fn repeated(times: u32, item: &RawJson, fields: &mut Fields) -> Result<Vec<Step>, DecodeError> {
    let template = fields
        .raw("send")?
        .ok_or_else(|| DecodeError::new("a list of steps", "none").under("send"))?;
    if times > STEPS_MAX as u32 {
        let expected = format!("at most {STEPS_MAX}");
        return Err(DecodeError::new(expected, times.to_string()).under("repeat"));
    }
    if template.as_str().contains("\"repeat\"") {
        return Err(DecodeError::new("no repeat within a repeat", "one").under("send"));
    }
    let mut all = Vec::new();
    for n in 1..=times {
        let text = template.as_str().replace("{n}", &n.to_string());
        let text = format!("{{\"send\":{text}}}");
        all.extend(steps_of(&mut Fields::parse(&text)?)?);
        if all.len() > STEPS_MAX {
            let expected = format!("at most {STEPS_MAX} steps");
            return Err(DecodeError::new(expected, "more").under("repeat"));
        }
    }
    if let [.., Step::Close { .. }] = all.as_slice()
        && times > 1
    {
        return Err(DecodeError::new("no close within a repeat", item.as_str()));
    }
    Ok(all)
}

/// Parses `"go_away": "10s"`. The message `goAway` has an object instead.
fn short_go_away(fields: &mut Fields) -> Result<Option<String>, DecodeError> {
    let time_left = fields.raw("goAway")?;
    Ok(time_left.and_then(|value| value.to().ok()))
}

fn verbatim(item: &RawJson) -> Result<Step, DecodeError> {
    let message = ServerMessage::decode(item.as_str())?;
    let without_unknown = ServerMessage {
        other: Default::default(),
        ..message.clone()
    };
    let has_signal = message
        .other
        .iter()
        .any(|(name, _)| name.starts_with("voiceActivity"));
    if without_unknown == ServerMessage::default() && !has_signal {
        let found = message.other.iter().next().map(|(name, _)| name);
        return Err(unknown("a server message or one of", SHORT_FORMS, found));
    }
    let step = Step::send(message);
    small_enough(&step).map(|()| step)
}

/// Rejects a message that is too large for the vendor's Python library.
fn small_enough(step: &Step) -> Result<(), DecodeError> {
    let Step::Send(message) = step else {
        return Ok(());
    };
    let length = message.encode().len();
    if length < MESSAGE_BYTES_MAX {
        return Ok(());
    }
    let expected = format!("a message below {MESSAGE_BYTES_MAX} bytes");
    Err(DecodeError::new(expected, length.to_string()))
}

/// Parses a close: `{"code": 1011, "reason": "why"}`.
pub(super) fn closing(close: &RawJson) -> Result<Step, DecodeError> {
    let mut fields = Fields::of(close)?;
    let code = number(&mut fields, "code")?.unwrap_or(1000);
    let reason = fields.string("reason")?.unwrap_or_default();
    nothing_left(&mut fields, &["code", "reason"])?;
    let code = u16::try_from(code)
        .ok()
        .filter(|code| matches!(code, 1000..=1003 | 1006..=1014 | 3000..=4999))
        .ok_or_else(|| DecodeError::new("a close code", code.to_string()).under("code"))?;
    if reason.len() > CLOSE_REASON_BYTES_MAX {
        return Err(DecodeError::new(
            format!("at most {CLOSE_REASON_BYTES_MAX} bytes"),
            reason.len().to_string(),
        )
        .under("reason"));
    }
    Ok(Step::Close { code, reason })
}

const SHORT_FORMS: &[&str] = &[
    "say",
    "call",
    "cancel",
    "interrupt",
    "go_away",
    "close",
    "wait_ms",
    "handle",
    "no_handle",
    "expire",
    "audio",
    "read",
    "raw",
    "raw_base64",
    "repeat",
    "serverContent",
    "toolCall",
    "toolCallCancellation",
    "goAway",
    "sessionResumptionUpdate",
    "usageMetadata",
    "setupComplete",
];

/// The size of 20 ms of the service's audio, in bytes.
const AUDIO_FRAME_BYTES: u32 = 960;

/// The maximum size of audio, in bytes. In base64 it stays below the maximum size of a message.
const AUDIO_BYTES_MAX: u32 = 512 * 1024;

/// The maximum number of steps of one rule.
const STEPS_MAX: usize = 20_000;

/// The maximum size of a message in the vendor's Python library, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The maximum length of a close frame's reason, in bytes.
pub(super) const CLOSE_REASON_BYTES_MAX: usize = 123;
