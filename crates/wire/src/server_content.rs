//! The model's output, and the state of its turn.

use recount_text::json::DecodeError;

use super::content::Content;
use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::grounding::{GroundingMetadata, UrlContextMetadata};
use super::object_writer::ObjectWriter;
use super::other::Other;

/// A piece of the model's turn, or a change of its state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerContent {
    /// A piece of the model's turn.
    pub model_turn: Option<Content>,
    /// True if all output is generated. Absent in an interrupted turn.
    pub generation_complete: Option<bool>,
    /// True if the turn has ended. Calls stay open after it.
    pub turn_complete: Option<bool>,
    /// True if the client's input interrupted the turn.
    pub interrupted: Option<bool>,
    /// The transcript of the user's speech.
    pub input_transcription: Option<Transcription>,
    /// The transcript of the model's speech.
    pub output_transcription: Option<Transcription>,
    /// The reason for the end of the turn, such as `MALFORMED_FUNCTION_CALL`.
    pub turn_complete_reason: Option<String>,
    /// `IN_PROGRESS`, `REQUIRES_ACTION` or `IDLE`.
    pub interaction_status: Option<String>,
    /// True if the model expects more input from the user.
    pub waiting_for_input: Option<bool>,
    /// The preliminary transcript of the user's speech.
    pub interim_input_transcription: Option<Transcription>,
    /// The sources of the model's answer.
    pub grounding_metadata: Option<GroundingMetadata>,
    /// The web pages that the service read.
    pub url_context_metadata: Option<UrlContextMetadata>,
    /// All other fields.
    pub other: Other,
}

message! {
    /// A transcript of speech.
    pub struct Transcription {
        /// The text.
        pub text: Option<String> = "text",
        /// True if this is the last piece. Not reliable.
        pub finished: Option<bool> = "finished",
        /// The language, such as `en-US`.
        pub language_code: Option<String> = "languageCode",
        /// The speaker.
        pub speaker_label: Option<String> = "speakerLabel",
        /// The start time within the audio, such as `1.200s`.
        pub start_offset: Option<String> = "startOffset",
        /// The end time within the audio.
        pub end_offset: Option<String> = "endOffset",
    }
    known "words"
}

impl Message for ServerContent {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            model_turn: fields.message("modelTurn")?,
            generation_complete: fields.boolean("generationComplete")?,
            turn_complete: fields.boolean("turnComplete")?,
            interrupted: fields.boolean("interrupted")?,
            input_transcription: fields.message("inputTranscription")?,
            output_transcription: fields.message("outputTranscription")?,
            turn_complete_reason: fields.string("turnCompleteReason")?,
            interaction_status: fields.string("interactionStatus")?,
            waiting_for_input: fields.boolean("waitingForInput")?,
            interim_input_transcription: fields.or_left("interimInputTranscription"),
            grounding_metadata: fields.or_left("groundingMetadata"),
            url_context_metadata: fields.or_left("urlContextMetadata"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.message("modelTurn", self.model_turn.as_ref());
        object.boolean("generationComplete", self.generation_complete);
        object.boolean("turnComplete", self.turn_complete);
        object.boolean("interrupted", self.interrupted);
        object.message("inputTranscription", self.input_transcription.as_ref());
        object.message("outputTranscription", self.output_transcription.as_ref());
        object.string("turnCompleteReason", self.turn_complete_reason.as_deref());
        object.string("interactionStatus", self.interaction_status.as_deref());
        object.boolean("waitingForInput", self.waiting_for_input);
        let interim = &self.interim_input_transcription;
        interim.put(object, "interimInputTranscription");
        self.grounding_metadata.put(object, "groundingMetadata");
        self.url_context_metadata.put(object, "urlContextMetadata");
        object.rest(&self.other);
    }
}
