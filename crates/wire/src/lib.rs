//! The messages of the Gemini Live protocol, read and written without losing anything.
//!
//! * [`ClientMessage`] and [`ServerMessage`] are the two directions; a message is a struct of
//!   options, because a server message may carry several payloads.
//! * Field names are read in camelCase and in snake_case at every depth and written in camelCase.
//!   What belongs to users (arguments, responses, JSON Schemas, labels) keeps its keys, and every
//!   number and string its digits.
//! * What is not known here is kept in [`Other`] and written again; a `null` in a known field reads
//!   as its absence.
//! * Enumerations are open: a value nobody has heard of yet is a string like the others.
//!
//! Nothing in `wire` opens a socket, knows an order of messages, or decides whether a message makes
//! sense.

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
