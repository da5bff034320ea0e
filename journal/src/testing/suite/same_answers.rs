//! Any journal returns the answers of the journal in memory, also after it was opened again.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use uuid::Uuid;

use super::{Open, reopened};
use crate::testing::Stream;
use crate::{
    Append, Durability, Journal, Line, MemoryJournal, Object, OpenItem, Span, WorkChange, block_on,
};

/// The number of random histories.
const HISTORIES: u32 = 12;

/// The kinds of open items.
const KINDS: [&str; 3] = ["call", "confirmation", "retry"];

#[derive(Clone, Debug)]
enum Step {
    /// Appends records, an object of this size, and open work on this item.
    Append {
        stream: usize,
        records: usize,
        size: usize,
        item: u64,
        deadline: Option<i64>,
        buffered: bool,
    },
    /// Settles an item.
    Settle { stream: usize, item: u64 },
    /// Makes an append that does not follow the stream.
    Stale { stream: usize },
    /// Stores a snapshot.
    Snapshot { stream: usize, size: usize },
    /// Closes the journal and opens it again, if it is durable.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let append = (
        0..3_usize,
        1..4_usize,
        0..9_000_usize,
        1..6_u64,
        proptest::option::of(-3..9_i64),
        any::<bool>(),
    )
        .prop_map(
            |(stream, records, size, item, deadline, buffered)| Step::Append {
                stream,
                records,
                size,
                item,
                deadline,
                buffered,
            },
        );
    vec(
        prop_oneof![
            6 => append,
            2 => (0..3_usize, 1..6_u64).prop_map(|(stream, item)| Step::Settle { stream, item }),
            1 => (0..3_usize).prop_map(|stream| Step::Stale { stream }),
            1 => (0..3_usize, 0..3_000_usize)
                .prop_map(|(stream, size)| Step::Snapshot { stream, size }),
            1 => Just(Step::Reopen),
        ],
        1..25,
    )
}

/// A history: the streams as their writer knows them, and the objects that were appended.
struct History {
    streams: [Stream; 3],
    objects: Vec<Object>,
}

