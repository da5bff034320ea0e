//! The frames of the log in the index, compressed and in pieces.
//!
//! They have sequential keys, which are cheapest for sled. Other rows have the positions of a
//! stream's appends.

use std::sync::atomic::Ordering;

use super::rows;
use super::stored::{CompressionBuffer, is_all, restored};
use super::tree::{Index, contained};
use crate::log::{FrameBytes, Place};

/// The maximum size of one value, in bytes. A leaf of sled holds up to 17 values, and a page over
/// 131,052 bytes would go to a file that is never synced. sled also checks its cache only after
/// thousands of accesses, so large pages cost memory.
const PIECE: usize = 7_000;

/// The number of accesses to each value during a walk. sled counts accesses in steps of 64 and for
/// each of its 256 shards; a leaf has 8 to 17 values. With one access each, a walk over 100 MiB
/// would keep all of it in memory.
const TOUCHES: usize = 16;

/// The number of frames whose keys are created ahead.
const AHEAD: u64 = 64;

impl Index {
    /// Writes frames, compressed in `buffer`. `yield_point` is called after every compressed frame
    /// and every written value.
    pub(crate) fn put_frames<'b>(
        &self,
        sources: impl Iterator<Item = (u64, &'b FrameBytes)>,
        buffer: &mut CompressionBuffer,
        yield_point: impl Fn(),
    ) -> Result<(), String> {
        buffer.clear();
        contained(|| {
            let mut frames = Vec::new();
            for (frame, frame_bytes) in sources {
                let stored = buffer.take(frame_bytes);
                let length = buffer.bytes(frame_bytes, &stored).len();
                self.make_keys(frame, length.div_ceil(PIECE))?;
                frames.push((frame, frame_bytes, stored));
                yield_point();
            }
            for (frame, frame_bytes, stored) in frames {
                let pieces = buffer.bytes(frame_bytes, &stored).chunks(PIECE);
                for (part, piece) in (0..).zip(pieces) {
                    let key = rows::frame_key(frame, part);
                    self.insert(key, rows::sealed(&key, piece))?;
                    yield_point();
                }
            }
            buffer.clear();
            Ok(())
        })
    }

    /// Creates the keys of a frame's pieces, without their values. sled rewrites a leaf with its
    /// values when it splits, and after ten changes. With the keys first, leaves split while they
    /// are empty, which more than halves the written bytes.
    fn make_keys(&self, frame: u64, parts: usize) -> Result<(), String> {
        if frame >= self.keys_end.load(Ordering::Relaxed) {
            for frame in frame..frame + AHEAD {
                self.insert(rows::frame_key(frame, 0), Vec::new())?;
            }
            self.keys_end.store(frame + AHEAD, Ordering::Relaxed);
        }
        for (part, _) in (1..).zip(1..parts) {
            self.insert(rows::frame_key(frame, part), Vec::new())?;
        }
        Ok(())
    }

    fn insert(&self, key: [u8; 13], value: Vec<u8>) -> Result<(), String> {
        let inserted = self.store.insert(key, value);
        inserted.map(drop).map_err(|error| error.to_string())
    }

    /// Walks through all frames in order, to compare them with those of the log.
    pub(crate) fn walk(&self) -> Walk {
        Walk {
            store: self.store.clone(),
            last: None,
            next: None,
        }
    }

    /// Reads some bytes of a frame.
    pub(crate) fn bytes(&self, frame: u64, place: Place) -> Result<Vec<u8>, String> {
        let frame_bytes = self.frame_bytes(frame)?;
        let frame_bytes = frame_bytes.ok_or_else(|| format!("frame {frame} is missing"))?;
        let bytes = frame_bytes.0.get(place.offset as usize..);
        let bytes = bytes.and_then(|from| from.get(..place.length as usize));
        let bytes = bytes.ok_or_else(|| {
            let (end, length) = (frame_bytes.0.len(), place.length);
            format!(
                "frame {frame} ends at byte {end}, before {length} from byte {}",
                place.offset
            )
        })?;
        Ok(bytes.to_vec())
    }

