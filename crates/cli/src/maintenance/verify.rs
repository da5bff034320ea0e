//! `recount verify`: checks if a journal or an export was damaged or altered.

use clap::Args;
use recount_journal::verify::{Finding, Report};
use serde_json::{Value, json};

use super::since::{Beginning, Since};
use super::{bundle, proof};
use crate::failures::{Exit, Failure};
use crate::journal::verified::verified;
use crate::journal::{Location, verdict, verdict::Anchor};
use crate::terminal::{Screen, Tone};
use recount_telling::one_line;

/// Checks if a journal or an exported file was damaged or altered.
///
/// Verifies every hash and chain, and the log against the index or the file against its trailer. A
/// forger who recomputes all of them is found only with something that was kept elsewhere: a
/// checkpoint or an older export (--since), or the root that is printed here (--root). Without it
/// the verdict is "consistent, not anchored".
///
/// A proof of `recount prove` and a bundle of `recount evidence` are verified, too.
#[derive(Args)]
pub(crate) struct Verify {
    /// A journal (a directory or postgres://…), an exported file, compressed or not, a proof, or a
    /// bundle.
    path: Location,
    #[command(flatten)]
    anchor: Anchor,
    #[command(flatten)]
    since: Since,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        if let Some(path) = self.path.path() {
            if proof::is_at(path) {
                return proof::verify(path, &self.since, self.json, screen);
            }
            if recount_bundle::is_bundle(path) {
                self.anchor.is_for_no_bundle()?;
                return bundle::verify(path, &self.since, self.json, screen);
            }
        }
        let kind = match self.path.is_export() {
            true => "export",
            false => "journal",
        };
        let report = verified(&self.path, screen).await?;
        let mut report = self.anchor.held_against(report);
        let since = self.since.held_against(&self.path, &mut report, screen);
        let since = since.await?;
        if self.json {
            screen.json(&as_json(kind, &report, since.as_ref()))?;
        } else {
            show(kind, &report, since.as_ref(), screen)?;
        }
        Ok(if report.is_sound() {
            Exit::Ok
        } else {
            Exit::Damaged
        })
    }
}

fn as_json(kind: &str, report: &Report, since: Option<&Beginning>) -> Value {
    let finding = |it: &Finding| json!({"session": it.session, "seq": it.seq, "what": it.what});
    let mut document = json!({
        "kind": kind,
        "sound": report.is_sound(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": report.notes,
        "since": since.map(|it| json!({"records": it.records, "signed_by": it.signed_by})),
    });
    if let (Value::Object(document), Value::Object(verdict)) =
        (&mut document, verdict::in_json(report))
    {
        document.extend(verdict);
    }
    document
}

fn show(
    kind: &str,
    report: &Report,
    since: Option<&Beginning>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (tone, headline) = match since {
        Some(since) => (Tone::Good, since.headline(kind, report)),
        None => verdict::headline(kind, report),
    };
    screen.toned(tone, &headline)?;
    for finding in &report.findings {
        screen.line(&format!("  {}", one_line(&finding.to_string())))?;
    }
    screen.line(&format!("root {}", report.root))?;
    for note in report.notes.iter().cloned().chain(verdict::reach(report)) {
        screen.toned(Tone::Quiet, &format!("note: {}", one_line(&note)))?;
    }
    Ok(())
}
