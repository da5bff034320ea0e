//! A session as text: its events as sentences, its state as an outline, its open requests.
//!
//! This room gets events and states from its callers. It opens no journal and knows no command.
//!
//! Read `sentence` first, a room of its own; then `timeline`, the lines with time and seq, and
//! `follow`, the timeline of a session that is served. `question` shows a call that waits,
//! `needs` the approvals that it needs, `outline` prints JSON.

mod follow;
pub(crate) mod needs;
mod outline;
pub(crate) mod question;
mod sentence;
mod timeline;

pub(crate) use follow::{Follower, is_calm};
pub(crate) use outline::outline;
pub(crate) use sentence::{Names, clause, sentence};
pub(crate) use timeline::{Fit, Timeline};
