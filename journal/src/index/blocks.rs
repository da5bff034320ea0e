//! The frames of the log in the index, byte for byte, in pieces.
//!
//! They stand in the order of the log, which is what sled likes best; where a stream's appends are is told by other rows.

use std::sync::atomic::Ordering;

use super::{Index, contained, rows};
use crate::log::{Block, Place};

/// The most bytes in one value. A leaf of sled holds up to 17 values, and a page of over 131,052 bytes would go to a file that is
/// never synced; moreover sled notices only after thousands of accesses that its cache is full, so large pages cost memory.
const PIECE: usize = 7_000;

/// How often a walk looks at each value. sled takes note of accesses 64 at a time, and of each of its 256 shards by itself; a leaf has from 8 to 17
/// values. Looked at once, a walk over 100 MiB would have all of it in memory.
const TOUCHES: usize = 16;

/// For how many frames keys are made ahead.
const AHEAD: u64 = 64;

impl Index {
    /// Puts frames in. `give_way` is called after every value.
    pub(crate) fn put_blocks<'b>(
        &self,
        blocks: impl Iterator<Item = (u64, &'b Block)> + Clone,
        give_way: impl Fn(),
    ) -> Result<(), String> {
        contained(|| {
            for (frame, block) in blocks.clone() {
                self.make_keys(frame, block.0.len().div_ceil(PIECE))?;
                give_way();
            }
            for (frame, block) in blocks {
                pieces(frame, block, |key, value| {
                    give_way();
                    self.insert(key, value)
                })?;
            }
            Ok(())
        })
    }

    /// Makes the keys of a frame's pieces, without their values. sled writes a leaf anew, with all that is in it, when it
    /// splits and after ten changes; so the keys come first, and leaves split while there is nothing in them. It
    /// halves what is written, and more.
    fn make_keys(&self, frame: u64, parts: usize) -> Result<(), String> {
        if frame >= self.keys_end.load(Ordering::Relaxed) {
            for frame in frame..frame + AHEAD {
                self.insert(rows::block_key(frame, 0), Vec::new())?;
            }
            self.keys_end.store(frame + AHEAD, Ordering::Relaxed);
        }
        for (part, _) in (1..).zip(1..parts) {
            self.insert(rows::block_key(frame, part), Vec::new())?;
        }
        Ok(())
    }

    fn insert(&self, key: [u8; 13], value: Vec<u8>) -> Result<(), String> {
        let inserted = self.store.insert(key, value);
        inserted.map(drop).map_err(|error| error.to_string())
    }

    /// Goes through all frames in order, to compare them with those of the log.
    pub(crate) fn walk(&self) -> Walk {
        Walk {
            store: self.store.clone(),
            last: None,
            next: None,
        }
    }

