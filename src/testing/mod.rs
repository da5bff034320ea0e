//! The test kit: sessions by name, and rules as given, when, then.
//!
//! [`history`] plays a session through the real step. [`given()`] shows the decisions after one
//! more observation. This module does not depend on how decisions are made.

#[cfg(feature = "testing")]
mod kit;

#[cfg(feature = "testing")]
pub use kit::*;
pub use recount_session::testing::*;
