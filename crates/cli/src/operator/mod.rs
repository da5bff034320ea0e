//! The commands of an operator: what waits for a person, and the decisions that go on record.
//!
//! A command asks for one entry in the record and prints what stands there now, or the refusal. It
//! does not know the rules that refuse, and starts no tool.
//!
//! Read `pending` first, then `answer` and the smaller `settle`, `reconcile`, `respond_call`,
//! `cancel` and `erase`; `on_record` and `found` are what they share.

pub(super) mod answer;
pub(super) mod cancel;
pub(super) mod erase;
mod found;
mod members;
mod on_record;
pub(super) mod pending;
pub(super) mod reconcile;
pub(super) mod respond_call;
pub(super) mod settle;
