//! Sessions on the screen: their events as lines, their open requests.
//!
//! This room gets events and states from its callers. It opens no journal and knows no command. The
//! words are those of `recount-telling`.
//!
//! Read `timeline` first, the lines with time and seq; then `follow`, the timeline of a session
//! that is served. `question` shows a call that waits, `needs` the approvals that it needs.

mod follow;
mod needs;
pub(crate) mod question;
mod timeline;

pub(crate) use follow::{Follower, is_calm};
pub(crate) use timeline::{Fit, Timeline};
