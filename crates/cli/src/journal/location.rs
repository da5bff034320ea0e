//! The location of a journal: a path, or the address of a database.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::builder::{TypedValueParser, ValueParserFactory};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::Database;
use crate::failures::{Exit, Failure, is_address};
use recount_telling::{one_line, quoted};

/// The location of a journal, as a command line or a configuration gives it.
///
/// Neither `Debug` nor `Display` shows the password of an address.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// The directory of a journal, or the file of an export.
    Path(PathBuf),
    /// A journal in a database.
    Database(Box<Database>),
}

impl Location {
    /// Reads a location. A text that does not begin with `postgres:` or `postgresql:`, in any case,
    /// is a path.
    pub(crate) fn read(text: &OsStr) -> Result<Location, Failure> {
        match text.to_str().filter(|it| is_address(it)) {
            Some(address) => Ok(Location::Database(Box::new(Database::at(address)?))),
            None => Ok(Location::Path(text.into())),
        }
    }

    /// The path, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Location::Path(path) => Some(path),
            Location::Database(_) => None,
        }
    }

    /// The path, for a command that works on files. `instead` is the advice for a database.
    pub(crate) fn files(&self, command: &str, instead: &str) -> Result<&Path, Failure> {
        self.path().ok_or_else(|| {
            let what = format!(
                "expected the directory of a journal for `recount {command}`, found the database \
                 {self}"
            );
            let failure = Failure::new(NOT_FOR_DATABASES, what).exit(Exit::Usage);
            failure.advice(instead)
        })
    }

    /// True if it is the file of an export.
    pub(crate) fn is_export(&self) -> bool {
        self.path().is_some_and(super::exported::is_at)
    }

    /// The location quoted for a shell, without the password of an address.
    pub(crate) fn quoted(&self) -> String {
        match self {
            Location::Path(path) => quoted(path),
            Location::Database(_) => quoted(Path::new(&self.to_string())),
        }
    }

    /// The location on one line.
    pub(crate) fn shown(&self) -> String {
        one_line(&self.to_string()).into_owned()
    }
}

/// The code for a command that works on the files of a journal, and got a database.
const NOT_FOR_DATABASES: &str = "not-for-databases";

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Path(path) => path.display().fmt(f),
            Location::Database(database) => database.fmt(f),
        }
    }
}

impl serde::Serialize for Location {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Two addresses are equal if they are shown alike: a new password is no other journal.
impl PartialEq for Location {
    fn eq(&self, other: &Location) -> bool {
        match (self, other) {
            (Location::Path(this), Location::Path(other)) => this == other,
            (Location::Database(_), Location::Database(_)) => self.to_string() == other.to_string(),
            (Location::Path(_), Location::Database(_))
            | (Location::Database(_), Location::Path(_)) => false,
        }
    }
}

/// The parser of a location on a command line. Its error does not repeat the text, and has the
/// message of the failure as its custom context.
#[derive(Clone)]
pub(crate) struct LocationParser;

impl ValueParserFactory for Location {
    type Parser = LocationParser;

    fn value_parser() -> LocationParser {
        LocationParser
    }
}

impl TypedValueParser for LocationParser {
    type Value = Location;

    fn parse_ref(
        &self,
        command: &Command,
        _arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Location, clap::Error> {
        if value.is_empty() {
            let what = "expected a path or an address, found an empty text\n";
            return Err(clap::Error::raw(ErrorKind::InvalidValue, what).with_cmd(command));
        }
        Location::read(value).map_err(|failure| {
            let kind = ErrorKind::ValueValidation;
            let mut error = clap::Error::raw(kind, format!("{}\n", failure.what)).with_cmd(command);
            let whole = ContextValue::String(failure.message());
            error.insert(ContextKind::Custom, whole);
            error
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn text_without_a_scheme_is_a_path() {
        for text in [
            "j",
            "./postgres",
            "./postgres:/u@h",
            "http://h/p",
            "a/postgres://b",
        ] {
            let read = Location::read(OsStr::new(text)).unwrap();
            assert_eq!(read.path(), Some(Path::new(text)));
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn address_is_shown_without_its_password() {
        let location = Location::read(OsStr::new("postgres://u:secret@h:1/d")).unwrap();
        let all = format!("{location} {location:?} {}", location.quoted());
        assert!(!all.contains("secret"), "{all}");
        assert_eq!(location.shown(), "postgres://u@h:1/d");
    }

    #[test]
    fn text_that_begins_like_an_address_is_no_path() {
        for text in ["postgres:", "postgres:/u:secret@h/d", "Postgresql:secret"] {
            let failure = Location::read(OsStr::new(text)).unwrap_err();
            assert!(!failure.message().contains("secret"), "{failure:?}");
        }
    }

    #[test]
    fn command_for_files_refuses_a_database() {
        let path = Location::Path("j".into());
        assert_eq!(path.files("repair", "").unwrap(), Path::new("j"));
        let read = Location::read(OsStr::new("postgres://u:secret@h/d"));
        match read {
            Ok(location) => {
                let failure = location.files("repair", "use its own tools").unwrap_err();
                assert_eq!(failure.code, NOT_FOR_DATABASES);
                assert!(
                    !failure.message().contains("secret"),
                    "{}",
                    failure.message()
                );
            }
            Err(failure) => assert!(failure.what.contains("feature `postgres`")),
        }
    }
}
