//! `recount hold`, `recount unhold` and `recount holds`: legal holds.

use clap::Args;
use serde_json::{Value, json};

use super::client::label;
use super::on_record;
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source, ids};
use crate::terminal::{Screen, Tone};
use recount::ledger::{Hold, HoldEnd, HoldTarget};
use recount::session::Seq;
use recount_telling::{acted, age, one_line};

/// Keeps a session from erasure, or all sessions with a label, until `recount unhold`.
///
/// Sessions that get the label while the hold is in force are held, too. The number of the hold is
/// the seq of its record in the journal's own stream. Several holds may keep the same session, and
/// the session can be erased after the release of the last one. The same hold of the same person
/// for the same reason is recorded once. The name, the reason and the label are recorded in clear.
#[derive(Args)]
pub(crate) struct PlaceHold {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    #[command(flatten)]
    sessions: Sessions,
    /// The reason; it is recorded in clear text.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// The sessions to hold: one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Sessions {
    /// The session: its id, or a unique beginning of it.
    session: Option<String>,
    /// All sessions with this label.
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Option<(String, String)>,
}

/// Releases a legal hold. Other holds on the same sessions stay in force.
#[derive(Args)]
pub(crate) struct Unhold {
    /// The journal: a directory, or postgres://… of a database.
    path: Location,
    /// The number of the hold, as `recount holds` prints it.
    hold: u64,
    /// The reason; it is recorded in clear text.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    keys: Keys,
    /// The name to record, in place of the operating system's user; it is recorded as not verified.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// Lists the legal holds in force: who keeps what from erasure, since when and why.
#[derive(Args)]
pub(crate) struct ListHolds {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// Also lists the released holds.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one for each hold.
    #[arg(long)]
    json: bool,
}

impl PlaceHold {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        expect_reason(&self.reason)?;
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let target = match (&self.sessions.session, &self.sessions.label) {
                (Some(session), _) => HoldTarget::Session(ids::session_at(source, session).await?),
                (None, label) => {
                    let (key, value) = label.clone().unwrap_or_default();
                    HoldTarget::Label { key, value }
                }
            };
            let (reason, name) = (self.reason.clone(), self.name.clone());
            let placed = source.place_hold(target.clone(), reason, name);
            Ok((target, placed.await?))
        });
        let recorded = recorded.await?;
        let (hold, by) = (recorded.on_record.seq, &recorded.on_record.by);
        if self.json {
            let own = json!({"hold": hold, "target": recorded.about, "reason": self.reason});
            recorded.show(Some(recorded.json(own)), "", screen)?;
            return Ok(Exit::Ok);
        }
        let (by, reason) = (acted("by", by), &self.reason);
        let text = format!("Hold {hold} on {} {by}: {reason}", recorded.about);
        let shown = screen.toned(Tone::Good, &one_line(&text));
        let next = format!("It keeps them from erasure until `recount unhold PATH {hold}`.");
        let shown = shown.and_then(|()| screen.line(&next));
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(&recorded.on_record))?;
        Ok(Exit::Ok)
    }
}

impl Unhold {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        expect_reason(&self.reason)?;
        let mut left = 0;
        let recorded = on_record::record(&self.path, &self.keys, async |source| {
            let (reason, name) = (self.reason.clone(), self.name.clone());
            let released = source.release_hold(Seq(self.hold), reason, name).await?;
            // A failure to list the others does not undo the release of this one.
            left = source.holds(false).await.map_or(0, |it| it.len());
            Ok(((), released))
        });
        let recorded = recorded.await?;
        if self.json {
            let own = json!({"hold": self.hold, "reason": self.reason});
            recorded.show(Some(recorded.json(own)), "", screen)?;
            return Ok(Exit::Ok);
        }
        let (by, seq) = (acted("by", &recorded.on_record.by), recorded.on_record.seq);
        let (hold, reason) = (self.hold, &self.reason);
        let text = format!("Hold {hold} released {by}, recorded at seq {seq}: {reason}");
        let shown = screen.toned(Tone::Good, &one_line(&text));
        let shown = shown.and_then(|()| match left {
            0 => Ok(()),
            left => screen.line(&format!(
                "Holds still in force: {left}; `recount holds` lists them."
            )),
        });
        shown
            .and_then(|()| screen.flush())
            .map_err(|failure| failure.behind_record(&recorded.on_record))?;
        Ok(Exit::Ok)
    }
}

impl ListHolds {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let holds = source.holds(self.all).await?;
        for it in &holds {
            if self.json {
                screen.json(&as_json(it))?;
                continue;
            }
            let head = format!("{}  {}", it.id, it.target);
            screen.toned(Tone::Heading, &one_line(&head))?;
            let (by, since) = (acted("by", &it.by), age::moment(it.since));
            let text = format!("  held {by}, {since}: {}", it.reason);
            let tone = match it.is_in_force() {
                true => Tone::Ask,
                false => Tone::Quiet,
            };
            screen.toned(tone, &one_line(&text))?;
            if let Some(HoldEnd { reason, by, at, .. }) = &it.released {
                let (by, at) = (acted("by", by), age::moment(*at));
                let text = format!("  released {by}, {at}: {reason}");
                screen.toned(Tone::Quiet, &one_line(&text))?;
            }
        }
        if holds.is_empty() && !self.json {
            screen.line("Nothing is held.")?;
        }
        Ok(Exit::Ok)
    }
}

/// Refuses a reason without text, as `erase` does.
fn expect_reason(reason: &str) -> Result<(), Failure> {
    match reason.trim().is_empty() {
        true => Err(Failure::new("no-reason", "expected a reason, found none").exit(Exit::Usage)),
        false => Ok(()),
    }
}

/// The JSON of a hold, the same in every command.
pub(crate) fn as_json(it: &Hold) -> Value {
    let released = it.released.as_ref().map(|end| {
        json!({
            "seq": end.record,
            "reason": end.reason,
            "by": end.by,
            "at": age::stamp(end.at),
        })
    });
    json!({
        "hold": it.id,
        "target": it.target,
        "reason": it.reason,
        "by": it.by,
        "since": age::stamp(it.since),
        "released": released,
    })
}
