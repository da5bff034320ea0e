//! The commands of an operator: the calls that wait, and the answers to record.
//!
//! A command records one operation and prints the new record, or the refusal. The rules for
//! refusals are elsewhere, and no tool starts here.
//!
//! Read `pending` first, then `answer` and the smaller `settle`, `reconcile`, `respond_call`,
//! `cancel` and `erase`. `pause` is the stop switch, and `pauses` lists it. `on_record` has the
//! steps that they share, `operations` the requests to the desk or the service. `found` is an
//! option of two of them, `members` their JSON objects, and `named` the arguments that name a
//! request or a call.

mod answer;
mod cancel;
mod erase;
mod found;
mod members;
mod named;
mod on_record;
mod operations;
mod pause;
mod pauses;
mod pending;
mod reconcile;
mod respond_call;
mod settle;

pub(crate) use answer::{AnswerArgs, Approve};
pub(crate) use cancel::Cancel;
pub(crate) use erase::Erase;
pub(crate) use pause::{Pause, Unpause};
pub(crate) use pauses::{Pauses, as_json as pause_as_json, of_session, paused_by};
pub(crate) use pending::Pending;
pub(crate) use reconcile::Reconcile;
pub(crate) use respond_call::RespondCall;
pub(crate) use settle::Settle;
