//! `recount replay --policy FILE`: what would have come of the calls of a journal under other
//! policies.

use std::collections::BTreeSet;
use std::path::Path;

use recount_journal::Head;
use serde_json::json;

use super::unread::{Unread, all_open};
use super::what_if_call::{call_json, show, show_heading};
use super::what_if_totals::Totals;
use crate::failures::{Exit, Failure};
use crate::files::policies;
use crate::journal::ids;
use crate::terminal::{Meter, Screen, Tone};
use crate::text::one_line;
use recount::ledger::{Error, Ledger};
use recount::replay::what_if::{Report, what_if};
use recount::session::{PolicyChanges, SessionId};

/// Decides the sessions again under the policies in `file`.
pub(super) async fn run(
    ledger: &Ledger,
    session: Option<&str>,
    file: &Path,
    as_json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let changes = policies::read(file)?;
    let only = match session {
        Some(text) => Some(ids::session(ledger, text).await?),
        None => None,
    };
    let mut sessions = ledger.session_heads().await?;
    sessions.retain(|(id, _)| only.is_none_or(|only| only == *id));
    let mut under = UnderPolicies {
        changes,
        is_one: only.is_some(),
        as_json,
        totals: Totals::default(),
        tools: BTreeSet::new(),
        sealed: Vec::new(),
        unread: Unread::of(sessions.len()),
    };
    under.decide_all(ledger, sessions, screen).await?;
    under.sum_up(screen)?;
    under.unread.end("decided again")?;
    all_open(&under.sealed, "decided again")?;
    Ok(Exit::Ok)
}

/// Sessions decided again, and the outcome so far.
struct UnderPolicies {
    changes: PolicyChanges,
    /// One session was asked for by its id.
    is_one: bool,
    as_json: bool,
    totals: Totals,
    /// The tools that the sessions have.
    tools: BTreeSet<String>,
    sealed: Vec<SessionId>,
    unread: Unread,
}

impl UnderPolicies {
    async fn decide_all(
        &mut self,
        ledger: &Ledger,
        sessions: Vec<(SessionId, Head)>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let total: u64 = sessions.iter().map(|(_, head)| head.seq).sum();
        let (meter, mut done) = (Meter::new("Deciding again"), 0);
        for (session, head) in sessions {
            let before = done;
            let progress = |read| {
                done += read;
                meter.show(done, total);
            };
            match what_if(ledger, session, &self.changes, progress).await {
                Ok(report) => self.tell(session, report, screen)?,
                // What cannot be read is said not to have been, and the others are told.
                Err(Error::Sealed { session }) => {
                    done = before + head.seq;
                    self.sealed.push(session);
                    if self.as_json {
                        screen.json(&json!({"session": session, "sealed": true}))?;
                    }
                }
                Err(error) if !self.is_one => {
                    done = before + head.seq;
                    let unread = &mut self.unread;
                    unread.tell(session, error.into(), self.as_json, screen)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Tells the calls of one session.
    fn tell(
        &mut self,
        session: SessionId,
        report: Report,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        self.tools.extend(report.tools);
        if !self.as_json && !report.calls.is_empty() {
            show_heading(session, screen)?;
        }
        for call in &report.calls {
            self.totals.count(call);
            if self.as_json {
                screen.json(&call_json(session, call))?;
            } else {
                show(call, screen)?;
            }
        }
        Ok(())
    }

    fn sum_up(&self, screen: &mut Screen) -> Result<(), Failure> {
        // A name that nobody has is most likely a mistake, and no error: the next session may have
        // it.
        let named = self.changes.tools.keys();
        let strangers: Vec<&String> = named.filter(|it| !self.tools.contains(*it)).collect();
        if self.as_json {
            return screen.json(&self.totals.as_json(&strangers));
        }
        self.totals.show(screen)?;
        for tool in strangers {
            let note = format!("note: no session has a tool {tool:?}, of which the policies speak");
            screen.toned(Tone::Quiet, &one_line(&note))?;
        }
        Ok(())
    }
}
