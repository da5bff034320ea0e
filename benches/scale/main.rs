//! The cost of a growing journal, from ten thousand to millions of records: opening, listing,
//! memory.

#![expect(clippy::expect_used, reason = "a bench that cannot write must stop")]

#[path = "../shared/arguments.rs"]
mod arguments;
#[path = "../shared/batch.rs"]
mod batch;
mod child;
mod growth;
#[path = "../shared/machine.rs"]
mod machine;
#[path = "../shared/median.rs"]
mod median;
#[path = "../shared/neighbours.rs"]
mod neighbours;
mod picture;
mod process;
#[path = "../shared/said.rs"]
mod said;
#[path = "../shared/table.rs"]
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use arguments::{Arguments, Effort};
use child::End;
use median::median;
use neighbours::Neighbours;
use process::ChildOutput;
use table::{thousands, verdict};

/// The number of sessions in a journal with at least ten records for each.
const SESSIONS: u64 = 10_000;
/// The number of records for which the targets are set.
const LARGEST: u64 = 1_000_000;

/// The figures of one size.
struct Size {
    records: u64,
    /// The time until the last append was acknowledged, in milliseconds.
    fill: f64,
    /// The time of opening after a clean close, in milliseconds. The next three are in
    /// milliseconds, too.
    clean: f64,
    killed: f64,
    rebuilt: f64,
    listing: f64,
    /// The maximum memory after opening and listing, in KiB: after a clean close, after a kill, and
    /// without sled.
    resident: [f64; 3],
    /// The maximum peak memory of all openings, in KiB.
    peak: f64,
    /// The size on disk, in MiB.
    disk: f64,
}

/// A figure over all sizes: its name, its unit, its value, and its maximum at a million records.
type Figure = (&'static str, &'static str, fn(&Size) -> f64, Option<f64>);

const FIGURES: [Figure; 10] = [
    (
        "open after a clean close",
        "ms",
        |it| it.clean,
        Some(1_000.0),
    ),
    ("open after kill -9", "ms", |it| it.killed, Some(3_000.0)),
    ("open with sled gone", "ms", |it| it.rebuilt, Some(30_000.0)),
    ("list all open work", "ms", |it| it.listing, Some(50.0)),
    (
        "memory after a clean close",
        "MiB",
        |it| it.resident[0] / 1024.0,
        Some(200.0),
    ),
    (
        "memory after kill -9",
        "MiB",
        |it| it.resident[1] / 1024.0,
        Some(200.0),
    ),
    (
        "memory with sled gone",
        "MiB",
        |it| it.resident[2] / 1024.0,
        Some(200.0),
    ),
    ("peak memory", "MiB", |it| it.peak / 1024.0, None),
    ("fill, 256 writers", "ms", |it| it.fill, None),
    ("on disk", "MiB", |it| it.disk, None),
];

fn main() {
    if process::is_child() {
        return;
    }
    let arguments = Arguments::read(&["--records", "--svg"]);
    if !arguments.wants("scale") {
        return;
    }
    batch::check();
    let neighbours = Neighbours::watch();
    growth::check();
    let asked = arguments.value("--records");
    let largest = asked.map_or(LARGEST, |asked| asked.parse().expect("a number of records"));
    let sizes: &[u64] = match arguments.effort {
        Effort::Full => &[10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
        Effort::Quick => &[10_000, 30_000],
        Effort::Test => &[1_000, 3_000],
    };
    println!(
        "scale: records of {} bytes in up to {} sessions, each with open work; {}",
        batch::RECORD_BYTES,
        thousands(SESSIONS as f64),
        machine::describe()
    );
    let sizes = sizes.iter().filter(|records| **records <= largest);
    let sizes: Vec<Size> = sizes.map(|records| measure(*records)).collect();
    print_curve(&sizes);
    print_targets(&sizes);
    let file = arguments.value("--svg").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("scale.svg"),
        PathBuf::from,
    );
    let curves = FIGURES.iter().filter(|(_, unit, ..)| *unit == "ms");
    let curves: Vec<picture::Curve> = curves
        .map(|(name, _, figure, _)| ((*name).to_owned(), points(&sizes, *figure)))
        .collect();
    let title = "A growing journal, every session with open work";
    fs::write(&file, picture::draw(title, &curves)).expect("a picture");
    println!("\nThe curve is drawn in {}", file.display());
    neighbours.report();
}

