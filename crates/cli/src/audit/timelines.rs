//! The timelines of the report: a picture of each session that it shows a call of.

use std::collections::BTreeSet;

use super::html::{put, text};
use crate::failures::Failure;
use recount::audit::{AuditedCall, Report};
use recount::ledger::{Error, Ledger};
use recount::session::{Fact, Seq, SessionId};
use recount_telling::count;
use recount_telling::timeline_svg::{LANES_MAX, Settings, picture};

/// The maximum number of sessions with a timeline. A report of 40 pictures is a few megabytes.
const SESSIONS_MAX: usize = 40;

/// The facts of the sessions of a report, newest session first.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    sessions: Vec<(SessionId, Vec<Fact>)>,
    /// The number of sessions beyond the maximum.
    left_out: usize,
}

impl Timelines {
    /// Reads the sessions with a call in the report.
    pub(super) async fn of(ledger: &Ledger, report: &Report) -> Result<Timelines, Failure> {
        let sessions: BTreeSet<SessionId> = report.calls.iter().map(|it| it.session).collect();
        let left_out = sessions.len().saturating_sub(SESSIONS_MAX);
        let mut timelines = Timelines {
            sessions: Vec::new(),
            left_out,
        };
        for session in sessions.into_iter().rev().take(SESSIONS_MAX) {
            match ledger.facts(session, Seq(1), usize::MAX).await {
                Ok(facts) => timelines.sessions.push((session, facts)),
                Err(Error::Journal(error)) => return Err(error.into()),
                // The report says of which sessions it cannot show everything.
                Err(_) => {}
            }
        }
        Ok(timelines)
    }

    /// Adds the section with the pictures.
    pub(super) fn add(&self, out: &mut String, calls: &[AuditedCall]) {
        if self.sessions.is_empty() {
            return;
        }
        out.push_str("<section>\n<h2 id=\"timelines\">Timelines</h2>\n");
        let shown: BTreeSet<String> = calls.iter().map(|it| anchor(it.session, it.seq)).collect();
        for (session, facts) in &self.sessions {
            let agent = calls.iter().find(|it| it.session == *session);
            let agent = agent.map_or_else(String::new, |it| text(&it.agent));
            put(
                out,
                format_args!("<h3>{agent} <code>{session}</code></h3>\n"),
            );
            let links = |seq: Seq| {
                let anchor = anchor(*session, seq);
                shown.contains(&anchor).then(|| format!("#{anchor}"))
            };
            let settings = Settings {
                name: &format!("Timeline of session {session}"),
                links: &links,
                lanes_max: LANES_MAX,
            };
            out.push_str(&picture(facts, &settings).markup);
            out.push('\n');
        }
        if self.left_out > 0 {
            let left_out = count(self.left_out, "older session");
            put(
                out,
                format_args!("<p class=\"quiet\">Without a timeline: {left_out}.</p>\n"),
            );
        }
        out.push_str("</section>\n");
    }
}

/// The id of the row of a call.
pub(super) fn anchor(session: SessionId, call: Seq) -> String {
    format!("call-{session}-{call}")
}
