//! The strict reading of a table: typed values with their places, and every mistake.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::{Node, Plain, Table};
use super::mistake::{Mistake, Place};
use recount_telling::duration;
use recount_text::files::given_file;

/// The number of characters of a value that a message shows.
const SHOWN_CHARS_MAX: usize = 60;

/// A value, its place and its field.
#[derive(Clone, Debug)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
    /// The field, such as `agents.support.model`.
    pub(crate) field: String,
}

/// Two values are equal wherever they are given.
impl<T: PartialEq> PartialEq for Given<T> {
    fn eq(&self, other: &Given<T>) -> bool {
        self.value == other.value
    }
}

impl<T> Given<T> {
    /// The value of an option of the command line.
    pub(crate) fn option(name: &str, value: T) -> Given<T> {
        Given {
            value,
            place: Place::named(name),
            field: String::new(),
        }
    }

    /// The name of a key or of its option, whichever a user of this value's place has.
    pub(super) fn key_or<'n>(&self, key: &'n str, option: &'n str) -> &'n str {
        match self.place.is_option() {
            true => option,
            false => key,
        }
    }

    /// A mistake in this value.
    pub(crate) fn mistake(&self, what: impl Into<String>) -> Mistake {
        self.place.mistake(&self.field, what)
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Given<U> {
        Given {
            value: change(self.value),
            place: self.place,
            field: self.field,
        }
    }
}

impl Given<PathBuf> {
    /// The text of the file, of at most so many bytes.
    pub(crate) fn read(&self, bytes_max: u64) -> Result<String, Mistake> {
        given_file::text(&self.value, bytes_max).map_err(|error| self.unreadable(&error))
    }

    /// The mistake of a file that cannot be read.
    pub(crate) fn unreadable(&self, error: &std::io::Error) -> Mistake {
        let path = self.value.display();
        self.mistake(format!("{path} cannot be read: {error}"))
    }
}

/// The mistakes so far.
pub(super) type Mistakes = RefCell<Vec<Mistake>>;

/// A table that is being read.
pub(super) struct Section<'n> {
    /// The field of the table; empty for the whole file.
    pub(super) field: String,
    pub(super) place: Place,
    pub(super) table: &'n Table,
    pub(super) mistakes: &'n Mistakes,
    /// The directory to which paths are relative.
    pub(super) directory: &'n Path,
}

impl<'n> Section<'n> {
    /// Reports every key that is not one of these.
    pub(super) fn only(&self, known: &[&str]) {
        for (key, member) in self.table {
            if !known.contains(&key.as_str()) {
                let mistake = member
                    .key
                    .mistake(&self.field_of(key), unknown_key(key, known));
                self.object(mistake);
            }
        }
    }

    pub(super) fn field_of(&self, key: &str) -> String {
        match self.field.as_str() {
            "" => key.to_owned(),
            field => format!("{field}.{key}"),
        }
    }

