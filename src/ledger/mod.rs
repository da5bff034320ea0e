//! Session facts in a journal: events become lines and lines become events again.
//!
//! The session knows no journal and the journal no events; this is where they meet. It decides nothing.

mod error;
mod import;
mod line;
mod listing;
mod requests;
mod store;

pub use error::Error;
pub use import::import;
pub use line::{actor_reference, fact_of, objects_named};
pub use listing::{PausedCall, PendingConfirmation, SessionSummary};
pub use requests::KnownRequest;
pub use store::{Ledger, Loaded, Objects, Recorded, Tail};
