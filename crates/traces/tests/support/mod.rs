//! The recorded journals of `fixtures/journals`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recount::journal::{Append, Journal, Line, MemoryJournal, Object, Record, block_on};
use recount::ledger::Ledger;
use recount::session::SessionId;
use serde_json::Value;

/// The stream of the journal itself.
const OWN: &str = r#""session":"00000000-0000-0000-0000-000000000000""#;

/// A session that was exported from a journal.
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) session: SessionId,
    pub(crate) lines: Vec<Line>,
    objects: Vec<Object>,
}

impl Recorded {
    pub(crate) fn read(path: &Path) -> Recorded {
        let (mut lines, mut objects) = (Vec::new(), Vec::new());
        for text in fs::read_to_string(path).unwrap().lines() {
            if text.starts_with("{\"object\":") {
                let object: Value = serde_json::from_str(text).unwrap();
                objects.push(Object::new(object["text"].as_str().unwrap().as_bytes()));
            } else if !text.contains(OWN) && !text.starts_with("{\"trailer\":") {
                lines.push(Line::new(text.as_bytes()));
            }
        }
        let session = SessionId(Record::parse(lines[0].bytes()).unwrap().session);
        Recorded {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            session,
            lines,
            objects,
        }
    }

    /// The session with this name.
    pub(crate) fn named(name: &str) -> Recorded {
        let mut found = all().into_iter().filter(|it| it.name == name);
        found.next().unwrap()
    }

    /// Appends the records `from..to`, each in a commit of its own.
    pub(crate) fn append(&self, journal: &dyn Journal, from: usize, to: usize) {
        for (at, line) in (from..).zip(&self.lines[from..to]) {
            let mut append = Append::new(self.session.0, at as u64, vec![line.clone()]);
            if at == 0 {
                append.objects = self.objects.clone();
            }
            block_on(journal.append(append)).unwrap();
        }
    }

    /// A ledger of a journal in memory with all records.
    pub(crate) fn ledger(&self) -> Ledger {
        let journal = MemoryJournal::new();
        self.append(&journal, 0, self.lines.len());
        Ledger::new(Arc::new(journal))
    }
}

/// Every recorded session, of all rules.
pub(crate) fn all() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals");
    let folders = fs::read_dir(root).unwrap().map(|it| it.unwrap().path());
    let folders = folders.filter(|it| it.is_dir());
    let files = folders.flat_map(|it| fs::read_dir(it).unwrap());
    let mut files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    files.sort();
    files.iter().map(|it| Recorded::read(it)).collect()
}
