//! A session from its setup to its end, by a scripted model: what it hears, does and tells, one promise after the other.
//!
//! They are one program because each program takes in the whole library.
#![cfg(all(feature = "testing", feature = "live"))]

mod nothing_left;

#[path = "sessions/adk_events.rs"]
mod adk_events;
#[path = "sessions/at_once.rs"]
mod at_once;
#[path = "sessions/background.rs"]
mod background;
#[path = "sessions/conversation.rs"]
mod conversation;
#[path = "sessions/every_frame.rs"]
mod every_frame;
#[path = "sessions/hooks.rs"]
mod hooks;
#[path = "sessions/hooks_and_events.rs"]
mod hooks_and_events;
#[path = "sessions/keepalive.rs"]
mod keepalive;
#[path = "sessions/lifecycle.rs"]
mod lifecycle;
#[path = "sessions/limits.rs"]
mod limits;
#[path = "sessions/listeners.rs"]
mod listeners;
#[path = "sessions/media.rs"]
mod media;
#[path = "sessions/notices.rs"]
mod notices;
#[path = "sessions/opening.rs"]
mod opening;
#[path = "sessions/sealing.rs"]
mod sealing;
#[path = "sessions/shutdown.rs"]
mod shutdown;
#[path = "sessions/streaming.rs"]
mod streaming;
