//! Opening a journal for a command. A missing journal is never created here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recount_journal::{DiskJournal, Journal, Options};

use super::keys::Keys;
use super::{Location, exported};
use crate::failures::{Exit, Failure, IN_USE, IO, READ_ONLY};
use crate::terminal::{Cause, Meter, Screen};
use recount::engine::{Engine, EngineBuilder};
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

/// Opens the journal or the export at a location to read it, with the keys if they are given.
///
/// If another process has the directory of a journal open, a copy of its commits is read. The
/// output then ends with the last commit that was read. A database is read while others write.
pub(crate) fn looking(at: &Location, keys: &Keys, screen: &Screen) -> Result<Ledger, Failure> {
    match at {
        Location::Path(path) if exported::is_at(path) => exported::read(path, keys, screen),
        Location::Path(path) => keys.of(looking_into(path, screen)?),
        Location::Database(database) => keys.of(Ledger::new(database.reading()?)),
    }
}

fn looking_into(path: &Path, screen: &Screen) -> Result<Ledger, Failure> {
    if let Some(copy) = screen.beside.copy_made_of(path) {
        return reading_directory(&copy);
    }
    match reading_directory(path) {
        Err(failure) if failure.code == IN_USE => {
            reading_directory(&screen.beside.copy_of(path, Cause::InUse)?)
        }
        // The index writes even while it is only read. A copy of the log needs no writing.
        Err(failure) if failure.code == READ_ONLY || failure.code == IO => {
            match screen.beside.copy_of(path, Cause::NotWritable) {
                Ok(copy) => reading_directory(&copy),
                Err(_) => Err(failure),
            }
        }
        read => read,
    }
}

/// Opens the journal at a location to read it, if no other process has its directory open. Adds no
/// record.
pub(crate) fn reading(at: &Location) -> Result<Ledger, Failure> {
    match at {
        Location::Path(path) => reading_directory(path),
        Location::Database(database) => Ok(Ledger::new(database.reading()?)),
    }
}

/// Opens the journal in a directory to read it, if no other process has it open. Adds no record.
pub(crate) fn reading_directory(path: &Path) -> Result<Ledger, Failure> {
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

/// Opens the journal at a location to add records.
pub(crate) fn writing(at: &Location) -> Result<Ledger, Failure> {
    let path = match at {
        Location::Path(path) => path,
        Location::Database(database) => return Ok(Ledger::new(database.writing()?)),
    };
    let meter = Meter::new("Reading the log");
    let journal = options(path)?
        .create(false)
        .program(recount::engine::PROGRAM)
        .progress(move |it| meter.show(it.done, it.total))
        .open()?;
    Ok(Ledger::new(Arc::new(journal)))
}

/// The builder of an engine over a journal. Commands reach it by the directory of the journal; with
/// a database there is no control socket.
pub(crate) fn engine(journal: Arc<dyn Journal>, at: &Location) -> EngineBuilder {
    // The path has no meaning for a journal that is open.
    let path = at.path().unwrap_or(Path::new(""));
    let engine = Engine::builder(path).journal(journal);
    match at.path() {
        Some(directory) => engine.control(directory),
        None => engine.without_control(),
    }
}
