//! Records of kinds that this program does not know.

/// What becomes of a record whose kind this program does not know, because a newer one wrote it. It stays in the journal either way,
/// and `recount log` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKinds {
    /// The session is not read, with [`Error::Unreadable`](super::Error::Unreadable): what is not understood may change what follows.
    #[default]
    Refuse,
    /// It is passed over, as if it were not there, and a warning of `tracing` names it. What was decided because of it is then
    /// not what follows, so a replay may tell a divergence.
    Skip,
}
