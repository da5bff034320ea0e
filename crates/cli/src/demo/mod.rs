//! `recount demo`: one conversation, killed while a call waits for approval, and taken up again.
//!
//! The demo tells the story and checks it; `service` is the process that it kills. It knows no
//! shortcut: all that it claims is looked up in the journal, in the witness of the refund, and in
//! the record of the simulated model.
//!
//! Read `story` first, then `service` with its `tools`, then `checks`. `place` is the directory of
//! the demo, `child` the process.

mod checks;
mod child;
mod place;
mod service;
mod story;
mod tools;

pub(crate) use service::Service;
pub(crate) use story::Demo;
