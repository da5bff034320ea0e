//! The reading of stream heads, objects and commits. [`pages`](super::pages) reads records.
//!
//! The view and the index know the places. The bytes come from memory while the index lags, then
//! from the log. If the log does not have the right bytes any more, they come from the index.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use uuid::Uuid;

use super::group_commit::queue::Shared;
use super::group_commit::state::Unindexed;
use crate::index::Index;
use crate::index::ObjectPlace;
use crate::index::read::nowhere;
use crate::log::{FrameBytes, FramePlace, LoggedAppend, Place};
use crate::{Commit, Error, Hash, Head, Line};

impl Shared {
    /// Returns the head of a stream.
    pub(super) fn head(&self, index: &Index, session: Uuid) -> Result<Option<Head>, Error> {
        let mut state = self.state();
        let stream = state.view.stream(session, Some(index))?;
        Ok(stream.map(|stream| stream.head))
    }

    /// Returns the head of the system stream.
    pub(super) fn system_head(&self) -> Result<Option<Head>, Error> {
        let index = self.state().usable()?;
        self.head(&index, Uuid::nil())
    }

    /// Returns the content of an object.
    pub(super) fn read_object(
        &self,
        index: &Index,
        hash: Hash,
    ) -> Result<Option<Arc<[u8]>>, Error> {
        let known = {
            let state = self.state();
            let place = state.view.object(&hash);
            place.map(|object| {
                let frame = state.unindexed(object.frame.number);
                (object, frame.map(|it| Arc::clone(&it.bytes)))
            })
        };
        let Some((object, frame_bytes)) = known.map_or_else(
            || {
                index
                    .object(&hash)
                    .map(|place| place.map(|place| (place, None)))
            },
            |known| Ok(Some(known)),
        )?
        else {
            return Ok(None);
        };
        let is_it = |bytes: &Vec<u8>| Hash::of_object(bytes) == hash;
        let ObjectPlace { frame, place } = object;
        let bytes = match frame_bytes {
            Some(frame_bytes) => bytes_in_frame(frame, place, &frame_bytes).map(<[u8]>::to_vec),
            None => match self.log.bytes(frame, place).filter(is_it) {
                Some(kept) => Ok(kept),
                None => self.of_index(index, frame, place),
            },
        };
        let damaged = |what: String| nowhere(format!("object {hash}: {what}"));
        let bytes = bytes.map_err(damaged)?;
        if is_it(&bytes) {
            Ok(Some(bytes.into()))
        } else {
            Err(damaged("its bytes do not hash to it".to_owned()))
        }
    }

    /// Reads bytes from the index that the log lacks. The next opening must check all of both.
    pub(super) fn of_index(
        &self,
        index: &Index,
        frame: FramePlace,
        place: Place,
    ) -> Result<Vec<u8>, String> {
        self.state().needs_full_check = true;
        index.bytes(frame.number, place)
    }

    /// Returns the first commit after a position, which must exist.
    pub(super) fn read_commit(&self, index: &Index, after: u64) -> Result<Commit, Error> {
        let position = after + 1;
        let waiting = self.state().unindexed(position).cloned();
        if let Some(frame) = waiting {
            return Ok(commit_in_memory(&frame));
        }
        let frame_bytes = index.frame_bytes(position).map_err(nowhere)?;
        let missing = || nowhere(format!("frame {position} is missing"));
        let frame_bytes = frame_bytes.ok_or_else(missing)?;
        let mut appends = Vec::new();
        for (_, body, _) in frame_bytes.appends() {
            let append = LoggedAppend::decode(body)
                .ok_or_else(|| nowhere(format!("an append of frame {position} does not decode")))?;
            appends.push((append.session, Line::together(append.lines.iter().copied())));
        }
        Ok(Commit { position, appends })
    }

    /// Returns the heads of the streams after a session, at most `limit`.
    pub(super) fn heads(
        &self,
        index: &Index,
        after: Uuid,
        limit: usize,
    ) -> Result<Vec<(Uuid, Head)>, Error> {
        // The cache is read before the index: a stream that leaves the cache in between is in the
        // index by then.
        let cached: Vec<(Uuid, Head)> = self.state().view.heads_after(after).take(limit).collect();
        let mut heads: BTreeMap<Uuid, Head> = index.heads(Bound::Excluded(after), limit)?;
        heads.extend(cached);
        Ok(heads.into_iter().take(limit).collect())
    }
}

/// Returns a commit that this process made, without a copy of its bytes.
fn commit_in_memory(frame: &Unindexed) -> Commit {
    let (bytes, mut leaves) = (Arc::clone(&frame.bytes), frame.leaves.iter().copied());
    let line = Line::of_commit(bytes);
    let appends = frame.bytes.written_appends().filter_map(|(place, body)| {
        let (session, ranges) = LoggedAppend::ranges(body)?;
        let start = place.offset as usize;
        let lines = ranges.map(|it| line(start + it.start..start + it.end, leaves.next()));
        Some((session, lines.collect()))
    });
    Commit {
        position: frame.number,
        appends: appends.collect(),
    }
}

/// Returns the bytes at a place of a frame in memory.
pub(super) fn bytes_in_frame(
    frame: FramePlace,
    place: Place,
    frame_bytes: &FrameBytes,
) -> Result<&[u8], String> {
    let (start, length) = (place.offset as usize, place.length as usize);
    let bytes = frame_bytes
        .0
        .get(start..)
        .and_then(|rest| rest.get(..length));
    bytes.ok_or_else(|| format!("frame {} is too short", frame.number))
}
