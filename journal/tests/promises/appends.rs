//! An append is atomic, is rejected if it does not follow its stream, and is seen by the next read.

use std::sync::Arc;

use recount_journal::{
    Append, DiskJournal, Durability, Error, Hash, Journal, Line, MemoryJournal, OBJECT_LIMIT,
    Object, OpenItem, WorkChange, block_on,
};
use uuid::Uuid;

use crate::stream::Stream;

fn with_both(check: impl Fn(&dyn Journal)) {
    check(&MemoryJournal::new());
    let directory = tempfile::tempdir().unwrap();
    check(&DiskJournal::open(directory.path()).unwrap());
}

#[test]
fn stale_writer_gets_conflict_and_writes_nothing() {
    with_both(|journal| {
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
    });
}

#[test]
fn wrong_append_is_rejected_and_writes_nothing() {
    with_both(|journal| {
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
        let other = Stream::new(1).next(&[r#"{"another":"history"}"#, "{}", "{}", "{}"]);
        assert!(matches!(
            refuse(&|append| append.lines = other.lines[2..].to_vec()),
            Error::BrokenChain { seq: 3, .. }
        ));
        let mixed = vec![
            stream.clone().next(&["{}"]).lines[0].clone(),
            other.lines[3].clone(),
        ];
        assert!(matches!(
            refuse(&|append| append.lines = mixed.clone()),
            Error::BrokenChain { seq: 4, .. }
        ));
        let mut early = stream.clone();
        early.at_us -= 5;
        assert!(matches!(
            refuse(&|append| *append = early.clone().next(&["{}"])),
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
    });
}

#[test]
fn acknowledged_append_is_read_next() {
    with_both(|journal| {
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
        stream.assert_in(journal);
        let due = block_on(journal.deadlines(-10, 100)).unwrap();
        assert_eq!(
            due.iter().map(|item| item.deadline_us).collect::<Vec<_>>(),
            (10..30).rev().map(|at| Some(-at)).collect::<Vec<_>>()
        );
    });
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

#[test]
fn closed_journal_returns_closed() {
    with_both(|journal| {
        let mut stream = Stream::new(1);
        stream.append(journal, &["{}"]);
        block_on(journal.close()).unwrap();
        assert!(matches!(
            block_on(journal.append(stream.next(&["{}"]))),
            Err(Error::Closed)
        ));
        assert!(matches!(
            block_on(journal.head(stream.session)),
            Err(Error::Closed)
        ));
        block_on(journal.close()).unwrap();
    });
}

#[test]
fn concurrent_writers_each_keep_their_stream() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let streams: Vec<Stream> = std::thread::scope(|scope| {
        let write = |number| {
            let journal = &journal;
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
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    let listed = block_on(journal.sessions(Some(Uuid::from_u128(2)), 3)).unwrap();
    assert_eq!(
        listed,
        (2..5)
            .map(|at| (streams[at].session, streams[at].head().unwrap()))
            .collect::<Vec<_>>()
    );
}
