//! Nothing is written into the directory of a journal but the journal itself.

use std::fs;
use std::path::Path;

use super::failure::{Exit, Failure};
use super::one_line::one_line;

/// Refuses a place for a new file or directory that is within the journal.
pub(super) fn of_journal(place: &Path, journal: &Path) -> Result<(), Failure> {
    // The place itself may not be there yet, nor the directories that lead to it.
    let mut above = place
        .ancestors()
        .skip(1)
        .map(|it| match it.as_os_str().is_empty() {
            true => Path::new("."),
            false => it,
        });
    let above = above.find_map(|it| fs::canonicalize(it).ok());
    let is_within =
        |place: &Path| fs::canonicalize(journal).is_ok_and(|journal| place.starts_with(journal));
    let itself = fs::canonicalize(place).ok();
    if !above.iter().chain(&itself).any(|it| is_within(it)) {
        return Ok(());
    }
    let name = place.display().to_string();
    let what = format!(
        "expected a place outside of the journal, found {}",
        one_line(&name)
    );
    Err(Failure::new("within-journal", what)
        .exit(Exit::Usage)
        .advice("the directory of a journal is for the journal alone; give another place"))
}
