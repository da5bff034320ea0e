//! A repair recovers what it can, reports exactly what it cannot, and loses nothing by itself.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use recount_journal::{
    Append, CompactOptions, DiskJournal, Error, Hash, Hurt, Journal, Object, Remedy, RepairOptions,
    Repaired, block_on, compact, export, repair, verify,
};
use uuid::Uuid;

use crate::killed;
use crate::stream::{Stream, closed_journal, index, log_file};

fn repaired(path: &Path) -> Repaired {
    let report = repair(path, RepairOptions::default()).unwrap();
    let found = verify::directory(path).unwrap();
    let others = found
        .notes
        .iter()
        .filter(|note| !note.contains("the index is missing"));
    assert!(
        found.is_sound() && others.count() == 0,
        "{found:?}, {report:?}"
    );
    report
}

/// Creates a closed journal whose log has several segments.
fn rolled_journal(path: &Path) -> Vec<Stream> {
    let journal = DiskJournal::options(path)
        .segment_bytes(2_000)
        .open()
        .unwrap();
    let mut streams = vec![Stream::new(1), Stream::new(2), Stream::new(3)];
    for round in 0..8 {
        for stream in &mut streams {
            let body = format!(r#"{{"round":{round},"text":"{}"}}"#, "x".repeat(round * 20));
            stream.append(&journal, &[&body, "{}"]);
        }
    }
    block_on(journal.close()).unwrap();
    assert!(segments(path).len() > 4, "{:?}", segments(path));
    streams
}

fn segments(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(path.join("log")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the frames of all segments, concatenated.
fn frames(path: &Path) -> Vec<u8> {
    let mut frames = Vec::new();
    for file in segments(path) {
        let bytes = fs::read(file).unwrap();
        let mut at = 64;
        while bytes.get(at..at + 4) == Some(b"\0RC\xff") {
            let length = u32::from_be_bytes(bytes[at + 4..at + 8].try_into().unwrap());
            let end = at + 32 + usize::try_from(length).unwrap();
            frames.extend_from_slice(&bytes[at..end]);
            at = end;
        }
    }
    frames
}

fn without_index(path: &Path) {
    fs::remove_dir_all(path.join("sled")).unwrap();
}

fn export_of(path: &Path, session: Uuid) -> (Vec<u8>, Hash) {
    let journal = DiskJournal::options(path).read_only().open().unwrap();
    let mut file = Vec::new();
    let trailer = block_on(export(&journal, Some(session), &mut file)).unwrap();
    (file, trailer.root)
}

/// Flips a byte in the middle of a record of the log.
fn flip(path: &Path, line: &[u8]) {
    for file in segments(path) {
        let mut bytes = fs::read(&file).unwrap();
        let found = bytes.windows(line.len()).position(|window| window == line);
        if let Some(at) = found {
            bytes[at + line.len() / 2] ^= 1;
            fs::write(file, bytes).unwrap();
            return;
        }
    }
    panic!("the log does not have the record");
}

fn lines(path: &Path, stream: &Stream) -> usize {
    let journal = DiskJournal::options(path).read_only().open().unwrap();
    let found = block_on(journal.read(stream.session, 1, usize::MAX)).unwrap();
    assert_eq!(found, stream.lines[..found.len()]);
    found.len()
}

fn hurt(stream: &Stream, recovered: u64, salvaged: &[(u64, u64)], lost: &[(u64, u64)]) -> Hurt {
    Hurt {
        session: stream.session,
        recovered,
        salvaged: salvaged.to_vec(),
        lost: lost.to_vec(),
    }
}

/// Returns the kinds and bodies of the system stream.
fn system(path: &Path) -> Vec<(String, String)> {
    let journal = DiskJournal::options(path).read_only().open().unwrap();
    let lines = block_on(journal.read(Uuid::nil(), 1, usize::MAX)).unwrap();
    let records = lines.iter().map(|line| line.record().unwrap());
    records
        .map(|record| (record.kind.to_owned(), record.body.get().to_owned()))
        .collect()
}

#[test]
fn sound_journal_is_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    closed_journal(path);
    let (log, closed) = (frames(path), path.join("CLOSED").exists());
    for options in [RepairOptions::default().dry_run(), RepairOptions::default()] {
        let report = repair(path, options).unwrap();
        assert!(
            !report.was_needed() && !report.lost_something(),
            "{report:?}"
        );
        assert!(report.identical && report.notes.is_empty(), "{report:?}");
        assert_eq!((report.records, report.sessions), (32, 3));
        assert_eq!(
            (frames(path), path.join("CLOSED").exists()),
            (log.clone(), closed)
        );
    }
    assert_eq!(fs::read_dir(path).unwrap().count(), 5);
    let journal = DiskJournal::open(path).unwrap();
    assert!(
        !journal.opened().read_whole,
        "the note of the close still holds"
    );
    let error = repair(path, RepairOptions::default()).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
}

#[test]
fn damaged_index_is_made_again_and_missing_one_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    closed_journal(path);
    let store = index(path);
    store.remove(b"m2").unwrap();
    drop(store);
    let report = repair(path, RepairOptions::default()).unwrap();
    assert!(
        report.was_needed() && !report.lost_something(),
        "{report:?}"
    );
    assert!(report.identical, "{report:?}");
    assert!(verify::directory(path).unwrap().is_sound());
    without_index(path);
    let report = repair(path, RepairOptions::default()).unwrap();
    assert!(!report.was_needed(), "{report:?}");
    assert!(
        report.notes[0].contains("the index is missing"),
        "{report:?}"
    );
}

#[test]
fn flipped_record_is_restored_from_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = rolled_journal(path);
    let sound = frames(path);
    let (file, root) = export_of(path, streams[1].session);
    flip(path, streams[1].lines[4].bytes());
    flip(path, streams[2].lines[9].bytes());
    let dry = repair(path, RepairOptions::default().dry_run()).unwrap();
    assert!(
        fs::read_dir(path).unwrap().count() == 5,
        "a dry run left something"
    );
    let report = repaired(path);
    let journal = DiskJournal::options(path).read_only().open().unwrap();
    assert!(!journal.opened().read_whole, "it is as after a close");
    drop(journal);
    assert!(report.identical && !report.lost_something(), "{report:?}");
    assert_eq!(report.frames_from_index, 2);
    let remedies: Vec<_> = report.damages.iter().map(|damage| damage.remedy).collect();
    assert_eq!(remedies, [Remedy::Index, Remedy::Index], "{report:?}");
    assert_eq!(
        (&dry.damages, dry.records),
        (&report.damages, report.records)
    );
    assert_eq!(report.damaged_log.as_deref(), Some("log.damaged-1"));
    assert_eq!(frames(path)[..sound.len()], sound);
    assert_eq!(export_of(path, streams[1].session), (file, root));
    let told = system(path);
    let [.., (kind, body), (last, _)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        (kind.as_str(), last.as_str()),
        ("journal_repaired", "journal_closed")
    );
    assert!(body.contains(r#""frames_from_index":2"#), "{body}");
    // It continues as usual.
    let mut streams = streams;
    let journal = DiskJournal::open(path).unwrap();
    streams[1].append(&journal, &["{}"]);
    streams.iter().for_each(|stream| stream.assert_in(&journal));
}

#[test]
fn flip_without_index_costs_only_its_append() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = rolled_journal(path);
    flip(path, streams[1].lines[4].bytes());
    without_index(path);
    let report = repaired(path);
    // One of the two records of the append is complete, as its successor proves. But an append
    // survives only as a whole.
    assert_eq!(report.hurt, [hurt(&streams[1], 4, &[(6, 16)], &[(5, 5)])]);
    assert_eq!((report.records_lost(), report.records_salvaged()), (1, 11));
    assert_eq!(report.frames_unnamed, 0, "{report:?}");
    let left: Vec<usize> = streams.iter().map(|stream| lines(path, stream)).collect();
    assert_eq!(left, [16, 4, 16]);
    let salvage = fs::read_to_string(path.join(report.salvage.as_deref().unwrap())).unwrap();
    let salvaged: BTreeSet<&[u8]> = salvage.lines().map(str::as_bytes).collect();
    let expected: BTreeSet<&[u8]> = streams[1].lines[5..]
        .iter()
        .map(|line| line.bytes())
        .collect();
    assert_eq!(salvaged, expected);
    assert_eq!(report.salvage.as_deref(), Some("salvage-1.jsonl"));
}

#[test]
fn snapshots_are_removed_with_old_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let session = streams[1].session;
    let journal = DiskJournal::open(path).unwrap();
    let kept = |journal: &DiskJournal| block_on(journal.snapshot(session)).unwrap();
    assert_eq!(kept(&journal), None);
    block_on(journal.keep_snapshot(session, b"folded".to_vec())).unwrap();
    block_on(journal.close()).unwrap();
    let error = block_on(journal.keep_snapshot(session, b"late".to_vec())).unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
    let looked = DiskJournal::options(path).read_only().open().unwrap();
    assert_eq!(kept(&looked), Some(b"folded".to_vec()));
    let error = block_on(looked.keep_snapshot(session, b"looked".to_vec())).unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error}");
    drop(looked);
    // An operation that needs no repair keeps the snapshots, for example a compaction.
    repaired(path);
    compact(path, CompactOptions::default()).unwrap();
    let looked = DiskJournal::options(path).read_only().open().unwrap();
    assert_eq!(kept(&looked), Some(b"folded".to_vec()));
    drop(looked);
    without_index(path);
    flip(path, streams[1].lines[2].bytes());
    assert!(repaired(path).lost_something());
    assert!(!path.join("snapshots").exists());
}

