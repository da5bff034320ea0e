//! Where a report may be written: nowhere that something else would be lost or broken.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use super::html;
use crate::cli::failure::Failure;
use crate::cli::one_line::one_line;
use crate::cli::outside;

/// Whether a report of the journal may stand at `file`: outside of the journal, and in place of nothing but an earlier report or an
/// empty file.
pub(super) fn may_stand_at(file: &Path, journal: &Path) -> Result<(), Failure> {
    let name = file.display().to_string();
    let name = one_line(&name);
    outside::of_journal(file, journal)?;
    let reading = |error| Failure::io(format!("read {name}"), &error);
    let found = match fs::metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(reading(error)),
    };
    let gives_way = found.is_file()
        && (found.len() == 0
            || File::open(file)
                .and_then(html::is_report)
                .map_err(reading)?);
    if gives_way {
        return Ok(());
    }
    let what = format!("expected no file or an earlier report at {name}, found something else");
    Err(Failure::new("occupied", what).advice("give another name; nothing was changed"))
}
