//! Heads in a file beside the index, which is read at once where asking the index for each of them would take far longer.
//!
//! `length(4) key length(4) value` of the mark of the index that has these heads, then of each of them, as the [rows](super::rows) have it.

use uuid::Uuid;

use super::rows::{self, Row};
use crate::cursor::{Cursor, put_sized};
use crate::log::Written;
use crate::view::Stream;

/// Heads that an index has at a mark.
pub(crate) fn to_bytes(
    journal: Uuid,
    (mark, records): (Written, u64),
    heads: impl IntoIterator<Item = Row>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in [Row::mark(journal, mark, records)].into_iter().chain(heads) {
        put_sized(&mut bytes, &row.key);
        put_sized(&mut bytes, row.value.as_deref().unwrap_or_default());
    }
    bytes
}

/// The heads, if they are those of this mark and every checksum holds.
pub(crate) fn read(
    bytes: &[u8],
    journal: Uuid,
    (mark, records): (Written, u64),
) -> Option<Vec<(Uuid, Stream)>> {
    let mut cursor = Cursor(bytes);
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
    use std::fs;

    use super::*;
    use crate::log::{FramePlace, Place};
    use crate::store::closed;
    use crate::view::Position;
    use crate::{
        Actor, Append, DiskJournal, Draft, Hash, Head, Journal, OpenItem, WorkChange, block_on,
    };

    const JOURNAL: Uuid = Uuid::from_u128(1);
    const STREAM: Uuid = Uuid::from_u128(7);

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
    fn heads_are_read_back_where_the_mark_is_theirs() {
        let (heads, bytes) = written();
        assert_eq!(read(&bytes, JOURNAL, mark(900)), Some(heads));
        assert_eq!(read(&bytes, JOURNAL, mark(901)), None);
        assert_eq!(read(&bytes, Uuid::from_u128(2), mark(900)), None);
    }

    #[test]
    fn of_bytes_that_are_not_whole_nothing_is_taken() {
        let (heads, bytes) = written();
        for length in 0..bytes.len() {
            let torn = bytes.get(..length).unwrap();
            let kept = read(torn, JOURNAL, mark(900));
            // Cut between two rows it says less, and nothing that is not so.
            assert!(kept.is_none_or(|kept| heads.starts_with(&kept)), "{length}");
            let mut damaged = bytes.clone();
            *damaged.get_mut(length).unwrap() ^= 1;
            assert_eq!(read(&damaged, JOURNAL, mark(900)), None, "{length}");
        }
    }

    /// A closed journal with one stream in which something is open.
    fn closed() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let journal = DiskJournal::open(directory.path()).unwrap();
        let draft = Draft {
            session: STREAM,
            seq: 1,
            at_us: 0,
            kind: "asked",
            cause: None,
            actor: Actor::new("engine"),
            body: "{}",
            prev: Hash::ZERO,
        };
        let mut append = Append::new(STREAM, 0, vec![draft.line()]);
        append.open_work = vec![WorkChange::Put(OpenItem {
            session: STREAM,
            item: 1,
            kind: "confirmation".to_owned(),
            since_us: 0,
            deadline_us: None,
            request: None,
            flags: 0,
        })];
        block_on(journal.append(append)).unwrap();
        block_on(journal.close()).unwrap();
        directory
    }

    #[test]
    fn where_a_stream_stands_that_waits_is_taken_from_what_the_close_kept_and_from_nothing_else() {
        let directory = closed();
        let kept = directory.path().join("snapshots").join("waiting");
        let bytes = fs::read(&kept).unwrap();
        let mut cursor = Cursor(&bytes);
        let (key, value) = (cursor.sized().unwrap(), cursor.sized().unwrap());
        // What nobody but this file could have said.
        let told = Head {
            seq: 99,
            hash: Hash::ZERO,
            at_us: 1,
        };
        let row = Row::head(STREAM, &told, &[]);
        let mut forged = Vec::new();
        for field in [key, value, &row.key, row.value.as_deref().unwrap()] {
            put_sized(&mut forged, field);
        }
        let head = || {
            let options = DiskJournal::options(directory.path()).read_only();
            let journal = options.open().unwrap();
            block_on(journal.head(STREAM)).unwrap().unwrap()
        };
        let before = head();
        assert_eq!(before.seq, 1);
        fs::write(&kept, forged).unwrap();
        assert_eq!(head(), before, "it is not the file that the close kept");
        assert_eq!(head(), before, "nor is it by having been looked at");
        closed::write_at_close(directory.path()).unwrap();
        assert_eq!(head(), told, "as if a close had kept it");
    }
}
