//! Messages from a service.

use std::fmt;
use std::time::Duration;

use recount_text::json::{DecodeError, Number};

use super::content::Content;
use super::field::Field;
use super::fields::{Fields, Message};
use super::function::FunctionCall;
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;
use super::server_content::ServerContent;
use super::signals::{VoiceActivity, VoiceActivityDetectionSignal, VoiceConsentSignature};
use super::usage::UsageMetadata;

/// A message from service to client. It may have several payloads; `server_content` comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMessage {
    /// The acceptance of the setup.
    pub setup_complete: Option<SetupComplete>,
    /// The model's output, and the state of its turn.
    pub server_content: Option<ServerContent>,
    /// Functions to execute.
    pub tool_call: Option<ToolCall>,
    /// Calls that need no response any more.
    pub tool_call_cancellation: Option<ToolCallCancellation>,
    /// The announcement of the connection's end.
    pub go_away: Option<GoAway>,
    /// A new resumption handle, or the note that there is none now.
    pub session_resumption_update: Option<SessionResumptionUpdate>,
    /// The numbers of tokens.
    pub usage_metadata: Option<UsageMetadata>,
    /// The start or end of the user's speech.
    pub voice_activity: Option<VoiceActivity>,
    /// The older form of `voice_activity`.
    pub voice_activity_detection_signal: Option<VoiceActivityDetectionSignal>,
    /// All other fields.
    pub other: Other,
}

