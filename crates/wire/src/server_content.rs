//! What the model says, and where its turn stands.

use recount_text::json::DecodeError;

use super::content::Content;
use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::grounding::{GroundingMetadata, UrlContextMetadata};
use super::object_writer::ObjectWriter;
use super::other::Other;

/// A piece of the model's turn, or news about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerContent {
    /// A piece of the model's turn.
    pub model_turn: Option<Content>,
    /// Everything is generated; absent in a turn that was interrupted.
    pub generation_complete: Option<bool>,
    /// The turn is over. Calls stay open beyond it.
    pub turn_complete: Option<bool>,
    /// The client's input cut the turn short.
    pub interrupted: Option<bool>,
    /// What the user said, as text.
    pub input_transcription: Option<Transcription>,
    /// What the model said, as text.
    pub output_transcription: Option<Transcription>,
    /// Why the turn is over, such as `MALFORMED_FUNCTION_CALL`.
    pub turn_complete_reason: Option<String>,
    /// `IN_PROGRESS`, `REQUIRES_ACTION` or `IDLE`.
    pub interaction_status: Option<String>,
    /// The model expects more from the user.
    pub waiting_for_input: Option<bool>,
    /// What the user says, before it is final.
    pub interim_input_transcription: Option<Transcription>,
    /// What the model's words rest on.
    pub grounding_metadata: Option<GroundingMetadata>,
    /// The web pages that the service read.
    pub url_context_metadata: Option<UrlContextMetadata>,
    /// Everything else.
    pub other: Other,
}

message! {
    /// Speech as text.
    pub struct Transcription {
        /// The words.
        pub text: Option<String> = "text",
        /// Whether this is the last piece; not to be relied on.
        pub finished: Option<bool> = "finished",
        /// Such as `en-US`.
        pub language_code: Option<String> = "languageCode",
        /// Who speaks.
        pub speaker_label: Option<String> = "speakerLabel",
        /// Where in the sound it begins, such as `1.200s`.
        pub start_offset: Option<String> = "startOffset",
        /// Where it ends.
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
