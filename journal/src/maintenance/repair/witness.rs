//! The index as a witness of the content of the log.

use crate::files::disk::RealDisk;
use crate::files::swap::Names;
use crate::index::Index;
use crate::log::Written;
use crate::store::directory::claim::Directory;
use crate::store::directory::closed;
use crate::store::directory::closed::NotedEnd;
use crate::store::survey;

/// The readable part of the index.
pub(super) struct Witness {
    pub(super) index: Option<Index>,
    /// The mark of the index, if it belongs to this journal.
    pub(super) mark: Option<Written>,
    /// The last frame that the index contains or covers.
    pub(super) known: u64,
    pub(super) trouble: Option<String>,
}

impl Witness {
    pub(super) fn of(directory: &Directory, names: &Names) -> Self {
        let mut witness = Self {
            index: None,
            mark: None,
            known: 0,
            trouble: None,
        };
        let Some(place) = names.index() else {
            witness.trouble = Some("the index is missing".to_owned());
            return witness;
        };
        let cannot = |what| Some(format!("the index cannot be used: {what}"));
        match Index::open(&place, 64 << 20) {
            Ok(index) => {
                match index.mark(directory.journal) {
                    Ok(mark) => {
                        witness.mark = mark.map(|(mark, _)| mark);
                        let marked = witness.mark.map_or(0, |mark| mark.number);
                        witness.known = marked.max(index.last_frame().unwrap_or(0));
                    }
                    Err(what) => witness.trouble = cannot(what),
                }
                witness.index = Some(index);
            }
            Err(what) => witness.trouble = cannot(what),
        }
        witness
    }

    /// Returns the first fault that a verification finds in an existing index beside a sound log.
    pub(super) fn fault(
        &self,
        disk: &RealDisk,
        directory: &Directory,
        noted: NotedEnd,
    ) -> std::io::Result<Option<String>> {
        let Some(index) = &self.index else {
            let is_there = names_index(directory);
            return Ok(self.trouble.clone().filter(|_| is_there));
        };
        if self.trouble.is_some() {
            return Ok(self.trouble.clone());
        }
        let mark = self.mark.map(|mark| (index, mark));
        let survey = survey::of_log(disk, directory.journal, mark, noted)?;
        let is_behind = survey.is_behind(self.mark) && closed::is_noted(&directory.path);
        let behind = is_behind.then(|| survey::BEHIND.to_owned());
        let found = survey.findings().into_iter().next();
        Ok(found.map(|finding| finding.what).or(behind))
    }
}

fn names_index(directory: &Directory) -> bool {
    Names::of(&directory.path).index().is_some()
}
