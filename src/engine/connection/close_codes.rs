//! The close codes of a connection, and whether to retry after each.
//!
//! | code | on a connection that was set up | instead of `setupComplete` |
//! |---|---|---|
//! | none, 1005, 1006 | the network: again | again |
//! | 1000, 1001 | the service's limit of a connection: again | again |
//! | 1002, 1003, 1007, 1008, 1009, 1010 | something we sent, or were not allowed: once more | never as it was: without the handle, if there was one |
//! | 1011 to 1014 | a fault of the service: again | again; the second time without the handle |
//! | others | again | again |
//!
//! A service that sends nothing, or something else than `setupComplete`, counts as faulty.

use crate::live::ConnectError;

/// The action after the end of a connection that was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum AfterLoss {
    /// Connect again.
    Again,
    /// Connect again, unless the connection before ended in the same way.
    OnceMore,
}

/// The kind of a refused setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refusal {
    /// Temporary.
    Passing,
    /// A fault of the service, or of the handle.
    Doubtful,
    /// Permanent: the same setup will be refused again.
    Lasting,
}

pub(in crate::engine) fn after_loss(code: Option<u16>) -> AfterLoss {
    if code.is_some_and(is_our_fault) {
        AfterLoss::OnceMore
    } else {
        AfterLoss::Again
    }
}

pub(in crate::engine) fn refusal(error: &ConnectError) -> Refusal {
    match error {
        ConnectError::SetupRefused { lost, .. } => match lost.code {
            Some(code) if is_our_fault(code) => Refusal::Lasting,
            Some(1011..=1014) => Refusal::Doubtful,
            Some(_) | None => Refusal::Passing,
        },
        ConnectError::SetupTimedOut { .. } | ConnectError::SetupUnexpected { .. } => {
            Refusal::Doubtful
        }
        // A busy or faulty service sends these statuses. Others mean wrong credentials or a wrong
        // path.
        ConnectError::HandshakeRefused {
            status: 408 | 429 | 500..,
            ..
        } => Refusal::Passing,
        ConnectError::HandshakeRefused { .. }
        | ConnectError::Misconfigured { .. }
        | ConnectError::NoEndpoint { .. } => Refusal::Lasting,
        ConnectError::NoToken { .. } | ConnectError::Unreachable { .. } => Refusal::Passing,
    }
}

/// Returns the close code of a refusal and its reason, for the record.
pub(in crate::engine) fn code_and_reason(error: &ConnectError) -> (Option<u16>, String) {
    match error {
        ConnectError::SetupRefused { lost, .. } => (lost.code, lost.reason.clone()),
        ConnectError::SetupTimedOut { .. }
        | ConnectError::SetupUnexpected { .. }
        | ConnectError::NoEndpoint { .. }
        | ConnectError::Misconfigured { .. }
        | ConnectError::HandshakeRefused { .. }
        | ConnectError::NoToken { .. }
        | ConnectError::Unreachable { .. } => (None, error.to_string()),
    }
}

/// True if a code blames what we sent, or a missing permission.
fn is_our_fault(code: u16) -> bool {
    matches!(code, 1002 | 1003 | 1007..=1010)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::ConnectionLost;

    fn refused(code: Option<u16>) -> Refusal {
        refusal(&ConnectError::SetupRefused {
            endpoint: "e".to_owned(),
            lost: ConnectionLost {
                code,
                reason: String::new(),
            },
        })
    }

    #[test]
    fn refused_handshake_is_retried_only_if_service_is_at_fault() {
        for (status, refusal_of) in [
            (401, Refusal::Lasting),
            (404, Refusal::Lasting),
            (429, Refusal::Passing),
            (503, Refusal::Passing),
        ] {
            let refused = ConnectError::HandshakeRefused {
                endpoint: "e".to_owned(),
                status,
                reason: String::new(),
            };
            assert_eq!(refusal(&refused), refusal_of, "{status}");
        }
    }

    #[test]
    fn every_close_code_has_its_consequence() {
        use AfterLoss::{Again, OnceMore};
        use Refusal::{Doubtful, Lasting, Passing};
        for (code, loss, refusal) in [
            (None, Again, Passing),
            (Some(1000), Again, Passing),
            (Some(1001), Again, Passing),
            (Some(1002), OnceMore, Lasting),
            (Some(1003), OnceMore, Lasting),
            (Some(1005), Again, Passing),
            (Some(1006), Again, Passing),
            (Some(1007), OnceMore, Lasting),
            (Some(1008), OnceMore, Lasting),
            (Some(1009), OnceMore, Lasting),
            (Some(1011), Again, Doubtful),
            (Some(1012), Again, Doubtful),
            (Some(1013), Again, Doubtful),
            (Some(4000), Again, Passing),
        ] {
            assert_eq!(
                (after_loss(code), refused(code)),
                (loss, refusal),
                "{code:?}"
            );
        }
    }
}
