//! Appends to the journal's own stream, whose id is nil.

use recount_journal::{Head, own_append};
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
        let actor = recount_journal::Actor::new(actor.as_str());
        let append = own_append(head.as_ref(), now.0, actor, kind, &body);
        match self.journal().append(append).await {
            Ok(head) => Ok(Some(Seq(head.seq))),
            Err(recount_journal::Error::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
