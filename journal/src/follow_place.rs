//! The place of a follower that goes on after a restart.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Commit, Error, Hash, Journal};

/// The place in a journal up to which a follower has read, for a file of the follower.
///
/// A repaired or restored journal may number its commits anew. So the place names the last append
/// of its commit, too.
///
/// ```json
/// {"position":42,"last":{"stream":"0199…","hash":"9f86…"}}
/// ```
///
/// ```
/// use recount_journal::{FollowPlace, Journal, MemoryJournal, block_on, own_append};
/// use recount_journal::Actor;
///
/// let journal = MemoryJournal::new();
/// block_on(journal.append(own_append(None, 1_000, Actor::new("journal"), "inspected", "{}")))?;
/// let place = FollowPlace::after(&block_on(journal.follow(0))?);
/// assert!(block_on(place.is_in(&journal))?);
/// assert!(!block_on(place.is_in(&MemoryJournal::new()))?);
/// # Ok::<(), recount_journal::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct FollowPlace {
    /// The position of the last commit. 0 before the first.
    pub position: u64,
    /// The last append of that commit.
    last: Option<LastAppend>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct LastAppend {
    stream: Uuid,
    hash: Hash,
}

impl FollowPlace {
    /// The place after a commit.
    pub fn after(commit: &Commit) -> Self {
        let last = commit.appends.last();
        Self {
            position: commit.position,
            last: last.and_then(|(stream, lines)| {
                Some(LastAppend {
                    stream: *stream,
                    hash: lines.last()?.leaf(),
                })
            }),
        }
    }

    /// Returns the place after the last commit of a journal.
    ///
    /// # Errors
    /// The errors of reading the journal.
    pub async fn at_end(journal: &dyn Journal) -> Result<Self, Error> {
        match journal.position().await? {
            0 => Ok(Self::default()),
            last => Ok(Self::after(&journal.follow(last - 1).await?)),
        }
    }

    /// Returns true if the journal has this place.
    ///
    /// # Errors
    /// The errors of reading the journal.
    pub async fn is_in(&self, journal: &dyn Journal) -> Result<bool, Error> {
        if self.position == 0 {
            return Ok(true);
        }
        if self.position > journal.position().await? {
            return Ok(false);
        }
        let commit = journal.follow(self.position - 1).await?;
        Ok(Self::after(&commit) == *self)
    }
}