    /// The numbers of the frames in the index, as far as they can be read.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let mut frames = Vec::new();
        let rows = contained(|| {
            for row in self.store.scan_prefix([rows::FRAMES]) {
                let (key, value) = row.map_err(|error| error.to_string())?;
                frames.extend(
                    rows::read_frame_key(&key)
                        .filter(|(_, part)| *part == 0 && !value.is_empty())
                        .map(|(frame, _)| frame),
                );
            }
            Ok(())
        });
        // The rows after a failure cannot be read, whatever the failure is.
        let _as_far_as = rows;
        frames
    }

    /// The last frame of which the index has any part, 0 for none. The index gets only synced
    /// frames, so the log has it or had it.
    pub(crate) fn last_frame(&self) -> Result<u64, String> {
        let mut behind = sled::IVec::from(&[rows::FRAMES + 1]);
        contained(|| {
            loop {
                let before = self.store.get_lt(&behind);
                let before = before.map_err(|error| error.to_string())?;
                let named = before.and_then(|(key, value)| {
                    rows::read_frame_key(&key).map(|(frame, _)| (frame, key, value))
                });
                let Some((frame, key, value)) = named else {
                    return Ok(0);
                };
                if rows::unsealed(&key, &value).is_some() {
                    return Ok(frame);
                }
                behind = key;
            }
        })
    }

    /// The whole frame with a number, if the index has any part of it.
    pub(crate) fn frame_bytes(&self, frame: u64) -> Result<Option<FrameBytes>, String> {
        let all = rows::frame_key(frame, 0)..=rows::frame_key(frame, u32::MAX);
        let mut stored = Vec::new();
        contained(|| {
            let is_filled = |row: &sled::Result<(_, sled::IVec)>| {
                row.as_ref().map_or(true, |(_, value)| !value.is_empty())
            };
            let mut rows = (0..).zip(self.store.range(all).filter(is_filled));
            while !is_all(&stored)
                && let Some((part, row)) = rows.next()
            {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let piece = rows::unsealed(&key, &value)
                    .filter(|_| rows::read_frame_key(&key) == Some((frame, part)));
                stored.extend_from_slice(piece.ok_or_else(|| {
                    format!("part {part} of frame {frame} is missing or does not hold its checksum")
                })?);
            }
            Ok(())
        })?;
        if stored.is_empty() {
            return Ok(None);
        }
        // Each remaining part holds its checksum even if parts at the end are missing.
        let is_it = |frame_bytes: &FrameBytes| {
            let header = frame_bytes.header();
            header.is_some_and(|(header, _)| header.number == frame)
        };
        restored(stored)
            .filter(is_it)
            .map(Some)
            .ok_or_else(|| format!("what is stored of frame {frame} is not that frame"))
    }
}

/// The first frame whose key does not exist.
pub(super) fn keys_end(store: &sled::Db) -> Result<u64, String> {
    let last = store.get_lt([rows::FRAMES + 1]);
    let last = last.map_err(|error| error.to_string())?;
    let frame = last.and_then(|(key, _)| rows::read_frame_key(&key));
    Ok(frame.map_or(0, |(frame, _)| frame + 1))
}

/// A walk through the frames of the index.
pub(crate) struct Walk {
    store: sled::Db,
    last: Option<sled::IVec>,
    next: Option<(sled::IVec, sled::IVec)>,
}

impl Walk {
    /// True if the next frame is exactly this one of the log. Frames must be passed in order; a
    /// skipped frame makes the result false.
    pub(crate) fn holds(&mut self, frame: u64, frame_bytes: &FrameBytes) -> bool {
        let first = rows::frame_key(frame, 0);
        let compared = contained(|| {
            let mut same = true;
            while self.peek()?.is_some_and(|next| *next < first[..]) {
                self.next = None;
                same = false;
            }
            // Another version may compress a frame into other bytes, so only the restored frames
            // are compared.
            let stored = self.stored(frame, frame_bytes.0.len())?;
            Ok(same
                && stored
                    .and_then(restored)
                    .is_some_and(|it| it.0 == frame_bytes.0))
        });
        compared.unwrap_or(false)
    }

