//! The journals of which a copy was read, because another process has them open or this one may
//! not write to them, and up to which commit.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use recount_journal::backup::{self, BackedUp};
use serde::Serialize;

use super::progress::Meter;
use crate::failures::Failure;
use recount_telling::{count, one_line};

/// The copies that a command reads. They are removed when the command ends.
#[derive(Default)]
pub(crate) struct Beside(RefCell<Vec<(PathBuf, backup::Beside, Cause)>>);

/// The cause why a copy of a journal is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cause {
    /// Another process has the journal open.
    InUse,
    /// This process may not write to the directory of the journal, as its index needs.
    NotWritable,
}

/// The position up to which a journal was read, as JSON.
#[derive(Serialize)]
struct ReadUpTo<'a> {
    journal: &'a Path,
    commits: u64,
    records: u64,
}

impl Beside {
    /// The copy of a journal. Made once, so that a command sees one state of the journal.
    pub(crate) fn copy_of(&self, path: &Path, cause: Cause) -> Result<PathBuf, Failure> {
        if let Some(copy) = self.copy_made_of(path) {
            return Ok(copy);
        }
        let meter = Meter::new("Copying the journal");
        let copied = backup::Beside::of(path, |it| meter.show(it.done, it.total));
        drop(meter);
        let copied = copied?;
        let copy = copied.path().to_owned();
        self.0.borrow_mut().push((path.to_owned(), copied, cause));
        Ok(copy)
    }

    /// The copy of a journal, if one was made.
    pub(crate) fn copy_made_of(&self, path: &Path) -> Option<PathBuf> {
        self.of(path, |it, _| it.path().to_owned())
    }

    /// Verifies the copy of a journal, if one was made.
    pub(crate) fn verified(
        &self,
        path: &Path,
    ) -> Option<Result<recount_journal::verify::Report, recount_journal::Error>> {
        self.of(path, |it, _| it.verified())
    }

    /// The path of a journal, with the last commit that was read if a copy was read.
    pub(crate) fn named(&self, path: &Path) -> String {
        let name = path.display().to_string();
        match self.of(path, |it, cause| in_words(&it.read_up_to(), cause)) {
            Some(words) => format!("{name}, {words}"),
            None => name,
        }
    }

    /// A note for each journal of which a copy was read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let copies = self.0.borrow();
        let notes = copies.iter();
        let note = |(_, it, cause): &(PathBuf, backup::Beside, Cause)| {
            format!("note: {}", in_words(&it.read_up_to(), *cause))
        };
        notes.map(note).collect()
    }

    fn of<V>(&self, path: &Path, read: impl FnOnce(&backup::Beside, Cause) -> V) -> Option<V> {
        let copies = self.0.borrow();
        let copy = copies.iter().find(|(of, _, _)| of == path);
        copy.map(|(_, it, cause)| read(it, *cause))
    }

    /// The JSON object, with the member `read_up_to` if a copy was read.
    pub(super) fn with_read_up_to(&self, object: String) -> String {
        let copies = self.0.borrow();
        let read: Vec<_> = copies
            .iter()
            .map(|(journal, it, _)| ReadUpTo {
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

fn in_words(read: &BackedUp, cause: Cause) -> String {
    let why = match cause {
        Cause::InUse => "another process has the journal open",
        Cause::NotWritable => "a copy, since this process may not write to the journal",
    };
    let words = format!(
        "read up to commit {} ({}); {why}",
        read.frames,
        count(read.records, "record")
    );
    one_line(&words).into_owned()
}
