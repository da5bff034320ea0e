//! `recount pauses`: the pauses in force.

use clap::Args;
use serde_json::{Value, json};

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source};
use crate::terminal::{Screen, Tone};
use recount::ledger::ListedPause;
use recount::session::SessionId;
use recount_telling::{acted, age, clause, one_line};

/// Lists the pauses in force: who paused what, when and why.
#[derive(Args)]
pub(crate) struct Pauses {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one for each pause.
    #[arg(long)]
    json: bool,
}

impl Pauses {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let pauses = source.pauses().await?;
        for it in &pauses {
            if self.json {
                screen.json(&as_json(it))?;
                continue;
            }
            // The words for a scope within a session end with "the session".
            let of = it.session.map_or(String::new(), |it| format!(" {it}"));
            let text = format!("{}{of}", it.pause.scope);
            screen.toned(Tone::Heading, &one_line(&text))?;
            let since = age::moment(it.pause.since);
            let (by, seq) = (acted("by", &it.pause.by), it.pause.at);
            let reason = clause(it.pause.reason.as_deref());
            let text = format!("  paused {by} at seq {seq}, {since}{reason}");
            screen.toned(Tone::Ask, &one_line(&text))?;
        }
        if pauses.is_empty() && !self.json {
            screen.line("Nothing is paused.")?;
        }
        Ok(Exit::Ok)
    }
}

/// The pauses that hold a session, or this tool in it.
pub(crate) fn of_session<'p>(
    pauses: &'p [ListedPause],
    session: SessionId,
    agent: &'p str,
    tool: Option<&'p str>,
) -> impl Iterator<Item = &'p ListedPause> {
    pauses
        .iter()
        .filter(move |it| it.holds(session, agent, tool))
}

/// A pause in words: by whom, and why.
pub(crate) fn paused_by(it: &ListedPause) -> String {
    let reason = clause(it.pause.reason.as_deref());
    format!("paused {}{reason}", acted("by", &it.pause.by))
}

/// The JSON of a pause, the same in every command.
pub(crate) fn as_json(it: &ListedPause) -> Value {
    json!({
        "session": it.session,
        "scope": it.pause.scope,
        "reason": it.pause.reason,
        "by": it.pause.by,
        "seq": it.pause.at,
        "since": age::stamp(it.pause.since),
    })
}