#[test]
fn second_repair_keeps_files_of_first_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    for (round, stream) in (1..).zip(&streams[1..3]) {
        flip(path, stream.lines[2].bytes());
        without_index(path);
        let report = repaired(path);
        assert_eq!(report.salvage, Some(format!("salvage-{round}.jsonl")));
        assert_eq!(report.damaged_log, Some(format!("log.damaged-{round}")));
    }
    assert!(path.join("salvage-1.jsonl").exists() && path.join("log.damaged-1").exists());
}

#[test]
fn lost_segment_is_restored_or_reported() {
    for with_index in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let streams = rolled_journal(path);
        let sound = frames(path);
        fs::remove_file(&segments(path)[2]).unwrap();
        if !with_index {
            without_index(path);
        }
        let report = repaired(path);
        assert_eq!(report.identical, with_index, "{report:?}");
        assert_eq!(report.lost_something(), !with_index, "{report:?}");
        if with_index {
            assert_eq!(frames(path)[..sound.len()], sound);
            streams
                .iter()
                .for_each(|stream| assert_eq!(lines(path, stream), 16));
        } else {
            assert!(report.frames_unnamed > 0);
            for (stream, hurt) in streams.iter().zip(&report.hurt) {
                let lost = hurt.lost[0];
                assert_eq!(
                    (lines(path, stream) as u64, hurt.lost.len()),
                    (hurt.recovered, 1)
                );
                assert_eq!(
                    (hurt.recovered + 1, hurt.salvaged.as_slice()),
                    (lost.0, &[(lost.1 + 1, 16)][..])
                );
            }
        }
    }
}

