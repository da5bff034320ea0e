//! The directory of the demo. The next run replaces it, and no other directory.

use std::fs;
use std::path::{Path, PathBuf};

use recount_journal::{self as journal, DiskJournal};

use crate::failures::{Exit, Failure};
use crate::files::destination;
use recount::control::CONTROL_FILES;
use recount_telling::quoted;

/// The file that marks a directory as one of the demo.
const MARKER: &str = "RECOUNT-DEMO";

/// The file with a line for each refund.
const WITNESS: &str = "refunds.txt";

/// The files of a demo. A directory with any other file is not replaced.
const OURS: [&str; 7] = ["CLOSED", "JOURNAL", "LOCK", MARKER, WITNESS, "log", "sled"];

/// The prefix of the names of indexes that the journal has set aside.
const ASIDE: &str = "sled.damaged-";

/// The demo's directory.
pub(super) struct Place {
    /// The directory, which is also the journal.
    pub(super) path: PathBuf,
    /// The file with a line for each refund. It is no part of the journal.
    pub(super) witness: PathBuf,
}

impl Place {
    /// The directory as one of the demo. Nothing is changed on disk.
    pub(super) fn at(path: PathBuf) -> Place {
        let witness = path.join(WITNESS);
        Place { path, witness }
    }

    /// Creates the directory with an empty journal, in place of that of an earlier demo.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        let path = &self.path;
        destination::outside_journals(path)?;
        self.clear()?;
        let journal = DiskJournal::options(path)
            .program(recount::engine::PROGRAM)
            .open()?;
        journal::block_on(journal::Journal::close(&journal))?;
        let marker = path.join(MARKER);
        fs::write(
            &marker,
            "Made by `recount demo`; its next run replaces this directory.\n",
        )
        .map_err(|error| Failure::io(format!("write {}", marker.display()), &error))
    }

    fn clear(&self) -> Result<(), Failure> {
        let path = &self.path;
        let names = match names(path) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::io(format!("list {}", path.display()), &error)),
        };
        if names.is_empty() {
            return Ok(());
        }
        let foreign = names.iter().find(|name| !is_ours(name));
        let found = match foreign {
            Some(name) => format!("one that holds {name}"),
            None if !names.iter().any(|name| name == MARKER) => format!("one without {MARKER}"),
            None => return self.remove(),
        };
        let what = format!(
            "expected an empty directory or one of an earlier demo at {}, found {found}",
            path.display()
        );
        Err(Failure::new("not-the-demos", what)
            .exit(Exit::Refused)
            .advice("give another directory with --journal DIR; nothing was changed"))
    }

    fn remove(&self) -> Result<(), Failure> {
        // A running demo has the journal open. A damaged journal is removed, too.
        let in_use = DiskJournal::options(&self.path).read_only().open();
        if let Err(error @ journal::Error::InUse { .. }) = in_use {
            return Err(error.into());
        }
        drop(in_use);
        // Listed again, because opening may have set a damaged index aside.
        let names = names(&self.path)
            .map_err(|error| Failure::io(format!("list {}", self.path.display()), &error))?;
        let names: Vec<&String> = names.iter().filter(|name| is_ours(name)).collect();
        // The marker is removed last, so that an interrupted removal can be repeated.
        let (marker, others): (Vec<&String>, Vec<&String>) =
            names.into_iter().partition(|name| *name == MARKER);
        for name in others.into_iter().chain(marker) {
            let entry = self.path.join(name);
            let removed = if entry.is_dir() {
                fs::remove_dir_all(&entry)
            } else {
                fs::remove_file(&entry)
            };
            removed.map_err(|error| Failure::io(format!("remove {}", entry.display()), &error))?;
        }
        Ok(())
    }

    /// The lines of the refunds.
    pub(super) fn witnessed(&self) -> Result<Vec<String>, Failure> {
        match fs::read_to_string(&self.witness) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Failure::io(
                format!("read {}", self.witness.display()),
                &error,
            )),
        }
    }

    /// The directory quoted for a shell.
    pub(super) fn quoted(&self) -> String {
        quoted(&self.path)
    }
}

/// True if the demo, or its journal, creates a file with this name.
fn is_ours(name: &str) -> bool {
    OURS.contains(&name) || CONTROL_FILES.contains(&name) || name.starts_with(ASIDE)
}

fn names(path: &Path) -> std::io::Result<Vec<String>> {
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.map(|it| it.file_name().to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = fs::read_dir(path)?.map(name).collect::<Result<_, _>>()?;
    names.sort();
    Ok(names)
}
