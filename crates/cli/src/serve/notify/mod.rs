//! The notifications of a service: its sinks, and the command that tries one.

mod command;
mod sinks;

pub(crate) use command::Notify;
pub(super) use sinks::{Notifications, mistakes, unusable_files};
