//! The first message: what the conversation is to be.

use std::fmt;

use super::content::Content;
use super::decode_error::DecodeError;
use super::fields::{Fields, Message};
use super::function::Tool;
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::raw_json::RawJson;
use super::repeated::Repeated;
use super::spelling::Shape;

/// Opens a connection: the model, its instruction, its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Such as `models/gemini-live`; how it is qualified depends on the platform.
    pub model: String,
    /// Modalities, temperature, voice; not looked into here.
    pub generation_config: Option<RawJson>,
    /// What the model is told before anything is said.
    pub system_instruction: Option<Content>,
    /// What the model may use.
    pub tools: Repeated<Tool>,
    /// Its presence asks for resumption handles.
    pub session_resumption: Option<SessionResumption>,
    /// Everything else: activity detection, transcription, compression, safety, labels.
    pub other: Other,
}

/// How this connection stands to earlier ones.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionResumption {
    /// The handle that resumes a session. A secret.
    pub handle: Option<String>,
    /// Whether the service says which client messages it has taken in; Vertex only.
    pub transparent: Option<bool>,
    /// Everything else.
    pub other: Other,
}

impl Message for Setup {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            model: fields
                .string("model")?
                .ok_or_else(|| DecodeError::new("a model", "none").under("model"))?,
            generation_config: fields.respelt("generationConfig", Shape::Message)?,
            system_instruction: fields.message("systemInstruction")?,
            tools: fields.messages("tools")?,
            session_resumption: fields.message("sessionResumption")?,
            other: fields.rest(&[
                "realtimeInputConfig",
                "contextWindowCompression",
                "inputAudioTranscription",
                "outputAudioTranscription",
                "proactivity",
                "explicitVadSignal",
                "historyConfig",
                "avatarConfig",
                "safetySettings",
                "labels",
            ])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("model", Some(&self.model));
        object.raw("generationConfig", self.generation_config.as_ref());
        object.message("systemInstruction", self.system_instruction.as_ref());
        object.messages("tools", &self.tools);
        object.message("sessionResumption", self.session_resumption.as_ref());
        object.rest(&self.other);
    }
}

impl fmt::Debug for SessionResumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionResumption")
            .field("handle", &self.handle.as_ref().map(|_| "hidden"))
            .field("transparent", &self.transparent)
            .finish_non_exhaustive()
    }
}

impl Message for SessionResumption {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            handle: fields.string("handle")?,
            transparent: fields.boolean("transparent")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("handle", self.handle.as_deref());
        object.boolean("transparent", self.transparent);
        object.rest(&self.other);
    }
}
