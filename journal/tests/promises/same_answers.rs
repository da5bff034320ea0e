//! The journals in memory and on disk return the same answers, and so does a reopened journal on
//! disk.

use proptest::collection::vec;
use proptest::prelude::*;
use recount_journal::{
    Append, DiskJournal, Durability, Journal, MemoryJournal, Object, OpenItem, WorkChange, block_on,
};
use uuid::Uuid;

use crate::stream::Stream;

#[derive(Clone, Debug)]
enum Step {
    /// Appends records, objects of this size, and open work on this item.
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
    /// Closes the disk journal and opens it again, with or without its index.
    Reopen { index_gone: bool },
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
            1 => any::<bool>().prop_map(|index_gone| Step::Reopen { index_gone }),
        ],
        1..25,
    )
}

fn answers(journal: &dyn Journal, streams: &[Stream], objects: &[Object]) -> String {
    let mut told = Vec::new();
    for stream in streams {
        let head = block_on(journal.head(stream.session));
        let lines = block_on(journal.read(stream.session, 1, 100)).unwrap();
        let some = block_on(journal.read(stream.session, 3, 2)).unwrap();
        told.push(format!(
            "{head:?} {lines:?} {some:?} {:?}",
            block_on(journal.open_work_of(stream.session))
        ));
    }
    told.push(format!("{:?}", block_on(journal.sessions(None, 100))));
    told.push(format!(
        "{:?}",
        block_on(journal.sessions(Some(Uuid::from_u128(1)), 1))
    ));
    told.push(format!("{:?}", block_on(journal.open_work(None, 100))));
    told.push(format!(
        "{:?}",
        block_on(journal.open_work(Some((Uuid::from_u128(2), 2)), 2))
    ));
    told.push(format!("{:?}", block_on(journal.deadlines(4, 3))));
    told.extend(
        (0..6).map(|request| format!("{:?}", block_on(journal.request(Uuid::from_u128(request))))),
    );
    told.extend(objects.iter().map(|object| {
        format!(
            "{:?}",
            block_on(journal.object(object.hash))
                .unwrap()
                .map(|bytes| bytes.len())
        )
    }));
    told.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn both_stores_answer_alike(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let memory = MemoryJournal::new();
        let mut disk = DiskJournal::open(directory.path()).unwrap();
        let mut streams = [Stream::new(1), Stream::new(2), Stream::new(3)];
        let mut objects = Vec::new();
        for step in steps {
            let append = match step {
                Step::Append { stream, records, size, item, deadline, buffered } => {
                    let session = streams[stream].session;
                    let text = format!(r#"{{"text":"{}"}}"#, "z".repeat(size));
                    let object = Object::new(vec![u8::try_from(item).unwrap(); size]);
                    objects.push(object.clone());
                    let request = (item % 2 == 0).then(|| Uuid::from_u128(u128::from(item)));
                    let kind = "call".to_owned();
                    let put = OpenItem {
                        session,
                        item,
                        kind,
                        since_us: 0,
                        deadline_us: deadline,
                        request,
                        flags: 1,
                    };
                    let durability = if buffered {
                        Durability::Buffered
                    } else {
                        Durability::Durable
                    };
                    Append {
                        objects: vec![object],
                        open_work: vec![WorkChange::Put(put)],
                        durability,
                        ..streams[stream].next(&vec![&*text; records])
                    }
                }
                Step::Settle { stream, item } => {
                    let settle = WorkChange::Remove { session: streams[stream].session, item };
                    Append { open_work: vec![settle], ..streams[stream].next(&["{}"]) }
                }
                Step::Stale { stream } => {
                    let mut ahead = streams[stream].clone();
                    ahead.next(&["{}"]);
                    ahead.next(&["{}"])
                }
                Step::Reopen { index_gone } => {
                    drop(disk);
                    if index_gone {
                        std::fs::remove_dir_all(directory.path().join("sled")).unwrap();
                    }
                    disk = DiskJournal::open(directory.path()).unwrap();
                    continue;
                }
            };
            let told = (block_on(memory.append(append.clone())), block_on(disk.append(append)));
            prop_assert_eq!(format!("{:?}", told.0), format!("{:?}", told.1));
            let in_memory = answers(&memory, &streams, &objects);
            prop_assert_eq!(in_memory, answers(&disk, &streams, &objects));
        }
    }
}
