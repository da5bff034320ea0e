//! The requests of the range: those of the sessions with a record in it, and those that are open.
//!
//! The work is bounded: sessions beyond [`RECORDS_MAX`] records are left out, and the page says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use recount::audit::{Auditor, Filter, Question, QuestionEnd};
use recount::session::{Actor, OpenKind, SessionId, Timestamp};
use recount_journal::Head;

use super::chosen::{Chosen, Span};
use crate::catalogue::Known;
use crate::problems::Problem;
use crate::routes::Caller;

/// The maximum number of records that one page reads. 50,000 records of 1,700 sessions in memory
/// took 0.2 to 0.9 seconds in a test build (2026-11-28).
pub(super) const RECORDS_MAX: u64 = 100_000;

/// The maximum number of open requests that one page reads beside these.
const OPEN_MAX: usize = 5_000;

/// The number of open items in one read of the index.
const READ: usize = 512;

/// A confirmation request, as the figures count it.
pub(super) struct Asked {
    pub(super) tool: String,
    pub(super) at: Timestamp,
    /// The end of the request, and its time. `None` while it is open.
    pub(super) ended: Option<(QuestionEnd, Timestamp)>,
    /// The party whose answer ended it.
    pub(super) by: Option<Actor>,
    /// The approvals before that answer.
    pub(super) approvals: Vec<(Actor, Timestamp)>,
}

/// The requests, and what was read for them.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) asked: Vec<Asked>,
    /// The number of sessions that were read, and of their records.
    pub(super) sessions: u64,
    pub(super) records: u64,
    /// The number of sessions with records in the range that were not read.
    pub(super) left_out: u64,
    /// The number of sessions that could not be read: sealed without a key here, or damaged.
    pub(super) unread: u64,
    /// True if there are more open requests than [`OPEN_MAX`].
    pub(super) is_cut: bool,
}

impl Counted {
    pub(super) async fn of(
        caller: &Caller,
        chosen: &Chosen,
        span: Span,
    ) -> Result<Counted, Problem> {
        let mut counted = Counted::default();
        let auditor = Auditor::new(caller.ledger().clone(), Filter::default()).await?;
        let mut read = BTreeSet::new();
        let changed = changed(caller, chosen, span).await?;
        let all = changed.len();
        let fitting = fitting(changed, RECORDS_MAX);
        counted.left_out = (all - fitting.len()) as u64;
        for (id, head) in fitting {
            counted.records += head.seq;
            counted.add(&auditor, id).await?;
            read.insert(id);
            // A long report must not keep other tasks waiting.
            tokio::task::yield_now().await;
        }
        counted.add_open(caller, chosen, &read).await?;
        let part = chosen.tool.to_lowercase();
        let is_chosen = |it: &Asked| it.tool.to_lowercase().contains(&part);
        counted.asked.retain(is_chosen);
        Ok(counted)
    }

    /// Adds the requests of a session.
    async fn add(&mut self, auditor: &Auditor, id: SessionId) -> Result<(), Problem> {
        let audit = auditor.read(id).await?;
        match audit.unread {
            Some(_) => self.unread += 1,
            None => self.sessions += 1,
        }
        for call in audit.calls {
            let of = |it| asked(&call.tool, it);
            self.asked.extend(call.questions.into_iter().map(of));
        }
        Ok(())
    }

    /// Adds the open requests of the sessions that were not read.
    async fn add_open(
        &mut self,
        caller: &Caller,
        chosen: &Chosen,
        read: &BTreeSet<SessionId>,
    ) -> Result<(), Problem> {
        let kinds = [OpenKind::Confirmation.as_str()];
        let (mut place, mut number) = (None, 0);
        loop {
            let journal = caller.ledger().journal();
            let page = journal.open_work_of_kinds(&kinds, place, READ).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            place = Some((last.session, last.item));
            let mut items = Vec::new();
            for item in page {
                let id = SessionId(item.session);
                if read.contains(&id) || selected(caller, chosen, id).await?.is_none() {
                    continue;
                }
                if number == OPEN_MAX {
                    self.is_cut = true;
                    break;
                }
                number += 1;
                items.push(item);
            }
            for request in caller.service.catalogue.pending_of(&items).await? {
                self.asked.push(Asked {
                    tool: request.tool,
                    at: request.requested_at,
                    ended: None,
                    by: None,
                    approvals: request
                        .approvals
                        .into_iter()
                        .map(|it| (it.by, it.at))
                        .collect(),
                });
            }
            if self.is_cut {
                return Ok(());
            }
        }
    }
}

/// The selected sessions with a record in the range, that of the newest record first.
async fn changed(
    caller: &Caller,
    chosen: &Chosen,
    span: Span,
) -> Result<Vec<(SessionId, Head)>, Problem> {
    let mut changed = Vec::new();
    // The heads are in an index in memory.
    for (id, head) in caller.ledger().session_heads().await? {
        if span.from.0 <= head.at_us && selected(caller, chosen, id).await?.is_some() {
            changed.push((id, head));
        }
    }
    changed.sort_by_key(|(_, head)| std::cmp::Reverse(head.at_us));
    Ok(changed)
}

/// The sessions whose records fit below the maximum together. A session that does not fit gives
/// way to shorter ones.
fn fitting(sessions: Vec<(SessionId, Head)>, max: u64) -> Vec<(SessionId, Head)> {
    let mut records: u64 = 0;
    let mut fits = |head: &Head| {
        let with = records.saturating_add(head.seq);
        let fits = with <= max;
        if fits {
            records = with;
        }
        fits
    };
    let sessions = sessions.into_iter();
    sessions.filter(|(_, head)| fits(head)).collect()
}

/// Returns a session if the caller may read it and the filters select it.
async fn selected(
    caller: &Caller,
    chosen: &Chosen,
    id: SessionId,
) -> Result<Option<Arc<Known>>, Problem> {
    let known = caller.service.catalogue.session(id).await?;
    Ok(known.filter(|known| {
        let opened = known.opened.as_ref();
        let has = |(name, value): (&str, &str)| {
            let found = opened.and_then(|it| it.labels.get(name));
            found.is_some_and(|found| found == value)
        };
        caller.reads(known)
            && (chosen.agent.is_empty() || known.agent() == Some(&chosen.agent))
            && chosen.label().is_none_or(has)
    }))
}

fn asked(tool: &str, question: Question) -> Asked {
    Asked {
        tool: tool.to_owned(),
        at: question.asked_at,
        ended: question.ended_at.map(|at| (question.end, at)),
        by: question.by,
        approvals: question
            .approvals
            .into_iter()
            .map(|it| (it.by, it.at))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use recount::engine::{Clock, SystemClock};
    use recount_journal::Hash;

    use super::*;

    #[test]
    fn session_beyond_the_maximum_gives_way_to_shorter_ones() {
        let session = |seq| {
            let head = Head {
                seq,
                hash: Hash::ZERO,
                at_us: 0,
            };
            (SystemClock.new_session(), head)
        };
        let all = [40, 90, 50, 20, 10].map(session).to_vec();
        let lengths = |max| -> Vec<u64> {
            let fitting = fitting(all.clone(), max).into_iter();
            fitting.map(|(_, head)| head.seq).collect()
        };
        assert_eq!(lengths(100), [40, 50, 10]);
        assert_eq!(lengths(9), [0; 0]);
        assert_eq!(lengths(u64::MAX).len(), 5);
    }
}
