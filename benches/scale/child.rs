//! The work of a child process: to fill a journal, or to open one and list its open work.
//!
//! The results go to standard output, one name and figure a line.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use recount::journal::{DiskJournal, Journal, OpenItem, WorkChange, block_on};
use uuid::Uuid;

use crate::batch::{BATCH_RECORDS, Stream};

/// The number of tasks that append concurrently while a journal is filled.
const WRITERS: u64 = 256;
/// The number of open items in a page.
const PAGE: usize = 1_000;

/// The end of a filling process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// The process closes the journal.
    Close,
    /// The process reports the last acknowledgement and waits to be killed.
    Hold,
}

/// Fills a journal. Each session has one open item. Sessions append in turn, so their streams
/// interleave.
pub(crate) fn fill(path: &Path, records: u64, sessions: u64, end: End) {
    let journal = Arc::new(DiskJournal::open(path).expect("a journal"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    let appends = records / BATCH_RECORDS;
    let begun = Instant::now();
    runtime.block_on(async {
        let writers = (0..WRITERS.min(sessions)).map(|writer| {
            let journal = Arc::clone(&journal);
            let numbers = (writer..sessions).step_by(WRITERS as usize);
            tokio::spawn(write(journal, numbers.collect(), sessions, appends))
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.expect("a writer that ends well");
        }
    });
    println!("filled_ms {}", since(begun));
    if end == End::Hold {
        // Waits until the process is killed.
        let _killed = std::io::stdin().read(&mut [0]);
        return;
    }
    let closing = Instant::now();
    runtime.block_on(journal.close()).expect("a clean close");
    println!("closed_ms {}", since(closing));
}

/// Writes the appends of some sessions. Append `n` of the journal goes to session `n` modulo
/// `sessions`.
async fn write(journal: Arc<DiskJournal>, numbers: Vec<u64>, sessions: u64, appends: u64) {
    let mut streams: Vec<(u64, Stream)> = numbers
        .into_iter()
        .map(|number| (number, Stream::new(number)))
        .collect();
    for turn in 0..appends.div_ceil(sessions) {
        for (number, stream) in &mut streams {
            if turn * sessions + *number >= appends {
                return;
            }
            let mut append = stream.next_append();
            if turn == 0 {
                append.open_work.push(WorkChange::Put(item(stream.session)));
            }
            journal.append(append).await.expect("an append");
        }
    }
}

/// An open confirmation request.
fn item(session: Uuid) -> OpenItem {
    OpenItem {
        session,
        item: BATCH_RECORDS,
        kind: "confirmation".to_owned(),
        since_us: 1_767_225_600_000_000,
        deadline_us: Some(1_767_830_400_000_000),
        request: Some(Uuid::from_u128(!session.as_u128())),
        flags: 0,
    }
}

/// Opens a journal, lists its open work, and prints the time and the memory of both.
pub(crate) fn open(path: &Path) {
    let opening = Instant::now();
    let journal = DiskJournal::open(path).expect("the journal opens");
    println!("open_ms {}", since(opening));
    let listing = Instant::now();
    let items = list(&journal);
    println!("listing_ms {}", since(listing));
    println!("items {}", items.len());
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells of memory");
    for (field, name) in [("VmRSS:", "resident_kib"), ("VmHWM:", "peak_kib")] {
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        let words = value.and_then(|value| value.split_whitespace().next());
        println!("{name} {}", words.expect("a figure of memory"));
    }
    let opened = journal.opened();
    println!("after {:?}", opened.after);
    println!("index {}", opened.index);
    println!("records {}", opened.records);
    block_on(journal.close()).expect("a clean close");
}

fn list(journal: &DiskJournal) -> Vec<OpenItem> {
    let mut items = Vec::new();
    loop {
        let after = items
            .last()
            .map(|item: &OpenItem| (item.session, item.item));
        let page = block_on(journal.open_work(after, PAGE)).expect("a page");
        if page.is_empty() {
            return items;
        }
        items.extend(page);
    }
}

fn since(then: Instant) -> f64 {
    then.elapsed().as_secs_f64() * 1e3
}
