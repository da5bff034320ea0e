//! The agent's call that made another call.

use serde::{Deserialize, Serialize};

use super::{Error, Ledger};
use crate::session::{FunctionCallReceived, Seq, SessionId};

/// The agent's call during which another call was made.
///
/// ```json
/// {"call":5,"tool":"verify_identity"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    /// The seq of the call's record.
    pub call: Seq,
    /// The agent's name as a tool.
    pub tool: String,
}

impl Ledger {
    /// Returns the agent's call during which this one was made. `None` if the conversation's model
    /// or a program made it.
    pub(super) async fn parent_of(
        &self,
        session: SessionId,
        received: &FunctionCallReceived,
    ) -> Result<Option<Box<ParentCall>>, Error> {
        let Some(call) = received.parent else {
            return Ok(None);
        };
        let parent = self.call_received(session, call).await?;
        let tool = parent.and_then(|it| it.name).unwrap_or_default();
        Ok(Some(Box::new(ParentCall { call, tool })))
    }
}
