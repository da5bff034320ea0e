//! Verifies a journal where it lies: the log as the anchor, the index as its witness.

use std::path::Path;

use super::streams::Streams;
use super::{Report, survey};
use crate::index::Index;
use crate::log::disk::{Disk, RealDisk};
use crate::log::{SegmentHeader, Written, segment_name};
use crate::merkle::Tree;
use crate::store::directory::Directory;
use crate::store::recovery::check_segment;
use crate::{Error, Hash};

/// Verifies the journal in a directory. It takes the lock, adds nothing, cuts nothing, and repairs nothing.
///
/// # Errors
/// [`Error::InUse`], [`Error::Missing`], [`Error::NotAJournal`], [`Error::NewerFormat`] and [`Error::Io`] when the journal
/// cannot be read at all; everything else is a finding of the report.
pub fn directory(path: impl AsRef<Path>) -> Result<Report, Error> {
    let directory = Directory::claim(path.as_ref(), false)?;
    let reading = || Error::io(format!("read the log of {}", directory.path.display()));
    let mut notes = Vec::new();
    let mut trouble = None;
    let index = open_index(&directory, &mut notes).unwrap_or_else(|what| {
        trouble = Some(format!(
            "the index cannot be read: {what}; the next opening rebuilds it from the log"
        ));
        None
    });
    let header = SegmentHeader {
        journal: directory.journal,
        segment: 1,
        first: 1,
        chain: 0,
    };
    let disk = RealDisk::new(directory.path.join("log"));
    let index = index.as_ref().map(|(index, mark)| (index, *mark));
    let mut survey = match disk.open(&segment_name(1), false) {
        Ok(mut file) => {
            let segment = check_segment(&mut *file, header).map_err(reading())?;
            let mut survey = survey::of_log(&mut *file, index).map_err(reading())?;
            if let Err(what) = segment {
                survey.streams.find(None, None, what);
            }
            for other in disk.list().map_err(reading())? {
                if other != segment_name(1) {
                    let what = format!("the log has a file {other} that does not belong there");
                    survey.streams.find(None, None, what);
                }
            }
            survey
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut streams = Streams::default();
            if let Some((index, _)) = index {
                let heads = index.heads().unwrap_or_default();
                let heads = heads
                    .into_iter()
                    .map(|(session, head)| (session, (head.seq, head.hash)))
                    .collect();
                streams.compare(&heads, "the index");
            }
            streams.find(None, None, "the log is missing".to_owned());
            return Ok(report(&streams, 0, notes));
        }
        Err(error) => return Err(reading()(error)),
    };
    if let Some(what) = trouble {
        survey.streams.find(None, None, what);
    }
    notes.append(&mut survey.notes);
    if !survey.clean {
        notes.push(
            "the journal was not closed; nothing vouches that the log ends where it ended"
                .to_owned(),
        );
    } else if index.is_some_and(|(_, mark)| mark.number < survey.last.number) {
        survey.streams.find(
            None,
            None,
            "the index is behind the log although the journal was closed".to_owned(),
        );
    }
    Ok(report(
        &survey.streams,
        survey.expected.objects() as u64,
        notes,
    ))
}

/// The index and its mark, if it has any.
fn open_index(
    directory: &Directory,
    notes: &mut Vec<String>,
) -> Result<Option<(Index, Written)>, String> {
    let place = directory.path.join("sled");
    if !place.exists() {
        notes.push("the index is missing; the next opening rebuilds it from the log".to_owned());
        return Ok(None);
    }
    let index = Index::open(&place, 64 << 20)?;
    let mark = index.mark(directory.journal)?;
    if mark.is_none() {
        notes.push("the index is empty".to_owned());
    }
    Ok(mark.map(|mark| (index, mark)))
}

fn report(streams: &Streams, objects: u64, notes: Vec<String>) -> Report {
    let heads = streams.heads();
    let mut tree = Tree::default();
    tree.extend(streams.leaves());
    let root: Hash = tree.root();
    let sessions = heads.keys().filter(|session| !session.is_nil()).count() as u64;
    Report {
        records: streams.records,
        sessions,
        objects,
        root,
        heads,
        findings: streams.findings.clone(),
        notes,
    }
}
