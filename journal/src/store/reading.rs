//! Reads records and objects: where they stand is told by the view and the index. The bytes come from memory while the index is
//! behind, then from the log, and from the index where the log does not have them as they were.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use uuid::Uuid;

use super::queue::Shared;
use crate::index::Index;
use crate::index::read::nowhere;
use crate::log::{Block, Entry, FramePlace, Place};
use crate::view::{ObjectPlace, Position};
use crate::{Commit, Error, Hash, Head, Line};

/// A position, and its frame unless the index has it.
type Placed = (Position, Option<Arc<Block>>);

impl Shared {
    /// The records of a stream from a seq, at most so many.
    pub(super) fn read(
        &self,
        index: &Index,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Line>, Error> {
        let mut page = Page {
            session,
            seq: from.max(1),
            limit,
            lines: Vec::new(),
        };
        let (last, recent) = self.recent(index, session, page.seq, limit)?;
        let Some(first_recent) = recent.first().map(|(position, _)| position.first) else {
            return Ok(page.lines);
        };
        while page.seq < first_recent && page.lines.len() < limit {
            let group = index.group(session, page.seq)?;
            let group = group.ok_or_else(|| page.gap())?;
            let before = page.seq;
            let start = group.partition_point(|position| position.first <= before);
            for position in group.get(start.saturating_sub(1)..).unwrap_or_default() {
                page.take(self, index, *position, None)?;
            }
            if page.seq == before {
                return Err(page.gap());
            }
        }
        for (position, block) in recent {
            page.take(self, index, position, block.as_deref())?;
        }
        if page.lines.len() < limit && page.seq <= last {
            return Err(page.gap());
        }
        Ok(page.lines)
    }

    /// The last seq of a stream, and those of its recent appends that may hold what is wanted, the one before them too.
    fn recent(
        &self,
        index: &Index,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> Result<(u64, Vec<Placed>), Error> {
        let mut state = self.state();
        let Some(stream) = state.view.stream(session, Some(index))? else {
            return Ok((0, Vec::new()));
        };
        let last = stream.head.seq;
        if from > last || limit == 0 {
            return Ok((last, Vec::new()));
        }
        let recent = &stream.recent;
        let start = recent.partition_point(|position| position.first <= from);
        let end = from.saturating_add(limit as u64);
        let wanted = recent.get(start.saturating_sub(1)..).unwrap_or_default();
        // The first one stays even if it is behind the page: up to it the groups of the index reach.
        let wanted: Vec<Position> = wanted
            .iter()
            .enumerate()
            .take_while(|(at, position)| *at == 0 || position.first < end)
            .map(|(_, position)| *position)
            .collect();
        let placed = wanted
            .into_iter()
            .map(|position| (position, state.unindexed(position.frame.number)));
        Ok((last, placed.collect()))
    }

    /// The end of a stream.
    pub(super) fn head(&self, index: &Index, session: Uuid) -> Result<Option<Head>, Error> {
        let mut state = self.state();
        let stream = state.view.stream(session, Some(index))?;
        Ok(stream.map(|stream| stream.head))
    }

    /// The end of the journal's own stream.
    pub(super) fn system_head(&self) -> Result<Option<Head>, Error> {
        let index = self.state().usable()?;
        self.head(&index, Uuid::nil())
    }

    /// The content of an object.
    pub(super) fn read_object(
        &self,
        index: &Index,
        hash: Hash,
    ) -> Result<Option<Arc<[u8]>>, Error> {
        let known = {
            let state = self.state();
            let place = state.view.object(&hash);
            place.map(|object| (object, state.unindexed(object.frame.number)))
        };
        let Some((object, block)) = known.map_or_else(
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
        let bytes = match block {
            Some(block) => of_block(frame, place, &block),
            None => {
                let kept = self.log.bytes(frame, place).filter(is_it);
                self.or_of_index(kept, index, frame, place)
            }
        };
        let damaged = |what: String| nowhere(format!("object {hash}: {what}"));
        let bytes = bytes.map_err(damaged)?;
        if is_it(&bytes) {
            Ok(Some(bytes.into()))
        } else {
            Err(damaged("its bytes do not hash to it".to_owned()))
        }
    }

    /// What the log had, or else what the index has there; then the next opening must look at all of both.
    fn or_of_index(
        &self,
        kept: Option<Vec<u8>>,
        index: &Index,
        frame: FramePlace,
        place: Place,
    ) -> Result<Vec<u8>, String> {
        if let Some(kept) = kept {
            return Ok(kept);
        }
        self.state().doubted = true;
        index.bytes(frame.number, place)
    }

    /// The first frame behind one, which must be committed.
    pub(super) fn read_commit(&self, index: &Index, after: u64) -> Result<Commit, Error> {
        let position = after + 1;
        let waiting = self.state().unindexed(position);
        let block = match waiting {
            Some(block) => block,
            None => {
                let block = index.block(position).map_err(nowhere)?;
                let missing = || nowhere(format!("frame {position} is missing"));
                Arc::new(block.ok_or_else(missing)?)
            }
        };
        let mut appends = Vec::new();
        for (_, body, _) in block.entries() {
            let entry = Entry::decode(body)
                .ok_or_else(|| nowhere(format!("an append of frame {position} does not decode")))?;
            let lines = entry.lines.iter().map(|line| Line::new(*line)).collect();
            appends.push((entry.session, lines));
        }
        Ok(Commit { position, appends })
    }

    /// The ends of the streams behind a session, at most so many.
    pub(super) fn heads(
        &self,
        index: &Index,
        after: Uuid,
        limit: usize,
    ) -> Result<Vec<(Uuid, Head)>, Error> {
        // What is at hand is looked at first: whatever leaves it meanwhile is in the index by then.
        let at_hand: Vec<(Uuid, Head)> = self.state().view.heads_after(after).take(limit).collect();
        let mut heads: BTreeMap<Uuid, Head> = index.heads(Bound::Excluded(after), limit)?;
        heads.extend(at_hand);
        Ok(heads.into_iter().take(limit).collect())
    }
}

/// A page of records as it fills.
struct Page {
    session: Uuid,
    /// The seq that comes next.
    seq: u64,
    limit: usize,
    lines: Vec<Line>,
}

impl Page {
    /// Takes what is wanted of an append.
    fn take(
        &mut self,
        shared: &Shared,
        index: &Index,
        position: Position,
        block: Option<&Block>,
    ) -> Result<(), Error> {
        if self.lines.len() >= self.limit || position.first > self.seq {
            return Ok(());
        }
        let Position { frame, place, .. } = position;
        let body = match block {
            Some(block) => of_block(frame, place, block),
            None => shared.or_of_index(shared.log.append(frame, place), index, frame, place),
        };
        let body = body.map_err(|what| self.damaged(what))?;
        let entry = Entry::decode(&body)
            .filter(|entry| entry.session == self.session && entry.first == position.first)
            .ok_or_else(|| self.damaged("another append stands in its place".to_owned()))?;
        for (line, seq) in entry.lines.iter().zip(entry.first..) {
            if seq == self.seq && self.lines.len() < self.limit {
                self.lines.push(Line::new(*line));
                self.seq += 1;
            }
        }
        Ok(())
    }

    fn damaged(&self, what: String) -> Error {
        Error::Index {
            session: Some(self.session),
            seq: Some(self.seq),
            what,
        }
    }

    fn gap(&self) -> Error {
        self.damaged("the record is missing".to_owned())
    }
}

fn of_block(frame: FramePlace, place: Place, block: &Block) -> Result<Vec<u8>, String> {
    let (start, length) = (place.offset as usize, place.length as usize);
    let bytes = block.0.get(start..).and_then(|rest| rest.get(..length));
    bytes
        .map(<[u8]>::to_vec)
        .ok_or_else(|| format!("frame {} is too short", frame.number))
}
