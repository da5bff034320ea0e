//! The routes, one file a resource.
//!
//! Read `caller`, through which every route sees the service, then `sessions`. `shapes` has the
//! JSON of the library's values for the OpenAPI document.

pub(crate) mod account;
pub(crate) mod answers;
mod caller;
pub(crate) mod calls;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod holds;
pub(crate) mod leaves;
mod listing;
pub(crate) mod openapi;
mod outcome;
pub(crate) mod pauses;
pub(crate) mod pending;
pub(crate) mod programs;
pub(crate) mod records;
pub(crate) mod reports;
pub(crate) mod sessions;
mod shapes;
pub(crate) mod sinks;

pub(crate) use answers::denied_all;
pub(crate) use caller::Caller;
pub(crate) use outcome::of_control;
pub(crate) use pending::{Selection, every};
