//! Telling a session again from its journal alone.
//!
//! Every observation is decided again by the rules of its time, and the decisions are compared with
//! those on record; or a session is shown as it was at any of its records. Nothing runs: no tool,
//! no provider, no closure. `replay` does not know how a session was served.

mod call_view;
mod changes;
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
pub use state_view::{state_json, state_json_about};
pub use verify::verify;
#[doc(hidden)]
pub use verify::verify_by;