#[test]
fn damaged_headers_cost_nothing() {
    for with_index in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let streams = rolled_journal(path);
        let sound = frames(path);
        // The header of a segment, the header of a frame, and those of two adjacent frames.
        for (segment, at) in [(1, 20), (2, 64 + 9), (3, 64 + 3)] {
            let file = &segments(path)[segment];
            let mut bytes = fs::read(file).unwrap();
            bytes[at] ^= 4;
            if segment == 3 {
                let second = 64
                    + 1
                    + bytes[65..]
                        .windows(4)
                        .position(|it| it == b"\0RC\xff")
                        .unwrap();
                bytes[second + 12] ^= 4;
            }
            fs::write(file, bytes).unwrap();
        }
        if !with_index {
            without_index(path);
        }
        let report = repaired(path);
        assert!(report.hurt.is_empty(), "{report:?}");
        streams
            .iter()
            .for_each(|stream| assert_eq!(lines(path, stream), 16));
        if with_index {
            assert_eq!(frames(path)[..sound.len()], sound);
        }
    }
}

#[test]
fn loss_in_log_and_index_is_reported_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = DiskJournal::open(path).unwrap();
    let mut streams = [Stream::new(1), Stream::new(2)];
    let object = Object::new(vec![7; 100]);
    for round in 0..4 {
        for stream in &mut streams {
            let mut append = stream.next(&["{}", &format!("{round}")]);
            if round == 3 {
                append.objects.push(object.clone());
            }
            block_on(journal.append(append)).unwrap();
        }
    }
    drop(journal);
    let line = streams[0].lines[7].bytes().to_vec();
    // In the log, the lengths of the append are damaged as well, so that nothing of it can be read.
    let mut bytes = fs::read(log_file(path)).unwrap();
    let at = bytes
        .windows(line.len())
        .position(|window| window == line)
        .unwrap();
    let frame = bytes[..at]
        .windows(4)
        .rposition(|it| it == b"\0RC\xff")
        .unwrap();
    let number = &bytes[frame + 8..frame + 16];
    let key = [&b"b"[..], number, &0_u32.to_be_bytes()].concat();
    bytes[frame + 32] ^= 1;
    bytes[at + 9] ^= 1;
    fs::write(log_file(path), bytes).unwrap();
    let store = index(path);
    let mut value = store.get(&key).unwrap().unwrap().to_vec();
    value[50] ^= 1;
    store.insert(key, value).unwrap();
    store.flush().unwrap();
    drop(store);
    let report = repaired(path);
    assert_eq!(report.hurt, [hurt(&streams[0], 6, &[], &[(7, 8)])]);
    assert_eq!(report.objects_lost, [object.hash]);
    assert_eq!(report.frames_unnamed, 0, "the index names everything in it");
    assert_eq!((lines(path, &streams[0]), lines(path, &streams[1])), (6, 8));
}

