//! `recount replay --policy FILE`: the calls of a journal, decided again with other policies.

use std::collections::BTreeSet;
use std::path::Path;

use recount_journal::Head;
use serde_json::json;

use super::unread::{Unread, all_open};
use super::what_if_call::{call_json, show_call, show_heading};
use super::what_if_totals::Totals;
use crate::failures::{Exit, Failure};
use crate::files::policies;
use crate::journal::ids;
use crate::terminal::{Meter, Screen, Tone};
use recount::ledger::{Error, Ledger};
use recount::replay::what_if::{Report, what_if};
use recount::session::{PolicyChanges, SessionId};
use recount_telling::one_line;

/// Decides the sessions again with the policies in `file`.
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

/// The sessions that are decided again, and the result so far.
struct UnderPolicies {
    changes: PolicyChanges,
    /// True if the command line names one session.
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
                Ok(report) => self.show(session, report, screen)?,
                // A session that cannot be read is counted, and the others are decided.
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
                    unread.show(session, error.into(), self.as_json, screen)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Shows the calls of one session.
    fn show(
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
                show_call(call, screen)?;
            }
        }
        Ok(())
    }

    fn sum_up(&self, screen: &mut Screen) -> Result<(), Failure> {
        // A tool that no session has is most likely a mistake, but no error: a later session may
        // have it.
        let named = self.changes.tools.keys();
        let strangers: Vec<&String> = named.filter(|it| !self.tools.contains(*it)).collect();
        if self.as_json {
            return screen.json(&self.totals.as_json(&strangers));
        }
        self.totals.show(screen)?;
        for tool in strangers {
            let note = format!("note: the policies name a tool {tool:?} that no session has");
            screen.toned(Tone::Quiet, &one_line(&note))?;
        }
        Ok(())
    }
}
