//! Many spans are read together as each would be alone. The file of a close with the rows of
//! waiting streams makes that faster and changes nothing else.

use std::fs;
use std::path::Path;

use recount_journal::{DiskJournal, Journal, Line, OpenItem, Span, WorkChange, block_on};
use uuid::Uuid;

use crate::index_states::copy_directory;
use crate::stream::Stream;

/// Creates streams with interleaved appends. The first has so many that the index has them in
/// groups, the second has a long one. The first two have an item that waits for an answer.
fn streams(journal: &dyn Journal) -> Vec<Stream> {
    let mut streams: Vec<Stream> = (1..=4).map(Stream::new).collect();
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(300_000));
    for round in 0..100 {
        for (nth, stream) in streams.iter_mut().enumerate() {
            if round % (nth * nth + 1) == 0 {
                let body = if nth == 1 && round == 4 { &long } else { "{}" };
                let mut append = stream.next(&[body, "{}", r#"{"n":1}"#]);
                if round == 0 && nth < 2 {
                    append.open_work = vec![WorkChange::Put(open(stream.session))];
                }
                block_on(journal.append(append)).unwrap();
            }
        }
    }
    streams
}

fn open(session: Uuid) -> OpenItem {
    OpenItem {
        session,
        item: 2,
        kind: "confirmation".to_owned(),
        since_us: 0,
        deadline_us: None,
        request: Some(session),
        flags: 0,
    }
}

/// Settles the open item of a stream.
fn settle(journal: &dyn Journal, stream: &mut Stream) {
    let (session, item) = (stream.session, 2);
    let mut append = stream.next(&["{}"]);
    append.open_work = vec![WorkChange::Remove { session, item }];
    block_on(journal.append(append)).unwrap();
}

/// Creates spans of these streams and of a missing one, near their ends and after them, some empty,
/// some twice.
fn spans(streams: &[Stream]) -> Vec<Span> {
    let mut spans = Vec::new();
    for session in streams
        .iter()
        .map(|it| it.session)
        .chain([Uuid::from_u128(99)])
    {
        for from in [0, 1, 2, 3, 14, 95, 96, 97, 200, 299, 300, 301, u64::MAX] {
            for limit in [0, 1, 2, 4, 97, usize::MAX] {
                spans.push(Span {
                    session,
                    from,
                    limit,
                });
            }
        }
    }
    spans
}

fn expected(streams: &[Stream], span: &Span) -> Vec<Line> {
    let stream = streams.iter().find(|it| it.session == span.session);
    let lines = stream.map_or(&[][..], |it| &it.lines);
    let before = usize::try_from(span.from.max(1) - 1).unwrap();
    lines
        .iter()
        .skip(before)
        .take(span.limit)
        .cloned()
        .collect()
}

fn assert_reads(journal: &dyn Journal, streams: &[Stream]) {
    let spans = spans(streams);
    let pages = block_on(journal.read_each(spans.clone())).unwrap();
    assert_eq!(pages.len(), spans.len());
    for (span, page) in spans.iter().zip(pages) {
        assert_eq!(page, expected(streams, span), "{span:?}");
        let alone = block_on(journal.read(span.session, span.from, span.limit)).unwrap();
        assert_eq!(alone, page, "{span:?}");
    }
    for stream in streams {
        stream.assert_in(journal);
    }
}

#[test]
fn many_spans_are_read_as_each_alone() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let streams = streams(&journal);
    assert_reads(&journal, &streams);
    block_on(journal.close()).unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    assert_reads(&journal, &streams);
    let memory = recount_journal::MemoryJournal::new();
    assert_reads(&memory, &self::streams(&memory));
}

fn kept(journal: &Path) -> std::path::PathBuf {
    journal.join("snapshots").join("waiting")
}

#[test]
fn close_keeps_rows_of_waiting_streams() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut streams = streams(&journal);
    assert!(!kept(directory.path()).exists(), "not before");
    block_on(journal.close()).unwrap();
    let of_two = fs::metadata(kept(directory.path())).unwrap().len();

    let journal = DiskJournal::open(directory.path()).unwrap();
    settle(&journal, &mut streams[0]);
    block_on(journal.close()).unwrap();
    assert!(fs::metadata(kept(directory.path())).unwrap().len() < of_two);

    let journal = DiskJournal::open(directory.path()).unwrap();
    settle(&journal, &mut streams[1]);
    block_on(journal.close()).unwrap();
    assert!(!kept(directory.path()).exists());
    assert_reads(&DiskJournal::open(directory.path()).unwrap(), &streams);
}

#[test]
fn kept_rows_never_mislead() {
    let directory = tempfile::tempdir().unwrap();
    let (path, beside) = (
        directory.path().join("journal"),
        directory.path().join("beside"),
    );
    let journal = DiskJournal::open(&path).unwrap();
    let mut streams = streams(&journal);
    block_on(journal.close()).unwrap();
    let older = fs::read(kept(&path)).unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    for stream in &mut streams {
        stream.append(&journal, &["{}"]);
    }
    block_on(journal.close()).unwrap();
    let newer = fs::read(kept(&path)).unwrap();

    let mut flipped = newer.clone();
    flipped[newer.len() - 1] ^= 1;
    let of_another = {
        let path = directory.path().join("another");
        let journal = DiskJournal::open(&path).unwrap();
        self::streams(&journal);
        block_on(journal.close()).unwrap();
        fs::read(kept(&path)).unwrap()
    };
    let torn = newer[..newer.len() / 2].to_vec();
    for (what, bytes) in [
        ("as it is", None),
        ("older", Some(older)),
        ("torn", Some(torn)),
        ("flipped", Some(flipped)),
        ("of another journal", Some(of_another)),
        ("empty", Some(Vec::new())),
        ("something else", Some(b"x".repeat(5_000))),
    ] {
        // Copied files are newer than `CLOSED`, so the journal is closed again, and only then gets
        // its file.
        let _absent = fs::remove_dir_all(&beside);
        copy_directory(&path, &beside);
        let mut streams = streams.clone();
        block_on(DiskJournal::open(&beside).unwrap().close()).unwrap();
        if let Some(bytes) = bytes {
            fs::write(kept(&beside), &bytes).unwrap();
        }
        for looking in [true, false] {
            let options = DiskJournal::options(&beside);
            let options = if looking {
                options.read_only()
            } else {
                options
            };
            let journal = options.open().unwrap();
            assert!(
                !journal.opened().read_whole,
                "{what}: nothing speaks against the close"
            );
            assert_reads(&journal, &streams);
            if !looking {
                // More than one group of positions after the kept ones.
                for _ in 0..40 {
                    for stream in &mut streams {
                        stream.append(&journal, &["{}"]);
                    }
                }
                assert_reads(&journal, &streams);
            }
            block_on(journal.close()).unwrap();
        }
        assert_reads(&DiskJournal::open(&beside).unwrap(), &streams);
    }
}
