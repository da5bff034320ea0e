//! Lists of sessions and of open work.

use std::collections::BTreeMap;

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::terms_on_record::rules_in;
use super::{Error, Ledger};
use crate::session::{
    Event, Fact, FunctionCallReceived, Observation, OpenKind, RULES, Seq, SessionId, SessionOpened,
    Timestamp,
};

/// The number of entries read at a time.
const PAGE: usize = 512;

/// The number of open items read at a time. An item is small, and a page from a database costs a
/// round trip.
const ITEMS: usize = 4096;

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
    /// The highest rules number that a record of the session names. A program of lower rules
    /// refuses the session. `None`, and omitted, if it was not read
    /// ([`Ledger::sessions_with_rules`]), or if the session is sealed and its key is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u32>,
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
                    rules: None,
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

    /// Returns all sessions, oldest first, with the rules number that each needs.
    ///
    /// Unlike [`sessions`](Self::sessions) it reads further records than the first: those of a
    /// session from its end on, up to the first that names the newest rules.
    ///
    /// ```
    /// # recount_journal::block_on(async {
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::Ledger;
    ///
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new()));
    /// assert!(ledger.sessions_with_rules().await?.is_empty());
    /// # Ok::<(), recount::ledger::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn sessions_with_rules(&self) -> Result<Vec<SessionSummary>, Error> {
        let mut sessions = self.sessions().await?;
        for summary in &mut sessions {
            if !summary.sealed {
                summary.rules = self.rules_named(summary.id, summary.records, PAGE).await?;
            }
        }
        Ok(sessions)
    }

    /// Returns the highest rules number that one of the first `records` records names. Reads
    /// `page` records at a time.
    async fn rules_named(
        &self,
        session: SessionId,
        records: u64,
        page: usize,
    ) -> Result<Option<u32>, Error> {
        let (mut highest, mut end) = (None, records);
        while end > 0 && highest < Some(RULES) {
            let start = end.saturating_sub(page as u64);
            let count = usize::try_from(end - start).unwrap_or(page);
            for entry in self.entries(session, Seq(start + 1), count).await? {
                highest = highest.max(rules_in(entry.body()?));
            }
            end = start;
        }
        Ok(highest)
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
        Ok(self.journal().open_work(after, ITEMS).await?)
    }

    /// Returns all open items of these kinds.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub(crate) async fn open_items_of(&self, kinds: &[OpenKind]) -> Result<Vec<OpenItem>, Error> {
        let kinds: Vec<&str> = kinds.iter().map(|it| it.as_str()).collect();
        let mut items: Vec<OpenItem> = Vec::new();
        loop {
            let after = items.last().map(|it| (it.session, it.item));
            let page = self.journal().open_work_of_kinds(&kinds, after, ITEMS);
            let page = page.await?;
            if page.is_empty() {
                return Ok(items);
            }
            items.extend(page);
        }
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

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use recount_journal::{DiskJournal, block_on};

    use super::*;

    /// The ledger of a journal of the corpus, and the directory in which it is.
    fn corpus(story: &str) -> (Ledger, tempfile::TempDir) {
        let file = format!("fixtures/journals/{story}.jsonl");
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        crate::ledger::import(&bytes[..], &path, None).unwrap();
        let journal = DiskJournal::options(&path).read_only().open().unwrap();
        (Ledger::new(Arc::new(journal)), directory)
    }

    /// The attachments of a session name rules 1 again after a pause or a change of tools.
    #[test]
    fn rules_are_the_highest_of_all_records() {
        for (story, rules) in [
            ("rules-1/every_policy_and_a_restart", 1),
            ("rules-2/approved_by_two_over_a_restart", 2),
            ("rules-2/paused_over_a_restart", 2),
            ("rules-2/tools_changed_while_a_request_waits", 2),
        ] {
            let (ledger, _directory) = corpus(story);
            let [listed] = &block_on(ledger.sessions_with_rules()).unwrap()[..] else {
                panic!("{story} has one session");
            };
            assert_eq!(listed.rules, Some(rules), "{story}");
            for page in 1..=listed.records {
                let page = usize::try_from(page).unwrap();
                let found = block_on(ledger.rules_named(listed.id, listed.records, page));
                assert_eq!(found.unwrap(), Some(rules), "{story}, by {page}");
            }
            assert_eq!(block_on(ledger.sessions()).unwrap()[0].rules, None);
        }
    }
}
