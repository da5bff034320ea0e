//! The dispatcher: registered tools, checked as a whole, and calls without a live session.
//!
//! The dispatcher runs these calls in an in-memory session of its own, without connection or disk.
//! Read `dispatcher`, `calling`, then `pipeline`.

mod calling;
pub(super) mod dispatcher;
mod ending;
pub(super) mod gate_choice;
mod listening;
mod next;
mod own_gates;
mod pipeline;
pub(super) mod provider_asker;
mod registration;
