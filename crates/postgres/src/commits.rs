//! The live tail: commits by position, for this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use recount_journal::{Commit, Error, Line};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::claims::{signed, unsigned};
use crate::news::News;
use crate::reading::divided;
use crate::sequencer::Sequencer;
use crate::server::Server;

/// The commits that are read at a time.
const PAGE: usize = 256;

/// The commits that are kept for the next call.
const KEPT: usize = 1024;

/// The commits of a journal, read ahead.
pub(crate) struct Commits {
    server: Arc<Server>,
    sequencer: Arc<Sequencer>,
    ahead: Mutex<BTreeMap<u64, Commit>>,
    news: Arc<News>,
}

impl Commits {
    pub(crate) fn new(server: Arc<Server>, sequencer: Arc<Sequencer>, news: Arc<News>) -> Self {
        Self {
            server,
            sequencer,
            ahead: Mutex::default(),
            news,
        }
    }

    /// Returns the first commit after a position, and waits for it.
    pub(crate) async fn after(&self, position: u64) -> Result<Commit, Error> {
        let mut news = self.news.any();
        loop {
            news.mark_unchanged();
            if let Some(commit) = self.known(position).await? {
                return Ok(commit);
            }
            // Positions are given when they are asked for.
            if self.sequencer.catch_up().await? > position
                && let Some(commit) = self.known(position).await?
            {
                return Ok(commit);
            }
            self.news.wait(&mut news).await;
        }
    }

    /// Returns the first commit after a position, if it has one.
    async fn known(&self, position: u64) -> Result<Option<Commit>, Error> {
        let mut ahead = self.ahead.lock().await;
        // Positions have no gaps.
        if let Some(commit) = ahead.get(&(position + 1)) {
            return Ok(Some(commit.clone()));
        }
        let page = self.page(position).await?;
        let first = page.first().cloned();
        for commit in page {
            ahead.insert(commit.position, commit);
        }
        while ahead.len() > KEPT {
            // Those far from this follower: others read theirs again.
            let (below, above) = (ahead.first_key_value(), ahead.last_key_value());
            let far = match (below, above) {
                (Some((below, _)), Some((above, _))) if *below > position => *above,
                (Some((below, _)), _) => *below,
                (None, _) => break,
            };
            ahead.remove(&far);
        }
        Ok(first)
    }

    async fn page(&self, position: u64) -> Result<Vec<Commit>, Error> {
        let schema = self.server.address.quoted_schema();
        let select = format!(
            "SELECT b.position, a.session, a.lines
             FROM (SELECT * FROM {schema}.batch WHERE position > $1
                   ORDER BY position LIMIT {PAGE}) b
             CROSS JOIN LATERAL
                 unnest(b.sessions, b.firsts) WITH ORDINALITY AS u(session, first, n)
             JOIN {schema}.append a ON a.session = u.session AND a.first = u.first
             ORDER BY b.position, u.n"
        );
        let position = signed(position);
        let rows = self
            .server
            .read("read commits", &select, &[&position])
            .await?;
        let mut commits: Vec<Commit> = Vec::new();
        for row in rows {
            let position = unsigned(row.get(0));
            let append: (Uuid, Vec<Line>) = (row.get(1), divided(row.get(2)));
            match commits.last_mut().filter(|it| it.position == position) {
                Some(commit) => commit.appends.push(append),
                None => commits.push(Commit {
                    position,
                    appends: vec![append],
                }),
            }
        }
        Ok(commits)
    }
}
