//! The format matches the drawings in the README: a log that is built by hand is opened, and the
//! index has the drawn rows.

use std::fs;

use recount_journal::{
    Append, DiskJournal, Hash, IndexState, Journal, Line, Object, OpenItem, WorkChange, block_on,
    verify,
};
use uuid::Uuid;

use crate::stream::{Stream, index, log_file};

const JOURNAL: u128 = 0x00c0_ffee;

/// Concatenates fields.
fn fields(fields: &[&[u8]]) -> Vec<u8> {
    fields.concat()
}

fn with_crc(bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32fast::hash(&bytes).to_be_bytes();
    fields(&[&bytes, &crc])
}

fn segment_header(segment: u64, first: u64, chain: [u8; 4], before: u64) -> Vec<u8> {
    with_crc(fields(&[
        b"RCLOG\0\xff\x01",
        &JOURNAL.to_be_bytes(),
        &segment.to_be_bytes(),
        &first.to_be_bytes(),
        &chain,
        &before.to_be_bytes(),
        &[0; 8],
    ]))
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    fields(&[&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes])
}

/// Encodes an append of lines, one object and two changes of open work.
fn append(session: Uuid, first: u64, lines: &[Line], object: &Object) -> Vec<u8> {
    let lines_bytes: Vec<u8> = lines.iter().flat_map(|line| sized(line.bytes())).collect();
    let opened = fields(&[
        &[1],
        session.as_bytes(),
        &2_u64.to_be_bytes(),
        &7_i64.to_be_bytes(),
        &5_u32.to_be_bytes(),
        &[3],
        &99_i64.to_be_bytes(),
        Uuid::from_u128(77).as_bytes(),
        &sized(b"call"),
    ]);
    let removed = fields(&[&[0], session.as_bytes(), &1_u64.to_be_bytes()]);
    let body = fields(&[
        session.as_bytes(),
        &first.to_be_bytes(),
        &u32::try_from(lines.len()).unwrap().to_be_bytes(),
        &1_u32.to_be_bytes(),
        &2_u32.to_be_bytes(),
        &lines_bytes,
        object.hash.as_bytes(),
        &sized(&object.bytes),
        &opened,
        &removed,
    ]);
    let crc = crc32fast::hash(&body).to_be_bytes();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    fields(&[&length, &crc, &body])
}

fn frame(number: u64, chain: [u8; 4], appends: &[Vec<u8>]) -> Vec<u8> {
    let payload = appends.concat();
    let header = with_crc(fields(&[
        b"\0RC\xff",
        &u32::try_from(payload.len()).unwrap().to_be_bytes(),
        &number.to_be_bytes(),
        &u32::try_from(appends.len()).unwrap().to_be_bytes(),
        &chain,
        &crc32fast::hash(&payload).to_be_bytes(),
    ]));
    fields(&[&header, &payload])
}

fn last4(frame: &[u8]) -> [u8; 4] {
    frame[28..32].try_into().unwrap()
}

fn open_item(session: Uuid) -> OpenItem {
    OpenItem {
        session,
        item: 2,
        kind: "call".to_owned(),
        since_us: 7,
        deadline_us: Some(99),
        request: Some(Uuid::from_u128(77)),
        flags: 5,
    }
}