impl ServerMessage {
    /// Parses a message.
    ///
    /// ```
    /// use recount_wire::ServerMessage;
    /// let message = ServerMessage::decode(
    ///     r#"{"toolCall":{"functionCalls":[{"id":"c1","name":"pay","args":{"cents":9007199254740993}}]}}"#,
    /// )?;
    /// let call = &message.tool_call.unwrap().function_calls[0];
    /// assert_eq!(call.args.as_ref().unwrap().as_str(), r#"{"cents":9007199254740993}"#);
    /// # Ok::<(), recount_wire::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// An error if the text is not JSON or a known field has the wrong type.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::parse(text)?)
    }

    /// Parses as [`decode`](ServerMessage::decode) does, with another limit for nesting.
    ///
    /// The limit applies to the protocol's own objects and lists and replaces the default of 64
    /// levels. It is at most 256. Arguments are not parsed and may nest deeper.
    ///
    /// # Errors
    /// As for [`decode`](ServerMessage::decode).
    pub fn decode_within(text: &str, depth_max: usize) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::parse_within(text, depth_max)?)
    }

    /// Serializes the message in camelCase.
    pub fn encode(&self) -> String {
        self.to_text()
    }

    /// Creates the answer to a setup.
    pub fn setup_complete() -> Self {
        Self {
            setup_complete: Some(SetupComplete::default()),
            ..Self::default()
        }
    }

    /// Creates a piece of the model's text.
    ///
    /// ```
    /// use recount_wire::ServerMessage;
    /// assert_eq!(
    ///     ServerMessage::text("Hello").encode(),
    ///     r#"{"serverContent":{"modelTurn":{"role":"model","parts":[{"text":"Hello"}]}}}"#
    /// );
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(ServerContent {
            model_turn: Some(Content::text("model", text)),
            ..ServerContent::default()
        })
    }

    /// Creates the note that the model has generated all output of this turn.
    pub fn generation_complete() -> Self {
        Self::content(ServerContent {
            generation_complete: Some(true),
            ..ServerContent::default()
        })
    }

    /// Creates the end of a turn.
    pub fn turn_complete() -> Self {
        Self::content(ServerContent {
            turn_complete: Some(true),
            ..ServerContent::default()
        })
    }

    /// Creates a message with functions to execute.
    pub fn tool_call(calls: impl IntoIterator<Item = FunctionCall>) -> Self {
        Self {
            tool_call: Some(ToolCall {
                function_calls: calls.into_iter().collect(),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// Creates a cancellation of calls.
    pub fn cancel<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            tool_call_cancellation: Some(ToolCallCancellation {
                ids: ids.into_iter().map(Into::into).collect(),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// Creates the announcement that the connection ends after `time_left`, a duration such as
    /// `10s`.
    pub fn go_away(time_left: impl Into<String>) -> Self {
        Self {
            go_away: Some(GoAway {
                time_left: Some(time_left.into()),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    fn content(content: ServerContent) -> Self {
        Self {
            server_content: Some(content),
            ..Self::default()
        }
    }
}

/// The acceptance of the setup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupComplete {
    /// The session id of Vertex.
    pub session_id: Option<String>,
    /// The proof that the user's voice may be used.
    pub voice_consent_signature: Option<VoiceConsentSignature>,
    /// All other fields.
    pub other: Other,
}

/// Functions to execute, which may run concurrently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The calls.
    pub function_calls: Repeated<FunctionCall>,
    /// All other fields.
    pub other: Other,
}

/// Calls that need no response any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallCancellation {
    /// The ids of the calls.
    pub ids: Repeated<String>,
    /// All other fields.
    pub other: Other,
}

/// The announcement of the connection's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoAway {
    /// The time until the end, such as `9.500s`.
    pub time_left: Option<String>,
    /// All other fields.
    pub other: Other,
}

impl GoAway {
    /// Parses the time until the end. `None` if it is absent or invalid.
    ///
    /// ```
    /// use recount_wire::{GoAway, ServerMessage};
    /// use std::time::Duration;
    /// let go_away = ServerMessage::go_away("9.500s").go_away.unwrap();
    /// assert_eq!(go_away.duration(), Some(Duration::from_millis(9_500)));
    /// ```
    pub fn duration(&self) -> Option<Duration> {
        let seconds = self.time_left.as_deref()?.strip_suffix('s')?;
        let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let digits_only = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if !digits_only(whole) || !digits_only(fraction) || fraction.len() > 9 {
            return None;
        }
        let nanos = format!("{fraction:0<9}").parse().ok()?;
        Some(Duration::new(whole.parse().ok()?, nanos))
    }
}

/// The resumption state: whether another connection can resume the session, and by which handle.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionResumptionUpdate {
    /// The handle that resumes the current state. A secret.
    pub new_handle: Option<String>,
    /// True if the session can be resumed now.
    pub resumable: Option<bool>,
    /// The index of the last client message in the state, counted from 0.
    pub last_consumed_client_message_index: Option<Number>,
    /// All other fields.
    pub other: Other,
}

impl SessionResumptionUpdate {
    /// Returns the index of the last client message in the state, counted from 0.
    pub fn last_consumed(&self) -> Option<u64> {
        let index = self.last_consumed_client_message_index.as_ref()?;
        index.as_i64()?.try_into().ok()
    }
}

impl Message for ServerMessage {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            setup_complete: fields.message("setupComplete")?,
            server_content: fields.message("serverContent")?,
            tool_call: fields.message("toolCall")?,
            tool_call_cancellation: fields.message("toolCallCancellation")?,
            go_away: fields.message("goAway")?,
            session_resumption_update: fields.message("sessionResumptionUpdate")?,
            usage_metadata: fields.or_left("usageMetadata"),
            voice_activity: fields.or_left("voiceActivity"),
            voice_activity_detection_signal: fields.or_left("voiceActivityDetectionSignal"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.message("setupComplete", self.setup_complete.as_ref());
        object.message("serverContent", self.server_content.as_ref());
        object.message("toolCall", self.tool_call.as_ref());
        object.message("toolCallCancellation", self.tool_call_cancellation.as_ref());
        object.message("goAway", self.go_away.as_ref());
        object.message(
            "sessionResumptionUpdate",
            self.session_resumption_update.as_ref(),
        );
        self.usage_metadata.put(object, "usageMetadata");
        self.voice_activity.put(object, "voiceActivity");
        let signal = &self.voice_activity_detection_signal;
        signal.put(object, "voiceActivityDetectionSignal");
        object.rest(&self.other);
    }
}

impl Message for SetupComplete {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            session_id: fields.string("sessionId")?,
            voice_consent_signature: fields.or_left("voiceConsentSignature"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("sessionId", self.session_id.as_deref());
        let signature = &self.voice_consent_signature;
        signature.put(object, "voiceConsentSignature");
        object.rest(&self.other);
    }
}

impl Message for ToolCall {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            function_calls: fields.messages("functionCalls")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.messages("functionCalls", &self.function_calls);
        object.rest(&self.other);
    }
}

impl Message for ToolCallCancellation {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            ids: fields.strings("ids")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.strings("ids", &self.ids);
        object.rest(&self.other);
    }
}

impl Message for GoAway {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            time_left: match fields.or_left::<Option<Number>>("timeLeft") {
                // The protocol does not allow a number here, but its meaning is clear.
                Some(seconds) => Some(format!("{}s", seconds.as_f64())),
                None => fields.or_left("timeLeft"),
            },
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("timeLeft", self.time_left.as_deref());
        object.rest(&self.other);
    }
}

impl fmt::Debug for SessionResumptionUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionResumptionUpdate")
            .field("new_handle", &self.new_handle.as_ref().map(|_| "hidden"))
            .field("resumable", &self.resumable)
            .finish_non_exhaustive()
    }
}

impl Message for SessionResumptionUpdate {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            new_handle: fields.string("newHandle")?,
            resumable: fields.boolean("resumable")?,
            last_consumed_client_message_index: fields.or_left("lastConsumedClientMessageIndex"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("newHandle", self.new_handle.as_deref());
        object.boolean("resumable", self.resumable);
        let index = &self.last_consumed_client_message_index;
        index.put(object, "lastConsumedClientMessageIndex");
        object.rest(&self.other);
    }
}
