//! The location of the journal, and the settings of `[postgres]` for one in a database.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::schema::{duration, table, text, texts};
use super::section::{Given, Section};
use crate::failures::is_address;
use crate::journal::{Database, Location, NodeSettings};

/// The keys of `[postgres]`.
pub(super) const POSTGRES: [&str; 4] = ["allow_lossy", "lease", "node", "state"];

/// The settings of a service over a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PostgresSettings {
    /// The variable with the address of the journal.
    pub(crate) journal_env: Option<Given<String>>,
    /// The file with the address of the journal.
    pub(crate) journal_file: Option<Given<PathBuf>>,
    /// The name of this node in messages.
    pub(crate) node: Option<Given<String>>,
    /// The time for which this node owns its sessions after the database was last reached.
    pub(crate) lease: Option<Given<Duration>>,
    /// The accepted settings of the server under which acknowledged appends may vanish.
    pub(crate) allow_lossy: Vec<Given<String>>,
    /// The directory for what is this machine's own.
    pub(crate) state: Option<Given<PathBuf>>,
}

/// Reads the location of the journal. An address in the file has no password.
pub(super) fn journal(file: &Section<'_>) -> Option<Given<Location>> {
    let expected = "a path, or an address as postgres://USER@HOST/DATABASE";
    let given = file.value("journal", expected, |node| {
        node.text().filter(|it| !it.trim().is_empty())
    })?;
    if is_address(given.value) && Database::has_password(given.value) {
        let what = "expected an address without a password: name the variable or the file of the \
                    whole address with journal_env or journal_file, or set PGPASSWORD";
        file.object(given.mistake(what));
        return None;
    }
    match Location::read(OsStr::new(given.value)) {
        Ok(Location::Path(path)) => {
            let path = file.directory.join(path);
            Some(given.map(|_| Location::Path(path)))
        }
        Ok(database @ Location::Database(_)) => Some(given.map(|_| database)),
        Err(failure) => {
            file.object(given.mistake(failure.what));
            None
        }
    }
}

/// Reads `[postgres]`, and the names of what has the address of the journal.
pub(super) fn postgres(file: &Section<'_>) -> PostgresSettings {
    let (journal_env, journal_file) = (file.text("journal_env"), file.path("journal_file"));
    let settings = PostgresSettings {
        journal_env,
        journal_file,
        ..file
            .section("postgres")
            .map(|it| section(&it))
            .unwrap_or_default()
    };
    let has_journal = file.node("journal").is_some();
    let second = match (&settings.journal_env, &settings.journal_file) {
        (Some(_), Some(file)) => Some(file.mistake(ONE)),
        (Some(variable), None) if has_journal => Some(variable.mistake(ONE)),
        (None, Some(file)) if has_journal => Some(file.mistake(ONE)),
        (Some(_) | None, None) | (None, Some(_)) => None,
    };
    second.into_iter().for_each(|it| file.object(it));
    settings
}

const ONE: &str = "expected one of journal, journal_env and journal_file, found two";

fn section(section: &Section<'_>) -> PostgresSettings {
    section.only(&POSTGRES);
    PostgresSettings {
        journal_env: None,
        journal_file: None,
        node: section.text("node"),
        lease: section.positive("lease"),
        allow_lossy: section.texts("allow_lossy"),
        state: section.path("state"),
    }
}

impl PostgresSettings {
    /// The settings as the journal takes them.
    pub(crate) fn of_node(&self) -> NodeSettings {
        let allowed = self.allow_lossy.iter();
        NodeSettings {
            node: self.node.as_ref().map(|it| it.value.clone()),
            lease: self.lease.as_ref().map(|it| it.value),
            allow_lossy: allowed.map(|it| it.value.clone()).collect(),
        }
    }
}

/// The JSON Schema of `[postgres]`.
pub(super) fn schema() -> Value {
    table(
        &[],
        [
            (
                "allow_lossy",
                texts(),
                "Settings of the server that are accepted although an acknowledged append may \
                 vanish under them, such as \"synchronous_commit = off\". The journal records it.",
            ),
            (
                "lease",
                duration(),
                "The time for which this node owns its sessions after it last reached the \
                 database; 10s by default, and half a second at least. Another node takes over \
                 after that time at the latest.",
            ),
            (
                "node",
                text(),
                "The name of this node in messages; its process id by default.",
            ),
            (
                "state",
                text(),
                "The directory for what is this machine's own: the access journal, the places of \
                 followers, the kept tree. recount-state by default; each node has its own.",
            ),
        ],
    )
}
