//! An append is atomic, is rejected if it does not follow its stream, and is seen by the next read.

use std::sync::Arc;
use std::thread;

use uuid::Uuid;

use super::{Open, reopened};
use crate::testing::Stream;
use crate::{
    Append, Durability, Error, Hash, Line, OBJECT_LIMIT, Object, OpenItem, WorkChange, block_on,
};

/// Checks that an append with an old head gets [`Error::Conflict`] and writes nothing.
pub fn stale_writer_gets_conflict(open: Open<'_>) {
    let journal = &*open("journal");
    let mut first = Stream::new(1);
    first.append(journal, &["{}"]);
    let mut second = first.clone();
    first.append(journal, &[r#"{"by":"first"}"#]);
    let late = second.next(&[r#"{"by":"second"}"#]);
    let error = block_on(journal.append(late)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Conflict { expected: 1, actual: 2, session } if session == first.session
        ),
        "{error}"
    );
    first.assert_in(journal);
}

/// Checks that an append that is wrong in itself is rejected by kind and writes nothing.
pub fn wrong_append_writes_nothing(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    stream.append(journal, &["{}", "{}"]);
    let refuse = |change: &dyn Fn(&mut Append)| {
        let mut append = stream.clone().next(&["{}", "{}"]);
        change(&mut append);
        let error = block_on(journal.append(append)).unwrap_err();
        stream.assert_in(journal);
        assert!(block_on(journal.open_work(None, 9)).unwrap().is_empty());
        error
    };
    assert!(matches!(
        refuse(&|append| append.lines.clear()),
        Error::Refused { .. }
    ));
    assert!(matches!(
        refuse(&|append| append.lines.swap(0, 1)),
        Error::Refused { seq: 3, .. }
    ));
    assert!(matches!(
        refuse(&|append| drop(append.lines.remove(0))),
        Error::Refused { seq: 3, .. }
    ));
    assert!(matches!(
        refuse(&|append| append.lines[1] = Line::new(*b"{}")),
        Error::Refused { seq: 4, .. }
    ));
    assert!(matches!(
        refuse(&|append| append.session = Uuid::from_u128(9)),
        Error::Refused { .. }
    ));
    assert!(matches!(
        refuse(&|append| append.expected = 7),
        Error::Refused { .. }
    ));
    let wrong = Object {
        hash: Hash::ZERO,
        bytes: Arc::from(*b"abc"),
    };
    assert!(matches!(
        refuse(&|append| append.objects.push(wrong.clone())),
        Error::Refused { .. }
    ));
    let large = Object {
        hash: Hash::ZERO,
        bytes: Arc::from(vec![0; OBJECT_LIMIT + 1]),
    };
    assert!(matches!(
        refuse(&|append| append.objects.push(large.clone())),
        Error::TooLarge { .. }
    ));
    let foreign = WorkChange::Remove {
        session: Uuid::from_u128(9),
        item: 1,
    };
    assert!(matches!(
        refuse(&|append| append.open_work.push(foreign.clone())),
        Error::Refused { .. }
    ));
}

/// Checks that records that do not follow the head by hash or time are rejected, also as the first
/// records of a stream.
pub fn broken_chain_is_rejected(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    stream.append(journal, &["{}", "{}"]);
    let refuse = |append: Append| {
        let error = block_on(journal.append(append)).unwrap_err();
        stream.assert_in(journal);
        error
    };
    let other = Stream::new(1).next(&[r#"{"another":"history"}"#, "{}", "{}", "{}"]);
    let mut append = stream.clone().next(&["{}", "{}"]);
    append.lines = other.lines[2..].to_vec();
    assert!(matches!(
        refuse(append.clone()),
        Error::BrokenChain { seq: 3, .. }
    ));
    append.lines = vec![
        stream.clone().next(&["{}"]).lines[0].clone(),
        other.lines[3].clone(),
    ];
    assert!(matches!(refuse(append), Error::BrokenChain { seq: 4, .. }));
    let mut early = stream.clone();
    early.at_us -= 5;
    assert!(matches!(refuse(early.next(&["{}"])), Error::Refused { .. }));
    // A stream that begins with the second record of another history.
    let mut begun = Stream::new(2);
    begun.lines = other.lines[..1].to_vec();
    let mut append = begun.next(&["{}"]);
    append.expected = 1;
    let absent = begun.session;
    let error = refuse(append);
    assert!(
        matches!(error, Error::Conflict { expected: 1, actual: 0, session } if session == absent),
        "{error}"
    );
    assert_eq!(block_on(journal.head(absent)).unwrap(), None);
}

/// Checks that records, objects, open work and request ids are seen by the next read, whatever the
/// durability.
pub fn acknowledged_append_is_read_next(open: Open<'_>) {
    let mut journal = open("journal");
    let mut stream = Stream::new(4);
    let large = format!(r#"{{"text":"{}"}}"#, "long ".repeat(20_000));
    for round in 0_u32..30 {
        let mut append = stream.next(&["{}", &large, &format!(r#"{{"round":{round}}}"#)]);
        append.durability = if round % 3 == 0 {
            Durability::Durable
        } else {
            Durability::Buffered
        };
        let object = Object::new(round.to_be_bytes().repeat(5_000));
        append.objects.push(object.clone());
        append.open_work.push(WorkChange::Put(item(&stream, round)));
        block_on(journal.append(append)).unwrap();
        assert_eq!(
            block_on(journal.head(stream.session)).unwrap(),
            stream.head()
        );
        let from = u64::from(round) * 3 + 2;
        assert_eq!(
            block_on(journal.read(stream.session, from, 2)).unwrap(),
            stream.lines[stream.lines.len() - 2..]
        );
        assert_eq!(
            block_on(journal.object(object.hash)).unwrap().as_deref(),
            Some(&*object.bytes)
        );
        let named = block_on(journal.request(Uuid::from_u128(u128::from(round)))).unwrap();
        let item = item(&stream, round);
        assert_eq!(named, Some((item.session, item.item)));
    }
    for is_reopened in [false, true] {
        if is_reopened {
            journal = reopened(open, "journal", journal);
        }
        stream.assert_in(&*journal);
        let due = block_on(journal.deadlines(-10, 100)).unwrap();
        assert_eq!(
            due.iter().map(|item| item.deadline_us).collect::<Vec<_>>(),
            (10..30).rev().map(|at| Some(-at)).collect::<Vec<_>>()
        );
    }
}

fn item(stream: &Stream, round: u32) -> OpenItem {
    OpenItem {
        session: stream.session,
        item: u64::from(round) + 1,
        kind: "confirmation".to_owned(),
        since_us: 5,
        deadline_us: Some(-i64::from(round)),
        request: Some(Uuid::from_u128(u128::from(round))),
        flags: round,
    }
}

/// Checks that the changes of one append apply in their order, and that an object may come twice.
pub fn changes_of_one_append_apply_in_order(open: Open<'_>) {
    let journal = open("journal");
    let mut stream = Stream::new(1);
    let session = stream.session;
    let put = |number: u64, request: u128| {
        WorkChange::Put(OpenItem {
            item: number,
            request: Some(Uuid::from_u128(request)),
            ..item(&Stream::new(1), u32::MAX)
        })
    };
    let remove = |item| WorkChange::Remove { session, item };
    let (object, empty) = (Object::new(*b"twice"), Object::new(*b""));
    let mut append = stream.next(&["{}", "{}", "{}", "{}"]);
    append.objects = vec![object.clone(), empty.clone(), object.clone()];
    append.open_work = vec![
        // Settled by the same append: a late answer still finds the item.
        put(1, 101),
        remove(1),
        // Removed before it is put, and put twice.
        remove(2),
        put(2, 102),
        put(3, 103),
        put(3, 104),
        // The last item that names a request id has it.
        put(4, 103),
        // Never opened.
        remove(9),
    ];
    block_on(journal.append(append)).unwrap();
    let journal = reopened(open, "journal", journal);
    let opened = block_on(journal.open_work_of(session)).unwrap();
    let opened: Vec<_> = opened.iter().map(|it| (it.item, it.request)).collect();
    let expected = [(2, 102), (3, 104), (4, 103)];
    assert_eq!(
        opened,
        expected.map(|(item, request)| (item, Some(Uuid::from_u128(request))))
    );
    for (request, item) in [(101, 1), (102, 2), (103, 4), (104, 3)] {
        let named = block_on(journal.request(Uuid::from_u128(request))).unwrap();
        assert_eq!(named, Some((session, item)), "{request}");
    }
    for object in [object, empty] {
        let kept = block_on(journal.object(object.hash)).unwrap();
        assert_eq!(kept.as_deref(), Some(&*object.bytes));
    }
}

/// Checks that all calls of a closed journal return [`Error::Closed`], and that a second close does
/// nothing.
pub fn closed_journal_returns_closed(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    stream.append(journal, &["{}"]);
    block_on(journal.close()).unwrap();
    let session = stream.session;
    let errors = [
        block_on(journal.append(stream.next(&["{}"]))).err(),
        block_on(journal.head(session)).err(),
        block_on(journal.read(session, 1, 1)).err(),
        block_on(journal.sessions(None, 1)).err(),
        block_on(journal.open_work(None, 1)).err(),
        block_on(journal.open_work_of_kinds(&["call"], None, 1)).err(),
        block_on(journal.open_work_of(session)).err(),
        block_on(journal.deadlines(0, 1)).err(),
        block_on(journal.request(session)).err(),
        block_on(journal.object(Hash::ZERO)).err(),
        block_on(journal.follow(0)).err(),
        block_on(journal.position()).err(),
    ];
    for (call, error) in errors.iter().enumerate() {
        assert!(matches!(error, Some(Error::Closed)), "{call}: {error:?}");
    }
    block_on(journal.close()).unwrap();
}

/// Checks that writers of different streams do not disturb each other, and that streams are listed
/// in the order of their ids.
pub fn concurrent_writers_each_keep_their_stream(open: Open<'_>) {
    let journal = &*open("journal");
    let streams: Vec<Stream> = thread::scope(|scope| {
        let write = |number| {
            scope.spawn(move || {
                let mut stream = Stream::new(number);
                (0..40).for_each(|_| stream.append(journal, &["{}", r#"{"n":1}"#]));
                stream
            })
        };
        let writers: Vec<_> = (1..9).map(write).collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    streams.iter().for_each(|stream| stream.assert_in(journal));
    let listed = block_on(journal.sessions(Some(Uuid::from_u128(2)), 3)).unwrap();
    assert_eq!(
        listed,
        (2..5)
            .map(|at| (streams[at].session, streams[at].head().unwrap()))
            .collect::<Vec<_>>()
    );
}

/// Checks that of writers that append to one stream at once, each time a single one is
/// acknowledged.
pub fn racing_writers_one_is_acknowledged(open: Open<'_>) {
    let journal = &*open("journal");
    let mut stream = Stream::new(1);
    for _ in 0..20 {
        let told: Vec<_> = thread::scope(|scope| {
            let write = |number: u32| {
                let mut drafted = stream.clone();
                scope.spawn(move || {
                    let append = drafted.next(&[&format!(r#"{{"by":{number}}}"#)]);
                    (block_on(journal.append(append)), drafted)
                })
            };
            let writers: Vec<_> = (0..6).map(write).collect();
            writers.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let seq = stream.seq();
        let mut acknowledged = Vec::new();
        for (told, drafted) in told {
            match told {
                Ok(head) => {
                    assert_eq!(Some(head), drafted.head());
                    acknowledged.push(drafted);
                }
                Err(Error::Conflict {
                    expected, actual, ..
                }) => assert_eq!((expected, actual), (seq, seq + 1)),
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(acknowledged.len(), 1, "after record {seq}");
        stream = acknowledged.remove(0);
        stream.assert_in(journal);
    }
}

/// Checks that a snapshot is the last one that was stored, or missing.
pub fn snapshot_is_the_last_one_or_missing(open: Open<'_>) {
    let journal = open("journal");
    let [first, second] = [1, 2].map(Uuid::from_u128);
    let large = vec![7; 1 << 20];
    for (session, bytes) in [
        (first, &b"older"[..]),
        (second, b"of another"),
        (first, &large),
    ] {
        block_on(journal.keep_snapshot(session, bytes.to_vec())).unwrap();
    }
    let journal = reopened(open, "journal", journal);
    for (session, expected) in [(first, &large[..]), (second, b"of another")] {
        let found = block_on(journal.snapshot(session)).unwrap();
        assert!(found.is_none_or(|found| found == expected), "{session}");
    }
    let absent = block_on(journal.snapshot(Uuid::from_u128(3))).unwrap();
    assert_eq!(absent, None);
}
