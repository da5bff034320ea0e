//! The commands of an operator: the calls that wait, and the answers to record.
//!
//! A command records one operation and prints the new record, or the refusal. The rules for
//! refusals are elsewhere, and no tool starts here.
//!
//! Read `pending` first, then `answer`, `answer_many` for several requests, and the smaller
//! `settle`, `reconcile`, `respond_call`, `cancel` and `erase`. `pause` is the stop switch, and
//! `pauses` lists it. `holds` has legal holds. `leaves` lists standing leaves, and `revoke` ends
//! one. `on_record` has the steps that they share, `operations` the requests to the desk or the
//! service. `found` is an option of two of them, `members` their JSON objects, and `named` the
//! arguments that name a request or a call. `client` has the commands of a client that runs calls.

mod answer;
mod answer_many;
mod cancel;
mod client;
mod erase;
mod found;
mod holds;
mod leaves;
mod members;
mod named;
mod on_record;
mod operations;
mod pause;
mod pauses;
mod pending;
mod reconcile;
mod respond_call;
mod revoke;
mod settle;

pub(crate) use answer::{Approve, Deny};
pub(crate) use cancel::Cancel;
pub(crate) use client::{Claim, Finish, Release, Renew};
pub(crate) use erase::Erase;
pub(crate) use holds::{ListHolds, PlaceHold, Unhold, as_json as hold_as_json};
pub(crate) use leaves::Leaves;
pub(crate) use pause::{Pause, Unpause};
pub(crate) use pauses::{Pauses, as_json as pause_as_json, of_session, paused_by};
pub(crate) use pending::Pending;
pub(crate) use reconcile::Reconcile;
pub(crate) use respond_call::RespondCall;
pub(crate) use revoke::Revoke;
pub(crate) use settle::Settle;
