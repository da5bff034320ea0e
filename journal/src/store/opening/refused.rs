//! An opening that fails because of its log. It reports the damaged session and seq, and sets
//! nothing aside.

use std::io;

use super::options::Options;
use crate::Error;
use crate::index::Index;
use crate::log::segments::Stopped;
use crate::log::{Written, read_log};
use crate::store::directory::claim::Directory;
use crate::store::directory::closed::NotedEnd;
use crate::store::survey;

/// Rejects a damaged or missing log before an index is set aside. A repair may find lost frames in
/// that index.
pub(super) fn require_log(directory: &Directory, options: &Options) -> Result<(), Error> {
    let what = match read_log(&*options.disk, directory.journal, |_, _, _| Ok(())) {
        Ok(log) if log.file.is_none() && !options.create => "the log is gone".to_owned(),
        Ok(_) => return Ok(()),
        Err(Stopped::Io(error)) => return Err(reading(directory)(error)),
        Err(Stopped::Damaged(what)) => what,
    };
    Err(damaged(directory, options, None, what))
}

/// Creates the error for damage, with the session and seq at fault. It reads everything that can be
/// read.
pub(in crate::store) fn damaged(
    directory: &Directory,
    options: &Options,
    witness: Option<(&Index, Written)>,
    what: String,
) -> Error {
    let found = survey::of_log(
        &*options.disk,
        directory.journal,
        witness,
        NotedEnd::default(),
    );
    let placed = found.ok().and_then(|survey| {
        let findings = survey.findings();
        let first = findings
            .iter()
            .position(|finding| finding.session.is_some())
            .unwrap_or(0);
        findings.into_iter().nth(first)
    });
    match placed {
        Some(finding) => Error::Damaged {
            session: finding.session,
            seq: finding.seq,
            what: if finding.what == what {
                what
            } else {
                format!("{}; {what}", finding.what)
            },
        },
        None => Error::Damaged {
            session: None,
            seq: None,
            what,
        },
    }
}

/// The error of a failed read of the log.
pub(in crate::store) fn reading(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!("read the log of {}", directory.path.display()))
}
