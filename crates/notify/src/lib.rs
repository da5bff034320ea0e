//! Notifications about recorded sessions, delivered to sinks behind the journal.
//!
//! ```text
//! journal ─▶ commits ─▶ routes ─▶ queue of a sink ─▶ message ─┬─▶ webhook, Slack, ntfy (HTTP)
//!              │                      │                       └─▶ command (standard input)
//!              └── place ─▶ file of the sink ◀── dead letters
//! ```
//!
//! Each sink follows the journal in a task of its own, from the place in its own file. So a sink
//! that fails delays no session and no other sink. A notification is delivered at least once, and
//! its id is the same in each delivery. `docs/notifications.md` lists the kinds of sinks and the
//! messages.

// Tests stop where they meet the impossible.
#![cfg_attr(
    test,
    expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that meets the impossible must stop"
    )
)]

mod message;
mod notifier;
mod routing;
mod sending;
mod sinks;
mod values;

pub use message::{Markup, Template, UnfitTemplate};
pub use notifier::{DeadLetterError, Notifier, NotifyError, send_test};
pub use routing::{Days, Escalation, Filter, Hours, Pattern, Route, TimeOfDay, UnfitHours};
pub use sending::{
    Bearer, Patience, SigningSecret, Sink, Target, Undelivered, UnfitSecret, UnfitUrl, Url,
};
pub use sinks::{DeadLetter, RemovedSink, Settings, SinkStatus, UnusableFile};
pub use values::{Detail, NamedZone, Occasion, SinkName, UnfitName, UnknownWord, Zone};