impl History {
    /// Returns the append of a step.
    fn append(&mut self, step: &Step) -> Option<Append> {
        match *step {
            Step::Append {
                stream,
                records,
                size,
                item,
                deadline,
                buffered,
            } => {
                let text = format!(r#"{{"text":"{}"}}"#, "z".repeat(size));
                let object = Object::new(vec![u8::try_from(item).unwrap(); size]);
                self.objects.push(object.clone());
                let put = OpenItem {
                    session: self.streams[stream].session,
                    item,
                    kind: KINDS[(size + stream) % KINDS.len()].to_owned(),
                    since_us: i64::try_from(size).unwrap() - 100,
                    deadline_us: deadline,
                    request: (item % 2 == 0).then(|| Uuid::from_u128(u128::from(item))),
                    flags: u32::MAX - u32::try_from(size).unwrap(),
                };
                let durability = if buffered {
                    Durability::Buffered
                } else {
                    Durability::Durable
                };
                Some(Append {
                    objects: vec![object],
                    open_work: vec![WorkChange::Put(put)],
                    durability,
                    ..self.streams[stream].next(&vec![&*text; records])
                })
            }
            Step::Settle { stream, item } => {
                let stream = &mut self.streams[stream];
                let settle = WorkChange::Remove {
                    session: stream.session,
                    item,
                };
                Some(Append {
                    open_work: vec![settle],
                    ..stream.next(&["{}"])
                })
            }
            Step::Stale { stream } => {
                let mut ahead = self.streams[stream].clone();
                ahead.next(&["{}"]);
                Some(ahead.next(&["{}"]))
            }
            Step::Snapshot { .. } | Step::Reopen => None,
        }
    }
}

/// Returns the answers to all reads, one a line.
fn answers(journal: &dyn Journal, History { streams, objects }: &History) -> String {
    let mut told = Vec::new();
    let spans = streams.iter().map(|stream| Span {
        session: stream.session,
        from: 3,
        limit: 2,
    });
    told.push(format!(
        "{:?}",
        block_on(journal.read_each(spans.collect()))
    ));
    for stream in streams {
        let head = block_on(journal.head(stream.session));
        let lines = block_on(journal.read(stream.session, 1, 100)).unwrap();
        told.push(format!(
            "{head:?} {lines:?} {:?}",
            block_on(journal.open_work_of(stream.session))
        ));
    }
    let second = Uuid::from_u128(2);
    for (after, limit) in [
        (None, 100),
        (Some(Uuid::from_u128(1)), 1),
        (Some(second), 9),
    ] {
        told.push(format!("{:?}", block_on(journal.sessions(after, limit))));
    }
    for (after, limit) in [(None, 100), (None, 3), (Some((second, 2)), 2)] {
        told.push(format!("{:?}", block_on(journal.open_work(after, limit))));
        for kinds in [&KINDS[..], &KINDS[1..], &["call", "call"], &["absent"], &[]] {
            let work = block_on(journal.open_work_of_kinds(kinds, after, limit));
            told.push(format!("{work:?}"));
        }
    }
    for (until, limit) in [(4, 3), (-2, 100), (i64::MAX, 100), (i64::MIN, 1)] {
        told.push(format!("{:?}", block_on(journal.deadlines(until, limit))));
    }
    told.extend(
        (0..6).map(|request| format!("{:?}", block_on(journal.request(Uuid::from_u128(request))))),
    );
    told.extend(objects.iter().map(|object| {
        let kept = block_on(journal.object(object.hash)).unwrap();
        format!("{:?}", kept.map(|bytes| bytes == object.bytes))
    }));
    told.join("\n")
}

/// Asserts that a snapshot is the one of the journal in memory, or missing.
fn assert_snapshots(memory: &dyn Journal, journal: &dyn Journal, streams: &[Stream]) {
    for session in streams.iter().map(|it| it.session) {
        let found = block_on(journal.snapshot(session)).unwrap();
        let expected = block_on(memory.snapshot(session)).unwrap();
        assert!(found.is_none() || found == expected, "{session}");
    }
}

/// Asserts that a follower sees the records of each stream as the writer knows them.
fn assert_followed(journal: &dyn Journal, streams: &[Stream]) {
    let log = super::following::whole_log(journal);
    for stream in streams {
        let seen = log.iter().filter(|(owner, _)| *owner == stream.session);
        let seen: Vec<&Line> = seen.map(|(_, line)| line).collect();
        assert_eq!(seen, stream.lines.iter().collect::<Vec<_>>());
    }
}

/// Checks that random appends, settlements, stale appends and snapshots get the answers of
/// [`MemoryJournal`], before and after the journal is opened again.
///
/// Each history has a journal of its own, `history-N`.
pub fn answers_are_those_of_memory(open: Open<'_>) {
    let number = Cell::new(0_u32);
    let config = ProptestConfig {
        cases: HISTORIES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let checked = TestRunner::new(config).run(&steps(), |steps| {
        let name = format!("history-{}", number.replace(number.get() + 1));
        let memory = MemoryJournal::new();
        let mut journal = open(&name);
        let mut history = History {
            streams: [Stream::new(1), Stream::new(2), Stream::new(3)],
            objects: Vec::new(),
        };
        for step in steps {
            if let Some(append) = history.append(&step) {
                let told = [&memory as &dyn Journal, &*journal]
                    .map(|journal| format!("{:?}", block_on(journal.append(append.clone()))));
                prop_assert_eq!(&told[0], &told[1]);
            }
            match step {
                Step::Snapshot { stream, size } => {
                    let session = history.streams[stream].session;
                    for journal in [&memory as &dyn Journal, &*journal] {
                        block_on(journal.keep_snapshot(session, vec![1; size])).unwrap();
                    }
                }
                Step::Reopen => journal = reopened(open, &name, journal),
                Step::Append { .. } | Step::Settle { .. } | Step::Stale { .. } => {}
            }
            let expected = answers(&memory, &history);
            prop_assert_eq!(expected, answers(&*journal, &history));
            assert_snapshots(&memory, &*journal, &history.streams);
        }
        assert_followed(&*journal, &history.streams);
        block_on(journal.close()).unwrap();
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
