//! The first message: what the conversation is to be.

use std::fmt;

use recount_text::json::{DecodeError, RawJson};

use super::content::Content;
use super::field::Field;
use super::fields::{Fields, Message};
use super::function::Tool;
use super::generation::GenerationConfig;
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;
use super::session_config::{
    AudioTranscriptionConfig, AvatarConfig, ContextWindowCompression, HistoryConfig,
    ProactivityConfig, RealtimeInputConfig, SafetySetting,
};

/// Opens a connection: the model, its instruction, its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Such as `models/gemini-live`; how it is qualified depends on the platform.
    pub model: String,
    /// Modalities, temperature, voice.
    pub generation_config: Option<GenerationConfig>,
    /// What the model is told before anything is said.
    pub system_instruction: Option<Content>,
    /// What the model may use.
    pub tools: Repeated<Tool>,
    /// Its presence asks for resumption handles.
    pub session_resumption: Option<SessionResumption>,
    /// How the user's speech is noticed, and what it does.
    pub realtime_input_config: Option<RealtimeInputConfig>,
    /// What happens when the conversation outgrows the model's window.
    pub context_window_compression: Option<ContextWindowCompression>,
    /// Its presence asks for what the user says as text.
    pub input_audio_transcription: Option<AudioTranscriptionConfig>,
    /// Its presence asks for what the model says as text.
    pub output_audio_transcription: Option<AudioTranscriptionConfig>,
    /// Whether the model may keep silent, or speak first.
    pub proactivity: Option<ProactivityConfig>,
    /// Asks for signals of voice activity; Vertex only.
    pub explicit_vad_signal: Option<bool>,
    /// How the conversation begins.
    pub history_config: Option<HistoryConfig>,
    /// A face for the model.
    pub avatar_config: Option<AvatarConfig>,
    /// From when on the service refuses to speak.
    pub safety_settings: Repeated<SafetySetting>,
    /// The user's own words for the session, as an object of strings.
    pub labels: Option<RawJson>,
    /// Everything else.
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
            generation_config: fields.or_left("generationConfig"),
            system_instruction: fields.message("systemInstruction")?,
            tools: fields.messages("tools")?,
            session_resumption: fields.message("sessionResumption")?,
            realtime_input_config: fields.or_left("realtimeInputConfig"),
            context_window_compression: fields.or_left("contextWindowCompression"),
            input_audio_transcription: fields.or_left("inputAudioTranscription"),
            output_audio_transcription: fields.or_left("outputAudioTranscription"),
            proactivity: fields.or_left("proactivity"),
            explicit_vad_signal: fields.or_left("explicitVadSignal"),
            history_config: fields.or_left("historyConfig"),
            avatar_config: fields.or_left("avatarConfig"),
            safety_settings: fields.or_left("safetySettings"),
            labels: fields.or_left("labels"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("model", Some(&self.model));
        self.generation_config.put(object, "generationConfig");
        object.message("systemInstruction", self.system_instruction.as_ref());
        object.messages("tools", &self.tools);
        object.message("sessionResumption", self.session_resumption.as_ref());
        self.realtime_input_config
            .put(object, "realtimeInputConfig");
        let compression = &self.context_window_compression;
        compression.put(object, "contextWindowCompression");
        let (input, output) = (
            &self.input_audio_transcription,
            &self.output_audio_transcription,
        );
        input.put(object, "inputAudioTranscription");
        output.put(object, "outputAudioTranscription");
        self.proactivity.put(object, "proactivity");
        self.explicit_vad_signal.put(object, "explicitVadSignal");
        self.history_config.put(object, "historyConfig");
        self.avatar_config.put(object, "avatarConfig");
        self.safety_settings.put(object, "safetySettings");
        self.labels.put(object, "labels");
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
