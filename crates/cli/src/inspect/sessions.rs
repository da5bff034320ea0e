//! `recount sessions`: the sessions of a journal.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source};
use crate::operator::{hold_as_json, of_session, pause_as_json, paused_by};
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::ledger::{Hold, ListedPause, SessionSummary};
use recount::session::OpenKind;
use recount_telling::{acted, age, count, cut, one_line};

/// Lists the sessions of a journal, oldest first.
#[derive(Args)]
pub(crate) struct Sessions {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one for each session.
    #[arg(long)]
    json: bool,
}

impl Sessions {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let sessions = match self.json {
            true => source.sessions_with_rules().await?,
            false => source.sessions().await?,
        };
        let pauses = source.pauses().await?;
        let holds = source.known_holds().await?;
        for session in &sessions {
            let held = of_session(&pauses, session.id, &session.agent, None);
            let held: Vec<&ListedPause> = held.filter(|_| !session.is_closed()).collect();
            let kept = holds.iter();
            let kept = kept.filter(|it| it.target.covers(session.id, &session.labels));
            let kept: Vec<&Hold> = kept.collect();
            if self.json {
                screen.json(&as_json(session, &held, &kept))?;
            } else {
                show(session, screen)?;
                for pause in held {
                    let text = format!("  {}: {}", pause.pause.scope, paused_by(pause));
                    screen.toned(Tone::Bad, &cut(&one_line(&text), COLUMNS))?;
                }
                for hold in kept {
                    let (id, by, reason) = (hold.id, acted("by", &hold.by), &hold.reason);
                    let text = format!("  kept from erasure by hold {id} {by}: {reason}");
                    screen.toned(Tone::Ask, &cut(&one_line(&text), COLUMNS))?;
                }
            }
        }
        if sessions.is_empty() && !self.json {
            screen.line("No sessions.")?;
        }
        if let Err(unknown) = screen.unknown_work.known() {
            // Without standard error the sessions are still listed.
            let _ = writeln!(std::io::stderr(), "note: {}", unknown.what);
        }
        Ok(Exit::Ok)
    }
}

fn as_json(it: &SessionSummary, held: &[&ListedPause], kept: &[&Hold]) -> serde_json::Value {
    let held: Vec<_> = held.iter().map(|it| pause_as_json(it)).collect();
    let kept: Vec<_> = kept.iter().map(|it| hold_as_json(it)).collect();
    json!({
        "session": it.id,
        "agent": it.agent,
        "external_id": it.external_id,
        "on_behalf_of": it.on_behalf_of,
        "labels": it.labels,
        "opened_at": age::stamp(it.opened_at),
        "last_at": age::stamp(it.last_at),
        "records": it.records,
        "closed": it.is_closed(),
        "open": it.open,
        "sealed": it.sealed,
        "rules": it.rules,
        "paused": held,
        "holds": kept,
    })
}

fn show(it: &SessionSummary, screen: &mut Screen) -> Result<(), Failure> {
    let external = it.external_id.as_deref().unwrap_or_default();
    let agent = if it.sealed {
        "sealed: give --keys DIR to see it"
    } else {
        &it.agent
    };
    let head = format!("{}  {agent}  {external}", it.id);
    screen.toned(Tone::Heading, &cut(&one_line(head.trim_end()), COLUMNS))?;
    let mut about = format!(
        "  opened {}, {}",
        age::moment(it.opened_at),
        count(it.records, "record")
    );
    for (key, value) in &it.labels {
        about.push_str(&format!(", {key}={value}"));
    }
    screen.line(&cut(&one_line(&about), COLUMNS))?;
    let waits = waiting(it);
    match (it.is_closed(), waits.is_empty()) {
        (true, _) => screen.toned(Tone::Quiet, "  closed"),
        (false, true) => screen.line("  open, nothing pending"),
        (false, false) => screen.toned(Tone::Ask, &format!("  open: {}", waits.join(", "))),
    }
}

fn waiting(it: &SessionSummary) -> Vec<String> {
    let kinds = [
        (OpenKind::Confirmation, "waiting for approval"),
        (OpenKind::Paused, "waiting for a result"),
        (OpenKind::Calls, "waiting for calls that they made"),
        (OpenKind::Ready, "ready to start"),
        (OpenKind::Running, "running or in doubt"),
        (OpenKind::Claimable, "ready for a client"),
        (OpenKind::Claimed, "running at a client"),
        (OpenKind::Untold, "with a response that was not sent yet"),
        (OpenKind::Leave, "standing leave in force"),
        (OpenKind::Closing, "closing"),
    ];
    let counted = |(kind, words): (OpenKind, &str)| {
        let count = it.open.get(kind.as_str())?;
        Some(format!("{count} {words}"))
    };
    kinds.into_iter().filter_map(counted).collect()
}
