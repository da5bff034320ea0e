//! The messages of the Gemini Live protocol, read and written without loss.
//!
//! * [`ClientMessage`] and [`ServerMessage`] are the two directions. A message is a struct of
//!   options, because a server message may have several payloads.
//! * Field names are read in camelCase and snake_case at every depth and written in camelCase.
//!   Values of users (arguments, responses, JSON Schemas, labels) keep their keys, and all numbers
//!   keep their digits and all strings their escapes.
//! * Unknown fields are kept in [`Other`] and written again. A `null` in a known field counts as
//!   absent.
//! * Enumerations are open: an unknown value is a string like the others.
//!
//! This crate opens no socket, knows no order of messages, and does not judge whether a message
//! makes sense.

mod client;
mod content;
mod field;
mod fields;
mod function;
mod generation;
mod grounding;
mod levels;
mod media_frame;
mod object_writer;
mod other;
mod parts_read;
mod repeated;
mod schema;
mod server;
mod server_content;
mod session_config;
mod setup;
mod signals;
mod spelling;
mod usage;

pub use client::{ClientContent, ClientMessage, RealtimeInput, ToolResponse};
pub use content::{
    Blob, CodeExecutionResult, Content, ExecutableCode, FileData, Part, ServerToolCall,
    ServerToolResponse,
};
pub use function::{FunctionCall, FunctionDeclaration, FunctionResponse, PartialArg, Tool};
pub use generation::{
    GenerationConfig, PrebuiltVoiceConfig, SpeechConfig, ThinkingConfig, TranslationConfig,
    VoiceConfig,
};
pub use grounding::{GroundingChunk, GroundingMetadata, UrlContextMetadata, UrlMetadata, WebChunk};
pub use other::Other;
pub use recount_text::json::{DecodeError, Number, RawJson};
pub use repeated::Repeated;
pub use schema::{Schema, SchemaMap};
pub use server::{
    GoAway, ServerMessage, SessionResumptionUpdate, SetupComplete, ToolCall, ToolCallCancellation,
};
pub use server_content::{ServerContent, Transcription};
pub use session_config::{
    AudioTranscriptionConfig, AutomaticActivityDetection, AvatarConfig, ContextUpdate,
    ContextWindowCompression, HistoryConfig, ProactivityConfig, RealtimeInputConfig, SafetySetting,
    SlidingWindow, ToolList,
};
pub use setup::{SessionResumption, Setup};
pub use signals::{VoiceActivity, VoiceActivityDetectionSignal, VoiceConsentSignature};
pub use usage::{ModalityTokenCount, UsageMetadata};

#[doc(hidden)]
pub use fields::Fields;
#[doc(hidden)]
pub use media_frame::{Piece, media_frame};
#[doc(hidden)]
pub use parts_read::{CallRead, PartsRead};
