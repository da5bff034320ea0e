//! `recount verify`: whether a journal or an export is what was written.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use recount_journal::verify::{self, Finding, Report};
use serde_json::json;

use super::count::count;
use super::failure::{Exit, Failure};
use super::one_line::one_line;
use super::opening;
use super::screen::Screen;
use super::style::Tone;
use crate::ledger;

/// Verifies a journal where it lies, or an exported file.
///
/// Every chain, every hash, the log against the index or the file against its trailer. Who rewrites all of them alike
/// is caught only by a root kept elsewhere: compare the one printed here.
#[derive(Args)]
pub(super) struct Verify {
    /// The directory of a journal, or an exported file.
    path: PathBuf,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let reading = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return Failure::no_journal(&self.path);
            }
            Failure::io(format!("read {}", self.path.display()), &error)
        };
        let (kind, report) = if fs::metadata(&self.path).map_err(reading)?.is_dir() {
            ("journal", opening::verified(&self.path, screen)?)
        } else {
            let file = File::open(&self.path).map_err(reading)?;
            let file = BufReader::with_capacity(1 << 20, file);
            (
                "export",
                verify::export_naming(file, ledger::objects_named)?,
            )
        };
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

fn as_json(kind: &str, report: &Report) -> serde_json::Value {
    let finding = |it: &Finding| json!({"session": it.session, "seq": it.seq, "what": it.what});
    json!({
        "kind": kind,
        "sound": report.is_sound(),
        "sessions": report.sessions,
        "records": report.records,
        "objects": report.objects,
        "root": report.root,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn show(kind: &str, report: &Report, screen: &mut Screen) -> Result<(), Failure> {
    let read = format!(
        "{}, {}, {}",
        count(report.sessions, "session"),
        count(report.records, "record"),
        count(report.objects, "object")
    );
    if report.is_sound() {
        screen.toned(Tone::Good, &format!("Sound {kind}: {read}"))?;
        screen.line(&format!("root {}", report.root))?;
    } else {
        let found = count(report.findings.len(), "finding");
        screen.toned(Tone::Bad, &format!("Damaged {kind}: {found}"))?;
        for finding in &report.findings {
            screen.line(&format!("  {}", one_line(&finding.to_string())))?;
        }
        screen.line(&format!("Read {read}"))?;
    }
    for note in &report.notes {
        screen.toned(Tone::Quiet, &format!("note: {}", one_line(note)))?;
    }
    Ok(())
}
