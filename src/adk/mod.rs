//! Translation between Recount and ADK for approvals and long-running calls.
//!
//! A client written for Google's Agent Development Kit shows its user an `adk_request_confirmation`
//! call and answers with a FunctionResponse. [`Event`] is the format for such a client.
//! [`ClientMessage`] parses its messages strictly: only `"confirmed": true` and
//! `"confirmed": false` are answers. This module knows no open requests, no approvers and no
//! journal.

mod answer;
mod card_answer;
mod client_message;
mod event;
mod original_call;
mod payload_form;
mod refused_message;
mod request_confirmation;
mod translated_calls;
mod translation;

pub use answer::confirmation_from;
pub(crate) use card_answer::Card;
pub use client_message::{ClientMessage, ClientResponse};
pub use event::{Actions, Call, CallArgs, Content, Event, Part, Response, Spoken};
pub use original_call::{OriginalCallError, original_call_from};
pub use refused_message::RefusedMessage;
pub use request_confirmation::{Confirmation, REQUEST_CONFIRMATION, Unanswered};
pub(crate) use translation::Translation;
