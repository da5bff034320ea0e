//! Scripts: rules that say what the model does when.
//!
//! `docs/simulator-scripts.md` is the reference for people who write them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::live::wire::{DecodeError, Fields, FunctionCall, RawJson, ServerMessage};

/// What the model does when, in order of the rules.
///
/// ```
/// use recount::simulator::Script;
/// let script = Script::parse(r#"
///     // Lines like this one are comments.
///     {"on": {"text": "order"}, "send": [{"call": [{"id": "c1", "name": "lookup"}]}]}
///     {"on": {"responses_to": ["c1"]}, "send": [{"say": "There it is."}]}
/// "#)?;
/// # Ok::<(), recount::simulator::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) rules: Vec<Rule>,
}

/// What the service does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message.
    Send(Box<ServerMessage>),
    /// Closes the connection; with code 1006 without a close frame.
    Close {
        /// The WebSocket close code.
        code: u16,
        /// Why, as the client is told.
        reason: String,
    },
}

/// Why a script cannot be played.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("script {} does not read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A line is not a rule.
    #[error("line {line} of the script is not a rule: {problem}")]
    Line {
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: DecodeError,
    },
}

/// One line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) trigger: Trigger,
    /// Fires on this connection only, counted from 1.
    pub(super) connection: Option<u32>,
    pub(super) once: bool,
    pub(super) actions: Vec<Action>,
}

/// What makes a rule fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    Setup,
    /// The user's words contain this, compared in lower case.
    Text(String),
    AnyText,
    /// The user's words that no other rule takes.
    Otherwise,
    ResponsesTo(Vec<String>),
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// Where the file cannot be read or a line is not a rule.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| ScriptError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Reads a script: a rule a line, lines beginning with `#` or `//` and empty ones left out.
    ///
    /// # Errors
    /// Where a line is not a rule.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let rules = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| {
                !(line.is_empty() || line.starts_with('#') || line.starts_with("//"))
            })
            .map(|(line, text)| {
                Rule::parse(text).map_err(|problem| ScriptError::Line { line, problem })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, DecodeError> {
        let mut fields = Fields::parse(text)?;
        let on = fields
            .raw("on")?
            .ok_or_else(|| DecodeError::new("a trigger", "none").under("on"))?;
        let trigger = Trigger::of(&on).map_err(|error| error.under("on"))?;
        let actions = fields.items("send", |item| actions(&item))?;
        let rule = Self {
            connection: number(&mut fields, "connection")?,
            // What is said when nothing else fits fits again.
            once: fields
                .boolean("once")?
                .unwrap_or(trigger != Trigger::Otherwise),
            actions: actions.into_iter().flatten().collect(),
            trigger,
        };
        nothing_left(&mut fields)?;
        let closes_early = rule
            .actions
            .iter()
            .rev()
            .skip(1)
            .any(|action| matches!(action, Action::Close { .. }));
        if closes_early {
            return Err(DecodeError::new("nothing after a close", "more").under("send"));
        }
        Ok(rule)
    }
}

impl Trigger {
    fn of(on: &RawJson) -> Result<Self, DecodeError> {
        if on.as_str().starts_with('"') {
            return match on.to::<String>()?.as_str() {
                "setup" => Ok(Self::Setup),
                "any_text" => Ok(Self::AnyText),
                "otherwise" => Ok(Self::Otherwise),
                other => Err(DecodeError::new(TRIGGERS, format!("{other:?}"))),
            };
        }
        let mut fields = Fields::of(on)?;
        let trigger = if let Some(text) = fields.string("text")? {
            Self::Text(text.to_lowercase())
        } else if fields.boolean("anyText")? == Some(true) {
            Self::AnyText
        } else {
            let ids = fields.strings("responsesTo")?;
            if ids.is_empty() {
                return Err(DecodeError::new(TRIGGERS, "none of them"));
            }
            Self::ResponsesTo(ids.into_vec())
        };
        nothing_left(&mut fields)?;
        Ok(trigger)
    }
}

/// What one entry of `send` stands for: a short form, or a message as it goes over the wire.
fn actions(item: &RawJson) -> Result<Vec<Action>, DecodeError> {
    let mut fields = Fields::of(item)?;
    let sent = if let Some(text) = fields.string("say")? {
        vec![
            ServerMessage::text(text),
            ServerMessage::generation_complete(),
            ServerMessage::turn_complete(),
        ]
    } else if let calls = fields.messages::<FunctionCall>("call")?
        && calls.is_present()
    {
        vec![ServerMessage::tool_call(calls)]
    } else if let ids = fields.strings("cancel")?
        && ids.is_present()
    {
        vec![ServerMessage::cancel(ids)]
    } else if let Some(close) = fields.raw("close")? {
        nothing_left(&mut fields)?;
        return closing(&close)
            .map(|close| vec![close])
            .map_err(|error| error.under("close"));
    } else if let Some(time_left) = short_go_away(&mut fields)? {
        vec![ServerMessage::go_away(time_left)]
    } else {
        return verbatim(item);
    };
    nothing_left(&mut fields)?;
    sent.into_iter().map(checked).collect()
}

/// `"go_away": "10s"`; the message `goAway` has an object there.
fn short_go_away(fields: &mut Fields) -> Result<Option<String>, DecodeError> {
    let time_left = fields.raw("goAway")?;
    Ok(time_left.and_then(|value| value.to().ok()))
}

fn verbatim(item: &RawJson) -> Result<Vec<Action>, DecodeError> {
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
        let found = message.other.iter().next().map_or("none", |(name, _)| name);
        return Err(DecodeError::new(
            "a server message or one of say, call, cancel, go_away, close",
            format!("{found:?}"),
        ));
    }
    checked(message).map(|action| vec![action])
}

