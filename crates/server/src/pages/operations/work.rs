//! The open work of the sessions that the person may read, as the journal's index lists it.

use std::collections::BTreeMap;
use std::sync::Arc;

use recount::ledger::PendingConfirmation;
use recount::session::{About, OpenKind, Seq, SessionId, Timestamp};
use recount_journal::OpenItem;

use crate::catalogue::Known;
use crate::problems::Problem;
use crate::routes::Caller;

/// The number of open items in one read of the index.
const READ: usize = 512;

/// The maximum number of open calls that one page counts. Each costs a record of its session.
pub(super) const CALLS_MAX: usize = 5_000;

/// The kinds of open items that are calls.
const CALLS: [OpenKind; 7] = [
    OpenKind::Confirmation,
    OpenKind::Paused,
    OpenKind::Calls,
    OpenKind::Ready,
    OpenKind::Running,
    OpenKind::Claimable,
    OpenKind::Claimed,
];

/// The open calls of one tool of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// The calls that wait for an approver.
    pub(super) approval: u64,
    /// The calls that wait for a result from outside.
    pub(super) result: u64,
    /// The calls that a runner or a client may start.
    pub(super) ready: u64,
    /// The calls that run.
    pub(super) running: u64,
    /// The time since which the oldest call waits that does not run.
    pub(super) oldest: Option<Timestamp>,
}

impl Waits {
    pub(super) fn all(&self) -> u64 {
        self.approval + self.result + self.ready + self.running
    }

    fn add(&mut self, kind: OpenKind, since: Timestamp) {
        let number = match kind {
            OpenKind::Confirmation => &mut self.approval,
            OpenKind::Paused => &mut self.result,
            OpenKind::Ready | OpenKind::Claimable => &mut self.ready,
            OpenKind::Calls | OpenKind::Running | OpenKind::Claimed => {
                self.running += 1;
                return;
            }
            OpenKind::Session
            | OpenKind::Untold
            | OpenKind::Pause
            | OpenKind::Leave
            | OpenKind::Closing => return,
        };
        *number += 1;
        self.oldest = Some(self.oldest.map_or(since, |it| it.min(since)));
    }
}

/// A call that a client runs.
pub(super) struct Claimed {
    pub(super) session: SessionId,
    pub(super) call: Seq,
    pub(super) known: Arc<Known>,
}

/// The open work that the person may read.
#[derive(Default)]
pub(super) struct Work {
    /// The open calls by agent and tool. A sealed session without its key has neither.
    pub(super) backlog: BTreeMap<(String, String), Waits>,
    /// The requests about interrupted calls.
    pub(super) doubts: Vec<PendingConfirmation>,
    pub(super) claims: Vec<Claimed>,
    /// The numbers of open sessions by agent.
    pub(super) sessions: BTreeMap<String, u64>,
    calls: usize,
    /// True if there are more calls than [`CALLS_MAX`]. Those of the newest sessions are missing.
    pub(super) is_cut: bool,
}

/// An open call, with the session that has it.
struct OpenCall {
    item: OpenItem,
    kind: OpenKind,
    known: Arc<Known>,
}

impl Work {
    pub(super) async fn of(caller: &Caller) -> Result<Work, Problem> {
        let (mut work, mut place) = (Work::default(), None);
        loop {
            let page = caller.ledger().journal().open_work(place, READ).await?;
            let Some(last) = page.last() else {
                return Ok(work);
            };
            place = Some((last.session, last.item));
            let calls = work.calls_among(caller, page).await?;
            work.add(caller, calls).await?;
            if work.is_cut {
                return Ok(work);
            }
        }
    }

    /// The number of open calls.
    pub(super) fn open(&self) -> u64 {
        self.backlog.values().map(Waits::all).sum()
    }

    /// The number of calls that wait for a person or a result.
    pub(super) fn waiting(&self) -> u64 {
        let waits = self.backlog.values();
        waits.map(|it| it.approval + it.result).sum()
    }

    /// Counts the sessions of a page, and returns its calls.
    async fn calls_among(
        &mut self,
        caller: &Caller,
        page: Vec<OpenItem>,
    ) -> Result<Vec<OpenCall>, Problem> {
        let mut calls = Vec::with_capacity(page.len());
        for item in page {
            let id = SessionId(item.session);
            let known = caller.service.catalogue.session(id).await?;
            let Some(known) = known.filter(|it| caller.reads(it)) else {
                continue;
            };
            if item.kind == OpenKind::Session.as_str() {
                let agent = known.agent().unwrap_or_default().to_owned();
                *self.sessions.entry(agent).or_default() += 1;
            }
            let Some(kind) = CALLS.into_iter().find(|it| it.as_str() == item.kind) else {
                continue;
            };
            if self.calls == CALLS_MAX {
                self.is_cut = true;
                return Ok(calls);
            }
            self.calls += 1;
            calls.push(OpenCall { item, kind, known });
        }
        Ok(calls)
    }

    async fn add(&mut self, caller: &Caller, calls: Vec<OpenCall>) -> Result<(), Problem> {
        let asked: Vec<OpenItem> = calls
            .iter()
            .filter(|it| it.kind == OpenKind::Confirmation)
            .map(|it| it.item.clone())
            .collect();
        let mut tools = BTreeMap::new();
        for request in caller.service.catalogue.pending_of(&asked).await? {
            tools.insert((request.session, request.call), request.tool.clone());
            if request.about == About::InDoubt {
                caller.shows(request.session);
                self.doubts.push(request);
            }
        }
        for OpenCall { item, kind, known } in calls {
            let (session, call) = (SessionId(item.session), Seq(item.item));
            let tool = match tools.remove(&(session, call)) {
                Some(tool) => tool,
                None => caller.tool_shown(session, call).await?,
            };
            let agent = known.agent().unwrap_or_default().to_owned();
            let waits = self.backlog.entry((agent, tool)).or_default();
            waits.add(kind, Timestamp(item.since_us));
            if kind == OpenKind::Claimed {
                caller.shows(session);
                self.claims.push(Claimed {
                    session,
                    call,
                    known,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_calls_do_not_wait() {
        let mut waits = Waits::default();
        waits.add(OpenKind::Claimed, Timestamp(1));
        assert_eq!((waits.all(), waits.oldest), (1, None));
        for (kind, since) in [(OpenKind::Paused, 5), (OpenKind::Claimable, 3)] {
            waits.add(kind, Timestamp(since));
        }
        assert_eq!((waits.result, waits.ready, waits.running), (1, 1, 1));
        assert_eq!((waits.all(), waits.oldest), (3, Some(Timestamp(3))));
    }
}