#[test]
fn objects_of_salvaged_records_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let journal = DiskJournal::open(path).unwrap();
    let mut streams = [Stream::new(1), Stream::new(2)];
    let object = Object::new(*b"named by both");
    streams[0].append(&journal, &["{}"]);
    streams[0].append(&journal, &["{}"]);
    for stream in &mut streams {
        let append = Append {
            objects: vec![object.clone()],
            ..stream.next(&[&format!("\"{}\"", object.hash)])
        };
        block_on(journal.append(append)).unwrap();
    }
    drop(journal);
    flip(path, streams[0].lines[1].bytes());
    without_index(path);
    let report = repaired(path);
    assert_eq!(report.hurt, [hurt(&streams[0], 1, &[(3, 3)], &[(2, 2)])]);
    assert!(report.objects_lost.is_empty());
    let journal = DiskJournal::open(path).unwrap();
    let found = block_on(journal.object(object.hash)).unwrap();
    assert_eq!(found.as_deref(), Some(&*object.bytes));
}

#[test]
fn the_marker_is_restored_from_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let marker = fs::read_to_string(path.join("JOURNAL")).unwrap();
    let other = marker.replacen("-4", "-5", 1);
    assert_ne!(other, marker);
    for injury in [None, Some(""), Some(&marker[..20]), Some(&other)] {
        match injury {
            Some(text) => fs::write(path.join("JOURNAL"), text).unwrap(),
            None => fs::remove_file(path.join("JOURNAL")).unwrap(),
        }
        if injury != Some(&other) {
            assert!(DiskJournal::open(path).is_err());
        }
        let dry = repair(path, RepairOptions::default().dry_run()).unwrap();
        assert!(dry.was_needed());
        assert_ne!(
            fs::read_to_string(path.join("JOURNAL")).ok(),
            Some(marker.clone())
        );
        let report = repaired(path);
        assert!(
            report.was_needed() && !report.lost_something(),
            "{report:?}"
        );
        assert_eq!(fs::read_to_string(path.join("JOURNAL")).unwrap(), marker);
        streams
            .iter()
            .for_each(|stream| assert_eq!(lines(path, stream), 10));
    }
    fs::remove_dir_all(path.join("log")).unwrap();
    fs::write(path.join("JOURNAL"), "?").unwrap();
    let error = repair(path, RepairOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NotAJournal { .. }), "{error}");
}

