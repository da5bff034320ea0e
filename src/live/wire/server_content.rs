//! What the model says, and where its turn stands.

use super::content::Content;
use super::decode_error::DecodeError;
use super::fields::{Fields, Message};
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
    /// Everything else, such as grounding.
    pub other: Other,
}

/// Speech as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcription {
    /// The words.
    pub text: Option<String>,
    /// Whether this is the last piece; not to be relied on.
    pub finished: Option<bool>,
    /// Everything else: language, speaker, offsets.
    pub other: Other,
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
            other: fields.rest(&[
                "interimInputTranscription",
                "groundingMetadata",
                "urlContextMetadata",
            ])?,
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
        object.rest(&self.other);
    }
}

impl Message for Transcription {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            text: fields.string("text")?,
            finished: fields.boolean("finished")?,
            other: fields.rest(&[
                "languageCode",
                "speakerLabel",
                "words",
                "startOffset",
                "endOffset",
            ])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("text", self.text.as_deref());
        object.boolean("finished", self.finished);
        object.rest(&self.other);
    }
}
