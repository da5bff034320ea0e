//! The commands of an operator: what waits for a person, and the decisions that go on record.
//!
//! A command asks for one entry in the record and prints what stands there now, or the refusal. It
//! does not know the rules that refuse, and starts no tool.
//!
//! Read `pending` first, then `answer` and the smaller `settle`, `reconcile`, `respond_call`,
//! `cancel` and `erase`. `on_record` has the steps that they share, `operations` what each asks of
//! the desk or of the service; `found` is an option of two of them,
//! `members` their JSON
//! objects, and `named` the arguments that name a request or a call.

mod answer;
mod cancel;
mod erase;
mod found;
mod members;
mod named;
mod on_record;
mod operations;
mod pending;
mod reconcile;
mod respond_call;
mod settle;

pub(crate) use answer::{AnswerArgs, Approve};
pub(crate) use cancel::Cancel;
pub(crate) use erase::Erase;
pub(crate) use pending::Pending;
pub(crate) use reconcile::Reconcile;
pub(crate) use respond_call::RespondCall;
pub(crate) use settle::Settle;
