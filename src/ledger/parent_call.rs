//! The call of an agent in whose run another call was made.

use serde::{Deserialize, Serialize};

use super::{Error, Ledger};
use crate::session::{FunctionCallReceived, Seq, SessionId};

/// The call of an agent in whose run another call was made.
///
/// ```json
/// {"call":5,"tool":"verify_identity"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    /// Its record.
    pub call: Seq,
    /// The agent, by the name under which it was called.
    pub tool: String,
}

impl Ledger {
    /// The call of the agent whose model made this one; none where that of the conversation did, or
    /// a program.
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
