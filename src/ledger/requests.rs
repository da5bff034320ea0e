//! Finding confirmation requests and calls by their outside ids, or a part of one, also long after
//! they ended.

use super::{Error, Ledger};
use crate::session::{CallId, RequestId, Seq, SessionId};

/// The kinds of record that ask a person.
const QUESTIONS: [&str; 2] = ["confirmation_requested", "confirmation_reopened"];

/// The kinds of record that begin a call.
const CALLS: [&str; 1] = ["function_call_received"];

/// A confirmation request, whatever became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRequest {
    /// Its name outside.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The record of the request.
    pub seq: Seq,
}

impl Ledger {
    /// The request of this name, whatever became of it; nothing where there is none.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn request(&self, id: RequestId) -> Result<Option<KnownRequest>, Error> {
        let known = self.journal().request(id.0).await?;
        Ok(known.map(|(session, seq)| KnownRequest {
            id,
            session: SessionId(session),
            seq: Seq(seq),
        }))
    }

    /// Every request, open or not, whose name is `wanted`.
    ///
    /// The index answers only for a whole name, but a name follows from its record's place: so all
    /// names are derived again, and only records whose name is wanted are read.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn requests_named(
        &self,
        wanted: impl Fn(RequestId) -> bool,
    ) -> Result<Vec<KnownRequest>, Error> {
        let names = |session: SessionId, seq| wanted(session.request_id(seq));
        let places = self.records_named(&QUESTIONS, names).await?;
        let known = places.into_iter().map(|(session, seq)| KnownRequest {
            id: session.request_id(seq),
            session,
            seq,
        });
        Ok(known.collect())
    }

    /// Every call, open or not, whose id is `wanted`; it costs what
    /// [`requests_named`](Self::requests_named) does.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn calls_named(&self, wanted: impl Fn(CallId) -> bool) -> Result<Vec<CallId>, Error> {
        let names = |session: SessionId, seq| wanted(session.call_id(seq));
        let places = self.records_named(&CALLS, names).await?;
        let calls = places
            .into_iter()
            .map(|(session, seq)| session.call_id(seq));
        Ok(calls.collect())
    }

    /// The places of the records of these kinds whose name is wanted.
    async fn records_named(
        &self,
        kinds: &[&str],
        names: impl Fn(SessionId, Seq) -> bool,
    ) -> Result<Vec<(SessionId, Seq)>, Error> {
        let (mut known, mut pages) = (Vec::new(), self.session_pages());
        while let Some(page) = pages.next().await? {
            for (session, head) in page {
                for seq in (1..=head.seq).map(Seq) {
                    if names(session, seq) && self.is_one_of(kinds, session, seq).await? {
                        known.push((session, seq));
                    }
                }
            }
        }
        Ok(known)
    }

    async fn is_one_of(&self, kinds: &[&str], session: SessionId, seq: Seq) -> Result<bool, Error> {
        // The kind stands in the envelope, so a sealed record is told without its key.
        let lines = self.journal().read(session.0, seq.0, 1).await?;
        let Some(line) = lines.first() else {
            return Ok(false);
        };
        let record = line.record().map_err(|source| Error::Malformed {
            session,
            seq,
            source,
        })?;
        Ok(kinds.contains(&record.kind))
    }
}
