//! Opening a journal for a command: never where none is.

use std::path::Path;
use std::sync::Arc;

use recount_journal::DiskJournal;

use super::failure::{Failure, IN_USE};
use super::progress::Meter;
use crate::ledger::Ledger;

/// The journal at `path`, to look at. Nothing is created and no record is added.
pub(super) fn reading(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = DiskJournal::options(path)
        .read_only()
        .progress(move |it| meter.show(it.done, it.total))
        .open()
        .map_err(|it| copied(it.into()))?;
    Ok(Ledger::new(Arc::new(journal)))
}

/// Beside the process that has a journal open, a copy is looked at, which is a journal, too.
pub(super) fn copied(failure: Failure) -> Failure {
    if failure.code != IN_USE {
        return failure;
    }
    failure.advice("`recount backup PATH COPY` copies it beside that process; look at the copy")
}

/// The journal at `path`, to add to.
pub(super) fn writing(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = DiskJournal::options(path)
        .create(false)
        .program(crate::engine::PROGRAM)
        .progress(move |it| meter.show(it.done, it.total))
        .open()?;
    Ok(Ledger::new(Arc::new(journal)))
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
