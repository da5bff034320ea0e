//! The setting that decides whether the gates of a call are enforced.

/// The choice of an agent for its sessions, or of a dispatcher for its own calls.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateChoice {
    /// Gates are enforced if an approver can answer: there is a provider or, in a session, a
    /// durable journal.
    #[default]
    WhereAnswerable,
    /// Gates are always enforced.
    Strict,
    /// Gates are never enforced.
    Unenforced,
}

impl GateChoice {
    /// Returns the choice after tools of another dispatcher were added, which may be strict.
    pub(crate) fn beside(self, strict: bool) -> GateChoice {
        match self {
            GateChoice::WhereAnswerable if strict => GateChoice::Strict,
            own @ (GateChoice::WhereAnswerable | GateChoice::Strict | GateChoice::Unenforced) => {
                own
            }
        }
    }
}