/// Measures one size. Figures of small journals are medians of three.
fn measure(records: u64) -> Size {
    let sessions = SESSIONS.min(records / 10);
    let repeats = if records <= 100_000 { 3 } else { 1 };
    let directory = machine::scratch();
    let closed = directory.path().join("closed");
    let filled = process::fill(&closed, records, sessions, End::Close);
    let disk = bytes_below(&closed) as f64 / f64::from(1 << 20);

    let clean = openings(3, "Clean", sessions, || closed.clone());
    let rebuilt = openings(repeats, "Clean", sessions, || {
        fs::remove_dir_all(closed.join("sled")).expect("an index that can go");
        closed.clone()
    });
    for said in &rebuilt {
        let index = said.text("index");
        assert!(
            index.starts_with("rebuilt"),
            "without sled the index was {index}"
        );
    }
    let mut fills = 0;
    let killed = openings(repeats, "Crash", sessions, || {
        fills += 1;
        let path = directory.path().join(format!("killed-{fills}"));
        process::fill(&path, records, sessions, End::Hold);
        path
    });
    let of = |openings: &[ChildOutput], name: &str| {
        median(openings.iter().map(|said| said.number(name)))
    };
    let all = || [&clean, &killed, &rebuilt].into_iter().flatten();
    let most = |openings: &[ChildOutput], name: &str| {
        let numbers = openings.iter().map(|said| said.number(name));
        numbers.fold(0.0, f64::max)
    };
    let modes = [&clean, &killed, &rebuilt];
    let size = Size {
        records,
        fill: filled.number("filled_ms"),
        clean: of(&clean, "open_ms"),
        killed: of(&killed, "open_ms"),
        rebuilt: of(&rebuilt, "open_ms"),
        listing: median(all().map(|said| said.number("listing_ms"))),
        resident: modes.map(|openings| most(openings, "resident_kib")),
        peak: modes
            .map(|openings| most(openings, "peak_kib"))
            .into_iter()
            .fold(0.0, f64::max),
        disk,
    };
    let indexes: Vec<&str> = [&clean, &killed]
        .into_iter()
        .filter_map(|openings| openings.first().map(|said| said.text("index")))
        .collect();
    println!(
        "{} records in {} sessions: the index was {} after a clean close, {} after kill -9",
        thousands(records as f64),
        thousands(sessions as f64),
        indexes.first().unwrap_or(&"not opened"),
        indexes.last().unwrap_or(&"not opened"),
    );
    size
}

/// Opens a journal so often, each time in a new process, and checks its report.
fn openings(
    times: usize,
    after: &str,
    sessions: u64,
    mut prepare: impl FnMut() -> PathBuf,
) -> Vec<ChildOutput> {
    let open = |_| {
        let said = process::open(&prepare());
        assert_eq!(said.text("after"), after, "{said:?}");
        assert_eq!(said.number("items"), sessions as f64, "{said:?}");
        said
    };
    (0..times).map(open).collect()
}

fn bytes_below(path: &Path) -> u64 {
    let entries = fs::read_dir(path).expect("a directory");
    let bytes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("its size");
        if metadata.is_dir() {
            bytes_below(&entry.path())
        } else {
            metadata.len()
        }
    });
    bytes.sum()
}

fn points(sizes: &[Size], figure: fn(&Size) -> f64) -> Vec<(f64, f64)> {
    let points = sizes.iter().map(|size| (size.records as f64, figure(size)));
    points.collect()
}

/// A figure with its significant digits.
fn short(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 => thousands(figure),
        _ if figure >= 1.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

fn print_curve(sizes: &[Size]) {
    let mut columns = vec!["figure".to_owned()];
    columns.extend(sizes.iter().map(|size| thousands(size.records as f64)));
    columns.extend(["grows as records to the".to_owned(), "verdict".to_owned()]);
    let rows = FIGURES.map(|(name, unit, figure, _)| {
        // Thousandths of a millisecond, or of a MiB, for each record.
        let each = if unit == "ms" {
            ("µs", 1e3)
        } else {
            ("KiB", 1024.0)
        };
        let cell = |(records, value): &(f64, f64)| {
            format!(
                "{} {unit} ({} {})",
                short(*value),
                short(value * each.1 / records),
                each.0
            )
        };
        let points = points(sizes, figure);
        let exponent = growth::exponent(&points);
        let grows = if exponent <= growth::LINEAR {
            "no worse than linearly"
        } else {
            "worse than linearly"
        };
        let mut row = vec![name.to_owned()];
        row.extend(points.iter().map(cell));
        row.extend([format!("{exponent:.2}"), grows.to_owned()]);
        row
    });
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let headline = "By records, and for each record in brackets; medians of three openings, \
                    of one when killed or rebuilt above 100,000";
    table::print(headline, &columns, &rows);
}

/// Prints the targets, which are set for a million records.
fn print_targets(sizes: &[Size]) {
    let Some(size) = sizes.iter().find(|size| size.records == LARGEST) else {
        println!(
            "\nThe targets are set for {} records.",
            thousands(LARGEST as f64)
        );
        return;
    };
    let rows: Vec<Vec<String>> = FIGURES
        .iter()
        .filter_map(|(name, unit, figure, target)| {
            let (measured, target) = (figure(size), (*target)?);
            Some(vec![
                (*name).to_owned(),
                format!("under {} {unit}", short(target)),
                format!("{} {unit}", short(measured)),
                verdict(measured < target),
            ])
        })
        .collect();
    let headline = format!("At {} records", thousands(LARGEST as f64));
    table::print(
        &headline,
        &["figure", "target", "measured", "verdict"],
        &rows,
    );
}
