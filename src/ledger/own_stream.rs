//! Appends to the journal's own stream, whose id is nil.

use recount_journal::{Append, Draft, Hash, Head};
use serde::Serialize;
use uuid::Uuid;

use super::{Error, Ledger};
use crate::session::{ActorKind, Seq, SessionId, Timestamp};

impl Ledger {
    /// Returns the head of the journal's own stream.
    pub(super) async fn own_head(&self) -> Result<Option<Head>, Error> {
        Ok(self.journal().head(Uuid::nil()).await?)
    }

    /// Appends a record about `session` to the journal's own stream, behind `head`.
    ///
    /// Returns `None` if another writer has appended since.
    pub(super) async fn append_own(
        &self,
        head: Option<Head>,
        (session, actor): (SessionId, ActorKind),
        (kind, body): (&str, &impl Serialize),
        now: Timestamp,
    ) -> Result<Option<Seq>, Error> {
        let unwritable = |source| Error::Unwritable { session, source };
        let body = serde_json::to_string(body).map_err(unwritable)?;
        let (seq, prev, last_us) = head.map_or((0, Hash::ZERO, i64::MIN), |head| {
            (head.seq, head.hash, head.at_us)
        });
        let line = Draft {
            session: Uuid::nil(),
            seq: seq + 1,
            // Times in the stream must not decrease if the clock was set back.
            at_us: now.0.max(last_us),
            kind,
            cause: None,
            actor: recount_journal::Actor::new(actor.as_str()),
            body: &body,
            prev,
        }
        .line();
        let append = Append::new(Uuid::nil(), seq, vec![line]);
        match self.journal().append(append).await {
            Ok(head) => Ok(Some(Seq(head.seq))),
            Err(recount_journal::Error::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
