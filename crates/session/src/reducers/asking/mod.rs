//! Questions about a call: to a person, and to the embedding program.
//!
//! This module does not know when a question is due; the dispatcher and the tracker do. Read
//! `gate`, `confirmation`, `unanswered`, then `hooks`. `approvers` has the terms of an answer,
//! `standing` the answers that allow later calls, too, and `open_requests` the limits of open
//! requests.
//! `verdict_inputs` holds the values that a verdict depends on.

pub(crate) mod approvers;
pub(crate) mod confirmation;
pub(crate) mod gate;
pub(crate) mod hooks;
pub(crate) mod open_requests;
pub(crate) mod standing;
pub(crate) mod unanswered;
pub(crate) mod verdict_inputs;
