//! `recount pending`: the calls that wait for approval, or for their result from outside.

use clap::Args;
use serde_json::Value;

use super::members::{Members, members};
use super::pauses::{as_json as pause_as_json, of_session, paused_by};
use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, Source};
use crate::telling::question;
use crate::terminal::{Screen, Tone};
use recount::control::Waiting;
use recount::engine::{Clock, SystemClock};
use recount::ledger::{ListedPause, PausedCall, PendingConfirmation};
use recount::session::{About, SessionId};
use recount::tool::Ticket;
use recount_telling::{age, one_line};

/// The note below the calls of an export.
const ONLY_READ: &str =
    "note: an export is only read; answer in its journal, or in one that `recount import` makes";

/// Lists the calls that wait for approval or for their results, and how to answer them.
#[derive(Args)]
pub(crate) struct Pending {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one for each call.
    #[arg(long)]
    json: bool,
}

impl Pending {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys, screen).await?;
        let waiting = source.pending().await?;
        let pauses = source.pauses().await?;
        let (now, is_export) = (SystemClock.now(), self.path.is_export());
        for (index, it) in waiting.iter().enumerate() {
            if index > 0 && !self.json {
                screen.line("")?;
            }
            match it {
                Waiting::Confirmation(it) if self.json => {
                    let held = held_as_json(&pauses, it.session, &it.agent, &it.tool);
                    screen.json(&as_json(it, &held))?;
                }
                Waiting::Paused(it) if self.json => screen.json(&paused_as_json(it))?,
                Waiting::Confirmation(it) => {
                    question::show(it, now, screen)?;
                    for pause in of_session(&pauses, it.session, &it.agent, Some(&it.tool)) {
                        let text = format!("  {}; a yes is recorded and waits", paused_by(pause));
                        screen.toned(Tone::Bad, &one_line(&text))?;
                    }
                    if !is_export {
                        self.show_commands(it, source.service(), screen)?;
                    }
                }
                Waiting::Paused(it) => {
                    question::show_paused(it, now, screen)?;
                    if is_export {
                        continue;
                    }
                    let (path, keys) = (self.path.quoted(), self.keys.as_option());
                    screen.line(&format!(
                        "  recount respond-call {path} {}{keys} --response JSON",
                        it.id
                    ))?;
                }
            }
        }
        screen.unknown_work.known()?;
        match (self.json, waiting.is_empty()) {
            (true, _) => {}
            (false, true) => screen.line("Nothing is pending.")?,
            (false, false) if is_export => screen.toned(Tone::Quiet, ONLY_READ)?,
            (false, false) => {}
        }
        Ok(Exit::Ok)
    }

    /// The commands that answer a request.
    fn show_commands(
        &self,
        it: &PendingConfirmation,
        service: Option<u32>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let (path, id) = (self.path.quoted(), it.id);
        let keys = match self.keys.as_option() {
            none if none.is_empty() && it.sealed && service.is_none() => " --keys DIR".to_owned(),
            given => given,
        };
        let payload = if it.payload_schema.is_some() {
            " --payload JSON"
        } else {
            ""
        };
        screen.line(&format!("  recount approve {path} {id}{keys}{payload}"))?;
        screen.line(&format!("  recount deny {path} {id}{keys}"))?;
        if it.about == About::InDoubt {
            screen.line(&format!("  recount settle {path} {id}{keys} --done JSON"))?;
            screen.line(&format!(
                "  recount settle {path} {id}{keys} --failed REASON"
            ))?;
        }
        Ok(())
    }
}

/// The pauses that hold a tool of a session.
fn held_as_json(pauses: &[ListedPause], session: SessionId, agent: &str, tool: &str) -> Vec<Value> {
    let held = of_session(pauses, session, agent, Some(tool));
    held.map(pause_as_json).collect()
}

fn as_json(it: &PendingConfirmation, held: &[Value]) -> Members {
    members!({
        "waits_for": "answer",
        "request": it.id,
        "session": it.session,
        "agent": it.agent,
        "external_id": it.external_id,
        "labels": it.labels,
        "on_behalf_of": it.on_behalf_of,
        "seq": it.request,
        "request_hash": it.request_hash,
        "call": it.call,
        "call_hash": it.call_hash,
        "parent": it.parent,
        "tool": it.tool,
        "args": it.args,
        "sealed_args": it.sealed_args,
        "sealed": it.sealed,
        "hint": it.hint,
        "hint_by": it.hint_by,
        "about": it.about,
        "payload_schema": it.payload_schema,
        "contract": it.contract,
        "declaration": it.declaration,
        "requested_at": age::stamp(it.requested_at),
        "expires_at": it.expires_at.map(age::stamp),
        "on_expiry": it.on_expiry,
        "model_lost_interest": it.model_lost_interest,
        "paused": held,
        "may_allow_for_session": it.may_allow_for_session,
        "needs": it.needs,
        "approvals": it.approvals,
        "missing": it.missing(),
    })
}

fn paused_as_json(it: &PausedCall) -> Members {
    members!({
        "waits_for": "response",
        "call_id": it.id,
        "ticket": Ticket::from(it),
        "session": it.session,
        "agent": it.agent,
        "external_id": it.external_id,
        "labels": it.labels,
        "call": it.call,
        "parent": it.parent,
        "tool": it.tool,
        "args": it.args,
        "args_before_edit": it.args_before_edit,
        "since": age::stamp(it.since),
    })
}
