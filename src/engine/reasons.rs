//! The recorded reasons for a disconnect or detach that was requested.

/// The reason recorded for [`LiveHandle::disconnect`](super::LiveHandle::disconnect).
pub(crate) const DISCONNECTED: &str = "disconnected by the embedding program";

/// The last handle was dropped.
pub(crate) const DROPPED: &str = "the handle was dropped";

/// The session's task is idle.
pub(crate) const IDLE: &str = "nothing runs and nobody listens";

/// The reason recorded for [`Engine::shutdown`](super::Engine::shutdown).
pub(crate) use crate::session::SHUT_DOWN;

/// The service announced the end of a connection, and the session switched in time.
pub(crate) use crate::session::LEFT_IN_TIME;
