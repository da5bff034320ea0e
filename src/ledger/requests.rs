//! Lookup of confirmation requests and calls by their ids or by a prefix, whatever their state.

use super::{Error, Ledger};
use crate::session::{CallId, RequestId, Seq, SessionId};

/// The kinds of records that create a request.
const QUESTIONS: [&str; 2] = ["confirmation_requested", "confirmation_reopened"];

/// The kinds of records that create a call.
const CALLS: [&str; 1] = ["function_call_received"];

/// A confirmation request, whatever its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRequest {
    /// The id.
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The seq of the request's record.
    pub seq: Seq,
}

impl Ledger {
    /// Returns the request with this id, whatever its state.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn request(&self, id: RequestId) -> Result<Option<KnownRequest>, Error> {
        let known = self.journal().request(id.0).await?;
        Ok(known.map(|(session, seq)| KnownRequest {
            id,
            session: SessionId(session),
            seq: Seq(seq),
        }))
    }

    /// Returns all requests, open or not, whose id is `wanted`.
    ///
    /// The index finds only complete ids. But an id is derived from the seq of its record. So all
    /// ids are derived again, and only records with a wanted id are read.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
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

    /// Returns all calls, open or not, whose id is `wanted`. The cost is that of
    /// [`requests_named`](Self::requests_named).
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn calls_named(&self, wanted: impl Fn(CallId) -> bool) -> Result<Vec<CallId>, Error> {
        let names = |session: SessionId, seq| wanted(session.call_id(seq));
        let places = self.records_named(&CALLS, names).await?;
        let calls = places
            .into_iter()
            .map(|(session, seq)| session.call_id(seq));
        Ok(calls.collect())
    }

    /// Returns the session and seq of each record of these kinds with a wanted id.
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
        // The kind is part of the envelope, so sealed records need no key here.
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
