//! A server message parsed part by part, so that a malformed part affects only itself.

use recount_text::json::{DecodeError, kind};
use serde_json::value::RawValue;

use super::fields::{Fields, Message};
use super::function::{FunctionCall, PartialArg};
use super::levels::Levels;
use super::repeated::Repeated;
use super::server::{ServerMessage, ToolCall, ToolCallCancellation};

/// The parts of a server message, including those that cannot be parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartsRead {
    /// The valid parts, without the function calls.
    pub message: ServerMessage,
    /// The function calls, in the order of the message.
    pub calls: Vec<CallRead>,
    /// The errors of the other parts.
    pub rejected: Vec<DecodeError>,
}

/// An element of the list of function calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRead {
    /// A valid call.
    Call(FunctionCall),
    /// A call that cannot be executed but can be answered, and the error.
    ///
    /// The call has its valid fields, but never complete arguments. If `willContinue` is invalid, a
    /// call with pieces of arguments counts as unfinished.
    Malformed(FunctionCall, DecodeError),
    /// An element without a call that could be answered.
    Unreadable {
        /// The name of the function, if it can be parsed.
        name: Option<String>,
        /// The error.
        error: DecodeError,
    },
}

impl PartsRead {
    /// Parses each part of a message on its own.
    ///
    /// ```
    /// use recount_wire::{CallRead, PartsRead};
    /// let frame = r#"{"toolCall":{"functionCalls":[{"id":"c1","name":"pay"},{"id":7}]}}"#;
    /// let calls = PartsRead::decode(frame)?.calls;
    /// assert!(matches!(calls[..], [CallRead::Call(_), CallRead::Unreadable { .. }]));
    /// # Ok::<(), recount_wire::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// An error if the text is not a JSON object.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        Self::of(ServerMessage::decode(text), || Fields::parse(text))
    }

    /// Parses the parts as [`decode`](PartsRead::decode) does, with the limit of
    /// [`ServerMessage::decode_within`].
    ///
    /// # Errors
    /// As for [`decode`](PartsRead::decode).
    pub fn decode_within(text: &str, depth_max: usize) -> Result<Self, DecodeError> {
        let message = ServerMessage::decode_within(text, depth_max);
        Self::of(message, || Fields::parse_within(text, depth_max))
    }

    /// Returns the parts of a message. Only a malformed message is parsed a second time.
    fn of<'a>(
        message: Result<ServerMessage, DecodeError>,
        fields: impl FnOnce() -> Result<Fields<'a>, DecodeError>,
    ) -> Result<Self, DecodeError> {
        match message {
            Ok(message) => Ok(Self::whole(message)),
            Err(_) => Ok(Self::apart(fields()?)),
        }
    }

    fn whole(mut message: ServerMessage) -> Self {
        let called = message.tool_call.take();
        let calls = called.map(|it| it.function_calls.into_vec());
        Self {
            message,
            calls: calls.into_iter().flatten().map(CallRead::Call).collect(),
            rejected: Vec::new(),
        }
    }

    fn apart(mut fields: Fields<'_>) -> Self {
        let mut rejected = Vec::new();
        let calls = calls(&mut fields);
        let calls = calls.unwrap_or_else(|error| {
            rejected.push(error);
            Vec::new()
        });
        let cancelled = cancellation(&mut fields, &mut rejected);
        let message = ServerMessage {
            tool_call_cancellation: kept(cancelled, &mut rejected),
            setup_complete: kept(fields.message("setupComplete"), &mut rejected),
            server_content: kept(fields.message("serverContent"), &mut rejected),
            go_away: kept(fields.message("goAway"), &mut rejected),
            session_resumption_update: kept(
                fields.message("sessionResumptionUpdate"),
                &mut rejected,
            ),
            usage_metadata: fields.or_left("usageMetadata"),
            voice_activity: fields.or_left("voiceActivity"),
            voice_activity_detection_signal: fields.or_left("voiceActivityDetectionSignal"),
            other: fields.rest(&[]).unwrap_or_default(),
            tool_call: None,
        };
        Self {
            message,
            calls,
            rejected,
        }
    }

    /// Returns the errors of elements and parts that cannot be parsed at all, those of calls first.
    pub fn problems(&self) -> impl Iterator<Item = &DecodeError> {
        let of_calls = self.calls.iter().filter_map(|it| match it {
            CallRead::Call(_) | CallRead::Malformed(..) => None,
            CallRead::Unreadable { error, .. } => Some(error),
        });
        of_calls.chain(&self.rejected)
    }

    /// True if no part of the message is malformed.
    pub fn is_whole(&self) -> bool {
        let is_whole = |it: &CallRead| matches!(it, CallRead::Call(_));
        self.rejected.is_empty() && self.calls.iter().all(is_whole)
    }

    /// True if the list of the calls cannot be parsed.
    pub fn lost_calls(&self) -> bool {
        let is_of_calls = |it: &DecodeError| {
            let member = it.path.split(['.', '[']).next();
            member == Some("toolCall")
        };
        self.rejected.iter().any(is_of_calls)
    }
}

