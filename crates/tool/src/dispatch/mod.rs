//! The dispatcher: tools as they are registered, checked as a whole, and calls without a live
//! session, which it runs in a session of its own.
//!
//! It has no connection and no journal on a disk. Read `dispatcher`, `calling`, then `pipeline`.

mod calling;
pub(super) mod dispatcher;
mod ending;
pub(super) mod gate_choice;
mod listening;
mod next;
mod own_gates;
mod pipeline;
pub(super) mod provider_desk;
mod registration;
