//! `recount leaves`: the standing leaves in force.

use clap::Args;

use super::members::{Members, members};
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source, ids};
use crate::terminal::{Screen, Tone};
use recount::engine::{Clock, SystemClock};
use recount::ledger::LeaveInForce;
use recount::session::AllowFor;
use recount_telling::{acted, age, count, one_line};

/// Lists the standing leaves: approvals that also allow later calls of their tools.
#[derive(Args)]
pub(crate) struct Leaves {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// Shows only those of this session: its id, or a unique beginning of it.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one for each leave.
    #[arg(long)]
    json: bool,
}

impl Leaves {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let mut leaves = source.leaves().await?;
        if let Some(session) = &self.session {
            let session = ids::session_at(&mut source, session).await?;
            leaves.retain(|it| it.session == session);
        }
        for (index, it) in leaves.iter().enumerate() {
            if self.json {
                screen.json(&as_json(it))?;
                continue;
            }
            if index > 0 {
                screen.line("")?;
            }
            self.show(it, screen)?;
        }
        screen.unknown_work.known()?;
        if leaves.is_empty() && !self.json {
            screen.line("No standing leave is in force.")?;
        }
        Ok(Exit::Ok)
    }

    fn show(&self, it: &LeaveInForce, screen: &mut Screen) -> Result<(), Failure> {
        let used = match it.allow_for {
            AllowFor::Count(all) => format!("{} of {all} calls allowed so far", it.used),
            AllowFor::Until(until) => {
                let (until, used) = (age::moment(until), count(it.used, "call"));
                format!("until {until}, {used} allowed so far")
            }
        };
        let head = format!("{} may be called without approval: {used}", it.tool);
        screen.toned(Tone::Good, &one_line(&head))?;
        let since = age::span(it.since, SystemClock.now());
        let by: Vec<String> = it.by.iter().map(|by| acted("by", by)).collect();
        let given = format!(
            "  given {} {since} ago, agent {}",
            by.join(" and "),
            it.agent
        );
        screen.line(&one_line(&given))?;
        let place = format!("  session {}, seq {}", it.session, it.leave);
        screen.toned(Tone::Quiet, &place)?;
        if self.path.is_export() {
            return Ok(());
        }
        let (path, keys) = (self.path.quoted(), self.keys.as_option());
        screen.line(&format!(
            "  recount revoke {path} {} {}{keys}",
            it.session, it.leave
        ))
    }
}

fn as_json(it: &LeaveInForce) -> Members {
    members!({
        "session": it.session,
        "leave": it.leave,
        "request": it.request,
        "agent": it.agent,
        "external_id": it.external_id,
        "labels": it.labels,
        "tool": it.tool,
        "contract": it.contract,
        "count": it.count(),
        "until": it.until().map(age::stamp),
        "used": it.used,
        "by": it.by,
        "since": age::stamp(it.since),
    })
}
