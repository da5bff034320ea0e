//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step, [`given()`] asks what one more observation
//! leads to. Nothing here knows how a decision is made.

#[cfg(feature = "testing")]
mod kit;

#[cfg(feature = "testing")]
pub use kit::*;
pub use recount_session::testing::*;