#[test]
fn lost_log_is_restored_from_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = rolled_journal(path);
    let sound = frames(path);
    fs::remove_dir_all(path.join("log")).unwrap();
    let report = repaired(path);
    assert!(report.identical && !report.lost_something(), "{report:?}");
    assert_eq!(frames(path)[..sound.len()], sound);
    streams
        .iter()
        .for_each(|stream| assert_eq!(lines(path, stream), 16));
    without_index(path);
    fs::remove_dir_all(path.join("log")).unwrap();
    let error = repair(path, RepairOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn segments_of_other_histories_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (&directory.path().join("one"), &directory.path().join("two"));
    let streams = rolled_journal(path);
    let sound = frames(path);
    rolled_journal(other);
    // A segment of another journal, and one that is an older copy of itself.
    fs::copy(&segments(other)[1], &segments(path)[1]).unwrap();
    let bytes = fs::read(&segments(path)[3]).unwrap();
    let second = 65
        + bytes[65..]
            .windows(4)
            .position(|it| it == b"\0RC\xff")
            .unwrap();
    fs::write(&segments(path)[3], &bytes[..second]).unwrap();
    let report = repaired(path);
    assert!(report.identical && !report.lost_something(), "{report:?}");
    assert_eq!(frames(path)[..sound.len()], sound);
    streams
        .iter()
        .for_each(|stream| assert_eq!(lines(path, stream), 16));
    // An old copy of the whole log: the index knows the later frames.
    let old = directory.path().join("old");
    killed::copy(&path.join("log"), &old);
    let mut stream = streams[0].clone();
    let journal = DiskJournal::open(path).unwrap();
    stream.append(&journal, &["{}"]);
    drop(journal);
    fs::remove_dir_all(path.join("log")).unwrap();
    killed::copy(&old, &path.join("log"));
    let report = repaired(path);
    assert!(
        !report.lost_something() && report.frames_from_index == 3,
        "{report:?}"
    );
    assert_eq!(lines(path, &stream), 17);
}

/// The child process that is ended, not a test by itself.
#[test]
fn child_repairs() {
    if let Some(path) = killed::journal() {
        repair(path, RepairOptions::default().steps(killed::at_step())).unwrap();
    }
}

#[test]
fn repair_ended_at_any_step_can_be_run_again() {
    for with_index in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let injured = directory.path().join("injured");
        let streams = rolled_journal(&injured);
        flip(&injured, streams[1].lines[4].bytes());
        fs::remove_file(injured.join("JOURNAL")).unwrap();
        if !with_index {
            without_index(&injured);
        }
        let left = [16, if with_index { 16 } else { 4 }, 16];
        let mut opened = 0;
        let steps = killed::at_every_step("repairs::child_repairs", &injured, |path, about| {
            // Either the journal opens and everything is done, or it is rejected as before.
            let again = path.with_file_name("again");
            killed::copy(path, &again);
            match DiskJournal::open_existing(&again) {
                Ok(journal) => {
                    opened += 1;
                    drop(journal);
                    let found: Vec<_> = streams.iter().map(|it| lines(&again, it)).collect();
                    assert_eq!(found, left, "{about}");
                }
                Err(Error::Damaged { .. } | Error::NotAJournal { .. }) => {
                    let is_decided = ["log.new", "log.damaged-1"].map(|it| path.join(it).exists());
                    assert_eq!(is_decided, [false, false], "{about}");
                }
                Err(error) => panic!("{about}: {error}"),
            }
            assert_dry_run_agrees(path, about);
            repaired(path);
            let found: Vec<_> = streams.iter().map(|it| lines(path, it)).collect();
            assert_eq!(found, left, "{about}");
            assert!(path.join("log.damaged-1").exists(), "{about}");
            assert!(!path.join("log.damaged-2").exists(), "{about}");
            assert_eq!(
                path.join("salvage-1.jsonl").exists(),
                !with_index,
                "{about}"
            );
            for name in ["log.part", "log.new", "salvage.part", "salvage-2.jsonl"] {
                assert!(!path.join(name).exists(), "{about}: {name}");
            }
        });
        println!("ended at each of {} steps: {steps:#?}", steps.len());
        assert!(opened >= 8, "{opened}");
    }
}

