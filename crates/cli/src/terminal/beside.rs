//! The journals that were read while another process had them open, and up to which commit.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use recount_journal::backup::{self, BackedUp};
use serde::Serialize;

use super::progress::Meter;
use crate::failures::Failure;
use recount_telling::{count, one_line};

/// The copies that a command reads. They are removed when the command ends.
#[derive(Default)]
pub(crate) struct Beside(RefCell<Vec<(PathBuf, backup::Beside)>>);

/// The position up to which a journal was read, as JSON.
#[derive(Serialize)]
struct ReadUpTo<'a> {
    journal: &'a Path,
    commits: u64,
    records: u64,
}

impl Beside {
    /// The copy of a journal. Made once, so that a command sees one state of the journal.
    pub(crate) fn copy_of(&self, path: &Path) -> Result<PathBuf, Failure> {
        if let Some(copy) = self.copy_made_of(path) {
            return Ok(copy);
        }
        let meter = Meter::new("Copying the journal of a running process");
        let copied = backup::Beside::of(path, |it| meter.show(it.done, it.total));
        drop(meter);
        let copied = copied?;
        let copy = copied.path().to_owned();
        self.0.borrow_mut().push((path.to_owned(), copied));
        Ok(copy)
    }

    /// The copy of a journal, if one was made.
    pub(crate) fn copy_made_of(&self, path: &Path) -> Option<PathBuf> {
        self.of(path, |it| it.path().to_owned())
    }

    /// Verifies the copy of a journal, if one was made.
    pub(crate) fn verified(
        &self,
        path: &Path,
    ) -> Option<Result<recount_journal::verify::Report, recount_journal::Error>> {
        self.of(path, backup::Beside::verified)
    }

    /// The path of a journal, with the last commit that was read if a copy was read.
    pub(crate) fn named(&self, path: &Path) -> String {
        let name = path.display().to_string();
        match self.of(path, |it| in_words(&it.read_up_to())) {
            Some(words) => format!("{name}, {words}"),
            None => name,
        }
    }

    /// A note for each journal of which a copy was read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let copies = self.0.borrow();
        let notes = copies.iter();
        let note = |(_, it): &(PathBuf, backup::Beside)| in_words(&it.read_up_to());
        notes.map(|it| format!("note: {}", note(it))).collect()
    }

    fn of<V>(&self, path: &Path, read: impl FnOnce(&backup::Beside) -> V) -> Option<V> {
        let copies = self.0.borrow();
        let copy = copies.iter().find(|(of, _)| of == path);
        copy.map(|(_, it)| read(it))
    }

    /// The JSON object, with the member `read_up_to` if a copy was read.
    pub(super) fn with_read_up_to(&self, object: String) -> String {
        let copies = self.0.borrow();
        let read: Vec<_> = copies
            .iter()
            .map(|(journal, it)| ReadUpTo {
                journal,
                commits: it.read_up_to().frames,
                records: it.read_up_to().records,
            })
            .collect();
        let (Some(body), false) = (object.strip_suffix('}'), read.is_empty()) else {
            return object;
        };
        let comma = if body.ends_with('{') { "" } else { "," };
        match serde_json::to_string(&read) {
            Ok(read) => format!("{body}{comma}\"read_up_to\":{read}}}"),
            Err(_) => object,
        }
    }
}

fn in_words(read: &BackedUp) -> String {
    let words = format!(
        "read up to commit {} ({}); another process has the journal open",
        read.frames,
        count(read.records, "record")
    );
    one_line(&words).into_owned()
}