#[test]
fn a_log_of_two_segments_built_by_hand_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let id = Uuid::from_u128(JOURNAL);
    let marker = format!(r#"{{"format":"recount-journal","version":1,"id":"{id}"}}"#);
    fs::write(path.join("JOURNAL"), marker).unwrap();
    fs::create_dir(path.join("log")).unwrap();

    let mut stream = Stream::new(1);
    stream.next(&["{}", r#"{"n":1}"#]);
    stream.next(&[r#"{"n":2}"#]);
    let object = Object::new(*b"an object");
    let session = stream.session;
    let one = frame(
        1,
        [0; 4],
        &[append(session, 1, &stream.lines[..2], &object)],
    );
    let two = frame(
        2,
        last4(&one),
        &[append(session, 3, &stream.lines[2..], &object)],
    );
    let end = 64 + one.len() as u64;
    let first = fields(&[&segment_header(1, 1, [0; 4], 0), &one, &[0; 100]]);
    let second = fields(&[&segment_header(2, 2, last4(&one), end), &two]);
    fs::write(log_file(path), first).unwrap();
    fs::write(
        log_file(path).with_file_name("0000000000000002.log"),
        second,
    )
    .unwrap();
    // A segment that was prepared and never used.
    fs::write(
        log_file(path).with_file_name("0000000000000003.log"),
        [0; 4096],
    )
    .unwrap();

    let report = verify::directory(path).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.records, report.objects), (3, 1));
    let journal = DiskJournal::open_existing(path).unwrap();
    assert!(matches!(journal.opened().index, IndexState::Rebuilt(_)));
    stream.assert_in(&journal);
    assert_eq!(
        block_on(journal.object(object.hash)).unwrap().as_deref(),
        Some(&b"an object"[..])
    );
    assert_eq!(
        block_on(journal.open_work(None, 9)).unwrap(),
        [open_item(session)]
    );
    let request = block_on(journal.request(Uuid::from_u128(77))).unwrap();
    assert_eq!(request, Some((session, 2)));
    block_on(journal.close()).unwrap();
    // The opening and the closing record follow.
    let log = fs::read(log_file(path).with_file_name("0000000000000002.log")).unwrap();
    let third = 64 + two.len();
    assert_eq!(log[third..third + 4], *b"\0RC\xff");
    assert_eq!(log[third + 8..third + 16], 3_u64.to_be_bytes());
    assert_eq!(log[third + 20..third + 24], last4(&two));
    assert!(
        !log_file(path)
            .with_file_name("0000000000000003.log")
            .exists()
    );
}

#[test]
fn index_has_the_drawn_rows() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    let session = stream.session;
    // Random bytes, so that the stored form of their frame has two parts.
    let noise = (0..9_000_u32).map(|at| Hash::of_line(&at.to_be_bytes()).as_bytes()[0]);
    let object = Object::new(noise.collect::<Vec<u8>>());
    let opened = Append {
        objects: vec![object.clone()],
        open_work: vec![WorkChange::Put(open_item(session))],
        ..stream.next(&["{}", "{}"])
    };
    block_on(journal.append(opened)).unwrap();
    for _ in 0..32 {
        stream.append(&journal, &["{}"]);
    }
    block_on(journal.close()).unwrap();

    let log = fs::read(log_file(directory.path())).unwrap();
    let id: [u8; 16] = log[8..24].try_into().unwrap();
    let mut frames = Vec::new();
    let mut at = 64;
    while at < log.len() {
        let length = u32::from_be_bytes(log[at + 4..at + 8].try_into().unwrap());
        let end = at + 32 + usize::try_from(length).unwrap();
        frames.push(log[at..end].to_vec());
        at = end;
    }
    let mut expected: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (number, frame) in (1_u64..).zip(&frames) {
        let compressed = lz4_flex::block::compress(frame);
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        let stored = fields(&[&[1], &length, &sized(&compressed)]);
        assert!(stored.len() < frame.len(), "frame {number}");
        for (part, piece) in (0_u32..).zip(stored.chunks(7_000)) {
            let key = fields(&[b"b", &number.to_be_bytes(), &part.to_be_bytes()]);
            expected.push((key, piece.to_vec()));
        }
    }
    let place_of_frame = |frame: u64| {
        let before = frames.iter().take(usize::try_from(frame).unwrap() - 1);
        let at = 64 + before.map(Vec::len).sum::<usize>();
        let at = u32::try_from(at).unwrap();
        fields(&[
            &frame.to_be_bytes(),
            &1_u32.to_be_bytes(),
            &at.to_be_bytes(),
        ])
    };
    // Frame 1 is the opening record, frame 2 the first append of the stream; each frame has one
    // append.
    let position = |first: u64, frame: u64| {
        let length = u32::try_from(frames[usize::try_from(frame).unwrap() - 1].len()).unwrap() - 40;
        fields(&[
            &first.to_be_bytes(),
            &place_of_frame(frame),
            &40_u32.to_be_bytes(),
            &length.to_be_bytes(),
        ])
    };
    let positions: Vec<Vec<u8>> = std::iter::once(position(1, 2))
        .chain((0..32).map(|number| position(3 + number, 3 + number)))
        .collect();
    let group = fields(&[b"p", session.as_bytes(), &1_u64.to_be_bytes()]);
    expected.push((group, positions[..32].concat()));
    let head = |session: Uuid, seq: u64, hash: Hash, at_us: i64, recent: &[u8]| {
        let value = fields(&[
            &seq.to_be_bytes(),
            hash.as_bytes(),
            &at_us.to_be_bytes(),
            recent,
        ]);
        (fields(&[b"h", session.as_bytes()]), value)
    };
    let end = stream.head().unwrap();
    expected.push(head(session, end.seq, end.hash, end.at_us, &positions[32]));
    let last = frames.len() as u64;
    let closing = &frames[frames.len() - 1][32 + 8 + 36 + 4..];
    let at_us = Line::new(closing).record().unwrap().at_us;
    let system = fields(&[&position(1, 1), &position(2, last)]);
    expected.push(head(Uuid::nil(), 2, Hash::of_line(closing), at_us, &system));
    let item = fields(&[
        session.as_bytes(),
        &2_u64.to_be_bytes(),
        &7_i64.to_be_bytes(),
        &5_u32.to_be_bytes(),
        &[3],
        &99_i64.to_be_bytes(),
        Uuid::from_u128(77).as_bytes(),
        &sized(b"call"),
    ]);
    let name = fields(&[session.as_bytes(), &2_u64.to_be_bytes()]);
    expected.push((fields(&[b"w", &name]), item));
    expected.push((fields(&[b"r", Uuid::from_u128(77).as_bytes()]), name));
    let offset = frames[1]
        .windows(9_000)
        .position(|window| window == &*object.bytes)
        .unwrap();
    let place = fields(&[
        &place_of_frame(2),
        &u32::try_from(offset).unwrap().to_be_bytes(),
        &9_000_u32.to_be_bytes(),
    ]);
    expected.push((fields(&[b"o", object.hash.as_bytes()]), place));
    let mark = fields(&[
        &id,
        &last.to_be_bytes(),
        &frames[frames.len() - 1][28..32],
        &1_u64.to_be_bytes(),
        &(log.len() as u64).to_be_bytes(),
        &36_u64.to_be_bytes(),
    ]);
    expected.push((b"m2".to_vec(), mark));
    let ahead = frames.len() as u64 + 1..=64;
    let ahead: Vec<_> = ahead
        .map(|frame| fields(&[b"b", &frame.to_be_bytes(), &0_u32.to_be_bytes()]))
        .collect();
    for (key, value) in &mut expected {
        let crc = crc32fast::hash(&fields(&[key, value])).to_be_bytes();
        *value = fields(&[&crc, value]);
    }
    expected.extend(ahead.into_iter().map(|key| (key, Vec::new())));
    expected.sort();

    let store = index(directory.path());
    let found: Vec<(Vec<u8>, Vec<u8>)> = store
        .iter()
        .map(|row| row.unwrap())
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    let letters = |rows: &[(Vec<u8>, Vec<u8>)]| -> String {
        rows.iter().map(|(key, _)| char::from(key[0])).collect()
    };
    assert_eq!(letters(&found), letters(&expected));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{}", char::from(expected.0[0]));
    }
}
