//! Listeners in this process: for records as they are appended, and for the live conversation.
//!
//! No session waits for a listener. Read `publisher`, then `updates`; `notices` are the callbacks
//! of the whole engine, `callbacks` those of one conversation.

pub(super) mod callbacks;
pub(super) mod listener;
pub(super) mod notices;
pub(super) mod publisher;
pub(super) mod updates;
