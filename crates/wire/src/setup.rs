//! The first message of a connection.

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

/// The setup of a connection: the model, its instruction, its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The model, such as `models/gemini-live`. The form of the name depends on the platform.
    pub model: String,
    /// The settings for the model's output.
    pub generation_config: Option<GenerationConfig>,
    /// The instruction for the model.
    pub system_instruction: Option<Content>,
    /// The tools for the model.
    pub tools: Repeated<Tool>,
    /// Session resumption. Its presence requests handles.
    pub session_resumption: Option<SessionResumption>,
    /// The detection of the user's speech, and its effect.
    pub realtime_input_config: Option<RealtimeInputConfig>,
    /// The handling of a conversation that exceeds the model's context window.
    pub context_window_compression: Option<ContextWindowCompression>,
    /// The transcription of the user's speech, requested by its presence.
    pub input_audio_transcription: Option<AudioTranscriptionConfig>,
    /// The transcription of the model's speech, requested by its presence.
    pub output_audio_transcription: Option<AudioTranscriptionConfig>,
    /// The model's freedom to stay silent or to speak first.
    pub proactivity: Option<ProactivityConfig>,
    /// True to request signals of voice activity (Vertex only).
    pub explicit_vad_signal: Option<bool>,
    /// The history at the beginning of the conversation.
    pub history_config: Option<HistoryConfig>,
    /// An avatar for the model.
    pub avatar_config: Option<AvatarConfig>,
    /// The thresholds from which the service blocks content.
    pub safety_settings: Repeated<SafetySetting>,
    /// The user's labels for the session, an object of strings.
    pub labels: Option<RawJson>,
    /// All other fields.
    pub other: Other,
}

/// The resumption of an earlier connection's session.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionResumption {
    /// The handle that resumes a session. A secret.
    pub handle: Option<String>,
    /// True if the service shall report which client messages it has processed (Vertex only).
    pub transparent: Option<bool>,
    /// All other fields.
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
