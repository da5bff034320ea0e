//! `recount replay`: whether every decision follows again from what is on record.

use std::path::PathBuf;

use clap::Args;
use recount_journal::Head;
use serde_json::json;

use super::divergence;
use super::divergence::{ReportJson, WHAT_IT_MEANS};
use super::unread::Unread;
use super::what_if;
use crate::failures::failure::{Exit, Failure, SEALED_ADVICE};
use crate::journal::keys::Keys;
use crate::journal::unknown_kinds::UnknownKinds;
use crate::journal::{ids, opening};
use crate::terminal::progress::Meter;
use crate::terminal::screen::Screen;
use crate::terminal::style::Tone;
use crate::text::count::count;
use crate::text::one_line::one_line;
use recount::ledger::{Error, Ledger};
use recount::replay;
use recount::session::{SessionId, decide};

/// How many sessions are read at a time.
const PAGE: usize = 1024;

/// How many divergences are told with both sides and the state before; of the others it is said where they are.
const TOLD_IN_FULL: u64 = 10;

/// The reach of a replay.
const AS_THEY_LIE: &str =
    "note: the records were taken as they lie; `recount verify` tells whether they were altered";

/// Decides everything again and reports the first difference of each session.
///
/// No tool runs and no code of the service is needed: what it said is on record. Every decision that follows today is
/// compared, byte for byte, with the one on record. Where they part the program ends with 5, and says what led there and what
/// the state before it was.
#[derive(Args)]
pub(crate) struct Replay {
    /// The directory of the journal.
    path: PathBuf,
    /// Only this session: its id, or a unique beginning of it.
    #[arg(conflicts_with = "all")]
    session: Option<String>,
    /// All sessions, as without a SESSION.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Decides by the policies in this file, and shows which calls would have gone otherwise; see `recount policy`.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Prints JSON lines, one a session; with --policy one a call, and the totals.
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = self.keys.of(opening::looking(&self.path, screen)?)?;
        let ledger = self.unknown.of(ledger, screen);
        if let Some(file) = &self.policy {
            return what_if::run(&ledger, self.session.as_deref(), file, self.json, screen).await;
        }
        let sessions = match &self.session {
            Some(text) => vec![one(&ledger, text).await?],
            None => all(&ledger).await?,
        };
        let (meter, mut before) = (Meter::new("Replaying"), 0);
        let records: u64 = sessions.iter().map(|(_, head)| head.seq).sum();
        let (mut observations, mut decisions, mut diverged) = (0_u64, 0_u64, 0_u64);
        let mut records_told = 0_u64;
        let (mut sealed, mut unread) = (Vec::new(), Unread::of(sessions.len()));
        let (erasures, mut erased) = (ledger.erasures().await?, 0);
        let is_erased = |session| erasures.get(&session).is_some_and(|it| it.erased.is_some());
        for (session, head) in &sessions {
            let told = |read| meter.show(before + read, records);
            let report = replay::verify_by(&ledger, *session, decide, told).await;
            before += head.seq;
            let report = match report {
                // Nobody will ever tell it again, which is what was wanted.
                Err(Error::Sealed { session }) if self.session.is_none() && is_erased(session) => {
                    erased += 1;
                    if self.json {
                        let told = json!({"session": session, "sealed": true, "erased": true});
                        screen.json(&told)?;
                    }
                    continue;
                }
                // It was not told again, which is neither good nor a divergence.
                Err(Error::Sealed { session }) => {
                    sealed.push(session);
                    if self.json {
                        screen.json(&json!({"session": session, "sealed": true}))?;
                    }
                    continue;
                }
                // Nor was this one; the others are told all the same.
                Err(error) if self.session.is_none() => {
                    unread.tell(*session, error.into(), self.json, screen)?;
                    continue;
                }
                report => report?,
            };
            records_told += head.seq;
            observations += report.observations;
            decisions += report.decisions;
            diverged += u64::from(report.diverged.is_some());
            if self.json {
                screen.json(&ReportJson::of(&report))?;
            } else if let Some(difference) = &report.diverged {
                if diverged > TOLD_IN_FULL {
                    let line = divergence::in_a_line(*session, difference);
                    screen.toned(Tone::Heading, &one_line(&line))?;
                    continue;
                }
                for (tone, line) in divergence::told(*session, difference, screen.palette) {
                    screen.toned(tone, &line)?;
                }
                screen.line("")?;
            }
        }
        drop(meter);
        let not_told = sealed.len() + unread.len() + erased;
        if !self.json {
            let told = format!(
                "{}, {}, {}, {}",
                count(sessions.len() - not_told, "session"),
                count(records_told, "record"),
                count(observations, "observation"),
                count(decisions, "decision")
            );
            if sessions.is_empty() {
                screen.line("Replayed nothing: the journal has no session")?;
            } else if diverged == 0 && not_told < sessions.len() {
                screen.toned(
                    Tone::Good,
                    &format!("Replayed to the same decisions: {told}"),
                )?;
            } else if diverged > 0 {
                screen.toned(Tone::Bad, &format!("{diverged} diverged of {told}"))?;
                if diverged > TOLD_IN_FULL {
                    screen.line(&format!(
                        "The first {TOLD_IN_FULL} are told in full; `recount replay PATH SESSION` tells another."
                    ))?;
                }
                screen.line(WHAT_IT_MEANS)?;
            }
        }
        if !self.json && not_told < sessions.len() {
            screen.toned(Tone::Quiet, AS_THEY_LIE)?;
        }
        if erased > 0 && !self.json {
            let erased = count(erased, "session");
            screen.toned(
                Tone::Quiet,
                &format!("Erased, so that nobody can replay it: {erased}"),
            )?;
        }
        // That one diverged is what is to be known; that another was not replayed was said in its place.
        if diverged == 0 {
            unread.end("replayed")?;
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

async fn one(ledger: &Ledger, text: &str) -> Result<(SessionId, Head), Failure> {
    let session = ids::session(ledger, text).await?;
    match ledger.journal().head(session.0).await? {
        Some(head) => Ok((session, head)),
        None => Err(Error::UnknownSession { session }.into()),
    }
}

async fn all(ledger: &Ledger) -> Result<Vec<(SessionId, Head)>, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.journal().sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(all);
        };
        after = Some(*last);
        all.extend(page.into_iter().map(|(id, head)| (SessionId(id), head)));
    }
}
