//! Whether the gates of a dispatcher's own calls hold: said by whoever made it, or by whether
//! somebody can be asked.

/// The choice whether gates hold: of an agent for its sessions, of a dispatcher for its own calls.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateChoice {
    /// They hold where a person can answer: there is a provider, or, in a session, a durable
    /// journal.
    #[default]
    WhereAnswerable,
    /// They always hold.
    Strict,
    /// They never hold.
    Unenforced,
}

impl GateChoice {
    /// What holds once the tools of another dispatcher have come, which may be strict.
    pub(crate) fn beside(self, strict: bool) -> GateChoice {
        match self {
            GateChoice::WhereAnswerable if strict => GateChoice::Strict,
            own @ (GateChoice::WhereAnswerable | GateChoice::Strict | GateChoice::Unenforced) => {
                own
            }
        }
    }
}
