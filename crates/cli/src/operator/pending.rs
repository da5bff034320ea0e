//! `recount pending`: every call that waits for a person, or for its result from outside.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::members::{Members, members};
use crate::failures::failure::{Exit, Failure};
use crate::journal::keys::Keys;
use crate::journal::opening::quoted;
use crate::journal::source::Source;
use crate::terminal::screen::{COLUMNS, Screen};
use crate::terminal::style::Tone;
use crate::text::age;
use crate::text::one_line::{cut, one_line};
use recount::control::Waiting;
use recount::engine::{Clock, SystemClock};
use recount::ledger::{ParentCall, PausedCall, PendingConfirmation};
use recount::session::{About, Json, Timestamp};
use recount::tool::Ticket;

/// Lists the calls that wait for approval or for their results, and how to answer them.
#[derive(Args)]
pub(crate) struct Pending {
    /// The directory of the journal.
    path: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Prints JSON lines, one a call.
    #[arg(long)]
    json: bool,
}

impl Pending {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut source = Source::reading(&self.path, &self.keys).await?;
        let waiting = source.pending().await?;
        let now = SystemClock.now();
        for (index, it) in waiting.iter().enumerate() {
            if index > 0 && !self.json {
                screen.line("")?;
            }
            match it {
                Waiting::Confirmation(it) if self.json => screen.json(&as_json(it))?,
                Waiting::Paused(it) if self.json => screen.json(&paused_as_json(it))?,
                Waiting::Confirmation(it) => {
                    show(it, now, screen)?;
                    self.tell_how(it, source.service(), screen)?;
                }
                Waiting::Paused(it) => {
                    show_paused(it, now, screen)?;
                    let (path, keys) = (quoted(&self.path), self.keys.as_option());
                    screen.line(&format!(
                        "  recount respond-call {path} {}{keys} --response JSON",
                        it.id
                    ))?;
                }
            }
        }
        if waiting.is_empty() && !self.json {
            screen.line("Nothing waits for approval.")?;
        }
        Ok(Exit::Ok)
    }

    /// The commands that answer a request.
    fn tell_how(
        &self,
        it: &PendingConfirmation,
        service: Option<u32>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let (path, id) = (quoted(&self.path), it.id);
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

fn as_json(it: &PendingConfirmation) -> Members {
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
        "model_lost_interest": it.model_lost_interest,
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

/// Shows a call that waits for its result.
fn show_paused(it: &PausedCall, now: Timestamp, screen: &mut Screen) -> Result<(), Failure> {
    let head = format!("{}: waits for its result from outside", it.tool);
    screen.toned(Tone::Ask, &one_line(&head))?;
    screen.line(&format!("  {}", one_line(it.args.as_str())))?;
    let since = age::span(it.since, now);
    let about = format!("  for {since}, agent {}", it.agent);
    screen.line(&about_session(about, it.external_id.as_deref(), &it.labels))?;
    show_parent(it.parent.as_deref(), screen)?;
    screen.toned(
        Tone::Quiet,
        &format!("  session {}, seq {}", it.session, it.call),
    )
}

/// Shows whose call it is, where that is an agent's.
fn show_parent(parent: Option<&ParentCall>, screen: &mut Screen) -> Result<(), Failure> {
    let Some(ParentCall { call, tool }) = parent else {
        return Ok(());
    };
    let told = format!("  called by the agent {tool}, in its call {call}");
    screen.line(&cut(&one_line(&told), COLUMNS))
}

/// What was said of a session, and by which names its program knows it, on one line.
fn about_session(
    mut about: String,
    external_id: Option<&str>,
    labels: &BTreeMap<String, String>,
) -> String {
    if let Some(id) = external_id {
        about.push_str(&format!(", {id}"));
    }
    for (key, value) in labels {
        about.push_str(&format!(", {key}={value}"));
    }
    cut(&one_line(&about), COLUMNS).into_owned()
}

/// Shows what is asked: the tool and its arguments, because they are what is decided.
pub(crate) fn show_question(it: &PendingConfirmation, screen: &mut Screen) -> Result<(), Failure> {
    if it.sealed {
        return screen.toned(Tone::Ask, "A call of a sealed session: --keys DIR shows it");
    }
    let question = match (it.about, it.hint.as_deref().unwrap_or_default()) {
        (About::Gate, "") => "May it run?",
        (About::Tool, "") => "May it go on?",
        (About::Gate | About::Tool, hint) => hint,
        (About::InDoubt, _) => "It may have run already. Run it again, or settle it?",
    };
    let head = format!("{}: {question}", it.tool);
    screen.toned(Tone::Ask, &one_line(&head))?;
    // Whoever decides must see all of the arguments, so they are never cut; but what is sealed says nothing, and is.
    let shown = it
        .sealed_args
        .iter()
        .fold(it.args.clone(), |args, at| shortened(args, at));
    screen.line(&format!("  {}", one_line(shown.as_str())))
}

/// The arguments with one sealed value cut to what tells it from another one.
fn shortened(args: Json, pointer: &str) -> Json {
    const SHOWN: usize = "{\"$sealed\":\"v1.".len() + 8;
    let short = args.text_at(pointer).and_then(|it| it.get(..SHOWN));
    let short = short.map(|it| format!("{it}…\"}}"));
    short
        .and_then(|short| args.with_text_at(pointer, &short))
        .unwrap_or(args)
}

/// Shows a request: what is asked, since when, and where it comes from.
pub(crate) fn show(
    it: &PendingConfirmation,
    now: Timestamp,
    screen: &mut Screen,
) -> Result<(), Failure> {
    show_question(it, screen)?;
    // The agent's name is sealed with the rest.
    let agent = if it.sealed {
        String::new()
    } else {
        format!(", agent {}", it.agent)
    };
    let asked = age::span(it.requested_at, now);
    let about = format!("  asked {asked} ago{agent}");
    screen.line(&about_session(about, it.external_id.as_deref(), &it.labels))?;
    show_parent(it.parent.as_deref(), screen)?;
    if let Some(schema) = &it.payload_schema {
        let told = format!("  a yes comes with a payload that fits {}", schema.as_str());
        screen.line(&one_line(&told))?;
    }
    match it.expires_at {
        Some(at) if at <= now => {
            screen.toned(Tone::Bad, "  its time is up: an answer no longer counts")?
        }
        Some(at) => screen.line(&format!(
            "  expires in {}, {}",
            age::span(at, now),
            age::moment(at)
        ))?,
        None => {}
    }
    if it.model_lost_interest {
        screen.toned(Tone::Quiet, "  the model has taken the call back meanwhile")?;
    }
    screen.toned(
        Tone::Quiet,
        &format!("  session {}, seq {}", it.session, it.request),
    )
}
