//! The file `CLOSED` of a clean close: the end of the log, and the size and time of every file. An
//! opening that finds all files unchanged need not read them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use super::snapshots;
use crate::Error;
use crate::files::disk::sync_directory;
use crate::files::private;
use crate::files::private::anew;
use crate::log::{Written, segment_name};

const NAME: &str = "CLOSED";
const DRAFT: &str = "CLOSED.new";
/// The maximum length of the file, in bytes: room for some hundred thousand files.
const BYTES_MAX: u64 = 64 << 20;

/// The content of `CLOSED`: the size and the time of the last change of each file, by its path.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Closed {
    files: BTreeMap<String, Stamp>,
    /// The stamp of the file with the rows of waiting streams. That file is used only if it is
    /// unchanged. Without it, the rest of this note stays valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Stamp>,
    /// The last frame of the log; `None` in a note of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Manifest>,
}

/// The noted end of the last close, compared with the log while it is read. A log that continues
/// after it is sound: the removal of the note is not synced, so a power loss may bring it back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct NotedEnd {
    noted: Option<End>,
    met: bool,
}

/// The end of the log in a note.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The last frame.
    Frame(Manifest),
    /// The length of the last segment, in a note of an older version. A close cuts off everything
    /// after the last frame.
    Place { segment: u64, bytes: u64 },
}

impl End {
    /// True if the log of the note ends with this frame.
    fn is(self, frame: Written) -> bool {
        match self {
            Self::Frame(noted) => noted.ends_with(frame),
            Self::Place { segment, bytes } => (frame.segment, frame.end) == (segment, bytes),
        }
    }
}

impl NotedEnd {
    /// Reads the end from the note of a directory, if there is one.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is an unreadable note: it was synced before it got its name.
    pub(crate) fn of(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let bytes = match private::read(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::io(format!("read {}", path.display()))(error)),
        };
        let damaged = |what| Error::Damaged {
            session: None,
            seq: None,
            what: format!("its file {NAME} {what}"),
        };
        let closed: Closed = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("cannot be read: {error}")))?;
        let files = closed.files.iter();
        let segments = files.filter_map(|(path, stamp)| Some((segment(path)?, stamp.bytes)));
        // A log has a segment from its creation on.
        let (segment, bytes) = segments
            .max()
            .ok_or_else(|| damaged("names no segment of the log".to_owned()))?;
        let place = End::Place { segment, bytes };
        Ok(Self {
            noted: Some(closed.end.map_or(place, End::Frame)),
            met: false,
        })
    }

    /// Compares the next frame of the log.
    pub(crate) fn see(&mut self, frame: Written) {
        self.met |= self.noted.is_some_and(|noted| noted.is(frame));
    }

    /// The number of the last frame at the close; 0 if no note has it.
    pub(crate) fn frame(&self) -> u64 {
        match self.noted {
            Some(End::Frame(noted)) => noted.frame,
            Some(End::Place { .. }) | None => 0,
        }
    }

    /// True if the log of the note ends with this frame.
    pub(crate) fn is_last(&self, last: Written) -> bool {
        self.noted.is_none_or(|noted| noted.is(last))
    }

    /// Returns a description if a log that ends at `last` is shorter than at the close, or another
    /// one.
    pub(crate) fn lost(&self, last: Written) -> Option<String> {
        let ends = last.number;
        Some(match self.noted.filter(|_| !self.met)? {
            End::Frame(Manifest { frame, .. }) if ends < frame => {
                format!("the log ends at frame {ends}, it was closed at frame {frame}")
            }
            End::Frame(Manifest { frame, .. }) => {
                format!("frame {frame} of the log is not the one that it was closed with")
            }
            End::Place { segment, bytes } => format!(
                "the log ends at frame {ends}, and none of its frames ends at byte {bytes} \
                 of segment {segment}, where it was closed"
            ),
        })
    }
}

