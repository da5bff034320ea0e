//! The speed at which a journal is read, verified, exported and imported, in records per second.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "shared/arguments.rs"]
mod arguments;
#[path = "shared/batch.rs"]
mod batch;
#[path = "shared/machine.rs"]
mod machine;
#[path = "shared/median.rs"]
mod median;
#[path = "shared/neighbours.rs"]
mod neighbours;
#[path = "shared/processor_time.rs"]
mod processor_time;
#[path = "shared/sessions.rs"]
mod sessions;
#[path = "shared/table.rs"]
mod table;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use recount::journal::{DiskJournal, Durability, Error, Journal, block_on, export, import, verify};
use recount::ledger;
use uuid::Uuid;

use arguments::{Arguments, Effort};
use batch::{BATCH_RECORDS, Stream};
use median::median;
use neighbours::Neighbours;
use processor_time::processor_time;
use table::{thousands, verdict};

/// The number of records in a page, as in exports and replays.
const PAGE: usize = 1_000;
/// One of so many appends goes to the stream that is read.
const SPREAD: u64 = 10;
/// The number of other sessions, whose records lie between those of the stream.
const OTHERS: u64 = 100;

/// The target of a figure, in records per second.
#[derive(Clone, Copy)]
enum Target {
    /// A target for wall-clock time and for CPU time. So work on a second core does not count as
    /// speed.
    OnOneCore(f64),
    /// A target for wall-clock time.
    OnAll(f64),
}

/// A figure: its name, its target, and the measured function, which returns the number of records.
type Figure<'a> = (&'a str, Option<Target>, &'a dyn Fn() -> u64);

fn main() {
    let arguments = Arguments::read(&["--records"]);
    let names = [
        "read/stream",
        "export",
        "verify/directory",
        "verify/export",
        "import/bytes",
        "import/sessions",
    ];
    if !names.iter().any(|name| arguments.wants(name)) {
        return;
    }
    batch::check();
    let neighbours = Neighbours::watch();
    let (records, rounds) = match arguments.effort {
        Effort::Full => (400_000, 7),
        Effort::Quick => (100_000, 3),
        Effort::Test => (4_000, 1),
    };
    let asked = arguments.value("--records");
    let records = asked.map_or(records, |asked| asked.parse().expect("a number of records"));

    let directory = machine::scratch();
    let path = directory.path().join("journal");
    let file = directory.path().join("journal.jsonl");
    let (stream, length) = fill(&path, records);
    println!(
        "read: a journal of {records} records of {} bytes, \
         one stream of {length} among {OTHERS} others; {}",
        batch::RECORD_BYTES,
        machine::describe()
    );

    let mut rows = Vec::new();
    let mut measure = |(name, target, run): Figure<'_>| {
        if arguments.wants(name) {
            rows.push(row(name, target, rounds, run));
        }
    };
    let journal = DiskJournal::open(&path).expect("the journal opens again");
    measure(("read/stream", Some(Target::OnOneCore(700_000.0)), &|| {
        read(&journal, stream)
    }));
    let write = || {
        let mut out = BufWriter::new(File::create(&file).expect("a file"));
        let trailer = block_on(export(&journal, None, &mut out)).expect("an export");
        out.flush().expect("an export on disk");
        trailer.records
    };
    measure(("export", None, &write));
    write();
    block_on(journal.close()).expect("a clean close");

    measure((
        "verify/directory",
        Some(Target::OnOneCore(700_000.0)),
        &|| {
            let report = verify::directory(&path).expect("a report");
            assert!(report.is_sound(), "{:?}", report.findings);
            report.records
        },
    ));
    measure(("verify/export", None, &|| {
        let report = verify::export(opened(&file)).expect("a report");
        assert!(report.is_sound(), "{:?}", report.findings);
        report.records
    }));
    let imported = directory.path().join("imported");
    measure(("import/bytes", Some(Target::OnAll(300_000.0)), &|| {
        let made = import(opened(&file), &imported, |_| Ok::<_, Error>(Vec::new()));
        fs::remove_dir_all(&imported).expect("an import can be removed");
        made.expect("an import").records
    }));
    if arguments.wants("import/sessions") {
        fs::remove_dir_all(&path).expect("the journal can be removed");
        sessions::fill(&path, records);
        let journal = DiskJournal::open(&path).expect("the journal opens again");
        let mut out = BufWriter::new(File::create(&file).expect("a file"));
        block_on(export(&journal, None, &mut out)).expect("an export");
        out.flush().expect("an export on disk");
        block_on(journal.close()).expect("a clean close");
    }
    measure(("import/sessions", Some(Target::OnAll(300_000.0)), &|| {
        let made = ledger::import(opened(&file), &imported, None);
        fs::remove_dir_all(&imported).expect("an import can be removed");
        made.expect("an import").records
    }));
    table::print(
        &format!("Medians of {rounds} rounds, the files in the page cache"),
        &[
            "figure",
            "records",
            "records/s",
            "records/s of processor time",
            "target",
            "verdict",
        ],
        &rows,
    );
    neighbours.report();
}

