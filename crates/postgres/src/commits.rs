//! The live tail: commits by position, for this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use recount_journal::{Commit, Error, Line};
use tokio::sync::Mutex;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::claims::{signed, unsigned};
use crate::news::News;
use crate::reading::{damaged, divided, whole};
use crate::sequencer::Sequencer;
use crate::server::Server;

/// The commits that are read at a time.
const PAGE: usize = 256;

/// The commits that are kept for the next call.
const KEPT: usize = 1024;

/// The treatment of rows that are missing or damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Damage {
    /// They are an error.
    Refused,
    /// They are told as they are; a missing one has no lines.
    Shown,
}

/// The commits of a journal, read ahead.
pub(crate) struct Commits {
    damage: Damage,
    server: Arc<Server>,
    sequencer: Arc<Sequencer>,
    ahead: Mutex<BTreeMap<u64, Commit>>,
    news: Arc<News>,
}

impl Commits {
    pub(crate) fn new(
        server: Arc<Server>,
        sequencer: Arc<Sequencer>,
        (news, damage): (Arc<News>, Damage),
    ) -> Self {
        Self {
            damage,
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

    /// Returns the commits behind a position, up to the first with damage. It is an error if it
    /// comes first.
    async fn page(&self, position: u64) -> Result<Vec<Commit>, Error> {
        let schema = self.server.address.quoted_schema();
        let select = format!(
            "SELECT b.position, u.session, u.first, a.last, a.lines
             FROM (SELECT * FROM {schema}.batch WHERE position > $1
                   ORDER BY position LIMIT {PAGE}) b
             CROSS JOIN LATERAL
                 unnest(b.sessions, b.firsts) WITH ORDINALITY AS u(session, first, n)
             LEFT JOIN {schema}.append a ON a.session = u.session AND a.first = u.first
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
            let lines = match (self.append(&row), self.damage) {
                (Ok(lines), _) => lines,
                (Err(_), Damage::Shown) => {
                    row.get::<_, Option<_>>(4).map_or_else(Vec::new, divided)
                }
                (Err(damage), Damage::Refused) => {
                    commits.pop_if(|it| it.position == position);
                    return if commits.is_empty() {
                        Err(damage)
                    } else {
                        Ok(commits)
                    };
                }
            };
            let append: (Uuid, Vec<Line>) = (row.get(1), lines);
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

    /// The lines of an append that the log names, from the columns `session, first, last, lines`.
    fn append(&self, row: &Row) -> Result<Vec<Line>, Error> {
        let (session, first) = (row.get(1), unsigned(row.get(2)));
        let Some((last, lines)) = row.get::<_, Option<_>>(3).zip(row.get(4)) else {
            let what = "the log names the record, and its row is missing";
            return Err(damaged(session, first, what));
        };
        whole(session, (first, unsigned(last)), lines)
    }
}
