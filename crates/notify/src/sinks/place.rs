//! The place of a sink in the journal.

use recount_journal::{Commit, Error, Journal};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The place in the journal up to which a sink has read.
///
/// A repaired or restored journal may number its commits anew. So the place names the last append
/// of its commit, too.
///
/// ```json
/// {"position":42,"last":{"stream":"0199…","hash":"9f86…"}}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The position of the last commit. 0 before the first.
    pub(super) position: u64,
    /// The last append of that commit.
    last: Option<LastAppend>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastAppend {
    stream: Uuid,
    hash: String,
}

impl Place {
    /// The place after a commit.
    pub(super) fn after(commit: &Commit) -> Place {
        let last = commit.appends.last();
        Place {
            position: commit.position,
            last: last.and_then(|(stream, lines)| {
                Some(LastAppend {
                    stream: *stream,
                    hash: lines.last()?.leaf().to_string(),
                })
            }),
        }
    }

    /// The place after the last commit of a journal.
    pub(super) async fn at_end(journal: &dyn Journal) -> Result<Place, Error> {
        match journal.position().await? {
            0 => Ok(Place::default()),
            last => Ok(Place::after(&journal.follow(last - 1).await?)),
        }
    }

    /// True if the journal has this place.
    pub(super) async fn is_in(&self, journal: &dyn Journal) -> Result<bool, Error> {
        if self.position == 0 {
            return Ok(true);
        }
        if self.position > journal.position().await? {
            return Ok(false);
        }
        let commit = journal.follow(self.position - 1).await?;
        Ok(Place::after(&commit) == *self)
    }
}
