//! What a service sends.

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

/// A message from service to client; it may carry several payloads, and `server_content` comes
/// first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMessage {
    /// The setup is accepted.
    pub setup_complete: Option<SetupComplete>,
    /// What the model says, and where its turn stands.
    pub server_content: Option<ServerContent>,
    /// Functions to execute.
    pub tool_call: Option<ToolCall>,
    /// Calls whose answers are not wanted any more.
    pub tool_call_cancellation: Option<ToolCallCancellation>,
    /// The connection will end.
    pub go_away: Option<GoAway>,
    /// A new handle, or that there is none now.
    pub session_resumption_update: Option<SessionResumptionUpdate>,
    /// Counts of tokens.
    pub usage_metadata: Option<UsageMetadata>,
    /// The user begins or stops to speak.
    pub voice_activity: Option<VoiceActivity>,
    /// The older form of it.
    pub voice_activity_detection_signal: Option<VoiceActivityDetectionSignal>,
    /// Everything else.
    pub other: Other,
}

impl ServerMessage {
    /// Reads a message.
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
    /// Where the text is not JSON or a known field has the wrong type.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::parse(text)?)
    }

    /// As [`decode`](ServerMessage::decode), where the protocol's own objects and lists may nest as
    /// deep as the caller says instead of 64 levels; never deeper than 256. Arguments are not
    /// looked into and may go deeper.
    ///
    /// # Errors
    /// As [`decode`](ServerMessage::decode).
    pub fn decode_within(text: &str, depth_max: usize) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::parse_within(text, depth_max)?)
    }

    /// Writes the message in camelCase.
    pub fn encode(&self) -> String {
        self.to_text()
    }

    /// The answer to a setup.
    pub fn setup_complete() -> Self {
        Self {
            setup_complete: Some(SetupComplete::default()),
            ..Self::default()
        }
    }

    /// A piece of what the model says.
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

    /// The model has said all it will say in this turn.
    pub fn generation_complete() -> Self {
        Self::content(ServerContent {
            generation_complete: Some(true),
            ..ServerContent::default()
        })
    }

    /// The turn is over.
    pub fn turn_complete() -> Self {
        Self::content(ServerContent {
            turn_complete: Some(true),
            ..ServerContent::default()
        })
    }

    /// Functions to execute.
    pub fn tool_call(calls: impl IntoIterator<Item = FunctionCall>) -> Self {
        Self {
            tool_call: Some(ToolCall {
                function_calls: calls.into_iter().collect(),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// Calls whose answers are not wanted any more.
    pub fn cancel<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            tool_call_cancellation: Some(ToolCallCancellation {
                ids: ids.into_iter().map(Into::into).collect(),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// The connection will end after `time_left`, a duration such as `10s`.
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

/// The setup is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupComplete {
    /// Vertex names the session.
    pub session_id: Option<String>,
    /// That the user's voice may be used.
    pub voice_consent_signature: Option<VoiceConsentSignature>,
    /// Everything else.
    pub other: Other,
}

/// Functions to execute, which may run at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The calls.
    pub function_calls: Repeated<FunctionCall>,
    /// Everything else.
    pub other: Other,
}

/// Calls whose answers are not wanted any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallCancellation {
    /// The calls' ids.
    pub ids: Repeated<String>,
    /// Everything else.
    pub other: Other,
}

/// The connection will end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoAway {
    /// How long it still lasts, such as `9.500s`.
    pub time_left: Option<String>,
    /// Everything else.
    pub other: Other,
}

impl GoAway {
    /// How long the connection still lasts, where that is said and can be read.
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

/// Whether and how the session can be resumed on another connection.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionResumptionUpdate {
    /// Resumes the state of this moment. A secret.
    pub new_handle: Option<String>,
    /// Whether the session can be resumed now.
    pub resumable: Option<bool>,
    /// The last client message that the state contains, counted from 0.
    pub last_consumed_client_message_index: Option<Number>,
    /// Everything else.
    pub other: Other,
}

impl SessionResumptionUpdate {
    /// The last client message that the state contains, counted from 0.
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
                // Not what the protocol says, but there is only one way to read it.
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
