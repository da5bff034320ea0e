//! Pages of sessions, newest first.

use std::collections::BTreeMap;

use recount::ledger::{Error, SessionSummary};
use recount::session::{SessionId, Timestamp};
use recount_journal::Head;

use super::filter::{Filter, State};
use super::known::{Catalogue, Known};

/// A page of sessions.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) sessions: Vec<SessionSummary>,
    /// The last session of the page, if more sessions follow.
    pub(crate) next: Option<SessionId>,
}

impl Catalogue {
    /// Returns the selected sessions before `before`, newest first, that are visible to the caller.
    pub(crate) async fn page(
        &self,
        filter: &Filter,
        is_visible: impl Fn(&Known) -> bool,
        before: Option<SessionId>,
        limit: usize,
    ) -> Result<Page, Error> {
        self.drop_erased().await?;
        let mut sessions = Vec::new();
        // The heads are in an index in memory; only new sessions are read from the disk, and only
        // selected ones cost a look for their key.
        let heads = self.ledger.session_heads().await?;
        for (id, head) in heads.into_iter().rev() {
            if before.is_some_and(|before| id >= before) {
                continue;
            }
            let fits = |it: &Known| is_visible(it) && filter.takes(id, it, Timestamp(head.at_us));
            let Some(known) = self.session_if(id, fits).await? else {
                continue;
            };
            let summary = self.summary(id, &known, head).await?;
            let is_selected = match filter.state {
                None => true,
                Some(State::Open) => !summary.is_closed(),
                Some(State::Closed) => summary.is_closed(),
            };
            if !is_selected {
                continue;
            }
            if sessions.len() == limit {
                let next = sessions.last().map(|it: &SessionSummary| it.id);
                return Ok(Page { sessions, next });
            }
            sessions.push(summary);
        }
        let next = None;
        Ok(Page { sessions, next })
    }

    /// Returns the summary of a session.
    pub(crate) async fn summary_of(
        &self,
        id: SessionId,
        known: &Known,
    ) -> Result<SessionSummary, Error> {
        let head = self.ledger.journal().head(id.0).await?;
        let head = head.ok_or(Error::UnknownSession { session: id })?;
        self.summary(id, known, head).await
    }

    async fn summary(
        &self,
        id: SessionId,
        known: &Known,
        head: Head,
    ) -> Result<SessionSummary, Error> {
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        for item in self.ledger.journal().open_work_of(id.0).await? {
            *open.entry(item.kind).or_default() += 1;
        }
        let opened = known.opened.as_ref();
        Ok(SessionSummary {
            id,
            agent: opened.map(|it| it.agent.clone()).unwrap_or_default(),
            external_id: opened.and_then(|it| it.external_id.clone()),
            on_behalf_of: opened.and_then(|it| it.on_behalf_of.clone()),
            labels: opened.map(|it| it.labels.clone()).unwrap_or_default(),
            opened_at: known.opened_at,
            last_at: Timestamp(head.at_us),
            records: head.seq,
            open,
            sealed: opened.is_none(),
            rules: None,
        })
    }
}
