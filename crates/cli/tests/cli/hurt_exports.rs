//! Damaged, cut, foreign and oversized files in place of an export.

use std::fs;

use crate::program::Bench;

/// The looking commands, with an id of no session: a damaged file is refused before that matters.
const LOOKING: [&str; 9] = [
    "sessions",
    "pending",
    "leaves",
    "replay",
    "audit decisions",
    "export",
    "log FILE abcd1234",
    "state FILE abcd1234",
    "show FILE abcd1234",
];

/// Expects that every looking command refuses the file, and `verify` reports these findings.
fn is_damaged(bench: &Bench, file: &str, findings: &[&str]) {
    for command in LOOKING {
        let command = match command.contains("FILE") {
            true => command.replace("FILE", file),
            false => format!("{command} {file}"),
        };
        let run = bench.run(&command);
        assert_eq!(run.out, "", "{command}");
        run.fails(4, "damaged")
            .prints_error(&[&format!("{file}: the export is damaged"), "recount verify"]);
    }
    bench
        .run(&format!("verify {file}"))
        .ends_with(4)
        .prints(findings);
    bench.run(&format!("import {file} new")).fails(4, "damaged");
    assert!(!bench.path("new").exists());
}

fn exported(bench: &Bench, file: &str) -> Vec<u8> {
    bench.run(&format!("export demo --out {file}")).ends_with(0);
    fs::read(bench.path(file)).unwrap()
}

#[test]
fn altered_record_is_refused_and_found() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let text = String::from_utf8(exported(&bench, "out.jsonl")).unwrap();
    let altered = text.replacen("\"amount_cents\":4200", "\"amount_cents\":9200", 1);
    assert_ne!(altered, text);
    bench.write("altered.jsonl", &altered);
    let place = format!("session {id} seq ");
    is_damaged(&bench, "altered.jsonl", &["Damaged export", &place]);
    bench
        .run("sessions altered.jsonl")
        .prints_error(&[&place, "`recount verify altered.jsonl` lists all findings"]);
    bench
        .run("audit decisions altered.jsonl --html report.html")
        .ends_with(4);
    let report = fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(report.contains("altered.jsonl") && report.contains(&place));
}

#[test]
fn cut_files_are_refused_and_found() {
    let bench = Bench::with_demo();
    for file in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst"] {
        let whole = exported(&bench, file);
        for (number, cut) in [whole.len() - 3, whole.len() / 2].into_iter().enumerate() {
            let name = format!("{number}.{file}");
            fs::write(bench.path(&name), &whole[..cut]).unwrap();
            let words: &[&str] = match file {
                "out.jsonl" => &["Damaged export", "trailer"],
                _ => &["Damaged export", "the compressed file is cut off here"],
            };
            is_damaged(&bench, &name, words);
        }
    }
}

#[test]
fn flipped_byte_of_a_compressed_file_is_found() {
    let bench = Bench::with_demo();
    for file in ["out.jsonl.gz", "out.jsonl.zst"] {
        let whole = exported(&bench, file);
        for (number, at) in [whole.len() / 3, whole.len() - 3].into_iter().enumerate() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            let name = format!("{number}.{file}");
            fs::write(bench.path(&name), flipped).unwrap();
            is_damaged(&bench, &name, &["Damaged export"]);
        }
    }
}

#[test]
fn empty_and_foreign_files_have_errors_of_their_own() {
    let bench = Bench::new();
    bench.write("empty.jsonl", "");
    is_damaged(&bench, "empty.jsonl", &["it has no trailer"]);
    bench.write("notes.txt", "A letter\u{1b}[2J to a friend, and no export");
    let foreign = bench
        .run("sessions notes.txt")
        .fails(1, "not-a-journal")
        .prints_error(&["notes.txt", "A letter", "recount verify FILE"]);
    assert!(!foreign.err.contains('\u{1b}'), "{foreign:?}");
    bench.run("verify notes.txt").ends_with(4);
    bench.run("sessions none.jsonl").fails(1, "no-journal");
    bench.run("verify none.jsonl").fails(1, "no-journal");
    bench.run("import none.jsonl new").fails(1, "io");
}

/// A zstd file of a few hundred kilobytes with 8 GiB of one character in one line.
#[cfg(target_os = "linux")]
fn bomb() -> Vec<u8> {
    // The magic, a header without size and checksum, a window of 128 KiB.
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    let blocks = (8_u64 << 30) / (128 << 10);
    for block in 1..=blocks {
        // A block of one repeated byte: its length, its kind, and 1 in the last one.
        let header = (128_u32 << 10) << 3 | 1 << 1 | u32::from(block == blocks);
        file.extend_from_slice(&header.to_le_bytes()[..3]);
        file.push(b'{');
    }
    file
}

#[cfg(target_os = "linux")]
#[test]
fn decompression_bomb_is_refused_in_little_memory() {
    let bench = Bench::new();
    fs::write(bench.path("bomb.zst"), bomb()).unwrap();
    for (command, code, words) in [
        ("verify bomb.zst", 4, "line 1: it has a line of over"),
        ("sessions bomb.zst", 4, "bomb.zst: the export is damaged"),
        ("import bomb.zst new", 4, "it has a line of over"),
    ] {
        let program = env!("CARGO_BIN_EXE_recount");
        let limited = format!("ulimit -v 1000000; exec {program} {command}");
        let run = std::process::Command::new("sh")
            .args(["-c", &limited])
            .current_dir(bench.path("."))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
        assert_eq!(run.status.code(), Some(code), "{told}");
        assert!(told.contains(words), "{told}");
    }
}
