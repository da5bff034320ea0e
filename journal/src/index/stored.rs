//! What a frame of the log is in the index: compressed where that makes it shorter, as it is where
//! not.

use std::ops::Range;

use crate::log::cursor::Cursor;
use crate::log::{Block, FRAME_HEADER, Header};

/// In front of a compressed frame; one that is stored as it is begins with the first byte of every
/// frame, which is 0.
const COMPRESSED: u8 = 1;

/// [`COMPRESSED`], the length of the frame and the length of what follows, in four bytes each.
const PREFIX: usize = 9;

/// No sequence of LZ4 says more bytes than this with one of its own.
const MOST_OF_A_BYTE: usize = 255;

/// A longer frame is stored as it is: compressing takes as much memory again.
const LONGEST: usize = 8 << 20;

/// The largest room that is kept for the next frames, in bytes.
const KEPT: usize = 4 << 20;

/// Where frames are compressed, one behind the other. It is used again and again: fresh memory
/// costs as much as compressing.
#[derive(Default)]
pub(crate) struct Room {
    bytes: Vec<u8>,
    taken: usize,
}

/// What is stored of a frame.
pub(super) enum Stored {
    AsItIs,
    /// It is shorter, and stands here in the room.
    Compressed(Range<usize>),
}

impl Room {
    /// Takes a frame in, if it is shorter when it is compressed.
    pub(super) fn take(&mut self, block: &Block) -> Stored {
        self.compress(&block.0)
            .map_or(Stored::AsItIs, Stored::Compressed)
    }

    /// What is stored of the frame that was taken in so.
    pub(super) fn bytes<'s>(&'s self, block: &'s Block, stored: &Stored) -> &'s [u8] {
        match stored {
            Stored::AsItIs => &block.0,
            Stored::Compressed(place) => self.bytes.get(place.clone()).unwrap_or_default(),
        }
    }

    /// Makes room for the next frames.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }

    fn compress(&mut self, frame: &[u8]) -> Option<Range<usize>> {
        (frame.len() <= LONGEST).then_some(())?;
        let length = u32::try_from(frame.len()).ok()?;
        let first = self.taken;
        let most = first + PREFIX + lz4_flex::block::get_maximum_output_size(frame.len());
        if self.bytes.len() < most {
            self.bytes.resize(most, 0);
        }
        let (prefix, out) = self.bytes.get_mut(first..)?.split_at_mut_checked(PREFIX)?;
        let written = lz4_flex::block::compress_into(frame, out).ok()?;
        (PREFIX + written < frame.len()).then_some(())?;
        let [mark, lengths @ ..] = prefix else {
            return None;
        };
        *mark = COMPRESSED;
        let said = [length, u32::try_from(written).ok()?].map(u32::to_be_bytes);
        lengths.copy_from_slice(said.as_flattened());
        self.taken = first + PREFIX + written;
        Some(first..self.taken)
    }
}

/// True if no more is stored of a frame than these bytes. What stands behind is not looked at: a
/// frame that was put in before a crash may have taken more parts in another version. Of what is no
/// frame, nothing more is wanted.
pub(super) fn is_all(stored: &[u8]) -> bool {
    !stored.is_empty() && length(stored).is_none_or(|length| length <= stored.len())
}

/// How many bytes are stored of a frame of which the first of them are these.
fn length(first: &[u8]) -> Option<usize> {
    let mut cursor = Cursor(first);
    if cursor.u8()? == COMPRESSED {
        let _of_the_frame = cursor.u32()?;
        return PREFIX.checked_add(cursor.u32()? as usize);
    }
    let (header, _) = Header::decode(first.get(..FRAME_HEADER)?)?;
    FRAME_HEADER.checked_add(header.length as usize)
}

