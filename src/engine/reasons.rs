//! Why a runner lets go, where somebody has it do so, in the words on record.

/// [`LiveHandle::disconnect`](super::LiveHandle::disconnect).
pub(crate) const DISCONNECTED: &str = "disconnected by the embedding program";

/// The last handle is gone.
pub(crate) const DROPPED: &str = "the handle was dropped";

/// The session's task has nothing more to do.
pub(crate) const IDLE: &str = "nothing runs and nobody listens";

/// [`Engine::shutdown`](super::Engine::shutdown).
pub(crate) use crate::session::SHUT_DOWN;

/// A connection is left that the service said it would end.
pub(crate) use crate::session::LEFT_IN_TIME;
