//! The mistakes in a configuration, each with its place.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::failures::{Exit, Failure};
use recount_telling::{count, one_line, shown};

/// The maximum number of mistakes in a message; `--json` lists all.
const LISTED_MAX: usize = 100;

/// The place of a value: a position in a file, or a variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The name of the file or of the variable.
    source: Arc<str>,
    /// The line and the column, from 1. `None` for a variable, and for a file as a whole.
    position: Option<(usize, usize)>,
}

impl Place {
    /// The file as a whole.
    pub(super) fn file(path: &Path) -> Place {
        Place::named(&path.display().to_string())
    }

    /// A variable of the environment or an option of the command line.
    pub(super) fn named(source: &str) -> Place {
        Place {
            source: source.into(),
            position: None,
        }
    }

    /// True for an option of the command line.
    pub(super) fn is_option(&self) -> bool {
        self.source.starts_with("--")
    }

    /// A position in the same file.
    pub(super) fn at(&self, line: usize, column: usize) -> Place {
        Place {
            source: self.source.clone(),
            position: Some((line, column)),
        }
    }

    /// A mistake here.
    pub(crate) fn mistake(&self, field: &str, what: impl Into<String>) -> Mistake {
        Mistake {
            place: self.clone(),
            field: field.to_owned(),
            what: what.into(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.source))?;
        match self.position {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mistake {
    place: Place,
    /// The field, such as `agents.support.model`; empty for the file as a whole.
    field: String,
    /// The expected and the found value.
    what: String,
}

impl Mistake {
    /// The mistake as JSON. `line` and `column` are null for a variable and for a whole file.
    pub(crate) fn to_json(&self) -> Value {
        let position = self.place.position;
        json!({
            "source": &*self.place.source,
            "line": position.map(|it| it.0),
            "column": position.map(|it| it.1),
            "field": self.field,
            "what": self.what,
        })
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.field.is_empty() {
            write!(f, "{}: ", one_line(&self.field))?;
        }
        f.write_str(&one_line(&self.what))
    }
}

/// The failure of a configuration with mistakes.
pub(crate) fn wrong(file: &Path, mistakes: &[Mistake]) -> Failure {
    let shown_mistakes = mistakes.iter().take(LISTED_MAX);
    let mut listed: String = shown_mistakes.map(|it| format!("\n  - {it}")).collect();
    if mistakes.len() > LISTED_MAX {
        let more = mistakes.len() - LISTED_MAX;
        listed.push_str(&format!("\n  and {more} more"));
    }
    let mistakes = count(mistakes.len(), "mistake");
    let what = format!("{} has {mistakes}:{listed}", shown(file));
    Failure::new("config-file", what)
        .exit(Exit::Usage)
        .advice("`recount check --schema` prints the schema of the file")
}
