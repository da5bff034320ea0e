//! A session in words: its events as sentences, its state as an outline, its open questions.
//!
//! This room takes events and states as they come; it opens no journal and knows no command.
//!
//! Read `sentence` first, a room of its own; then `timeline`, its lines with time and seq,
//! and `follow`, a timeline of a session that is served. `question` shows a call that waits,
//! `outline` prints JSON.

mod follow;
mod outline;
pub(crate) mod question;
mod sentence;
mod timeline;

pub(crate) use follow::{Follower, is_calm};
pub(crate) use outline::outline;
pub(crate) use sentence::{Names, clause, sentence};
pub(crate) use timeline::{Fit, Timeline};
