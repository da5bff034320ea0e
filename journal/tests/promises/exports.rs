//! Every fault in an export is found with its session and seq.

use recount_journal::testing::suite::exports::{exported as exported_by, streams_with_objects};
use recount_journal::{DiskJournal, Journal, block_on, verify};
use uuid::Uuid;

use crate::stream::Stream;

/// Returns an export of two sessions with a text object and a binary one, as lines, and the
/// streams.
fn exported() -> (Vec<String>, [Stream; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let streams = streams_with_objects(&journal);
    block_on(journal.close()).unwrap();
    let journal = DiskJournal::options(directory.path())
        .read_only()
        .open()
        .unwrap();
    let file = exported_by(&journal, None);
    block_on(journal.close()).unwrap();
    let report = verify::export(&file[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(
        verify::directory(directory.path()).unwrap().root,
        report.root
    );
    let text = String::from_utf8(file).unwrap();
    (text.lines().map(str::to_owned).collect(), streams)
}

fn line_of(lines: &[String], stream: &Stream, seq: usize) -> usize {
    let line = str::from_utf8(stream.lines[seq - 1].bytes()).unwrap();
    lines.iter().position(|other| other == line).unwrap()
}

fn found(lines: &[String], stream: &Stream, seq: u64) {
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let report = verify::export(file.as_bytes()).unwrap();
    let place = (Some(stream.session), Some(seq));
    assert!(
        report
            .findings
            .iter()
            .any(|finding| (finding.session, finding.seq) == place),
        "seq {seq}: {:#?}",
        report.findings
    );
}

#[test]
fn flipped_byte_is_found() {
    let (lines, [stream, _]) = exported();
    for (seq, from, to) in [
        (4, "\"n\":1", "\"n\":2"),
        (3, "\"seq\":3", "\"seq\":9"),
        (3, "{\"v\"", "[\"v\""),
    ] {
        let mut injured = lines.clone();
        let at = line_of(&lines, &stream, seq);
        assert!(injured[at].contains(from));
        injured[at] = injured[at].replacen(from, to, 1);
        found(&injured, &stream, seq as u64);
    }
    let mut last = lines.clone();
    let at = line_of(&lines, &stream, 6);
    last[at] = last[at].replacen("noted", "notes", 1);
    found(&last, &stream, 6);
    let mut object = lines.clone();
    let at = line_of(&lines, &stream, 2) - 1;
    object[at] = object[at].replacen("pay", "say", 1);
    found(&object, &stream, 2);
}

#[test]
fn removed_record_is_found() {
    let (lines, [stream, _]) = exported();
    for seq in 1..=6 {
        let mut injured = lines.clone();
        injured.remove(line_of(&lines, &stream, seq));
        found(&injured, &stream, seq as u64);
    }
}

#[test]
fn removed_object_is_found() {
    let (mut lines, [stream, _]) = exported();
    lines.remove(line_of(&lines, &stream, 3) - 1);
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert!(!verify::export(file.as_bytes()).unwrap().is_sound());
}

#[test]
fn swapped_pair_is_found() {
    let (lines, [stream, _]) = exported();
    let mut injured = lines.clone();
    let at = line_of(&lines, &stream, 4);
    injured.swap(at, at + 1);
    found(&injured, &stream, 4);
}

#[test]
fn pair_swapped_across_sessions_is_found() {
    let (lines, [first, second]) = exported();
    let mut injured = lines.clone();
    let last = first.lines.len();
    injured.swap(line_of(&lines, &first, last), line_of(&lines, &second, 1));
    let file: String = injured.iter().map(|line| format!("{line}\n")).collect();
    let report = verify::export(file.as_bytes()).unwrap();
    // Each stream is whole, so only the root of the log's order differs.
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert!(report.findings[0].what.contains("root"), "{report:?}");
}

#[test]
fn cut_tail_is_found() {
    let (lines, [_, stream]) = exported();
    for seq in 2..=6_usize {
        let mut injured = lines.clone();
        injured.truncate(line_of(&lines, &stream, seq));
        found(&injured, &stream, seq as u64);
    }
    let whole = lines.join("\n");
    for cut in 1..whole.len() / 7 {
        let report = verify::export(&whole.as_bytes()[..whole.len() - cut * 7]).unwrap();
        assert!(!report.is_sound());
    }
}

#[test]
fn removed_session_is_found() {
    let (lines, streams) = exported();
    for stream in &streams {
        let id = stream.session.to_string();
        let kept = |line: &&String| !line.contains(&format!("\"session\":\"{id}\""));
        let injured: Vec<String> = lines.iter().filter(kept).cloned().collect();
        assert_eq!(injured.len(), lines.len() - 6);
        found(&injured, stream, 1);
    }
    assert_ne!(streams[0].session, Uuid::nil());
}
