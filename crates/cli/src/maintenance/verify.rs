//! `recount verify`: checks if a journal or an export was damaged or altered.

use std::path::PathBuf;

use clap::Args;
use recount_journal::verify::{Finding, Report};
use serde_json::{Value, json};

use crate::failures::{Exit, Failure};
use crate::journal::{exported, opening, verdict, verdict::Anchor};
use crate::terminal::{Screen, Tone};
use recount_telling::one_line;

/// Checks if a journal or an exported file was damaged or altered.
///
/// Verifies every hash and chain, and the log against the index or the file against its trailer. A
/// forger who recomputes all of them is found only with a root that was kept elsewhere: keep the
/// root that is printed here, and give it with --root later. Without it the verdict is "consistent,
/// not anchored".
#[derive(Args)]
pub(crate) struct Verify {
    /// The directory of a journal, or an exported file, compressed or not.
    path: PathBuf,
    #[command(flatten)]
    anchor: Anchor,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let kind = match exported::is_at(&self.path) {
            true => "export",
            false => "journal",
        };
        let report = opening::verified(&self.path, screen)?;
        let report = self.anchor.held_against(report);
        if self.json {
            screen.json(&as_json(kind, &report))?;
        } else {
            show(kind, &report, screen)?;
        }
        Ok(if report.is_sound() {
            Exit::Ok
        } else {
            Exit::Damaged
        })
    }
}

fn as_json(kind: &str, report: &Report) -> Value {
    let finding = |it: &Finding| json!({"session": it.session, "seq": it.seq, "what": it.what});
    let mut document = json!({
        "kind": kind,
        "sound": report.is_sound(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": report.notes,
    });
    if let (Value::Object(document), Value::Object(verdict)) =
        (&mut document, verdict::in_json(report))
    {
        document.extend(verdict);
    }
    document
}

fn show(kind: &str, report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    let (tone, headline) = verdict::headline(kind, report);
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
