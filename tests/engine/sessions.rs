//! A session from its setup to its end, with a scripted model.

mod adk_events;
mod at_once;
mod background;
mod call_limits;
mod conversation;
mod every_frame;
mod hooks;
mod hooks_and_events;
mod keepalive;
mod lifecycle;
mod limits;
mod listeners;
mod media;
mod notices;
mod opening;
mod sealing;
mod shutdown;
mod streaming;
mod transcripts;
