//! The session core: facts, rules and what is owed, as values. It reads no clock, no disk and no socket.

pub mod catalog;
pub mod object;
pub mod policy;
pub mod response;
pub(crate) mod schema;
