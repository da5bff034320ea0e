//! `recount replay`: whether every decision follows again from what is on record.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::count::count;
use super::failure::{Exit, Failure, SEALED_ADVICE};
use super::keys::Keys;
use super::one_line::one_line;
use super::screen::Screen;
use super::style::Tone;
use super::{ids, opening, what_if};
use crate::ledger::{Error, Ledger};
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
    #[command(flatten)]
    keys: Keys,
    /// Decides by the policies in this file, and shows which calls would have gone otherwise; see `recount policy`.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Prints JSON lines, one a session; with --policy one a call, and the totals.
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = self.keys.of(opening::reading(&self.path)?)?;
        if let Some(file) = &self.policy {
            return what_if::run(&ledger, self.session.as_deref(), file, self.json, screen).await;
        }
        let sessions = match &self.session {
            Some(text) => vec![ids::session(&ledger, text).await?],
            None => all(&ledger).await?,
        };
        let (mut observations, mut decisions, mut diverged) = (0_u64, 0_u64, 0_u64);
        let mut sealed = Vec::new();
        for session in &sessions {
            let report = match replay::verify(&ledger, *session).await {
                // It was not told again, which is neither good nor a divergence.
                Err(Error::Sealed { session }) => {
                    sealed.push(session);
                    if self.json {
                        screen.json(&json!({"session": session, "sealed": true}))?;
                    }
                    continue;
                }
                report => report?,
            };
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
                count(sessions.len() - sealed.len(), "session"),
                count(observations, "observation"),
                count(decisions, "decision")
            );
            if diverged == 0 && sealed.len() < sessions.len() {
                screen.toned(
                    Tone::Good,
                    &format!("Replayed to the same decisions: {told}"),
                )?;
            } else if diverged > 0 {
                screen.toned(Tone::Bad, &format!("{diverged} diverged of {told}"))?;
            }
        }
        match (diverged, sealed.as_slice()) {
            (0, []) => Ok(Exit::Ok),
            (0, [session, ..]) => Err(not_replayed(*session, sealed.len())),
            (_, _) => Ok(Exit::Diverged),
        }
    }
}

/// A replay that could not read a session says so: it has neither confirmed nor refuted it.
fn not_replayed(session: SessionId, sealed: usize) -> Failure {
    let what = format!(
        "{} not replayed: sealed, and the key is not here; the first is {session}",
        count(sealed, "session")
    );
    Failure::new("sealed", what)
        .exit(Exit::Sealed)
        .advice(SEALED_ADVICE)
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
