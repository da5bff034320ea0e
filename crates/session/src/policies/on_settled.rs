//! What becomes of the outcome of a call that ends while nobody is connected.

use serde::{Deserialize, Serialize};

/// How the outcome of a call that ends while there is no connection reaches the conversation: a
/// person's answer may come when everybody has hung up.
///
/// Where the connection was lost and another one is tried for, an outcome waits for that one,
/// whatever is chosen. News of a call that goes on opens no connection.
///
/// A call that a program made itself is no word of the conversation. Where that program does not
/// wait any more, because its process is gone, the embedding program hears of the outcome, and the
/// model does not, whatever is chosen.
///
/// Which it is stands on record with each outcome, as the [`Route`](crate::Route) of its
/// `response_issued`. Whatever is chosen, the embedding program hears of it.
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
    /// The model is told when the session is next resumed.
    #[default]
    Park,
    /// A connection is opened for it: by the resumption handle if that is still good, otherwise a
    /// fresh one that is told the story so far.
    Connect,
    /// Nobody but the embedding program is told. A later conversation finds it in the story so far,
    /// as something that is over.
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
