//! A call that waits for an approver or for its result, as the screens show it.

use std::collections::BTreeMap;

use super::needs;
use crate::failures::Failure;
use crate::terminal::{COLUMNS, Screen, Tone};
use recount::ledger::{ParentCall, PausedCall, PendingConfirmation};
use recount::session::{OnExpiry, Timestamp};
use recount_telling::{age, asked, cut, one_line, shown_args};

/// Shows a call that waits for its result from outside.
pub(crate) fn show_paused(
    it: &PausedCall,
    now: Timestamp,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let head = format!("{}: waiting for its result from outside", it.tool);
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

/// Shows the agent that made the call, if one did.
fn show_parent(parent: Option<&ParentCall>, screen: &mut Screen) -> Result<(), Failure> {
    let Some(ParentCall { call, tool }) = parent else {
        return Ok(());
    };
    let text = format!("  called by the agent {tool}, in call #{call}");
    screen.line(&cut(&one_line(&text), COLUMNS))
}

/// The text and the names of a session, on one line.
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

/// Shows the tool, the question and the arguments on which the approver decides.
pub(crate) fn show_question(it: &PendingConfirmation, screen: &mut Screen) -> Result<(), Failure> {
    if it.sealed {
        return screen.toned(
            Tone::Ask,
            "A call of a sealed session: give --keys DIR to see it",
        );
    }
    let head = format!("{}: {}", it.tool, asked(it));
    screen.toned(Tone::Ask, &one_line(&head))?;
    let shown = shown_args(it);
    screen.line(&format!("  {}", one_line(shown.as_str())))
}

/// Shows a request: the question, its age and its session.
pub(crate) fn show(
    it: &PendingConfirmation,
    now: Timestamp,
    screen: &mut Screen,
) -> Result<(), Failure> {
    show_question(it, screen)?;
    // The name of the agent is sealed, too.
    let agent = if it.sealed {
        String::new()
    } else {
        format!(", agent {}", it.agent)
    };
    let asked = age::span(it.requested_at, now);
    let about = format!("  asked {asked} ago{agent}");
    screen.line(&about_session(about, it.external_id.as_deref(), &it.labels))?;
    show_parent(it.parent.as_deref(), screen)?;
    needs::show(it, screen)?;
    if it.may_allow_for_session {
        screen
            .line("  approval may also allow later calls: --allow-for N or --allow-until TIME")?;
    }
    if let Some(schema) = &it.payload_schema {
        let text = format!("  approval needs a payload that fits {}", schema.as_str());
        screen.line(&one_line(&text))?;
    }
    match it.expires_at {
        Some(at) if at <= now => {
            screen.toned(Tone::Bad, "  expired: an answer no longer counts")?
        }
        Some(at) => {
            let (span, moment) = (age::span(at, now), age::moment(at));
            match it.on_expiry {
                OnExpiry::Deny => screen.line(&format!("  expires in {span}, {moment}"))?,
                OnExpiry::Allow => {
                    let text = format!("  runs without an answer in {span}, {moment}");
                    screen.toned(Tone::Bad, &text)?;
                }
            }
        }
        None => {}
    }
    if it.model_lost_interest {
        screen.toned(Tone::Quiet, "  the model has cancelled the call")?;
    }
    screen.toned(
        Tone::Quiet,
        &format!("  session {}, seq {}", it.session, it.request),
    )
}
