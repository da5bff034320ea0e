//! The stored form of a frame in the index: compressed if that is shorter, otherwise unchanged.

use std::ops::Range;

use crate::log::cursor::Cursor;
use crate::log::{FRAME_HEADER, FrameBytes, Header};

/// The first byte of a compressed frame. An uncompressed one begins with the first byte of every
/// frame, which is 0.
const COMPRESSED: u8 = 1;

/// The length of the prefix: [`COMPRESSED`], the length of the frame, the length of the rest, four
/// bytes each.
const PREFIX: usize = 9;

/// The maximum expansion of LZ4, in bytes for one input byte.
const MOST_OF_A_BYTE: usize = 255;

/// The maximum size of a compressed frame, in bytes. A longer frame is stored unchanged, because
/// compressing it would take as much memory again.
const LONGEST: usize = 8 << 20;

/// The maximum buffer that is kept for the next frames, in bytes.
const KEPT: usize = 4 << 20;

/// A buffer in which frames are compressed, one after the other. It is reused, because fresh memory
/// costs as much as compressing.
#[derive(Default)]
pub(crate) struct CompressionBuffer {
    bytes: Vec<u8>,
    taken: usize,
}

/// The stored form of a frame.
pub(super) enum Stored {
    AsItIs,
    /// The compressed frame, in this range of the buffer.
    Compressed(Range<usize>),
}

impl CompressionBuffer {
    /// Compresses a frame into the buffer, if that makes it shorter.
    pub(super) fn take(&mut self, frame_bytes: &FrameBytes) -> Stored {
        self.compress(&frame_bytes.0)
            .map_or(Stored::AsItIs, Stored::Compressed)
    }

    /// The stored bytes of a frame that was compressed by [`CompressionBuffer::take`].
    pub(super) fn bytes<'s>(&'s self, frame_bytes: &'s FrameBytes, stored: &Stored) -> &'s [u8] {
        match stored {
            Stored::AsItIs => &frame_bytes.0,
            Stored::Compressed(place) => self.bytes.get(place.clone()).unwrap_or_default(),
        }
    }

    /// Clears the buffer for the next frames.
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

/// True if these bytes are the whole stored form of a frame. Later parts are ignored: another
/// version may have stored more parts before a crash. Bytes that are not a frame count as complete.
pub(super) fn is_all(stored: &[u8]) -> bool {
    !stored.is_empty() && length(stored).is_none_or(|length| length <= stored.len())
}

/// The number of stored bytes of a frame, given its first bytes.
fn length(first: &[u8]) -> Option<usize> {
    let mut cursor = Cursor(first);
    if cursor.u8()? == COMPRESSED {
        let _of_the_frame = cursor.u32()?;
        return PREFIX.checked_add(cursor.u32()? as usize);
    }
    let (header, _) = Header::decode(first.get(..FRAME_HEADER)?)?;
    FRAME_HEADER.checked_add(header.length as usize)
}

/// Restores the frame from its stored bytes. Bytes that were stored uncompressed may not be a
/// frame.
pub(super) fn restored(stored: Vec<u8>) -> Option<FrameBytes> {
    let mut cursor = Cursor(&stored);
    if cursor.u8()? != COMPRESSED {
        return Some(FrameBytes(stored));
    }
    let length = cursor.u32()? as usize;
    let compressed = cursor.sized()?;
    // A claimed length that LZ4 cannot reach, or that was never compressed, must not cause an
    // allocation.
    let most = compressed.len().saturating_mul(MOST_OF_A_BYTE);
    (length <= most.min(LONGEST)).then_some(())?;
    let frame = lz4_flex::block::decompress(compressed, length).ok()?;
    (frame.len() == length).then_some(FrameBytes(frame))
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

    /// Returns the stored bytes of a frame, and true if they are compressed.
    fn stored(frame_bytes: &FrameBytes, buffer: &mut CompressionBuffer) -> (Vec<u8>, bool) {
        let stored = buffer.take(frame_bytes);
        let is_compressed = matches!(stored, Stored::Compressed(_));
        (buffer.bytes(frame_bytes, &stored).to_vec(), is_compressed)
    }

    fn frame_bytes(bytes: impl IntoIterator<Item = u8>) -> FrameBytes {
        FrameBytes([0].into_iter().chain(bytes).collect())
    }

    #[test]
    fn frame_is_restored_and_repetition_is_compressed() {
        let mut buffer = CompressionBuffer::default();
        // Reuses the buffer of the previous round.
        for times in [100, 10] {
            let of = |kind: &str| frame_bytes(kind.repeat(times).into_bytes());
            // Consecutive frames with an uncompressed one between them; the last one makes the
            // buffer grow.
            let frames = [
                of("{call_received}"),
                frame_bytes(0..=255),
                of(&"{sent}".repeat(99)),
            ];
            let all = frames.each_ref().map(|frame| buffer.take(frame));
            for (frame, stored) in frames.iter().zip(&all) {
                let bytes = buffer.bytes(frame, stored);
                let is_varied = frame.0.len() == 257;
                assert_eq!(bytes.len() < frame.0.len() / 3, !is_varied, "{times}");
                assert_eq!(restored(bytes.to_vec()).unwrap().0, frame.0);
            }
            buffer.clear();
            assert_eq!(buffer.taken, 0);
        }
        buffer.take(&frame_bytes(std::iter::repeat_n(7, KEPT)));
        buffer.clear();
        assert!(buffer.bytes.capacity() <= KEPT);
        // Two frames without repetition, and one that is too long.
        let too_long = frame_bytes(std::iter::repeat_n(7, LONGEST));
        for frame in [frame_bytes([]), frame_bytes((0..=255).rev()), too_long] {
            let (as_it_is, is_compressed) = stored(&frame, &mut buffer);
            assert!(!is_compressed);
            assert_eq!(restored(as_it_is).unwrap().0, frame.0);
        }
    }

    #[test]
    fn compressed_frame_ignores_trailing_and_rejects_altered_bytes() {
        let lines = frame_bytes([7; 1_000]);
        let (sound, _) = stored(&lines, &mut CompressionBuffer::default());
        let longer = [&sound[..], b"behind"].concat();
        assert_eq!(restored(longer).unwrap().0, lines.0);
        for cut in 0..sound.len() {
            assert!(restored(sound[..cut].to_vec()).is_none(), "{cut}");
        }
        // A frame of nearly 4 GiB in a few bytes.
        let mut claiming = sound.clone();
        claiming[1] = 0xff;
        assert!(restored(claiming).is_none());
        // A frame that has its claimed length, but is longer than any compressed frame.
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