impl From<PartsRead> for ServerMessage {
    /// Combines the valid parts to a message.
    fn from(parts: PartsRead) -> ServerMessage {
        let mut message = parts.message;
        let calls = parts.calls.into_iter().filter_map(|it| match it {
            CallRead::Call(call) | CallRead::Malformed(call, _) => Some(call),
            CallRead::Unreadable { .. } => None,
        });
        let calls: Vec<FunctionCall> = calls.collect();
        if !calls.is_empty() {
            message.tool_call = Some(ToolCall {
                function_calls: calls.into(),
                ..ToolCall::default()
            });
        }
        message
    }
}

fn kept<T>(read: Result<Option<T>, DecodeError>, rejected: &mut Vec<DecodeError>) -> Option<T> {
    read.unwrap_or_else(|error| {
        rejected.push(error);
        None
    })
}

fn calls(fields: &mut Fields<'_>) -> Result<Vec<CallRead>, DecodeError> {
    let Some(mut called) = fields.inner("toolCall")? else {
        return Ok(Vec::new());
    };
    let read = called.each_apart("functionCalls", CallRead::of);
    let read = read.map_err(|error| error.under("toolCall"))?;
    let placed = |(index, call): (usize, CallRead)| {
        let at = |error: DecodeError| {
            let error = error.under(&format!("[{index}]")).under("functionCalls");
            error.under("toolCall")
        };
        match call {
            CallRead::Call(call) => CallRead::Call(call),
            CallRead::Malformed(call, error) => CallRead::Malformed(call, at(error)),
            CallRead::Unreadable { name, error } => CallRead::Unreadable {
                name,
                error: at(error),
            },
        }
    };
    Ok(read.into_iter().enumerate().map(placed).collect())
}

impl CallRead {
    fn of(item: &RawValue, levels: Levels) -> CallRead {
        match FunctionCall::from_json(item, levels) {
            Ok(call) => CallRead::Call(call),
            Err(error) => CallRead::salvaged(item, levels, error),
        }
    }

    /// Parses the valid fields of a malformed call. The call can be answered if it has an id, or
    /// has no id but a name.
    fn salvaged(item: &RawValue, levels: Levels, error: DecodeError) -> CallRead {
        let Ok(mut fields) = Fields::within(item, levels) else {
            return CallRead::Unreadable { name: None, error };
        };
        let not_empty = |it: &String| !it.is_empty();
        let name = fields.string("name").ok().flatten().filter(not_empty);
        let id = fields.string("id").map(|id| id.filter(not_empty));
        let id = match id {
            Ok(id) if id.is_some() || name.is_some() => id,
            Ok(_) | Err(_) => return CallRead::Unreadable { name, error },
        };
        let partial_args: Repeated<PartialArg> = fields.or_left("partialArgs");
        let will_continue = fields.boolean("willContinue");
        // The end of a call in pieces must not look like a call of its own.
        let is_unfinished = (!partial_args.is_empty()).then_some(true);
        let call = FunctionCall {
            id,
            name,
            will_continue: will_continue.unwrap_or(is_unfinished),
            partial_args,
            ..FunctionCall::default()
        };
        CallRead::Malformed(call, error)
    }
}

