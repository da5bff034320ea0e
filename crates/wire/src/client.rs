//! Messages from a client.

use recount_text::json::{DecodeError, RawJson};

use super::content::{Blob, Content};
use super::fields::{Fields, Message};
use super::function::FunctionResponse;
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;
use super::session_config::ContextUpdate;
use super::setup::Setup;
use super::spelling::Shape;

/// A message from client to service. A valid message has one payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMessage {
    /// The setup, once as the first message.
    pub setup: Option<Setup>,
    /// Turns to add to the conversation.
    pub client_content: Option<ClientContent>,
    /// Media and text in real time.
    pub realtime_input: Option<RealtimeInput>,
    /// Responses to calls.
    pub tool_response: Option<ToolResponse>,
    /// A new instruction or new tools.
    pub context_update: Option<ContextUpdate>,
    /// All other fields.
    pub other: Other,
}

impl ClientMessage {
    /// Parses a message.
    ///
    /// ```
    /// use recount_wire::ClientMessage;
    /// let python =
    ///     r#"{"tool_response":{"functionResponses":[{"id":"c1","will_continue":true}]}}"#;
    /// let script = r#"{"toolResponse":{"functionResponses":[{"id":"c1","willContinue":true}]}}"#;
    /// assert_eq!(ClientMessage::decode(python)?, ClientMessage::decode(script)?);
    /// # Ok::<(), recount_wire::DecodeError>(())
    /// ```
    ///
    /// # Errors
    /// An error if the text is not JSON or a known field has the wrong type.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        Self::read(&mut Fields::parse(text)?)
    }

    /// Serializes the message in camelCase.
    pub fn encode(&self) -> String {
        self.to_text()
    }

    /// Creates the message that opens a connection.
    pub fn setup(setup: Setup) -> Self {
        Self {
            setup: Some(setup),
            ..Self::default()
        }
    }

    /// Creates a complete text turn of the user.
    ///
    /// ```
    /// use recount_wire::ClientMessage;
    /// assert_eq!(
    ///     ClientMessage::user_text("Hello").encode(),
    ///     r#"{"clientContent":{"turns":[{"role":"user","parts":[{"text":"Hello"}]}],"turnComplete":true}}"#
    /// );
    /// ```
    pub fn user_text(text: impl Into<String>) -> Self {
        Self {
            client_content: Some(ClientContent {
                turns: vec![Content::text("user", text)].into(),
                turn_complete: Some(true),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// Creates a message with responses to calls.
    pub fn tool_response(responses: impl IntoIterator<Item = FunctionResponse>) -> Self {
        Self {
            tool_response: Some(ToolResponse {
                function_responses: responses.into_iter().collect(),
                other: Other::default(),
            }),
            ..Self::default()
        }
    }

    /// Returns the names of the payloads in this message.
    pub fn payloads(&self) -> Vec<&'static str> {
        [
            ("setup", self.setup.is_some()),
            ("clientContent", self.client_content.is_some()),
            ("realtimeInput", self.realtime_input.is_some()),
            ("toolResponse", self.tool_response.is_some()),
            ("contextUpdate", self.context_update.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_present)| is_present.then_some(name))
        .collect()
    }
}

/// Turns to add to the conversation, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientContent {
    /// The turns.
    pub turns: Repeated<Content>,
    /// True if the model shall answer now.
    pub turn_complete: Option<bool>,
    /// All other fields.
    pub other: Other,
}

/// Media and text in real time. Several fields may be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealtimeInput {
    /// Text.
    pub text: Option<String>,
    /// A chunk of audio.
    pub audio: Option<Blob>,
    /// A picture.
    pub video: Option<Blob>,
    /// The older form of `audio` and `video`.
    pub media_chunks: Repeated<Blob>,
    /// The start of the user's speech, if the client detects activity.
    pub activity_start: Option<RawJson>,
    /// The end of the user's speech, if the client detects activity.
    pub activity_end: Option<RawJson>,
    /// True if the microphone is off, if the service detects activity.
    pub audio_stream_end: Option<bool>,
    /// All other fields.
    pub other: Other,
}

/// Responses to calls, in any number of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResponse {
    /// The responses.
    pub function_responses: Repeated<FunctionResponse>,
    /// All other fields.
    pub other: Other,
}

impl Message for ClientMessage {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            setup: fields.message("setup")?,
            client_content: fields.message("clientContent")?,
            realtime_input: fields.message("realtimeInput")?,
            tool_response: fields.message("toolResponse")?,
            context_update: fields.message("contextUpdate")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.message("setup", self.setup.as_ref());
        object.message("clientContent", self.client_content.as_ref());
        object.message("realtimeInput", self.realtime_input.as_ref());
        object.message("toolResponse", self.tool_response.as_ref());
        object.message("contextUpdate", self.context_update.as_ref());
        object.rest(&self.other);
    }
}

impl Message for ClientContent {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            turns: fields.messages("turns")?,
            turn_complete: fields.boolean("turnComplete")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.messages("turns", &self.turns);
        object.boolean("turnComplete", self.turn_complete);
        object.rest(&self.other);
    }
}

impl Message for RealtimeInput {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            text: fields.string("text")?,
            audio: fields.message("audio")?,
            video: fields.message("video")?,
            media_chunks: fields.messages("mediaChunks")?,
            activity_start: fields.respelt("activityStart", Shape::Message)?,
            activity_end: fields.respelt("activityEnd", Shape::Message)?,
            audio_stream_end: fields.boolean("audioStreamEnd")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("text", self.text.as_deref());
        object.message("audio", self.audio.as_ref());
        object.message("video", self.video.as_ref());
        object.messages("mediaChunks", &self.media_chunks);
        object.raw("activityStart", self.activity_start.as_ref());
        object.raw("activityEnd", self.activity_end.as_ref());
        object.boolean("audioStreamEnd", self.audio_stream_end);
        object.rest(&self.other);
    }
}

impl Message for ToolResponse {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            function_responses: fields.messages("functionResponses")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.messages("functionResponses", &self.function_responses);
        object.rest(&self.other);
    }
}