fn checked(message: ServerMessage) -> Result<Action, DecodeError> {
    let length = message.encode().len();
    if length >= MESSAGE_BYTES_MAX {
        return Err(DecodeError::new(
            format!("a message below {MESSAGE_BYTES_MAX} bytes"),
            length.to_string(),
        ));
    }
    Ok(Action::Send(Box::new(message)))
}

fn closing(close: &RawJson) -> Result<Action, DecodeError> {
    let mut fields = Fields::of(close)?;
    let code = number(&mut fields, "code")?.unwrap_or(1000);
    let reason = fields.string("reason")?.unwrap_or_default();
    nothing_left(&mut fields)?;
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
    Ok(Action::Close { code, reason })
}

fn number(fields: &mut Fields, name: &str) -> Result<Option<u32>, DecodeError> {
    fields
        .raw(name)?
        .map(|value| {
            value
                .to::<u32>()
                .map_err(|_| DecodeError::new("a whole number", value.as_str()).under(name))
        })
        .transpose()
}

/// A script is written by hand: what is misspelt must not be passed over.
fn nothing_left(fields: &mut Fields) -> Result<(), DecodeError> {
    match fields.rest(&[])?.iter().next() {
        None => Ok(()),
        Some((name, _)) => Err(DecodeError::new(
            "no other field",
            Value::from(name).to_string(),
        )),
    }
}

const TRIGGERS: &str = r#""setup", "any_text", "otherwise", {"text": …} or {"responses_to": […]}"#;

/// The vendor's Python library takes no larger message.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// What a close frame has room for.
pub(super) const CLOSE_REASON_BYTES_MAX: usize = 123;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn problem(line: &str) -> String {
        Script::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn short_forms_are_the_messages_they_stand_for() {
        let short = r#"{"on":"setup","send":[{"say":"Hi."},{"call":[{"id":"c1","name":"pay","args":{"n":1.0}}]},{"cancel":["c1"]},{"go_away":"10s"},{"close":{"code":1011,"reason":"why"}}]}"#;
        let long = r#"{"on":"setup","send":[
            {"serverContent":{"modelTurn":{"role":"model","parts":[{"text":"Hi."}]}}},
            {"serverContent":{"generationComplete":true}},
            {"serverContent":{"turnComplete":true}},
            {"toolCall":{"functionCalls":[{"id":"c1","name":"pay","args":{"n":1.0}}]}},
            {"toolCallCancellation":{"ids":["c1"]}},
            {"goAway":{"timeLeft":"10s"}},
            {"close":{"reason":"why","code":1011}}]}"#
            .replace('\n', "");
        assert_eq!(Script::parse(short).unwrap(), Script::parse(&long).unwrap());
    }

    #[test]
    fn comments_and_empty_lines_are_left_out_and_lines_still_counted() {
        let error = problem("# one\n\n// three\n{\"on\":\"stup\"}");
        assert!(
            error.starts_with("line 4 of the script is not a rule: on: expected \"setup\""),
            "{error}"
        );
    }

    #[test]
    fn what_is_misspelt_is_not_passed_over() {
        assert!(problem(r#"{"on":"setup","sned":[]}"#).ends_with(r#"found "sned""#));
        assert!(problem(r#"{"on":"setup","send":[{"sya":"Hi"}]}"#).ends_with(r#"found "sya""#));
        assert!(problem(r#"{"on":{"text":"a","any_text":true}}"#).contains("no other field"));
        assert!(problem(r#"{"on":{"responses_to":[]}}"#).contains("none of them"));
        assert!(problem(r#"{"send":[]}"#).contains("on: expected a trigger"));
        assert!(
            problem(r#"{"on":"setup","send":[{"close":{}},{"say":"Hi"}]}"#)
                .contains("nothing after a close")
        );
        assert!(
            problem(r#"{"on":"setup","send":[{"close":{"code":7}}]}"#).contains("a close code")
        );
    }

    #[test]
    fn a_message_too_large_for_clients_is_refused() {
        let line = format!(
            r#"{{"on":"setup","send":[{{"say":"{}"}}]}}"#,
            "x".repeat(1 << 20)
        );
        assert!(problem(&line).contains("below 1048576 bytes"));
    }
}
