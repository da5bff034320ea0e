//! Lists of sessions and of open work.

use std::collections::BTreeMap;

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::{Error, Ledger};
use crate::session::{
    Event, Fact, FunctionCallReceived, Observation, OpenKind, Seq, SessionId, SessionOpened,
    Timestamp,
};

/// The number of entries read at a time.
const PAGE: usize = 512;

/// A session in a listing. In JSON, its id has the key `session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The id.
    #[serde(rename = "session")]
    pub id: SessionId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The person or account for whom the agent acts.
    #[serde(default)]
    pub on_behalf_of: Option<String>,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The time of the first record.
    #[serde(rename = "opened_at_us")]
    pub opened_at: Timestamp,
    /// The time of the last record.
    #[serde(rename = "last_at_us")]
    pub last_at: Timestamp,
    /// The number of records.
    pub records: u64,
    /// The number of open items by kind. Empty for a closed session, because an open session counts
    /// as an item itself.
    pub open: BTreeMap<String, usize>,
    /// True if the session is sealed and its key is not available. Agent, ids, labels and
    /// `on_behalf_of` are empty then.
    pub sealed: bool,
}

impl SessionSummary {
    /// True if the session is closed.
    pub fn is_closed(&self) -> bool {
        !self.open.contains_key(OpenKind::Session.as_str())
    }
}

impl Ledger {
    /// Returns all sessions, oldest first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        let mut open: BTreeMap<SessionId, BTreeMap<String, usize>> = BTreeMap::new();
        for item in self.open_items().await? {
            *open
                .entry(SessionId(item.session))
                .or_default()
                .entry(item.kind)
                .or_default() += 1;
        }
        let (mut summaries, mut pages) = (Vec::new(), self.session_pages());
        while let Some(page) = pages.next().await? {
            for (id, head) in page {
                let Some(first) = self.entries(id, Seq(1), 1).await?.pop() else {
                    continue;
                };
                let mut summary = SessionSummary {
                    id,
                    agent: String::new(),
                    external_id: None,
                    on_behalf_of: None,
                    labels: BTreeMap::new(),
                    opened_at: Timestamp(first.record()?.at_us),
                    last_at: Timestamp(head.at_us),
                    records: head.seq,
                    open: open.remove(&id).unwrap_or_default(),
                    sealed: false,
                };
                match first.fact().map(|fact| fact.event) {
                    Ok(Event::Observed(Observation::SessionOpened(opened))) => {
                        summary.agent = opened.agent;
                        summary.external_id = opened.external_id;
                        summary.labels = opened.labels;
                        summary.on_behalf_of = opened.on_behalf_of;
                    }
                    Ok(Event::Observed(_) | Event::Decided(_)) => continue,
                    Err(Error::Sealed { .. }) => summary.sealed = true,
                    Err(error) => return Err(error),
                }
                summaries.push(summary);
            }
        }
        Ok(summaries)
    }

    /// Returns all open items of the journal.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn open_items(&self) -> Result<Vec<OpenItem>, Error> {
        let mut items: Vec<OpenItem> = Vec::new();
        loop {
            let page = self.open_items_behind(items.last()).await?;
            if page.is_empty() {
                return Ok(items);
            }
            items.extend(page);
        }
    }

    /// Returns a page of the open items after `last`, or from the first. Empty after the last one.
    pub(crate) async fn open_items_behind(
        &self,
        last: Option<&OpenItem>,
    ) -> Result<Vec<OpenItem>, Error> {
        let after = last.map(|it| (it.session, it.item));
        Ok(self.journal().open_work(after, PAGE).await?)
    }

    /// Returns the `session_opened` event of a session, and its time.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn opened(
        &self,
        session: SessionId,
    ) -> Result<Option<(Timestamp, SessionOpened)>, Error> {
        // The journal's own stream has the nil id and is not a session.
        if session.0.is_nil() {
            return Ok(None);
        }
        match self.fact(session, Seq(1)).await? {
            Some(Fact {
                at,
                event: Event::Observed(Observation::SessionOpened(opened)),
                ..
            }) => Ok(Some((at, opened))),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the event with which a call was received.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn call_received(
        &self,
        session: SessionId,
        call: Seq,
    ) -> Result<Option<FunctionCallReceived>, Error> {
        match self.fact(session, call).await? {
            Some(Fact {
                event: Event::Observed(Observation::FunctionCallReceived(it)),
                ..
            }) => Ok(Some(it)),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the tool of a call. `None` if no call was received at this record, or if the session
    /// is sealed and its key is not available.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn tool_of(&self, session: SessionId, call: Seq) -> Result<Option<String>, Error> {
        match self.call_received(session, call).await {
            Ok(received) => Ok(received.and_then(|it| it.name)),
            Err(Error::Sealed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the number of starts of a settled call's tool.
    #[doc(hidden)]
    pub async fn attempts_of(&self, session: SessionId, call: Seq) -> Result<u32, Error> {
        let loaded = self.load(session).await?;
        let ended = loaded.session.settled.get(&call);
        Ok(ended.map_or(0, |it| it.attempts))
    }
}
