//! A record that could not be read back is rejected with a specific error before anything is
//! written. A record just within the limits is stored and read back.

use std::fs;
use std::path::Path;

use recount_journal::{
    APPEND_LIMIT, Append, CompactOptions, DEPTH_LIMIT, DiskJournal, Draft, Error, Hash, Journal,
    Line, MemoryJournal, OBJECT_LIMIT, Object, RECORD_LIMIT, Record, Unreadable, block_on, compact,
};

use crate::stream::Stream;

/// Returns the error for one record with this body, drafted or given as bytes.
fn told(journal: &dyn Journal, stream: &Stream, body: &str, as_bytes: bool) -> Option<Error> {
    let mut append = stream.clone().next(&[body]);
    if as_bytes {
        append.lines = vec![Line::new(append.lines[0].bytes())];
    }
    let told = block_on(journal.append(append)).err();
    stream.assert_in(journal);
    told
}

fn nested(levels: usize) -> String {
    format!(r#"{{"args":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn unreadable_body_is_rejected_by_kind() {
    let directory = tempfile::tempdir().unwrap();
    let disk = DiskJournal::open(directory.path()).unwrap();
    let memory = MemoryJournal::new();
    for (journal, as_bytes) in [
        (&disk as &dyn Journal, false),
        (&disk, true),
        (&memory, false),
        (&memory, true),
    ] {
        let mut stream = Stream::new(u128::from(as_bytes) + 1);
        stream.append(journal, &["{}"]);
        for (body, expected) in [
            (r#"{"a":1,"b":{"c":1,"c":2}}"#, Unreadable::DuplicateKey),
            (r#"{"a":1,"\u0061":2}"#, Unreadable::DuplicateKey),
            (r#"{"text":"\ud83d"}"#, Unreadable::LoneSurrogate),
            (r#"{"n":1e999}"#, Unreadable::Number),
            (
                r#"{"$serde_json::private::RawValue":"1"}"#,
                Unreadable::ReservedKey,
            ),
        ] {
            match told(journal, &stream, body, as_bytes) {
                Some(Error::Unreadable {
                    session, seq, what, ..
                }) => assert_eq!(
                    (session, seq, what),
                    (stream.session, 2, expected),
                    "{body}"
                ),
                other => panic!("{body}: {other:?}"),
            }
        }
        for body in ["{\"a\":\"\u{1}\"}", "{\"a\":\n1}", "{", "", "{}}", "01"] {
            let told = told(journal, &stream, body, as_bytes);
            assert!(
                matches!(told, Some(Error::Refused { seq: 2, .. })),
                "{body}"
            );
        }
        let told = told(journal, &stream, &nested(DEPTH_LIMIT + 1), as_bytes);
        match told {
            Some(Error::TooDeep {
                session,
                seq,
                limit,
            }) => {
                assert_eq!((session, seq, limit), (stream.session, 2, 64));
            }
            other => panic!("{other:?}"),
        }
        stream.append(journal, &[&nested(DEPTH_LIMIT)]);
        let lines = block_on(journal.read(stream.session, 2, 1)).unwrap();
        let body = Record::parse(lines[0].bytes()).unwrap().body.get();
        let read: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(read["args"].is_array());
    }
}

#[test]
fn unreadable_envelope_is_rejected_by_kind() {
    let journal = MemoryJournal::new();
    let stream = Stream::new(1);
    let good = String::from_utf8(stream.clone().next(&["{}"]).lines[0].bytes().to_vec()).unwrap();
    let told = |extra: &str| {
        let line = good.replacen("\"v\":1", &format!("\"v\":1{extra}"), 1);
        let append = Append::new(stream.session, 0, vec![Line::new(line.into_bytes())]);
        let told = block_on(journal.append(append));
        assert_eq!(
            block_on(journal.head(stream.session)).unwrap().is_some(),
            told.is_ok()
        );
        told
    };
    for (extra, expected) in [
        (r#","x":1,"x":2"#, Unreadable::DuplicateKey),
        (r#","x":1,"\u0078":2"#, Unreadable::DuplicateKey),
        (r#","x":"\udc00""#, Unreadable::LoneSurrogate),
        (r#","x":-1e400"#, Unreadable::Number),
    ] {
        let told = told(extra).unwrap_err();
        assert!(
            matches!(told, Error::Unreadable { what, .. } if what == expected),
            "{extra}: {told}"
        );
    }
    // A key that is named twice in another spelling would be read differently by another reader.
    let told_twice = told(r#","\u0073eq":7"#).unwrap_err();
    assert!(matches!(told_twice, Error::Refused { .. }), "{told_twice}");
    assert_eq!(told(r#","later":{"y":[1.5]}"#).unwrap().seq, 1);
}

/// Creates a record of exactly `length` bytes.
fn record_of(stream: &Stream, length: usize) -> Append {
    let bare = stream.clone().next(&[r#"{"text":""}"#]).lines[0]
        .bytes()
        .len();
    let text = "é".repeat((length - bare) / 2) + if (length - bare) % 2 == 1 { "x" } else { "" };
    let append = stream.clone().next(&[&format!(r#"{{"text":"{text}"}}"#)]);
    assert_eq!(append.lines[0].bytes().len(), length);
    append
}

fn too_large(journal: &dyn Journal, append: Append, what: &str, size: usize, limit: usize) {
    match block_on(journal.append(append)).unwrap_err() {
        Error::TooLarge {
            what: told_what,
            size: told_size,
            limit: told_limit,
        } => assert_eq!((told_what, told_size, told_limit), (what, size, limit)),
        other => panic!("{other}"),
    }
}

#[test]
fn sizes_at_limit_are_stored_and_one_byte_more_is_rejected() {
    assert_eq!(
        (DEPTH_LIMIT, RECORD_LIMIT, OBJECT_LIMIT, APPEND_LIMIT),
        (64, 4 << 20, 64 << 20, 128 << 20)
    );
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    let over = record_of(&stream, RECORD_LIMIT + 1);
    too_large(&journal, over, "a record", RECORD_LIMIT + 1, RECORD_LIMIT);
    let most = record_of(&stream, RECORD_LIMIT);
    stream.lines.extend(most.lines.clone());
    stream.at_us += 1;
    block_on(journal.append(most)).unwrap();
    stream.assert_in(&journal);

    // Two objects and a record fill an append: each counts 64 bytes in addition.
    let object = |length: usize, byte: u8| Object::new(vec![byte; length]);
    let with = |mut append: Append, objects: &[Object]| {
        append.objects = objects.to_vec();
        append
    };
    let small = stream.clone().next(&["{}"]);
    let over = object(OBJECT_LIMIT + 1, 1);
    let over = with(small.clone(), &[over]);
    too_large(&journal, over, "an object", OBJECT_LIMIT + 1, OBJECT_LIMIT);
    let largest = object(OBJECT_LIMIT, 2);
    let left = APPEND_LIMIT - OBJECT_LIMIT - 3 * 64 - small.lines[0].bytes().len();
    let over = with(small, &[largest.clone(), object(left + 1, 3)]);
    too_large(&journal, over, "an append", APPEND_LIMIT + 1, APPEND_LIMIT);
    stream.assert_in(&journal);
    let rest = object(left, 4);
    let full = with(stream.next(&["{}"]), &[largest.clone(), rest.clone()]);
    block_on(journal.append(full)).unwrap();
    stream.assert_in(&journal);
    block_on(journal.close()).unwrap();
    drop(journal);

    let journal = DiskJournal::open(directory.path()).unwrap();
    stream.assert_in(&journal);
    for object in [largest, rest] {
        let kept = block_on(journal.object(object.hash)).unwrap().unwrap();
        assert!(kept == object.bytes);
    }
}

/// Counts the files that sled creates for oversized pages, which it never syncs.
fn files_of_large_pages(path: &Path) -> usize {
    fs::read_dir(path.join("sled/blobs")).unwrap().count()
}

#[test]
fn large_values_make_no_large_index_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = DiskJournal::open(path).unwrap();
    let mut stream = Stream::new(1);
    // Commits of one full or nearly full piece, of a few pieces, and of many, so that leaves fill
    // in every way.
    for size in [6_600, 6_700, 6_800, 20_000, 300].repeat(80) {
        let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(size));
        stream.append(&journal, &[&body]);
    }
    let object = Object::new(vec![7; 1 << 20]);
    let result = format!(r#"{{"result":"{}"}}"#, "x".repeat(1 << 20));
    let mut append = stream.next(&[&result, "{}"]);
    append.objects = vec![object.clone()];
    block_on(journal.append(append)).unwrap();
    block_on(journal.close()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "as it was written");
    compact(path, CompactOptions::default()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "compacted");
    fs::remove_dir_all(path.join("sled")).unwrap();
    let journal = DiskJournal::open(path).unwrap();
    stream.assert_in(&journal);
    let kept = block_on(journal.object(object.hash)).unwrap().unwrap();
    assert!(kept == object.bytes);
    block_on(journal.close()).unwrap();
    assert_eq!(files_of_large_pages(path), 0, "made again");
}

#[test]
fn drafted_and_given_lines_are_equal() {
    let draft = Draft {
        session: uuid::Uuid::from_u128(1),
        seq: 1,
        at_us: i64::MAX,
        kind: "noted",
        cause: None,
        actor: recount_journal::Actor::new("a \"quoted\" one"),
        body: "{}",
        prev: Hash::ZERO,
    };
    let drafted = draft.line();
    let brought = Line::new(drafted.bytes());
    assert_eq!(drafted, brought);
    assert_eq!(drafted.leaf(), Hash::of_line(brought.bytes()));
    for line in [drafted, brought] {
        let journal = MemoryJournal::new();
        let head = block_on(journal.append(Append::new(draft.session, 1 - 1, vec![line])));
        // The year 10000 cannot be written, so the time was clamped to the last moment before it.
        assert_eq!(head.unwrap().at_us, 253_402_300_799_999_999);
    }
}
