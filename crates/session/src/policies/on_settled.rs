//! The delivery of outcomes of calls that end while no connection is open.

use serde::{Deserialize, Serialize};

/// The delivery of the outcome of a call that ends while there is no connection.
///
/// For example, an approver may answer after the user has hung up.
///
/// If the connection was lost and a reconnection is scheduled, the outcome waits for it, whatever
/// is chosen. News of a call that has not ended opens no connection.
///
/// A call that a program made itself is not part of the conversation. If that program no longer
/// waits, because its process is gone, only the embedding program receives the outcome, whatever is
/// chosen.
///
/// The choice is recorded with each outcome, as the [`Route`](crate::Route) of its
/// `response_issued`. Whatever is chosen, the embedding program receives the outcome.
///
/// ```
/// use recount_session::OnSettled;
///
/// // A booking that is approved at night is confirmed to the customer at once, in a conversation
/// // of its own: `Agent::on_settled(OnSettled::Connect)`. In a policy set it is a word.
/// assert_eq!(serde_json::to_string(&OnSettled::Connect)?, r#""connect""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSettled {
    /// The model receives the outcome when the session is next resumed.
    #[default]
    Park,
    /// The engine opens a connection for the outcome. It uses the resumption handle if that is
    /// still valid, otherwise a fresh connection that receives the history.
    Connect,
    /// Only the embedding program receives the outcome. The history of a later conversation
    /// contains it as a call that is over.
    Notify,
}

impl OnSettled {
    pub(super) fn is_park(&self) -> bool {
        match self {
            OnSettled::Park => true,
            OnSettled::Connect | OnSettled::Notify => false,
        }
    }
}
