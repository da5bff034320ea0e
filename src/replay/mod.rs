//! Replay of a session from its journal alone.
//!
//! Each observation is decided again by the rules of its time, and the decisions are compared with
//! the recorded ones. A session can also be shown as of any of its records. Nothing runs: no tool,
//! no provider, no closure. This module does not depend on how a session was served.

mod call_view;
mod changes;
mod leave_view;
mod report;
mod state_at;
mod state_view;
mod verify;
pub mod what_if;

pub use changes::{Change, changes};
#[doc(hidden)]
pub use recount_text::json::Tree;
pub use recount_text::json::{NamesNothing, value_at};
pub use report::{Diverged, Report, Said};
pub use state_at::{NoState, state_at};
pub use state_view::{call_json, state_json, state_json_about};
pub use verify::verify;
#[doc(hidden)]
pub use verify::verify_by;