fn cancellation(
    fields: &mut Fields<'_>,
    rejected: &mut Vec<DecodeError>,
) -> Result<Option<ToolCallCancellation>, DecodeError> {
    const NAME: &str = "toolCallCancellation";
    let Some(mut cancelled) = fields.inner(NAME)? else {
        return Ok(None);
    };
    let id = |item: &RawValue, _| {
        let id: Result<String, _> = serde_json::from_str(item.get());
        id.map_err(|_| DecodeError::new("a string", kind(item.get())))
    };
    let read = cancelled.each_apart("ids", id);
    let read = read.map_err(|error| error.under(NAME))?;
    let mut ids = Vec::with_capacity(read.len());
    for (index, id) in read.into_iter().enumerate() {
        match id {
            Ok(id) => ids.push(id),
            Err(error) => {
                let error = error.under(&format!("[{index}]")).under("ids");
                rejected.push(error.under(NAME));
            }
        }
    }
    Ok(Some(ToolCallCancellation {
        ids: ids.into(),
        other: cancelled.rest(&[])?,
    }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn read(text: &str) -> PartsRead {
        PartsRead::decode(text).unwrap()
    }

    /// The calls of a message as text.
    fn calls(calls: &str) -> Vec<String> {
        let parts = read(&format!(r#"{{"toolCall":{{"functionCalls":[{calls}]}}}}"#));
        let told = parts.calls.into_iter().map(|it| match it {
            CallRead::Call(call) => format!("call {:?}", call.id.unwrap_or_default()),
            CallRead::Malformed(call, error) => {
                format!("malformed {:?} {:?}: {error}", call.id, call.name)
            }
            CallRead::Unreadable { name, error } => format!("unreadable {name:?}: {error}"),
        });
        told.collect()
    }

    #[test]
    fn valid_message_has_the_parts_of_the_general_reader() {
        let text =
            r#"{"toolCall":{"functionCalls":[{"id":"a"},{"name":"b"}]},"goAway":{},"new":1}"#;
        let parts = read(text);
        assert!(parts.is_whole() && parts.problems().next().is_none());
        let message = ServerMessage::from(parts);
        assert_eq!(message, ServerMessage::decode(text).unwrap());
    }

    #[test]
    fn each_malformed_call_keeps_its_own_place() {
        let read = calls(r#"{"id":"a"},{"id":"b","name":7},{"id":7,"name":"c"},null,{"id":"d"}"#);
        let place = "toolCall.functionCalls";
        let expected = [
            "call \"a\"".to_owned(),
            format!(
                "malformed Some(\"b\") None: {place}[1].name: expected a string, found a number"
            ),
            format!("unreadable Some(\"c\"): {place}[2].id: expected a string, found a number"),
            format!("unreadable None: {place}[3]: expected an object, found null"),
            "call \"d\"".to_owned(),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn malformed_call_has_id_or_name_or_is_unreadable() {
        for (call, is_addressed) in [
            (r#"{"id":"a","name":7}"#, true),
            (r#"{"name":"f","willContinue":7}"#, true),
            (r#"{"id":null,"name":"f","willContinue":7}"#, true),
            (r#"{"name":7}"#, false),
            (r#"{"id":"","name":7}"#, false),
            (r#"{"id":"","name":"","willContinue":7}"#, false),
            (r#"{"id":[],"name":"f"}"#, false),
            (r#"{"id":"a","id":"a","name":"f"}"#, false),
        ] {
            let read = calls(call);
            assert_eq!(
                read.concat().starts_with("malformed"),
                is_addressed,
                "{read:?}"
            );
            assert_eq!(
                read.concat().starts_with("unreadable"),
                !is_addressed,
                "{read:?}"
            );
        }
    }

    #[test]
    fn malformed_piece_without_readable_end_is_unfinished() {
        let is_unfinished = |call: &str| {
            let parts = read(&format!(r#"{{"toolCall":{{"functionCalls":[{call}]}}}}"#));
            match &parts.calls[..] {
                [CallRead::Malformed(call, _)] => call.will_continue,
                _ => None,
            }
        };
        let part = r#""partialArgs":[{"jsonPath":"$.a","boolValue":true}]"#;
        assert_eq!(is_unfinished(r#"{"name":"f","willContinue":7}"#), None);
        assert_eq!(
            is_unfinished(&format!(r#"{{"name":"f",{part},"willContinue":7}}"#)),
            Some(true)
        );
        assert_eq!(
            is_unfinished(&format!(r#"{{"id":"a","name":7,{part}}}"#)),
            None
        );
        let told = format!(r#"{{"id":"a","name":7,{part},"willContinue":true}}"#);
        assert_eq!(is_unfinished(&told), Some(true));
    }

    #[test]
    fn calls_are_lost_only_with_their_list() {
        for (text, is_lost) in [
            (r#"{"toolCall":7}"#, true),
            (r#"{"toolCall":{"functionCalls":"x"}}"#, true),
            (r#"{"toolCall":{},"toolCall":{}}"#, true),
            (r#"{"toolCall":{"functionCalls":[7]}}"#, false),
            (r#"{"toolCallCancellation":7}"#, false),
            (r#"{"goAway":7}"#, false),
        ] {
            let parts = read(text);
            assert_eq!(parts.lost_calls(), is_lost, "{text}");
            assert_eq!(parts.problems().count(), 1, "{text}");
        }
    }

    #[test]
    fn ids_of_a_cancellation_are_read_one_by_one() {
        let parts = read(r#"{"toolCallCancellation":{"ids":["a",7,"b"],"new":1}}"#);
        let cancelled = parts.message.tool_call_cancellation.unwrap();
        assert_eq!(cancelled.ids.into_vec(), ["a", "b"]);
        assert!(cancelled.other.get("new").is_some());
        let rejected: Vec<_> = parts.rejected.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(rejected, ["toolCallCancellation.ids[1]"]);
    }

    #[test]
    fn part_beyond_level_limit_is_rejected_alone() {
        let text = r#"{"serverContent":{"modelTurn":{"parts":[{"text":"x"}]}},"goAway":{}}"#;
        let parts = PartsRead::decode_within(text, 4).unwrap();
        assert_eq!(parts.rejected.len(), 1);
        assert!(parts.message.go_away.is_some() && parts.message.server_content.is_none());
        assert!(PartsRead::decode_within(text, 5).unwrap().is_whole());
        assert!(PartsRead::decode_within("[]", 5).is_err());
    }
}
