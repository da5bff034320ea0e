//! What a frame of the log is in the index: compressed where that makes it shorter, as it is where not.

use std::borrow::Cow;

use crate::cursor::{Cursor, put_sized};
use crate::log::{Block, FRAME_HEADER, Header};

/// In front of a compressed frame; one that is stored as it is begins with the first byte of every frame, which is 0.
const COMPRESSED: u8 = 1;

/// [`COMPRESSED`], the length of the frame and the length of what follows, in four bytes each.
const PREFIX: usize = 9;

/// No sequence of LZ4 says more bytes than this with one of its own.
const MOST_OF_A_BYTE: usize = 255;

/// A longer frame is stored as it is: compressing takes as much memory again.
const LONGEST: usize = 8 << 20;

/// What is stored of a frame. `room` is for compressing, and may be used again.
pub(super) fn stored<'b>(block: &'b Block, room: &mut Vec<u8>) -> Cow<'b, [u8]> {
    compressed(&block.0, room)
        .filter(|shorter| shorter.len() < block.0.len())
        .map_or(Cow::Borrowed(&block.0), Cow::Owned)
}

fn compressed(frame: &[u8], room: &mut Vec<u8>) -> Option<Vec<u8>> {
    (frame.len() <= LONGEST).then_some(())?;
    let length = u32::try_from(frame.len()).ok()?;
    let most = lz4_flex::block::get_maximum_output_size(frame.len());
    if room.len() < most {
        room.resize(most, 0);
    }
    let written = lz4_flex::block::compress_into(frame, room).ok()?;
    let mut out = Vec::with_capacity(PREFIX + written);
    out.push(COMPRESSED);
    out.extend_from_slice(&length.to_be_bytes());
    put_sized(&mut out, room.get(..written)?);
    Some(out)
}

/// Whether no more is stored of a frame than these bytes. What stands behind is not looked at: a frame that was put in before a crash may
/// have taken more parts in another version. Of what is no frame, nothing more is wanted.
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

    fn block(bytes: impl IntoIterator<Item = u8>) -> Block {
        Block([0].into_iter().chain(bytes).collect())
    }

    #[test]
    fn a_frame_comes_out_as_it_went_in_and_shorter_where_it_repeats_itself() {
        // The room has what is left of the frame before.
        let mut room = Vec::new();
        for times in [100, 10] {
            let lines = block(br#"{"kind":"call_received","seq":1}"#.repeat(times));
            let compressed = stored(&lines, &mut room).into_owned();
            assert!(compressed.len() < lines.0.len() / 4, "{times}");
            assert_eq!(restored(compressed).unwrap().0, lines.0);
        }
        // Nothing repeats itself in two of these, and the third is too long.
        let too_long = block(std::iter::repeat_n(7, LONGEST));
        for frame in [block([]), block((0..=255).rev()), too_long] {
            let as_it_is = stored(&frame, &mut room);
            assert!(matches!(as_it_is, Cow::Borrowed(_)));
            assert_eq!(restored(as_it_is.into_owned()).unwrap().0, frame.0);
        }
    }

    #[test]
    fn what_stands_behind_a_compressed_frame_is_passed_over_and_what_is_altered_in_it_is_no_frame()
    {
        let lines = block([7; 1_000]);
        let sound = stored(&lines, &mut Vec::new()).into_owned();
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
