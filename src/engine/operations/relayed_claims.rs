//! Claims of relayed connections that a killed process has left.

use super::operation::Executor;
use crate::engine::connection::relay::RELAYED;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::ClaimKey;
use crate::session::{OpenKind, Seq, SessionId};

/// The reason on record.
const PROCESS_GONE: &str = "the process that relayed the connection is gone";

impl Engine {
    /// Ends the claims of relayed connections of an earlier process. Their calls are in doubt then,
    /// and the rules of their tools apply. Returns the number of claims.
    ///
    /// A program that [relays](crate::engine::LiveHandle::relay) connections calls it before the
    /// first one.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    pub async fn end_relayed_claims(&self) -> Result<usize, Error> {
        let claimed = self.ledger().open_items_of(&[OpenKind::Claimed]).await?;
        let mut ended = 0;
        for item in claimed {
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let folded = Executor::Engine(self).folded(session).await?;
            let held = folded.calls.get(&call).and_then(|it| it.held_claim());
            let Some(held) = held.filter(|it| it.claim.starts_with(RELAYED)) else {
                continue;
            };
            let key = ClaimKey {
                session,
                call,
                attempt: Some(held.attempt),
                claim: held.claim.clone(),
            };
            let reason = Some(PROCESS_GONE.to_owned());
            match self.end_claim(key, reason, false, held.by.clone()).await {
                Ok(_) => ended += 1,
                // Its lease has passed meanwhile, or its session cannot be read.
                Err(error) => tracing::warn!(%session, %call, %error, "a claim was not ended"),
            }
        }
        Ok(ended)
    }
}
