//! A record that could not be read back is rejected with a specific error before anything is
//! written. A record just within the limits is stored and read back.

use super::{Open, reopened};
use crate::testing::Stream;
use crate::{
    APPEND_LIMIT, Actor, Append, DEPTH_LIMIT, Draft, Error, Hash, Journal, Line, OBJECT_LIMIT,
    Object, RECORD_LIMIT, Record, Unreadable, block_on,
};

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

/// Checks that a body that readers would read differently, or not at all, is rejected by kind.
pub fn unreadable_body_is_rejected_by_kind(open: Open<'_>) {
    let journal = &*open("journal");
    for as_bytes in [false, true] {
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

/// Checks that an envelope that readers would read differently is rejected by kind, and that keys
/// of later versions are kept.
pub fn unreadable_envelope_is_rejected_by_kind(open: Open<'_>) {
    let journal = &*open("journal");
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

/// Checks that the exact bytes of a line are kept, whatever its text: escapes, spaces, a NUL and
/// characters beyond the basic plane.
pub fn lines_are_kept_byte_for_byte(open: Open<'_>) {
    let journal = open("journal");
    let mut stream = Stream::new(1);
    let bodies = [
        r#"{"text":"a\u0000b\n\\ \"quoted\" \/ é"}"#,
        "{\"text\":\"é 🜁 \u{2028} \u{feff} \u{7f}\"}",
        "{ \"n\" : 1.50e+2 ,\t\"m\" : -0 }",
        r#"{"t":"'; DROP TABLE append; --","u":"$1 %s {schema} \\x00"}"#,
    ];
    stream.append(&*journal, &bodies);
    stream.append(&*journal, &[r#""no object""#]);
    let journal = reopened(open, "journal", journal);
    stream.assert_in(&*journal);
    let commit = block_on(journal.follow(block_on(journal.position()).unwrap() - 1));
    assert!(commit.is_ok(), "{commit:?}");
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

/// Checks that a record, an object and an append at their limits are stored, and that one byte more
/// is rejected.
pub fn sizes_at_limit_are_stored(open: Open<'_>) {
    assert_eq!(
        (DEPTH_LIMIT, RECORD_LIMIT, OBJECT_LIMIT, APPEND_LIMIT),
        (64, 4 << 20, 64 << 20, 128 << 20)
    );
    let journal = open("journal");
    let mut stream = Stream::new(1);
    let over = record_of(&stream, RECORD_LIMIT + 1);
    too_large(&*journal, over, "a record", RECORD_LIMIT + 1, RECORD_LIMIT);
    let most = record_of(&stream, RECORD_LIMIT);
    stream.lines.extend(most.lines.clone());
    stream.at_us += 1;
    block_on(journal.append(most)).unwrap();
    stream.assert_in(&*journal);

    // Two objects and a record fill an append: each counts 64 bytes in addition.
    let object = |length: usize, byte: u8| Object::new(vec![byte; length]);
    let with = |mut append: Append, objects: &[Object]| {
        append.objects = objects.to_vec();
        append
    };
    let small = stream.clone().next(&["{}"]);
    let over = object(OBJECT_LIMIT + 1, 1);
    let over = with(small.clone(), &[over]);
    too_large(&*journal, over, "an object", OBJECT_LIMIT + 1, OBJECT_LIMIT);
    let largest = object(OBJECT_LIMIT, 2);
    let left = APPEND_LIMIT - OBJECT_LIMIT - 3 * 64 - small.lines[0].bytes().len();
    let over = with(small, &[largest.clone(), object(left + 1, 3)]);
    too_large(&*journal, over, "an append", APPEND_LIMIT + 1, APPEND_LIMIT);
    stream.assert_in(&*journal);
    let rest = object(left, 4);
    let full = with(stream.next(&["{}"]), &[largest.clone(), rest.clone()]);
    block_on(journal.append(full)).unwrap();
    stream.assert_in(&*journal);

    let journal = reopened(open, "journal", journal);
    stream.assert_in(&*journal);
    for object in [largest, rest] {
        let kept = block_on(journal.object(object.hash)).unwrap().unwrap();
        assert!(kept == object.bytes);
    }
}

/// Checks that a line gives the same head whether it was drafted or given as bytes, also at the
/// last time that can be written.
pub fn drafted_and_given_lines_are_equal(open: Open<'_>) {
    let draft = Draft {
        session: uuid::Uuid::from_u128(1),
        seq: 1,
        at_us: i64::MAX,
        kind: "noted",
        cause: None,
        actor: Actor::new("a \"quoted\" one"),
        body: "{}",
        prev: Hash::ZERO,
    };
    let drafted = draft.line();
    let brought = Line::new(drafted.bytes());
    assert_eq!(drafted, brought);
    assert_eq!(drafted.leaf(), Hash::of_line(brought.bytes()));
    for (name, line) in [("drafted", drafted), ("given", brought)] {
        let journal = open(name);
        let head = block_on(journal.append(Append::new(draft.session, 0, vec![line])));
        // The year 10000 cannot be written, so the time was clamped to the last moment before it.
        assert_eq!(head.unwrap().at_us, 253_402_300_799_999_999);
    }
}