    /// Reads the stored bytes of a frame, if its parts are consecutive and their checksums hold. It
    /// consumes all parts of the frame.
    fn stored(&mut self, frame: u64, length: usize) -> Result<Option<Vec<u8>>, String> {
        // No version stored more than `length`, so a damaged index cannot make this allocate more.
        let most = u32::try_from(length.div_ceil(PIECE)).unwrap_or(u32::MAX);
        let last = rows::frame_key(frame, u32::MAX);
        let mut stored = Some(Vec::new());
        let mut next = 0;
        while self.peek()?.is_some_and(|key| *key <= last[..]) {
            let row = self.next.take();
            let part = row.as_ref().and_then(|(key, value)| {
                let (_, part) = rows::read_frame_key(key).filter(|(_, part)| *part < most)?;
                let piece = rows::unsealed(key, value)?;
                (piece.len() <= PIECE).then_some((part, piece))
            });
            stored = stored.zip(part).and_then(|(mut stored, (part, piece))| {
                if !is_all(&stored) {
                    (part == next).then_some(())?;
                    stored.extend_from_slice(piece);
                }
                Some(stored)
            });
            next += 1;
        }
        Ok(stored)
    }

    /// True if the index has no more rows up to a frame.
    pub(crate) fn is_behind(&mut self, frame: u64) -> bool {
        let last = rows::frame_key(frame, u32::MAX);
        contained(|| Ok(self.peek()?.is_none_or(|next| *next > last[..]))).unwrap_or(false)
    }

    fn peek(&mut self) -> Result<Option<&[u8]>, String> {
        while self.next.is_none() {
            // An iterator would access a page once, and sled evicts pages only after accesses.
            // Looking up each value keeps its cache small.
            let next = match &self.last {
                Some(last) => self.store.get_gt(last),
                None => self.store.get_gt([rows::FRAMES]),
            };
            let next = next.map_err(|error| error.to_string())?;
            let Some((key, value)) = next.filter(|(key, _)| key.first() == Some(&rows::FRAMES))
            else {
                break;
            };
            // A skipped value is not needed again. sled evicts it as soon as it has counted enough
            // accesses.
            for _ in 0..TOUCHES {
                self.store
                    .contains_key(&key)
                    .map_err(|error| error.to_string())?;
            }
            self.last = Some(key.clone());
            // A key without a value was created ahead.
            self.next = (!value.is_empty()).then_some((key, value));
        }
        Ok(self.next.as_ref().map(|(key, _)| &**key))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::log::Header;

    #[test]
    fn frame_without_its_end_is_rejected() {
        let payload: Vec<u8> = (0..20_000_u32).flat_map(u32::to_be_bytes).collect();
        let header = Header {
            length: u32::try_from(payload.len()).unwrap(),
            number: 5,
            appends: 1,
            chain: 0,
            payload: crc32fast::hash(&payload),
        };
        let frame = [header.encode().0, payload].concat();
        let directory = tempfile::tempdir().unwrap();
        let index = Index::open(directory.path(), 1 << 20).unwrap();
        // Uncompressed pieces, as earlier versions stored them, also under the number of another
        // frame.
        for number in [5, 6] {
            for (part, piece) in (0..).zip(frame.chunks(PIECE)) {
                let key = rows::frame_key(number, part);
                index.insert(key, rows::sealed(&key, piece)).unwrap();
            }
        }
        assert_eq!(index.frame_bytes(5).unwrap().unwrap().0, frame);
        index.frame_bytes(6).unwrap_err();
        let last = u32::try_from(frame.len() / PIECE).unwrap();
        index.insert(rows::frame_key(5, last), Vec::new()).unwrap();
        index.frame_bytes(5).unwrap_err();
    }
}
