//! The messages of the Gemini Live protocol, read and written without losing anything.
//!
//! * [`ClientMessage`] and [`ServerMessage`] are the two directions; a message is a struct of options, because a
//!   server message may carry several payloads.
//! * Field names are read in camelCase and in snake_case at every depth and written in camelCase. What belongs to
//!   users (arguments, responses, JSON Schemas, labels) keeps its keys, and every number and string its digits.
//! * What is not known here is kept in [`Other`] and written again; a `null` in a known field reads as its absence.
//! * Enumerations are open: a value nobody has heard of yet is a string like the others.
//!
//! Nothing in `wire` opens a socket, knows an order of messages, or decides whether a message makes sense.

mod client;
mod content;
mod decode_error;
mod fields;
mod function;
mod object_writer;
mod other;
mod raw_json;
mod repeated;
mod server;
mod server_content;
mod setup;
mod spelling;

pub use client::{ClientContent, ClientMessage, RealtimeInput, ToolResponse};
pub use content::{Blob, Content, Part};
pub use decode_error::DecodeError;
pub use function::{FunctionCall, FunctionDeclaration, FunctionResponse, Tool};
pub use other::Other;
pub use raw_json::RawJson;
pub use repeated::Repeated;
pub use server::{
    GoAway, ServerMessage, SessionResumptionUpdate, SetupComplete, ToolCall, ToolCallCancellation,
};
pub use server_content::{ServerContent, Transcription};
pub use setup::{SessionResumption, Setup};

#[cfg(feature = "simulator")]
pub(crate) use fields::Fields;