/// The number of the segment with this path, if it is one.
fn segment(path: &str) -> Option<u64> {
    let name = path.strip_prefix("log/")?;
    let number = name.strip_suffix(".log")?.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Stamp {
    bytes: u64,
    changed_ns: i128,
}

impl Stamp {
    fn of(facts: &fs::Metadata) -> io::Result<Stamp> {
        Ok(Stamp {
            bytes: facts.len(),
            changed_ns: changed_ns(facts)?,
        })
    }
}

/// True if the directory has a readable note of a close.
pub(crate) fn is_noted(directory: &Path) -> bool {
    noted(directory).is_some()
}

/// True if every file is as the last close left it.
pub(crate) fn holds(directory: &Path) -> bool {
    let noted = noted(directory).map(|it| it.files);
    noted.is_some() && noted == stamps(directory).ok()
}

/// True if the file with the rows of waiting streams is as the last close left it.
pub(crate) fn holds_waiting(directory: &Path) -> bool {
    let noted = noted(directory).and_then(|it| it.waiting);
    noted.is_some() && noted == stamp_of_waiting(directory)
}

fn noted(directory: &Path) -> Option<Closed> {
    let bytes = private::read(&directory.join(NAME), BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the last segment of the log at the last close and its length, if nothing was written
/// since. Earlier segments may end with zeros.
pub(crate) fn log_end(directory: &Path) -> Option<(String, u64)> {
    let noted = noted(directory)?;
    let mut files = noted.files.iter().rev();
    files.find_map(|(path, stamp)| Some((path.strip_prefix("log/")?.to_owned(), stamp.bytes)))
}

/// Returns a description if the log is shorter than at the last close: a log only grows.
pub(crate) fn shortened(directory: &Path) -> Option<String> {
    let noted = noted(directory)?;
    let of_log = |(path, _): &(&String, &Stamp)| path.starts_with("log/");
    let noted = noted.files.iter().filter(of_log);
    let noted: u64 = noted.map(|(_, stamp)| stamp.bytes).sum();
    let mut files = BTreeMap::new();
    // A missing log is reported elsewhere.
    gather(directory, Path::new("log"), &mut files).ok()?;
    let bytes: u64 = files.values().map(|stamp| stamp.bytes).sum();
    (bytes < noted)
        .then(|| format!("the log has {bytes} of the {noted} bytes that it was closed with"))
}

/// Writes the note at a close, with the end of the log. `kept` is true if the close wrote the rows
/// of waiting streams.
pub(crate) fn write_at_close(directory: &Path, end: Manifest, kept: bool) -> io::Result<()> {
    let waiting = kept.then(|| stamp_of_waiting(directory));
    write_with(directory, waiting.flatten(), Some(end))
}

/// Writes the note of the current files, with a known end of the log. The stamp of the waiting
/// streams is taken from the previous note, because only a close writes their rows.
pub(crate) fn write_with_end(directory: &Path, end: Manifest) -> io::Result<()> {
    write_with(
        directory,
        noted(directory).and_then(|it| it.waiting),
        Some(end),
    )
}

/// Writes the note of the current files. The rest of the previous note is kept.
pub(crate) fn write(directory: &Path) -> io::Result<()> {
    let (waiting, end) = noted(directory).map_or((None, None), |it| (it.waiting, it.end));
    write_with(directory, waiting, end)
}

fn write_with(directory: &Path, waiting: Option<Stamp>, end: Option<Manifest>) -> io::Result<()> {
    let files = stamps(directory)?;
    let closed = Closed {
        files,
        waiting,
        end,
    };
    let mut file = anew(&directory.join(DRAFT))?;
    file.write_all(&serde_json::to_vec(&closed)?)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(directory.join(DRAFT), directory.join(NAME))?;
    sync_directory(directory)
}

/// Removes the note, because files are about to change.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(NAME)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn stamps(directory: &Path) -> io::Result<BTreeMap<String, Stamp>> {
    let mut files = BTreeMap::new();
    for part in ["log", "sled"] {
        gather(directory, Path::new(part), &mut files)?;
    }
    Ok(files)
}

fn stamp_of_waiting(directory: &Path) -> Option<Stamp> {
    let facts = fs::metadata(snapshots::place_of_waiting(directory)).ok()?;
    Stamp::of(&facts).ok()
}

fn gather(directory: &Path, part: &Path, files: &mut BTreeMap<String, Stamp>) -> io::Result<()> {
    for entry in fs::read_dir(directory.join(part))? {
        let entry = entry?;
        let (name, facts) = (part.join(entry.file_name()), entry.metadata()?);
        if facts.is_dir() {
            gather(directory, &name, files)?;
            continue;
        }
        files.insert(name.to_string_lossy().into_owned(), Stamp::of(&facts)?);
    }
    Ok(())
}

/// The time of the last change of content or name, which cannot be set back.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn changed_ns(facts: &fs::Metadata) -> io::Result<i128> {
    use std::os::unix::fs::MetadataExt;
    Ok(i128::from(facts.ctime()) * 1_000_000_000 + i128::from(facts.ctime_nsec()))
}

/// The time of the last change of content.
#[cfg(not(unix))]
fn changed_ns(facts: &fs::Metadata) -> io::Result<i128> {
    let modified = facts.modified()?.duration_since(std::time::UNIX_EPOCH);
    Ok(modified.map_or(0, |since| {
        i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
    }))
}
