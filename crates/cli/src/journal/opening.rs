//! Opening a journal for a command. A missing journal is never created here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recount_journal::verify::{self, Report};
use recount_journal::{DiskJournal, Options};

use super::exported;
use super::keys::Keys;
use crate::failures::{Exit, Failure, IN_USE, IO, READ_ONLY};
use crate::terminal::{Cause, Meter, Screen};
use recount::ledger::Ledger;

/// Set once for `--insecure-directory`, before any journal is opened.
static TRUSTS_OTHERS: AtomicBool = AtomicBool::new(false);

/// Allows this process to open journals that users other than the owner can write to.
pub(crate) fn trust_others() {
    TRUSTS_OTHERS.store(true, Ordering::Relaxed);
}

pub(crate) fn trusts_others() -> bool {
    TRUSTS_OTHERS.load(Ordering::Relaxed)
}

/// The access journal beside a journal: `JOURNAL.access`.
pub(crate) fn access_path(journal: &Path) -> PathBuf {
    let mut path = journal.as_os_str().to_owned();
    path.push(".access");
    path.into()
}

/// The settings for opening the journal at `path`, with those of the command line and environment.
///
/// `RECOUNT_SPACE_FLOOR` is the number of bytes that stay free on the disk of the journal.
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

/// Opens the journal or the export at `path` to read it, with the keys if they are given.
///
/// If another process has the journal open, a copy of its commits is read. The output then ends
/// with the last commit that was read.
pub(crate) fn looking(path: &Path, keys: &Keys, screen: &Screen) -> Result<Ledger, Failure> {
    if exported::is_at(path) {
        return exported::read(path, keys, screen);
    }
    keys.of(looking_into(path, screen)?)
}

fn looking_into(path: &Path, screen: &Screen) -> Result<Ledger, Failure> {
    if let Some(copy) = screen.beside.copy_made_of(path) {
        return reading(&copy);
    }
    match reading(path) {
        Err(failure) if failure.code == IN_USE => {
            reading(&screen.beside.copy_of(path, Cause::InUse)?)
        }
        // The index writes even while it is only read. A copy of the log needs no writing.
        Err(failure) if failure.code == READ_ONLY || failure.code == IO => {
            match screen.beside.copy_of(path, Cause::NotWritable) {
                Ok(copy) => reading(&copy),
                Err(_) => Err(failure),
            }
        }
        read => read,
    }
}

/// Verifies the export or the journal at `path`, or a copy of its commits if another process has it
/// open.
pub(crate) fn verified(path: &Path, screen: &Screen) -> Result<Report, Failure> {
    if exported::is_at(path) {
        return exported::verified(path);
    }
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
            screen.beside.copy_of(path, Cause::InUse)?;
            match screen.beside.verified(path) {
                Some(verified) => Ok(verified?),
                None => Err(failure),
            }
        }
        verified => verified,
    }
}

/// Opens the journal at `path` to read it, if no other process has it open. Adds no record.
pub(crate) fn reading(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = options(path)?
        .read_only()
        .progress(move |it| meter.show(it.done, it.total))
        .open()
        .map_err(|it| copied(it.into()))?;
    Ok(Ledger::new(Arc::new(journal)))
}

/// The failure with the advice to read a copy, if another process has the journal open.
fn copied(failure: Failure) -> Failure {
    if failure.code != IN_USE {
        return failure;
    }
    failure.advice("`recount backup PATH COPY` copies a journal in use; read the copy")
}

/// Opens the journal at `path` to add records.
pub(crate) fn writing(path: &Path) -> Result<Ledger, Failure> {
    let meter = Meter::new("Reading the log");
    let journal = options(path)?
        .create(false)
        .program(recount::engine::PROGRAM)
        .progress(move |it| meter.show(it.done, it.total))
        .open()?;
    Ok(Ledger::new(Arc::new(journal)))
}
