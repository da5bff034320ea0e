//! The verdict of a verification, with what was verified and against which root.

use clap::Args;
use recount_journal::Hash;
use recount_journal::verify::{Integrity, Report};
use serde_json::{Value, json};

use crate::terminal::Tone;
use recount::session::Timestamp;
use recount_telling::{age, count};

/// The option with the root to which a verdict is anchored.
#[derive(Args)]
pub(crate) struct Anchor {
    /// A root that was kept elsewhere, as `recount verify` and `recount export` print it.
    ///
    /// The journal or file must still have that root. Without one the verdict is "consistent, not
    /// anchored".
    #[arg(long, value_name = "HEX")]
    root: Option<Hash>,
}

impl Anchor {
    /// The report, compared with the root if one was given.
    pub(crate) fn held_against(&self, report: Report) -> Report {
        match self.root {
            Some(root) => report.against(root),
            None => report,
        }
    }
}

/// The verdict about a journal or an export in one line, with the counts.
pub(crate) fn headline(kind: &str, report: &Report) -> (Tone, String) {
    let read = counts(report);
    match report.integrity() {
        Integrity::Damaged => {
            let found = count(report.findings.len(), "finding");
            (Tone::Bad, format!("Damaged {kind}: {found} in {read}"))
        }
        Integrity::Consistent => (
            Tone::Good,
            format!("Consistent {kind}, not anchored: {read}"),
        ),
        Integrity::Anchored => (
            Tone::Good,
            format!("Sound {kind}, anchored to the given root: {read}"),
        ),
    }
}

/// The reach of a verdict about a consistent journal or file.
pub(crate) fn reach(report: &Report) -> Option<String> {
    if report.integrity() != Integrity::Consistent {
        return None;
    }
    let empty = match report.records {
        0 => "there is no record, so nothing was verified; ",
        _ => "",
    };
    Some(format!(
        "{empty}only a root that was kept elsewhere (--root HEX) reveals that all hashes were \
         recomputed, or that a session was removed without a trace"
    ))
}

/// The numbers of sessions, records and objects behind a verdict, and the first and last time.
pub(crate) fn counts(report: &Report) -> String {
    let mut counted = format!(
        "{}, {}, {}",
        count(report.sessions, "session"),
        count(report.records, "record"),
        count(report.objects, "object")
    );
    if report.withheld > 0 {
        counted = format!(
            "{counted}, of which {} are withheld",
            count(report.withheld, "record")
        );
    }
    match report.span_us {
        None => counted,
        Some((first, last)) => {
            let (first, last) = (Timestamp(first), Timestamp(last));
            format!("{counted}, {} to {}", age::moment(first), age::moment(last))
        }
    }
}

/// The members that every verdict has in JSON.
pub(crate) fn in_json(report: &Report) -> Value {
    let time = |us| age::stamp(Timestamp(us));
    json!({
        "verdict": report.integrity(),
        "sessions": report.sessions,
        "records": report.records,
        "objects": report.objects,
        "from": report.span_us.map(|(first, _)| time(first)),
        "to": report.span_us.map(|(_, last)| time(last)),
        "root": report.root,
        "size": report.size,
        "withheld": report.withheld,
        "anchor": report.anchor,
    })
}