/// The frame of which this is stored, if it is any; one that was stored as it is may be none.
pub(super) fn restored(stored: Vec<u8>) -> Option<Block> {
    let mut cursor = Cursor(&stored);
    if cursor.u8()? != COMPRESSED {
        return Some(Block(stored));
    }
    let length = cursor.u32()? as usize;
    let compressed = cursor.sized()?;
    // What says more than it can hold, or than was ever compressed, must not be given the room.
    let most = compressed.len().saturating_mul(MOST_OF_A_BYTE);
    (length <= most.min(LONGEST)).then_some(())?;
    let frame = lz4_flex::block::decompress(compressed, length).ok()?;
    (frame.len() == length).then_some(Block(frame))
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use super::*;
    use crate::log::cursor::put_sized;

    /// What is stored of a frame, and whether it is another one than the frame.
    fn stored(block: &Block, room: &mut Room) -> (Vec<u8>, bool) {
        let stored = room.take(block);
        let is_compressed = matches!(stored, Stored::Compressed(_));
        (room.bytes(block, &stored).to_vec(), is_compressed)
    }

    fn block(bytes: impl IntoIterator<Item = u8>) -> Block {
        Block([0].into_iter().chain(bytes).collect())
    }

    #[test]
    fn a_frame_comes_out_as_it_went_in_and_shorter_where_it_repeats_itself() {
        let mut room = Room::default();
        // In what is left of those before.
        for times in [100, 10] {
            let of = |kind: &str| block(kind.repeat(times).into_bytes());
            // Behind each other, with one between that stays as it is; the last makes the room
            // grow.
            let frames = [
                of("{call_received}"),
                block(0..=255),
                of(&"{sent}".repeat(99)),
            ];
            let all = frames.each_ref().map(|frame| room.take(frame));
            for (frame, stored) in frames.iter().zip(&all) {
                let bytes = room.bytes(frame, stored);
                let is_varied = frame.0.len() == 257;
                assert_eq!(bytes.len() < frame.0.len() / 3, !is_varied, "{times}");
                assert_eq!(restored(bytes.to_vec()).unwrap().0, frame.0);
            }
            room.clear();
            assert_eq!(room.taken, 0);
        }
        room.take(&block(std::iter::repeat_n(7, KEPT)));
        room.clear();
        assert!(room.bytes.capacity() <= KEPT);
        // Nothing repeats itself in two of these, and the third is too long.
        let too_long = block(std::iter::repeat_n(7, LONGEST));
        for frame in [block([]), block((0..=255).rev()), too_long] {
            let (as_it_is, is_compressed) = stored(&frame, &mut room);
            assert!(!is_compressed);
            assert_eq!(restored(as_it_is).unwrap().0, frame.0);
        }
    }

    #[test]
    fn what_stands_behind_a_compressed_frame_is_passed_over_and_what_is_altered_in_it_is_no_frame()
    {
        let lines = block([7; 1_000]);
        let (sound, _) = stored(&lines, &mut Room::default());
        let longer = [&sound[..], b"behind"].concat();
        assert_eq!(restored(longer).unwrap().0, lines.0);
        for cut in 0..sound.len() {
            assert!(restored(sound[..cut].to_vec()).is_none(), "{cut}");
        }
        // A frame of nearly four gibibytes in a few bytes.
        let mut claiming = sound.clone();
        claiming[1] = 0xff;
        assert!(restored(claiming).is_none());
        // One that is as long as it says, and longer than any that was ever compressed.
        let bomb = vec![7; LONGEST + 1];
        let compressed = lz4_flex::block::compress(&bomb);
        let mut bomb = vec![COMPRESSED];
        bomb.extend_from_slice(&u32::try_from(LONGEST + 1).unwrap().to_be_bytes());
        put_sized(&mut bomb, &compressed);
        assert!(restored(bomb).is_none());
        for length in [1_000_u32, 1_002] {
            let mut other = sound.clone();
            other[1..5].copy_from_slice(&length.to_be_bytes());
            assert!(restored(other).is_none(), "{length}");
        }
    }
}