/// Asserts that a dry run reports damage if a verification does.
fn assert_dry_run_agrees(path: &Path, about: &str) {
    let again = path.with_file_name("looked-at");
    killed::copy(path, &again);
    let found = match verify::directory(&again) {
        Ok(report) => !report.is_sound(),
        Err(Error::NotAJournal { .. }) => true,
        Err(error) => panic!("{about}: {error}"),
    };
    let dry_run = repair(&again, RepairOptions::default().dry_run()).unwrap();
    assert_eq!(dry_run.was_needed(), found, "{about}: {dry_run:?}");
    let is_decided = again.join("log.new").exists();
    assert_eq!(dry_run.unfinished, is_decided, "{about}");
}

/// The SplitMix64 generator.
fn mixed(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut value = *seed;
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Damages a file: flips, a cut, a hole, a repeated or removed piece, emptied, or removed.
fn injure(file: &Path, seed: &mut u64) -> &'static str {
    let mut bytes = fs::read(file).unwrap();
    let mut below = |limit: usize| usize::try_from(mixed(seed)).unwrap_or(0) % limit.max(1);
    let (at, length) = (below(bytes.len()), below(400));
    let end = (at + length).min(bytes.len());
    let what = match below(8) {
        0 => "cut",
        1 => "hole",
        2 => "repeated",
        3 => "taken out",
        4 => "emptied",
        5 => "removed",
        _ => "flipped",
    };
    match what {
        "cut" => bytes.truncate(at),
        "hole" => bytes[at..end].fill(0),
        "repeated" => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(end..end, piece);
        }
        "taken out" => drop(bytes.drain(at..end)),
        "emptied" => bytes.clear(),
        "removed" => {
            fs::remove_file(file).unwrap();
            return what;
        }
        _ => {
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << below(8);
                }
            }
        }
    }
    fs::write(file, bytes).unwrap();
    what
}

#[test]
fn after_random_injuries_every_record_is_accounted_for() {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    let streams = rolled_journal(&sound);
    let (mut needed, mut lossy, mut nothing_left) = (0, 0, 0);
    for case in 0..100_u64 {
        let path = directory.path().join(case.to_string());
        killed::copy(&sound, &path);
        let mut seed = case;
        let mut done = Vec::new();
        let index = ["kept", "kept", "gone", "injured"][usize::try_from(case % 4).unwrap()];
        for _ in 0..=mixed(&mut seed) % 3 {
            let files = segments(&path);
            let count = files.len() as u64;
            if let Some(file) = files.get(usize::try_from(mixed(&mut seed) % count.max(1)).unwrap())
            {
                done.push(injure(file, &mut seed));
            }
        }
        match index {
            "gone" => without_index(&path),
            "injured" => done.push(injure(&path.join("sled/db"), &mut seed)),
            _ => {}
        }
        let about = format!("case {case}: index {index}, {done:?}");
        let report = match repair(&path, RepairOptions::default()) {
            Ok(report) => report,
            Err(Error::Damaged { .. }) => {
                nothing_left += 1;
                continue;
            }
            Err(error) => panic!("{about}: {error}"),
        };
        needed += u64::from(report.was_needed());
        lossy += u64::from(report.lost_something());
        accounted(&path, &streams, &report, index == "kept", &about);
        fs::remove_dir_all(path).unwrap();
    }
    println!(
        "100 injuries: {needed} needed a repair, {lossy} lost something, \
         {nothing_left} had nothing left"
    );
    assert!(needed > 70 && lossy > 20 && nothing_left < 5);
}

