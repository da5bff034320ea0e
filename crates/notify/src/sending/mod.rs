//! Delivery of one message to one sink.
//!
//! Read `sink` first, the settings; then `sender`. `http` and `command` are the two ways, `url`
//! and `secrets` the values that no log may show, `signature` the signature of webhooks.

mod command;
mod http;
mod secrets;
mod sender;
mod signature;
mod sink;
mod url;

pub use secrets::{Bearer, SigningSecret, UnfitSecret};
pub(crate) use sender::Sender;
pub use sender::Undelivered;
pub use sink::{Patience, Sink, Target};
pub use url::{UnfitUrl, Url};
