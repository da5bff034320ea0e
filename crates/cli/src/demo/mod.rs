//! `recount demo`: one conversation, killed while a call waits for approval, and resumed.
//!
//! The demo shows each step and checks the result; `service` is the process that it kills. Every
//! claim is checked in the journal, in refunds.txt, and in the messages of the simulated model.
//!
//! Read `story` first, then `service` with its `tools`, then `checks`; `ui` is the same
//! conversation with its approval in the browser. `place` is the directory of
//! the demo, `child` the process.

mod checks;
mod child;
mod place;
mod service;
mod story;
mod tools;
#[cfg(feature = "serve")]
mod ui;

pub(crate) use service::Service;
pub(crate) use story::Demo;
