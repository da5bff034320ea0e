//! Sessions in a journal: conversion between facts and lines, and queries.
//!
//! The session core does not know the journal, and the journal does not know events. This module
//! connects them, and it alone knows whether a body is sealed. It takes no decisions.

mod appending;
mod approvals;
mod claims;
mod clock_observations;
mod erasure;
mod error;
mod hold;
mod holds;
mod import;
mod leaves;
mod line;
mod listing;
mod own_stream;
mod owning;
mod parent_call;
mod passed_calls;
mod pause_target;
mod paused;
mod pauses;
mod pending;
mod read_export;
mod requests;
mod seal;
mod secrets;
mod session_pages;
mod snapshot;
mod store;
mod terms_on_record;
mod unknown_kinds;

pub(crate) use appending::{Batch, IN_PLACE};
pub use approvals::GivenApproval;
pub(crate) use claims::claimable_from;
pub use claims::{ClaimKey, ClaimedCall};
pub(crate) use clock_observations::CLOCK_OBSERVED;
pub use clock_observations::{ClockObservation, ClockReading, ClockSync};
pub(crate) use erasure::{ERASED, REQUESTED};
pub use erasure::{EraseError, Erasure};
pub use error::Error;
pub use hold::{Hold, HoldEnd, HoldRefusal, HoldTarget};
pub(crate) use holds::{PLACED, Placed, RELEASED, Released};
pub use import::{import, import_into};
pub use leaves::LeaveInForce;
pub use line::{Entry, actor_reference, fact_of, objects_named};
pub use listing::SessionSummary;
pub(crate) use owning::Owned;
pub use parent_call::ParentCall;
pub(crate) use passed_calls::CALLS_PASSED;
pub use passed_calls::PassedCalls;
pub use pause_target::PauseTarget;
pub use paused::PausedCall;
pub use pauses::ListedPause;
pub(crate) use pauses::{PAUSED, UNPAUSED};
pub use pending::{HintBy, PendingConfirmation};
pub use read_export::{ExportRead, read_export};
pub use requests::KnownRequest;
pub use seal::Seal;
pub(crate) use secrets::open_malformed;
pub use secrets::{open_arguments, seal_arguments};
pub use session_pages::SessionPages;
pub(crate) use snapshot::PAYS_FROM;
pub use store::{Ledger, Loaded, Objects, Recorded, Tail};
pub use unknown_kinds::{PassedOver, UnknownKinds, UnknownRecord};
