//! Heads in a file beside the index. Reading the file is much faster than one lookup per head.
//!
//! Format: `crc(4)` of the rest, then pairs of `length(4) key length(4) value`. The first pair is
//! the mark of the index that has these heads. Each other pair is a head, as in the
//! [rows](super::rows).

use uuid::Uuid;

use super::places::Stream;
use super::rows::{self, Row};
use crate::log::Written;
use crate::log::cursor::{Cursor, put_sized};

/// The length of the checksum, in bytes.
const CHECKSUM: usize = 4;

/// Encodes the heads that an index has at a mark.
pub(crate) fn to_bytes(
    journal: Uuid,
    (mark, records): (Written, u64),
    heads: impl IntoIterator<Item = Row>,
) -> Vec<u8> {
    let mut bytes = vec![0; CHECKSUM];
    for row in [Row::mark(journal, mark, records)].into_iter().chain(heads) {
        put_sized(&mut bytes, &row.key);
        put_sized(&mut bytes, row.value.as_deref().unwrap_or_default());
    }
    if let Some((checksum, rows)) = bytes.split_at_mut_checked(CHECKSUM) {
        checksum.copy_from_slice(&crc32fast::hash(rows).to_be_bytes());
    }
    bytes
}

/// Decodes the heads, if they belong to this mark and the checksum holds.
pub(crate) fn read(
    bytes: &[u8],
    journal: Uuid,
    (mark, records): (Written, u64),
) -> Option<Vec<(Uuid, Stream)>> {
    let mut cursor = Cursor(bytes);
    (cursor.u32()? == crc32fast::hash(cursor.0)).then_some(())?;
    let expected = Row::mark(journal, mark, records);
    let found = (cursor.sized()?, cursor.sized()?);
    (found == (&expected.key, expected.value.as_deref()?)).then_some(())?;
    let mut heads = Vec::new();
    while !cursor.is_empty() {
        let (key, value) = (cursor.sized()?, cursor.sized()?);
        (key.first() == Some(&rows::HEADS)).then_some(())?;
        heads.push(rows::read_head(key, value)?);
    }
    Some(heads)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::index::Position;
    use crate::log::{FramePlace, Place};
    use crate::{Hash, Head};

    const JOURNAL: Uuid = Uuid::from_u128(1);

    fn mark(end: u64) -> (Written, u64) {
        let written = Written {
            number: 7,
            checksum: 11,
            segment: 1,
            end,
        };
        (written, 40)
    }

    fn stream(seq: u64) -> Stream {
        let head = Head {
            seq,
            hash: Hash::of_object(b"a record"),
            at_us: 5,
        };
        let frame = FramePlace {
            number: 3,
            segment: 1,
            at: 64,
        };
        let place = Place::of(40, 100);
        let first = 1;
        Stream::kept(
            head,
            vec![Position {
                first,
                frame,
                place,
            }],
        )
    }

    fn written() -> (Vec<(Uuid, Stream)>, Vec<u8>) {
        let heads: Vec<_> = (1..=3)
            .map(|it| (Uuid::from_u128(it), stream(it as u64)))
            .collect();
        let rows = heads.iter();
        let rows = rows.map(|(session, it)| Row::head(*session, &it.head, &it.recent));
        let bytes = to_bytes(JOURNAL, mark(900), rows);
        (heads, bytes)
    }

    #[test]
    fn heads_are_read_only_with_their_mark() {
        let (heads, bytes) = written();
        assert_eq!(read(&bytes, JOURNAL, mark(900)), Some(heads));
        assert_eq!(read(&bytes, JOURNAL, mark(901)), None);
        assert_eq!(read(&bytes, Uuid::from_u128(2), mark(900)), None);
    }

    #[test]
    fn torn_or_damaged_bytes_are_rejected() {
        let (_, bytes) = written();
        for length in 0..bytes.len() {
            let torn = bytes.get(..length).unwrap();
            assert_eq!(read(torn, JOURNAL, mark(900)), None, "{length}");
            let mut damaged = bytes.clone();
            *damaged.get_mut(length).unwrap() ^= 1;
            assert_eq!(read(&damaged, JOURNAL, mark(900)), None, "{length}");
        }
    }
}
