//! Opening a journal for a command: never where none is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recount_journal::verify::{self, Report};
use recount_journal::{DiskJournal, Options};

use crate::failures::{Exit, Failure, IN_USE};
use crate::terminal::{Meter, Screen};
use recount::ledger::Ledger;

/// Set once where the command line says `--insecure-directory`, before any journal is opened.
static TRUSTS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Has every journal of this process opened that users other than its owner can write to.
pub(crate) fn trust_others() {
    TRUSTS_OTHERS.store(true, Ordering::Relaxed);
}

pub(crate) fn trusts_others() -> bool {
    TRUSTS_OTHERS.load(Ordering::Relaxed)
}

/// The settings for opening the journal at `path`, with what the command line and the environment
/// say of all journals: `RECOUNT_SPACE_FLOOR` is the number of bytes that stay free on its disk.
pub(crate) fn options(path: &Path) -> Result<Options, Failure> {
    let mut options = DiskJournal::options(path);
    if trusts_others() {
        options = options.insecure_directory();
    }
    let Ok(floor) = std::env::var("RECOUNT_SPACE_FLOOR") else {
        return Ok(options);
    };
    match floor.parse() {
        Ok(bytes) => Ok(options.floor_bytes(bytes)),
        Err(_) => {
            let what = format!("RECOUNT_SPACE_FLOOR: expected a number of bytes, found {floor:?}");
            Err(Failure::new("bad-request", what).exit(Exit::Usage))
        }
    }
}

/// The journal at `path`, to look at. Beside a process that has it open, a consistent prefix is
/// read, and the screen is told up to where.
pub(crate) fn looking(path: &Path, screen: &Screen) -> Result<Ledger, Failure> {
    if let Some(copy) = screen.beside.copy_made_of(path) {
        return reading(&copy);
    }
    match reading(path) {
        Err(failure) if failure.code == IN_USE => reading(&screen.beside.copy_of(path)?),
        read => read,
    }
}

/// The verdict about the journal at `path`; beside a process that has it open, about a prefix.
pub(crate) fn verified(path: &Path, screen: &Screen) -> Result<Report, Failure> {
    if let Some(verified) = screen.beside.verified(path) {
        return Ok(verified?);
    }
    let verified = if trusts_others() {
        verify::insecure_directory(path)
    } else {
        verify::directory(path)
    };
    let verified = verified.map_err(Failure::from);
    match verified {
        Err(failure) if failure.code == IN_USE => {
            screen.beside.copy_of(path)?;
            match screen.beside.verified(path) {
                Some(verified) => Ok(verified?),
                None => Err(failure),
            }
        }
        verified => verified,
    }
}

/// The journal at `path`, which no other process has open. Nothing is created and no record is
/// added.
pub(crate) fn reading(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = options(path)?
        .read_only()
        .progress(move |it| meter.show(it.done, it.total))
        .open()
        .map_err(|it| copied(it.into()))?;
    Ok(Ledger::new(Arc::new(journal)))
}

/// Beside the process that has a journal open, a copy is looked at, which is a journal, too.
fn copied(failure: Failure) -> Failure {
    if failure.code != IN_USE {
        return failure;
    }
    failure.advice("`recount backup PATH COPY` copies it beside that process; look at the copy")
}

/// The journal at `path`, to add to.
pub(crate) fn writing(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = options(path)?
        .create(false)
        .program(recount::engine::PROGRAM)
        .progress(move |it| meter.show(it.done, it.total))
        .open()?;
    Ok(Ledger::new(Arc::new(journal)))
}
