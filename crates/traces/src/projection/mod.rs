//! The projection of a session's facts to spans.
//!
//! It folds the session beside itself, and asks the folded session which records are new calls,
//! which runs go on and which requests are open. Read `tracer` first, then `calls`, `runs`,
//! `requests` and `connections`; `naming` has the words that they share.

mod calls;
mod connections;
mod naming;
mod requests;
mod runs;
mod tracer;

pub use tracer::Tracer;
