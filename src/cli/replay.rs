//! `recount replay`: whether every decision follows again from what is on record.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::count::count;
use super::failure::{Exit, Failure};
use super::one_line::one_line;
use super::screen::Screen;
use super::style::Tone;
use super::{ids, opening};
use crate::ledger::Ledger;
use crate::replay::{self, Diverged, Report, Said};
use crate::session::{Seq, SessionId};

/// How many sessions are read at a time.
const PAGE: usize = 1024;

/// Decides everything again and reports the first difference.
///
/// No tool runs and no code of the service is needed: what it said is on record.
#[derive(Args)]
pub(super) struct Replay {
    /// The directory of the journal.
    path: PathBuf,
    /// Only this session: its id, or a unique beginning of it.
    session: Option<String>,
    /// Prints JSON lines, one a session.
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = opening::reading(&self.path)?;
        let sessions = match &self.session {
            Some(text) => vec![ids::session(&ledger, text).await?],
            None => all(&ledger).await?,
        };
        let (mut observations, mut decisions, mut diverged) = (0_u64, 0_u64, 0_u64);
        for session in &sessions {
            let report = replay::verify(&ledger, *session).await?;
            observations += report.observations;
            decisions += report.decisions;
            diverged += u64::from(report.diverged.is_some());
            if self.json {
                screen.json(&as_json(&report))?;
            } else if let Some(difference) = &report.diverged {
                show(*session, difference, screen)?;
            }
        }
        if !self.json {
            let told = format!(
                "{}, {}, {}",
                count(sessions.len(), "session"),
                count(observations, "observation"),
                count(decisions, "decision")
            );
            if diverged == 0 {
                screen.toned(
                    Tone::Good,
                    &format!("Replayed to the same decisions: {told}"),
                )?;
            } else {
                screen.toned(Tone::Bad, &format!("{diverged} diverged of {told}"))?;
            }
        }
        Ok(if diverged == 0 {
            Exit::Ok
        } else {
            Exit::Diverged
        })
    }
}

async fn all(ledger: &Ledger) -> Result<Vec<SessionId>, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.journal().sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(all);
        };
        after = Some(*last);
        all.extend(page.into_iter().map(|(id, _)| SessionId(id)));
    }
}

fn as_json(report: &Report) -> Value {
    let said = |it: &Option<Said>| {
        it.as_ref()
            .map(|it| json!({"kind": it.kind, "body": body(it), "cause": it.cause}))
    };
    json!({
        "session": report.session,
        "observations": report.observations,
        "decisions": report.decisions,
        "diverged": report.diverged.as_ref().map(|it| json!({
            "seq": it.seq,
            "recorded": said(&it.recorded),
            "derived": said(&it.derived),
        })),
    })
}

fn body(said: &Said) -> Value {
    serde_json::from_str(&said.body).unwrap_or_default()
}

/// Both sides, and the fields in which they differ.
fn show(session: SessionId, it: &Diverged, screen: &mut Screen) -> Result<(), Failure> {
    screen.toned(
        Tone::Heading,
        &format!("Session {session} diverges at seq {}", it.seq),
    )?;
    let side = |said: &Option<Said>, nothing: &str| match said {
        Some(said) => format!("{} {}", said.kind, one_line(&said.body)),
        None => nothing.to_owned(),
    };
    let recorded = side(&it.recorded, "nothing: the session ends here");
    screen.toned(Tone::Bad, &format!("- recorded  {recorded}"))?;
    let derived = side(&it.derived, "no decision: nothing more follows here");
    screen.toned(Tone::Good, &format!("+ derived   {derived}"))?;
    let (Some(recorded), Some(derived)) = (&it.recorded, &it.derived) else {
        return Ok(());
    };
    if recorded.kind != derived.kind {
        return Ok(());
    }
    if recorded.cause != derived.cause {
        let of = |cause: Option<Seq>| cause.map_or("absent".to_owned(), |seq| seq.to_string());
        let (recorded, derived) = (of(recorded.cause), of(derived.cause));
        screen.line(&format!("  cause: recorded {recorded}, derived {derived}"))?;
    }
    let (recorded, derived) = (body(recorded), body(derived));
    let fields: BTreeSet<&String> = [&recorded, &derived]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|it| it.keys())
        .collect();
    for field in fields {
        let of = |body: &Value| {
            body.get(field)
                .map_or("absent".to_owned(), Value::to_string)
        };
        let (recorded, derived) = (of(&recorded), of(&derived));
        if recorded != derived {
            screen.line(&one_line(&format!(
                "  {field}: recorded {recorded}, derived {derived}"
            )))?;
        }
    }
    Ok(())
}
