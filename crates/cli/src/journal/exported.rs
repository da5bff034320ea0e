//! An export, plain or compressed, read as a journal without an import.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use recount_journal::verify::{self, Report};

use super::keys::Keys;
use crate::failures::{Exit, Failure};
use crate::files::Decompressed;
use crate::terminal::{Meter, Screen};
use recount::ledger::{self, Ledger};
use recount_telling::{one_line, quoted, shown};

/// The bytes that are read from a file at a time.
const BUFFER: usize = 1 << 20;

/// The characters of a wrong file that its error shows.
const SHOWN_MAX: u64 = 24;

/// The content of an export, decompressed.
pub(crate) type Content = BufReader<Decompressed<BufReader<Counted>>>;

/// True if there is a file at the path, and no directory.
pub(crate) fn is_at(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_dir())
}

/// Opens an export. `doing` is the name of the progress bar.
pub(crate) fn content(path: &Path, doing: &'static str) -> Result<Content, Failure> {
    let failed = |error: io::Error| Failure::io(format!("read {}", shown(path)), &error);
    let file = File::open(path).map_err(failed)?;
    let counted = Counted {
        total: file.metadata().map_err(failed)?.len(),
        file,
        meter: Meter::new(doing),
        done: 0,
    };
    let file = BufReader::with_capacity(BUFFER, counted);
    let content = Decompressed::of(file).map_err(failed)?;
    Ok(BufReader::with_capacity(BUFFER, content))
}

/// Reads an export into memory, with the keys if they are given.
pub(super) fn read(path: &Path, keys: &Keys, screen: &Screen) -> Result<Ledger, Failure> {
    let keys = keys.opened()?;
    let mut content = content(path, "Reading the export")?;
    is_json(path, &mut content)?;
    let read = ledger::read_export(content, keys).map_err(|error| of_file(path, error.into()))?;
    screen.unknown_work.note(path, read.work_unknown);
    Ok(read.ledger)
}

/// Verifies an export.
pub(crate) fn verified(path: &Path) -> Result<Report, Failure> {
    let content = content(path, "Verifying the export")?;
    Ok(verify::export_naming(content, ledger::objects_named)?)
}

/// Refuses a file that is obviously no export, such as a configuration.
fn is_json(path: &Path, content: &mut Content) -> Result<(), Failure> {
    // A file that cannot be decompressed from its start on is a damaged export.
    let first = match content.fill_buf() {
        Ok([] | [b'{', ..]) | Err(_) => return Ok(()),
        Ok(other) => other,
    };
    let mut start = Vec::new();
    let read = first.take(SHOWN_MAX).read_to_end(&mut start);
    read.map_err(|error| Failure::io(format!("read {}", shown(path)), &error))?;
    let start = String::from_utf8_lossy(&start);
    let what = format!(
        "expected the directory of a journal, or an export of one, at {}, found a file that \
         begins with {:?}",
        shown(path),
        one_line(&start)
    );
    Err(Failure::new("not-a-journal", what).advice(
        "an export is JSON lines, as they are or compressed with gzip or zstd; \
         `recount verify FILE` lists what is wrong with one",
    ))
}

/// The failure, with the name of the file if it is damaged.
fn of_file(path: &Path, failure: Failure) -> Failure {
    if failure.exit != Exit::Damaged {
        return failure;
    }
    let what = format!("{}: {}", shown(path), failure.what);
    let advice = format!("`recount verify {}` lists all findings", quoted(path));
    Failure { what, ..failure }.advice(advice)
}

/// A file that shows the progress of reading it.
pub(crate) struct Counted {
    file: File,
    meter: Meter,
    done: u64,
    total: u64,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.done += read as u64;
        self.meter.show(self.done, self.total);
        Ok(read)
    }
}