    /// Some bytes of a frame.
    pub(crate) fn bytes(&self, frame: u64, place: Place) -> Result<Vec<u8>, String> {
        let (mut skip, length) = (place.offset as usize, place.length as usize);
        let mut out = Vec::with_capacity(length);
        let mut part = skip / PIECE;
        skip %= PIECE;
        contained(|| {
            while out.len() < length {
                let key = rows::block_key(frame, u32::try_from(part).unwrap_or(u32::MAX));
                let value = self.store.get(key).map_err(|error| error.to_string())?;
                let value =
                    value.ok_or_else(|| format!("part {part} of frame {frame} is missing"))?;
                let piece = rows::unsealed(&key, &value).ok_or_else(|| {
                    format!("part {part} of frame {frame} does not hold its checksum")
                })?;
                let piece = piece.get(skip..).unwrap_or_default();
                let wanted = piece.get(..length - out.len()).unwrap_or(piece);
                if wanted.is_empty() {
                    return Err(format!("frame {frame} ends in part {part}"));
                }
                out.extend_from_slice(wanted);
                (part, skip) = (part + 1, 0);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The numbers of the frames that begin here, as far as they can be read.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let mut frames = Vec::new();
        let rows = contained(|| {
            for row in self.store.scan_prefix([rows::BLOCKS]) {
                let (key, value) = row.map_err(|error| error.to_string())?;
                frames.extend(
                    rows::read_block_key(&key)
                        .filter(|(_, part)| *part == 0 && !value.is_empty())
                        .map(|(frame, _)| frame),
                );
            }
            Ok(())
        });
        // What comes behind the failure cannot be had, whatever it is.
        let _as_far_as = rows;
        frames
    }

    /// The last frame of which anything is here, 0 for none. Only what is synced in the log comes here, so the log has it, or had it.
    pub(crate) fn last_frame(&self) -> Result<u64, String> {
        let mut behind = sled::IVec::from(&[rows::BLOCKS + 1]);
        contained(|| {
            loop {
                let before = self.store.get_lt(&behind);
                let before = before.map_err(|error| error.to_string())?;
                let named = before.and_then(|(key, value)| {
                    rows::read_block_key(&key).map(|(frame, _)| (frame, key, value))
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

    /// The whole frame with a number, if any of it is here.
    pub(crate) fn block(&self, frame: u64) -> Result<Option<Block>, String> {
        let all = rows::block_key(frame, 0)..=rows::block_key(frame, u32::MAX);
        let mut out = Vec::new();
        contained(|| {
            let is_filled = |row: &sled::Result<(_, sled::IVec)>| {
                row.as_ref().map_or(true, |(_, value)| !value.is_empty())
            };
            for (part, row) in (0..).zip(self.store.range(all).filter(is_filled)) {
                let (key, value) = row.map_err(|error| error.to_string())?;
                let piece = rows::unsealed(&key, &value)
                    .filter(|_| rows::read_block_key(&key) == Some((frame, part)));
                out.extend_from_slice(piece.ok_or_else(|| {
                    format!("part {part} of frame {frame} is missing or does not hold its checksum")
                })?);
            }
            Ok(())
        })?;
        Ok((!out.is_empty()).then_some(Block(out)))
    }
}

/// The first frame whose key no leaf has.
pub(super) fn keys_end(store: &sled::Db) -> Result<u64, String> {
    let last = store.get_lt([rows::BLOCKS + 1]);
    let last = last.map_err(|error| error.to_string())?;
    let frame = last.and_then(|(key, _)| rows::read_block_key(&key));
    Ok(frame.map_or(0, |(frame, _)| frame + 1))
}

/// A walk through the frames of the index.
pub(crate) struct Walk {
    store: sled::Db,
    last: Option<sled::IVec>,
    next: Option<(sled::IVec, sled::IVec)>,
}

impl Walk {
    /// Whether a frame comes next, exactly as it is in the log. Frames must be asked for in order; what is passed over makes it a no.
    pub(crate) fn holds(&mut self, frame: u64, block: &Block) -> bool {
        let mut same = true;
        let compared = contained(|| {
            pieces(frame, block, |key, value| {
                while self.peek()?.is_some_and(|next| *next < key[..]) {
                    self.next = None;
                    same = false;
                }
                if self.peek()? == Some(&key[..]) {
                    same &= self
                        .next
                        .take()
                        .is_some_and(|(_, stored)| *stored == *value);
                } else {
                    same = false;
                }
                Ok(())
            })
        });
        compared.is_ok() && same
    }

    /// Whether nothing more stands up to a frame.
    pub(crate) fn is_behind(&mut self, frame: u64) -> bool {
        let last = rows::block_key(frame, u32::MAX);
        contained(|| Ok(self.peek()?.is_none_or(|next| *next > last[..]))).unwrap_or(false)
    }

    fn peek(&mut self) -> Result<Option<&[u8]>, String> {
        while self.next.is_none() {
            // Iterating would reach a page once, and sled forgets pages only by accesses: looking up each value keeps its cache small.
            let next = match &self.last {
                Some(last) => self.store.get_gt(last),
                None => self.store.get_gt([rows::BLOCKS]),
            };
            let next = next.map_err(|error| error.to_string())?;
            let Some((key, value)) = next.filter(|(key, _)| key.first() == Some(&rows::BLOCKS))
            else {
                break;
            };
            // One that is passed over is not wanted again, and goes from the cache as soon as sled takes note of enough accesses.
            for _ in 0..TOUCHES {
                self.store
                    .contains_key(&key)
                    .map_err(|error| error.to_string())?;
            }
            self.last = Some(key.clone());
            // One without a value was made ahead.
            self.next = (!value.is_empty()).then_some((key, value));
        }
        Ok(self.next.as_ref().map(|(key, _)| &**key))
    }
}

fn pieces(
    frame: u64,
    block: &Block,
    mut each: impl FnMut([u8; 13], Vec<u8>) -> Result<(), String>,
) -> Result<(), String> {
    for (part, piece) in (0..).zip(block.0.chunks(PIECE)) {
        let key = rows::block_key(frame, part);
        each(key, rows::sealed(&key, piece))?;
    }
    Ok(())
}
