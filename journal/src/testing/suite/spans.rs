//! Many spans are read together as each would be alone.

use uuid::Uuid;

use super::{Open, reopened};
use crate::testing::Stream;
use crate::{Journal, Line, OpenItem, Span, WorkChange, block_on};

/// Checks that spans that are read together have the records of each alone, also at the ends of
/// streams and after a reopening.
pub fn many_spans_are_read_as_each_alone(open: Open<'_>) {
    let journal = open("journal");
    let streams = waiting_streams(&*journal);
    assert_reads(&*journal, &streams);
    let journal = reopened(open, "journal", journal);
    assert_reads(&*journal, &streams);
}

/// Appends to four streams by turns. The first has many appends, the second has a long one. The
/// first two have an item that waits for an answer.
///
/// # Panics
/// If an append fails.
pub fn waiting_streams(journal: &dyn Journal) -> Vec<Stream> {
    let mut streams: Vec<Stream> = (1..=4).map(Stream::new).collect();
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(300_000));
    for round in 0..100 {
        for (nth, stream) in streams.iter_mut().enumerate() {
            if round % (nth * nth + 1) == 0 {
                let body = if nth == 1 && round == 4 { &long } else { "{}" };
                let mut append = stream.next(&[body, "{}", r#"{"n":1}"#]);
                if round == 0 && nth < 2 {
                    append.open_work = vec![WorkChange::Put(waiting(stream.session))];
                }
                block_on(journal.append(append)).unwrap();
            }
        }
    }
    streams
}

fn waiting(session: Uuid) -> OpenItem {
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

/// Asserts that all spans of the streams of [`waiting_streams`] are read whole.
///
/// # Panics
/// If the journal returns other records.
pub fn assert_reads(journal: &dyn Journal, streams: &[Stream]) {
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