    /// The raw value of a key.
    pub(super) fn node(&self, key: &str) -> Option<Given<&'n Node>> {
        let member = self.table.get(key)?;
        Some(Given {
            value: &member.value,
            place: member.value.place.clone(),
            field: self.field_of(key),
        })
    }

    /// The value of a key, if `read` accepts it. `expected` is the rest of "expected …, found …".
    pub(super) fn value<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'n Node) -> Option<T>,
    ) -> Option<Given<T>> {
        let given = self.node(key)?;
        let read = read(given.value);
        if read.is_none() {
            let what = format!("expected {expected}, found {}", found(given.value));
            self.object(given.mistake(what));
        }
        let (place, field) = (given.place, given.field);
        read.map(|value| Given {
            value,
            place,
            field,
        })
    }

    /// A value that must be there.
    pub(super) fn required<T>(&self, key: &str, value: Option<Given<T>>) -> Option<Given<T>> {
        if !self.table.contains_key(key) {
            let mistake = self
                .place
                .mistake(&self.field_of(key), "expected a value, found none");
            self.object(mistake);
        }
        value
    }

    pub(super) fn text(&self, key: &str) -> Option<Given<String>> {
        self.value(key, "a text that is not empty", text)
    }

    pub(super) fn texts(&self, key: &str) -> Vec<Given<String>> {
        let read = |node: &'n Node| node.list()?.iter().map(text).collect::<Option<Vec<_>>>();
        let Some(all) = self.value(key, "a list of texts", read) else {
            return Vec::new();
        };
        let nodes = self
            .node(key)
            .and_then(|it| it.value.list())
            .unwrap_or_default();
        let items = all.value.into_iter().zip(nodes);
        let given = items.map(|(value, node)| Given {
            value,
            place: node.place.clone(),
            field: all.field.clone(),
        });
        given.collect()
    }

    pub(super) fn flag(&self, key: &str) -> Option<Given<bool>> {
        self.value(key, "true or false", |node| match &node.plain {
            Plain::Flag(flag) => Some(*flag),
            Plain::Text(_)
            | Plain::Whole(_)
            | Plain::Real(_)
            | Plain::Time(_)
            | Plain::List(_)
            | Plain::Table(_) => None,
        })
    }

    /// A whole number from `least` on.
    pub(super) fn number(&self, key: &str, least: u32) -> Option<Given<u32>> {
        let expected = format!("a whole number from {least} to {}", u32::MAX);
        self.value(key, &expected, |node| match &node.plain {
            Plain::Whole(number) => u32::try_from(*number).ok().filter(|it| *it >= least),
            Plain::Text(_)
            | Plain::Flag(_)
            | Plain::Real(_)
            | Plain::Time(_)
            | Plain::List(_)
            | Plain::Table(_) => None,
        })
    }

    pub(super) fn duration(&self, key: &str) -> Option<Given<Duration>> {
        let read = |node: &'n Node| duration::read(node.text()?);
        self.value(key, duration::EXPECTED, read)
    }

    /// A time longer than 0.
    pub(super) fn positive(&self, key: &str) -> Option<Given<Duration>> {
        let given = self.duration(key)?;
        if given.value.is_zero() {
            self.object(given.mistake("expected a time longer than 0"));
        }
        Some(given)
    }

    /// A list of texts that is not empty. `None` without the key.
    pub(super) fn some_texts(&self, key: &str, item: &str) -> Option<Vec<Given<String>>> {
        let (given, texts) = (self.node(key)?, self.texts(key));
        if given.value.list().is_some_and(<[_]>::is_empty) {
            // An empty list would mean all or nothing, and neither can be meant.
            self.object(given.mistake(format!("expected {item}, found an empty list")));
        }
        Some(texts)
    }

    /// Adds a mistake.
    pub(super) fn object(&self, mistake: Mistake) {
        self.mistakes.borrow_mut().push(mistake);
    }

    /// A path, relative to the directory of the file.
    pub(super) fn path(&self, key: &str) -> Option<Given<PathBuf>> {
        let given = self.value(key, "a path", text)?;
        Some(given.map(|it| self.directory.join(it)))
    }

    pub(super) fn paths(&self, key: &str) -> Vec<Given<PathBuf>> {
        let texts = self.texts(key).into_iter();
        texts
            .map(|it| it.map(|it| self.directory.join(it)))
            .collect()
    }

    /// The table of a key.
    pub(super) fn section(&self, key: &str) -> Option<Section<'n>> {
        let given = self.value(key, "a table", Node::table)?;
        Some(self.inner(given.field, self.table.get(key)?.key.clone(), given.value))
    }

    /// The tables of a list, as `[[key]]` writes them.
    pub(super) fn sections(&self, key: &str) -> Vec<Section<'n>> {
        let read = |node: &'n Node| {
            let items = node.list()?.iter();
            let tables = items.map(|it| Some((it.place.clone(), it.table()?)));
            tables.collect::<Option<Vec<_>>>()
        };
        let expected = format!("tables as [[{}]]", self.field_of(key));
        let Some(given) = self.value(key, &expected, read) else {
            return Vec::new();
        };
        let tables = given.value.into_iter();
        tables
            .map(|(place, table)| self.inner(given.field.clone(), place, table))
            .collect()
    }

    /// The tables of a table, by their names.
    pub(super) fn named(&self, key: &str) -> Vec<(String, Section<'n>)> {
        let Some(all) = self.section(key) else {
            return Vec::new();
        };
        let names = all.table.keys();
        let sections = names.filter_map(|name| Some((name.clone(), all.section(name)?)));
        sections.collect()
    }

    fn inner(&self, field: String, place: Place, table: &'n Table) -> Section<'n> {
        Section {
            field,
            place,
            table,
            mistakes: self.mistakes,
            directory: self.directory,
        }
    }
}

fn text(node: &Node) -> Option<String> {
    node.text()
        .filter(|it| !it.trim().is_empty())
        .map(str::to_owned)
}

/// The value for a message: short, and without the members of a table.
fn found(node: &Node) -> String {
    let text = match &node.plain {
        Plain::Table(_) => return "a table".to_owned(),
        Plain::List(items) if items.is_empty() => return "an empty list".to_owned(),
        Plain::List(_) => return "a list".to_owned(),
        Plain::Text(text) => format!("{text:?}"),
        Plain::Whole(number) => number.to_string(),
        Plain::Real(number) => number.to_string(),
        Plain::Flag(flag) => flag.to_string(),
        Plain::Time(time) => time.clone(),
    };
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// The message for an unknown key, with the most similar known one.
pub(super) fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown key; did you mean {near:?}?"),
        None => format!("unknown key; expected one of {}", known.join(", ")),
    }
}

/// The end of a message about an unknown name: the most similar known one, or all of them.
pub(super) fn instead_of(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("there are {}", known.join(", ")),
    }
}

/// The most similar name, if one is similar.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().filter_map(|it| {
        let distance = strsim::damerau_levenshtein(name, it);
        (distance <= it.len().div_ceil(3)).then_some((distance, it))
    });
    near.min().map(|(_, it)| it)
}
