//! The state of a sink that survives a restart, and its file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use recount::session::{Seq, SessionId, Timestamp};
use recount_journal::FollowPlace;
use recount_text::files::draft;
use serde::{Deserialize, Serialize};

use crate::message::{Digest, Notice};
use crate::routing::Watched;
use crate::values::{Occasion, SinkName};

/// The version of the file.
const VERSION: u32 = 1;

/// The state of a sink that survives a restart.
///
/// The place and the queue are written together. So a notice that was read is either in the queue,
/// or is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(super) version: u32,
    pub(super) place: FollowPlace,
    /// The notices that were not delivered yet, oldest first.
    pub(super) queue: Vec<Queued>,
    pub(super) dead: Vec<Dead>,
    /// The number of dead letters that were dropped for newer ones.
    #[serde(default)]
    pub(super) dropped: u64,
    /// The reminders and escalations of open requests that were queued before.
    pub(super) repeated: BTreeSet<(SessionId, Seq, Occasion)>,
    /// The requests that the routes sent again when the sink ran last. `None` in the file of an
    /// older program, which did not note them.
    #[serde(default)]
    pub(super) watched: Option<Vec<Watched>>,
    /// The day of the last digest, such as `2026-11-28`.
    pub(super) last_digest: Option<String>,
    /// The numbers since the last digest.
    pub(super) day: Digest,
}

/// A notice that was not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queued {
    pub(super) notice: Notice,
    pub(super) attempts: u32,
}

/// A notice that is not tried any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dead {
    pub(super) notice: Notice,
    pub(super) attempts: u32,
    /// The last error, without any content of the message.
    pub(super) reason: String,
    pub(super) since: Timestamp,
}

/// The file of a sink cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the file {path} cannot be used ({source}): move it away, or bring it back from a copy, \
     then reload the configuration; without the file, the sink starts at the end of the \
     journal, and its queue and dead letters are not sent"
)]
pub struct UnusableFile {
    /// The file.
    pub path: PathBuf,
    /// The error, or the fault in the file.
    pub source: io::Error,
}

/// The file of a state.
#[derive(Clone, Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
}

impl State {
    /// The state of a new sink at a place.
    pub(super) fn at(place: FollowPlace) -> State {
        State {
            version: VERSION,
            place,
            watched: Some(Vec::new()),
            ..State::default()
        }
    }
}

impl StateFile {
    pub(crate) fn of(sink: &SinkName, directory: &Path) -> StateFile {
        StateFile::named(sink.as_str(), directory)
    }

    /// The file of a sink with this name.
    pub(super) fn named(sink: &str, directory: &Path) -> StateFile {
        StateFile {
            path: directory.join(format!("{sink}.json")),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the state. `None` if there is no file yet.
    pub(super) fn read(&self) -> Result<Option<State>, UnusableFile> {
        self.content().map_err(|source| UnusableFile {
            path: self.path.clone(),
            source,
        })
    }

    fn content(&self) -> io::Result<Option<State>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let state: State = serde_json::from_slice(&text)?;
        match state.version {
            VERSION => Ok(Some(state)),
            found => {
                let what = format!("expected version {VERSION}, found {found}");
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
        }
    }

    /// Replaces the file. After a crash there is the old one or the new one.
    pub(super) fn save(&self, state: &State) -> io::Result<()> {
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let (mut file, draft) = draft::beside(&self.path)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        file.sync_all()?;
        fs::rename(draft, &self.path)?;
        // The name is durable once its directory is synced.
        File::open(directory)?.sync_all()
    }
}
