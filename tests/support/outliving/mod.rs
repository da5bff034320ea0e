//! State that outlives the processes of a test: a journal, and a file in which tools leave lines.
//!
//! The file shows which tools ran, independently of the journal.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;

use crate::store;

/// The directory with both.
#[derive(Clone)]
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn at(path: &Path) -> Home {
        Home(path.to_owned())
    }

    /// The directory that the order of a process names.
    pub(crate) fn named_in(order: &Value) -> Home {
        Home::at(Path::new(order["home"].as_str().unwrap()))
    }

    /// The name of the directory in an order.
    pub(crate) fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Appends a line about a session.
    pub(crate) fn note(&self, session: SessionId, what: impl Display) {
        let witness = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.witness());
        let line = format!("{session} {what}\n");
        witness.unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// The lines of each session, in order.
    pub(crate) fn noted(&self) -> BTreeMap<SessionId, Vec<String>> {
        let text = match fs::read_to_string(self.witness()) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => panic!("the witness cannot be read: {error}"),
        };
        let mut noted: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in text.lines() {
            let (session, what) = line.split_once(' ').unwrap();
            let session = session.parse().unwrap();
            noted.entry(session).or_default().push(what.to_owned());
        }
        noted
    }

    /// The ledger and its sessions, after checks that the journal is sound and every session
    /// replays.
    pub(crate) async fn on_record(&self) -> (Ledger, Vec<SessionId>) {
        let ledger = Ledger::new(store::sound(self.journal()));
        let mut sessions = Vec::new();
        for session in ledger.sessions().await.unwrap() {
            let replayed = replay::verify(&ledger, session.id).await.unwrap();
            assert_eq!(replayed.diverged, None);
            sessions.push(session.id);
        }
        (ledger, sessions)
    }

    fn witness(&self) -> PathBuf {
        self.0.join("witness")
    }
}