fn opened(file: &Path) -> BufReader<File> {
    BufReader::with_capacity(1 << 20, File::open(file).expect("the export"))
}

/// Makes a journal with so many records. The records of one stream are spread evenly among the
/// others. Returns that stream and its length.
fn fill(path: &Path, records: u64) -> (Uuid, u64) {
    let journal = DiskJournal::open(path).expect("a journal");
    let mut chosen = Stream::new(OTHERS / 2);
    let mut others: Vec<Stream> = (0..=OTHERS)
        .filter(|number| *number != OTHERS / 2)
        .map(Stream::new)
        .collect();
    let mut turn = 0;
    let mut length = 0;
    for append in 0..records.div_ceil(BATCH_RECORDS) {
        let mut append = if append % SPREAD == 0 {
            length += BATCH_RECORDS;
            chosen.next_append()
        } else {
            turn = (turn + 1) % others.len();
            let stream = others.get_mut(turn).expect("a stream for each turn");
            stream.next_append()
        };
        // The close syncs the journal, so single appends need no sync.
        append.durability = Durability::Buffered;
        block_on(journal.append(append)).expect("an append");
    }
    block_on(journal.close()).expect("a clean close");
    (chosen.session, length)
}

/// Reads a stream from its start to its end.
fn read(journal: &DiskJournal, stream: Uuid) -> u64 {
    let mut seq = 0;
    loop {
        let page = block_on(journal.read(stream, seq + 1, PAGE)).expect("a page");
        if page.is_empty() {
            return seq;
        }
        seq += page.len() as u64;
    }
}

/// Runs once to warm up and then `rounds` times, and returns the row of medians.
fn row(name: &str, target: Option<Target>, rounds: usize, run: &dyn Fn() -> u64) -> Vec<String> {
    let mut records = run();
    let (mut a_second, mut a_second_worked) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (begun, worked) = (Instant::now(), processor_time());
        records = run();
        a_second.push(records as f64 / begun.elapsed().as_secs_f64());
        a_second_worked.push(records as f64 / (processor_time() - worked).as_secs_f64());
    }
    let (a_second, a_second_worked) = (median(a_second), median(a_second_worked));
    let (target, verdict) = match target {
        Some(Target::OnOneCore(target)) => (
            format!("at least {} on one core", thousands(target)),
            verdict(a_second.min(a_second_worked) >= target),
        ),
        Some(Target::OnAll(target)) => (
            format!("at least {}", thousands(target)),
            verdict(a_second >= target),
        ),
        None => ("—".to_owned(), "—".to_owned()),
    };
    vec![
        name.to_owned(),
        thousands(records as f64),
        thousands(a_second),
        thousands(a_second_worked),
        target,
        verdict,
    ]
}
