//! The verification of an evidence bundle.

use std::path::Path;

use recount_bundle::{BundleReport, Outside, verify_bundle};
use recount_journal::verify::Integrity;
use serde_json::json;

use super::since::Since;
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Tone};
use recount_telling::{count, one_line};

/// Verifies a bundle and prints the verdict.
pub(super) fn verify(
    path: &Path,
    since: &Since,
    as_json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let outside = Outside {
        public_keys: since.known()?,
        since: since.note()?,
    };
    let report = verify_bundle(path, &outside)?;
    if as_json {
        let anchored = report.anchored.as_ref().map(
            |it| json!({"origin": it.origin, "records": it.records, "signed_by": it.signed_by}),
        );
        screen.json(&json!({
            "kind": "bundle",
            "verdict": report.integrity(),
            "sound": report.findings.is_empty(),
            "findings": report.findings,
            "since": anchored,
            "size": report.size,
            "root": report.root,
            "records": report.records,
            "disclosed": report.disclosed,
            "sessions": report.sessions,
            "manifest": report.manifest,
        }))?;
    } else {
        show(&report, screen)?;
    }
    Ok(match report.integrity() {
        Integrity::Damaged => Exit::Damaged,
        Integrity::Consistent | Integrity::Anchored => Exit::Ok,
    })
}

fn show(report: &BundleReport, screen: &mut Screen) -> Result<(), Failure> {
    let read = format!(
        "{}, {} of {}, {} shown whole",
        count(report.sessions, "session"),
        report.records,
        count(report.size, "record"),
        report.disclosed
    );
    let (tone, line) = match (&report.anchored, report.integrity()) {
        (_, Integrity::Damaged) => {
            let found = count(report.findings.len(), "finding");
            (Tone::Bad, format!("Damaged bundle: {found} in {read}"))
        }
        (Some(it), _) => {
            let signed = match it.signed_by.is_empty() {
                true => "whose signatures were not checked".to_owned(),
                false => format!("signed by {}", it.signed_by.join(", ")),
            };
            let line = format!(
                "Sound bundle, anchored to the checkpoint of {} of {}, {signed}; {} came later and \
                 are only consistent: {read}",
                count(it.records, "record"),
                it.origin,
                count(report.size.saturating_sub(it.records), "record")
            );
            (Tone::Good, line)
        }
        (None, _) => (
            Tone::Good,
            format!("Consistent bundle, not anchored: {read}"),
        ),
    };
    screen.toned(tone, &one_line(&line))?;
    for finding in &report.findings {
        screen.line(&format!("  {}", one_line(finding)))?;
    }
    if let Some(root) = &report.root {
        screen.line(&format!("root {root}"))?;
    }
    if let Some(manifest) = &report.manifest {
        screen.line(&format!("manifest {manifest}"))?;
    }
    if report.integrity() == Integrity::Consistent {
        let note = "note: the writer can have made all of it up; only a public key (--public-key) \
                    or an earlier checkpoint (--since), from elsewhere, reveals that";
        screen.toned(Tone::Quiet, note)?;
    }
    Ok(())
}
