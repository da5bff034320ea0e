//! The check of the lease right before an effect begins.
//!
//! A start may wait for a slot, a file or a thread after it was recorded. A process that is stopped
//! meanwhile continues after its lease, when another process has decided what became of the start.

use crate::engine::inputs::inbox::{Inbox, Input};
use crate::ledger::Ledger;

/// The right of this process to begin the effects of a session.
#[derive(Clone)]
pub(in crate::engine) struct StartGuard {
    ledger: Ledger,
    session: Inbox,
}

impl StartGuard {
    pub(in crate::engine) fn new(ledger: Ledger, session: Inbox) -> StartGuard {
        StartGuard { ledger, session }
    }

    /// True if an effect may begin now. Call it without any wait before the effect.
    ///
    /// After the end of the lease it also ends the session's task. Nothing is recorded: the next
    /// owner decides about the start.
    pub(in crate::engine) fn may_begin(&self) -> bool {
        match self.ledger.check_lease() {
            Ok(()) => true,
            Err(ended) => {
                // If the session's task has ended already, nothing is left to end.
                let _ = self.session.send(Input::LeaseEnded(ended));
                false
            }
        }
    }
}
