//! An opening that is refused because of its log: which session and seq is hurt, and that nothing
//! is set aside for it.

use std::io;

use super::options::Options;
use crate::Error;
use crate::index::Index;
use crate::log::segments::Stopped;
use crate::log::{Written, read_log};
use crate::store::directory::claim::Directory;
use crate::store::directory::closed::NotedEnd;
use crate::store::survey;

/// Refuses a log that is damaged or gone before an index is set aside: a repair may find there what
/// the log lost.
pub(super) fn require_log(directory: &Directory, options: &Options) -> Result<(), Error> {
    let what = match read_log(&*options.disk, directory.journal, |_, _, _| Ok(())) {
        Ok(log) if log.file.is_none() && !options.create => "the log is gone".to_owned(),
        Ok(_) => return Ok(()),
        Err(Stopped::Io(error)) => return Err(reading(directory)(error)),
        Err(Stopped::Damaged(what)) => what,
    };
    Err(damaged(directory, options, None, what))
}

/// Says which session and seq the damage is at, by reading everything that can be read.
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

/// Says what the system refused.
pub(in crate::store) fn reading(directory: &Directory) -> impl FnOnce(io::Error) -> Error + use<> {
    Error::io(format!("read the log of {}", directory.path.display()))
}
