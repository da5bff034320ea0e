//! ADK's language for approvals and long-running calls: what a client is shown, and what it may
//! answer.
//!
//! A client that was written for Google's Agent Development Kit asks its user what an
//! `adk_request_confirmation` call says, and answers with a FunctionResponse. [`Event`] is what
//! such a client is shown, [`ClientMessage`] reads what comes back, strictly: what does not say
//! `"confirmed": true` or `"confirmed": false` is no answer. Nothing here knows whether a request
//! is open, who answers, or that there is a journal.

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
