//! The index from a client's key to its session, which survives the process.
//!
//! A key is a resumption handle or a name that the client gave its session. The index is a file
//! beside the journal, with one line of JSON per entry. It holds hashes of keys, never a key.
//!
//! # Durability
//! Each entry is one `write` and no sync. The kernel keeps written bytes when the process is
//! killed. After a power failure the last entries may be missing: a client with such a key gets a
//! new session, as it would with an expired key, and the journal itself loses nothing.

mod file;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use recount::session::{ResumptionHandle, SessionId, Timestamp};
use sha2::{Digest, Sha256};

use self::file::{Line, PlacesFile};

/// The hash of a key of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlaceKey([u8; 32]);

impl PlaceKey {
    /// The key of a resumption handle under the credential that brought it.
    ///
    /// `credential` is a fingerprint. Another credential with the same handle has another key, so
    /// that a stolen handle alone leads to no session.
    pub(crate) fn of_handle(credential: &str, handle: &ResumptionHandle) -> PlaceKey {
        PlaceKey::of("handle", credential, handle.reveal())
    }

    /// The key of a resumption handle under any credential. It tells a handle that is another
    /// client's from one that is unknown.
    pub(crate) fn of_any_handle(handle: &ResumptionHandle) -> PlaceKey {
        PlaceKey::of("any-handle", "", handle.reveal())
    }

    /// The key of a name that a client gave its session, under the name of its token.
    pub(crate) fn of_name(token: &str, name: &str) -> PlaceKey {
        PlaceKey::of("name", token, name)
    }

    /// The key of a session itself, which no client can bring. With it, a later process knows the
    /// sessions whose clients had no other key.
    pub(crate) fn of_session(session: SessionId) -> PlaceKey {
        PlaceKey::of("session", "", &session.to_string())
    }

    /// The part of all keys that this one belongs to, of `parts` equal ones.
    pub(crate) fn part_of(&self, parts: usize) -> usize {
        let [first, ..] = self.0;
        usize::from(first) % parts
    }

    /// Hashes a key with the lengths of its parts, so that no two keys have the same text.
    fn of(kind: &str, scope: &str, value: &str) -> PlaceKey {
        let mut hash = Sha256::new();
        for part in [kind, scope, value] {
            // A length fits into 64 bits on every target.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        PlaceKey(hash.finalize().into())
    }
}

/// The limits of the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceLimits {
    /// The time for which an entry is kept after it was put.
    pub(crate) keep: Duration,
    /// The maximum number of entries. The oldest ones give way.
    pub(crate) entries: usize,
}

/// The result of reading the file at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacesRead {
    /// The number of lines that are not entries. The process may have been killed in one of them.
    pub(crate) damaged: usize,
    /// The number of entries that are in force.
    pub(crate) entries: usize,
}

/// The index. One process may have it open at a time; the lock of the journal ensures that.
#[derive(Debug)]
pub(crate) struct Places {
    file: Option<PlacesFile>,
    limits: PlaceLimits,
    entries: HashMap<PlaceKey, (Timestamp, SessionId)>,
    /// The keys by the times of their entries, the oldest first.
    ages: BTreeSet<(Timestamp, PlaceKey)>,
}

impl Places {
    /// Opens the index, or creates it with access for its owner only. Without a file it is in
    /// memory alone.
    ///
    /// Damaged lines are skipped and counted.
    ///
    /// # Errors
    /// An I/O error.
    pub(crate) fn open(
        path: Option<PathBuf>,
        limits: PlaceLimits,
        now: Timestamp,
    ) -> io::Result<(Places, PlacesRead)> {
        let (file, lines, damaged) = match path {
            Some(path) => {
                let (file, lines, damaged) = PlacesFile::open(path)?;
                (Some(file), lines, damaged)
            }
            None => (None, Vec::new(), 0),
        };
        let mut places = Places {
            file,
            limits,
            entries: HashMap::new(),
            ages: BTreeSet::new(),
        };
        for Line { key, session, at } in lines {
            places.keep(PlaceKey(key), session, at);
        }
        places.drop_old(now);
        places.rewrite_if_large(damaged > 0)?;
        let entries = places.entries.len();
        Ok((places, PlacesRead { damaged, entries }))
    }

    /// Returns the session of a key. `None` if the key is unknown or its entry too old.
    pub(crate) fn get(&self, key: PlaceKey, now: Timestamp) -> Option<SessionId> {
        let (at, session) = self.entries.get(&key)?;
        (!self.is_old(*at, now)).then_some(*session)
    }

    /// Puts the session of a key, instead of an earlier one.
    ///
    /// # Errors
    /// An I/O error. The entry is in force then, but not in the file.
    pub(crate) fn put(
        &mut self,
        key: PlaceKey,
        session: SessionId,
        now: Timestamp,
    ) -> io::Result<()> {
        self.keep(key, session, now);
        self.drop_old(now);
        let line = Line {
            key: key.0,
            session,
            at: now,
        };
        if let Some(file) = &mut self.file {
            file.append(&line)?;
        }
        self.rewrite_if_large(false)
    }

    /// Returns the sessions of all entries.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.entries.values().map(|(_, session)| *session)
    }

    fn keep(&mut self, key: PlaceKey, session: SessionId, at: Timestamp) {
        if let Some((before, _)) = self.entries.insert(key, (at, session)) {
            self.ages.remove(&(before, key));
        }
        self.ages.insert((at, key));
    }

    /// Drops entries that are too old or too many.
    fn drop_old(&mut self, now: Timestamp) {
        while let Some(&(at, key)) = self.ages.first()
            && (self.is_old(at, now) || self.ages.len() > self.limits.entries)
        {
            self.ages.pop_first();
            self.entries.remove(&key);
        }
    }

    fn is_old(&self, at: Timestamp, now: Timestamp) -> bool {
        at.after(self.limits.keep) < now
    }

    /// Rewrites the file when most of its lines are of no use.
    fn rewrite_if_large(&mut self, is_damaged: bool) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let is_large = file.lines() > 2 * self.entries.len().max(LINES_MIN);
        if !is_large && !is_damaged {
            return Ok(());
        }
        // In the order of their times, so that a later line is a later entry.
        let lines = self.ages.iter().filter_map(|(at, key)| {
            let (_, session) = self.entries.get(key)?;
            Some(Line {
                key: key.0,
                session: *session,
                at: *at,
            })
        });
        file.rewrite(lines)
    }
}

/// The number of entries below which a file counts as small, about 16 KiB.
const LINES_MIN: usize = 128;

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