/// Asserts that the journal opens and is sound. Every record survives, is salvaged exactly, or is
/// reported as lost.
fn accounted(path: &Path, streams: &[Stream], report: &Repaired, is_named: bool, about: &str) {
    let journal = DiskJournal::open_existing(path)
        .unwrap_or_else(|error| panic!("{about}: {error}, {report:?}"));
    let salvage = report
        .salvage
        .iter()
        .map(|name| fs::read_to_string(path.join(name)).unwrap());
    let salvaged: BTreeSet<Vec<u8>> = salvage
        .flat_map(|text| {
            text.lines()
                .map(|line| line.as_bytes().to_vec())
                .collect::<Vec<_>>()
        })
        .collect();
    let mut unnamed = 0;
    for stream in streams {
        let found = block_on(journal.read(stream.session, 1, usize::MAX)).unwrap();
        assert_eq!(found, stream.lines[..found.len()], "{about}");
        let hurt = report
            .hurt
            .iter()
            .find(|hurt| hurt.session == stream.session);
        for (seq, line) in (1..).zip(&stream.lines).skip(found.len()) {
            let told = |ranges: &[(u64, u64)]| {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&seq))
            };
            match hurt {
                Some(hurt) if told(&hurt.salvaged) => {
                    assert!(salvaged.contains(line.bytes()), "{about}: {seq}");
                }
                Some(hurt) if told(&hurt.lost) => {}
                Some(_) | None => unnamed += 1,
            }
        }
        let recovered = hurt.map_or(found.len() as u64, |hurt| hurt.recovered);
        assert_eq!(recovered, found.len() as u64, "{about}");
    }
    // With its index every loss is named. Without it, the end of the log may be lost, and nothing
    // proves its completeness.
    assert!(!is_named || unnamed == 0, "{about}: {report:?}");
    let is_told = report.frames_unnamed > 0 || report.cut_bytes > 0 || !report.was_closed;
    assert!(unnamed == 0 || is_told, "{about}: {unnamed} {report:?}");
    block_on(journal.close()).unwrap();
    drop(journal);
    let found = verify::directory(path).unwrap();
    assert!(found.is_sound(), "{about}: {found:?}");
    match fs::metadata(path.join("log.part")) {
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        Ok(_) => panic!("{about}: log.part was left"),
    }
}

#[test]
fn failed_opening_leaves_unusable_index_to_repair() {
    let directory = tempfile::tempdir().unwrap();
    type Injury = (&'static str, fn(&Path));
    let injuries: [Injury; 2] = [
        ("the marker names another journal", |path| {
            let other = path.with_extension("other");
            closed_journal(&other);
            fs::copy(other.join("JOURNAL"), path.join("JOURNAL")).unwrap();
        }),
        ("the index has lost its mark", |path| {
            let config = sled::Config::new().path(path.join("sled"));
            let database = config.open().unwrap();
            assert!(database.remove(b"m2").unwrap().is_some());
            database.flush().unwrap();
        }),
    ];
    for (what, injure) in injuries {
        let path = directory.path().join(what.replace(' ', "-"));
        let streams = closed_journal(&path);
        injure(&path);
        flip(&path, streams[0].lines[0].bytes());
        for _ in 0..2 {
            let opened = DiskJournal::open(&path);
            assert!(matches!(opened, Err(Error::Damaged { .. })), "{what}");
        }
        assert!(!path.join("sled.damaged-1").exists(), "{what}");
        assert!(!repaired(&path).lost_something(), "{what}");
        for stream in &streams {
            assert_eq!(lines(&path, stream), stream.lines.len(), "{what}");
        }
    }
}

#[test]
fn end_that_only_closed_file_knows_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    without_index(directory.path());
    let log = log_file(directory.path());
    let whole = fs::read(&log).unwrap();
    let last = whole
        .windows(4)
        .rposition(|window| window == b"\0RC\xff")
        .unwrap();
    fs::write(&log, &whole[..last]).unwrap();
    for _ in 0..2 {
        let opened = DiskJournal::open(directory.path());
        assert!(
            matches!(&opened, Err(Error::Damaged { what, .. }) if what.contains("closed with")),
            "{opened:?}"
        );
    }
    let found = verify::directory(directory.path()).unwrap();
    assert!(found.findings[0].what.contains("closed with"), "{found:?}");
    let compacted = compact(directory.path(), CompactOptions::default());
    assert!(matches!(compacted, Err(Error::Damaged { .. })));
    let report = repair(directory.path(), RepairOptions::default()).unwrap();
    assert!(report.was_needed() && report.lost_something(), "{report:?}");
    assert!(verify::directory(directory.path()).unwrap().is_sound());
    DiskJournal::open(directory.path()).unwrap();
    assert_eq!(lines(directory.path(), &streams[0]), streams[0].lines.len());
}

/// The state after a repair or an opening was killed while it built the index. Verification and
/// repair report the same fault, a dry run too, and the repair ends it.
#[test]
fn repair_finds_what_verification_finds_in_index() {
    type Change = fn(&Path);
    let states: [(&str, bool, Change); 4] = [
        ("its mark is missing", true, |path| {
            let config = sled::Config::new().path(path.join("sled"));
            let database = config.open().unwrap();
            database.remove(b"m2").unwrap().unwrap();
            database.flush().unwrap();
        }),
        ("it is behind, and nothing says closed", false, |path| {
            older_index(path);
            fs::remove_file(path.join("CLOSED")).unwrap();
        }),
        ("it is behind a closed log", true, older_index),
        ("a row is missing", true, |path| {
            let config = sled::Config::new().path(path.join("sled"));
            let database = config.open().unwrap();
            let head = database.scan_prefix(b"h").last().unwrap().unwrap();
            database.remove(head.0).unwrap().unwrap();
            database.flush().unwrap();
        }),
    ];
    for (about, is_needed, change) in states {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let streams = closed_journal(&path);
        change(&path);
        let found = verify::directory(&path).unwrap();
        assert_eq!(found.is_sound(), !is_needed, "{about}: {found:?}");
        let dry = repair(&path, RepairOptions::default().dry_run()).unwrap();
        assert_eq!(dry.was_needed(), is_needed, "{about}: {dry:?}");
        let done = repair(&path, RepairOptions::default()).unwrap();
        assert_eq!(done.damages, dry.damages, "{about}");
        assert!(!done.lost_something(), "{about}");
        let found = verify::directory(&path).unwrap();
        assert!(found.is_sound(), "{about}: {found:?}");
        let again = repair(&path, RepairOptions::default()).unwrap();
        assert!(!again.was_needed(), "{about}: {again:?}");
        for stream in &streams {
            assert_eq!(lines(&path, stream), stream.lines.len(), "{about}");
        }
    }
}

/// Replaces the index with that of an earlier close.
fn older_index(path: &Path) {
    let older = path.with_extension("older");
    killed::copy(&path.join("sled"), &older);
    block_on(DiskJournal::open(path).unwrap().close()).unwrap();
    fs::remove_dir_all(path.join("sled")).unwrap();
    killed::copy(&older, &path.join("sled"));
    fs::remove_dir_all(older).unwrap();
}

#[cfg(unix)]
#[test]
fn dangling_index_link_is_told_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let streams = closed_journal(&path);
    let dangle = || {
        fs::remove_dir_all(path.join("sled")).unwrap();
        std::os::unix::fs::symlink("nowhere", path.join("sled")).unwrap();
    };
    dangle();
    assert!(!verify::directory(&path).unwrap().is_sound());
    let dry = repair(&path, RepairOptions::default().dry_run()).unwrap();
    assert!(dry.was_needed(), "{dry:?}");
    let done = repair(&path, RepairOptions::default()).unwrap();
    assert_eq!(done.damages, dry.damages);
    assert!(verify::directory(&path).unwrap().is_sound());
    assert!(!path.join("nowhere").exists());
    // An opening rebuilds the index as well, and so does a compaction.
    dangle();
    block_on(DiskJournal::open(&path).unwrap().close()).unwrap();
    dangle();
    compact(&path, CompactOptions::default()).unwrap();
    for stream in &streams {
        assert_eq!(lines(&path, stream), stream.lines.len());
    }
    assert!(verify::directory(&path).unwrap().is_sound());
}
