//! Lost or altered parts of the log are found at opening and by verification, with session and seq.

use std::fs;
use std::path::Path;

use recount_journal::{DiskJournal, Error, Hash, verify};
use uuid::Uuid;

use crate::stream::{Stream, closed_journal, log_file};

/// Returns the frames of a log as (start, end).
fn frames(log: &[u8]) -> Vec<(usize, usize)> {
    let mut frames = Vec::new();
    let mut at = 64;
    while log[at..].starts_with(b"\0RC\xff") {
        let length = u32::from_be_bytes(log[at + 4..at + 8].try_into().unwrap());
        let end = at + 32 + usize::try_from(length).unwrap();
        frames.push((at, end));
        at = end;
    }
    frames
}

/// Returns the offset of a record's bytes.
fn place_of(log: &[u8], line: &[u8]) -> usize {
    log.windows(line.len())
        .position(|window| window == line)
        .unwrap()
}

/// Asserts that opening and verification reject the journal with this record, and that verification
/// changes nothing.
fn found_at(path: &Path, session: Uuid, seq: u64) {
    let report = verify::directory(path).unwrap();
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.session == Some(session) && finding.seq == Some(seq)),
        "seq {seq}: {report:?}"
    );
    match DiskJournal::open(path).unwrap_err() {
        Error::Damaged {
            session: Some(at),
            seq: Some(told),
            ..
        } if at == session && told == seq => {}
        other => panic!("expected damage at {session} {seq}, found {other}"),
    }
    assert_eq!(verify::directory(path).unwrap().findings, report.findings);
}

fn injured(injure: impl Fn(&mut Vec<u8>, &[Stream]) -> (Uuid, u64)) {
    for sled_too in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let streams = closed_journal(directory.path());
        let mut log = fs::read(log_file(directory.path())).unwrap();
        let (session, seq) = injure(&mut log, &streams);
        fs::write(log_file(directory.path()), log).unwrap();
        if sled_too {
            fs::remove_dir_all(directory.path().join("sled")).unwrap();
        }
        found_at(directory.path(), session, seq);
    }
}

#[test]
fn flipped_byte_of_record_is_found() {
    injured(|log, streams| {
        let at = place_of(log, streams[1].lines[4].bytes()) + 150;
        log[at] ^= 1;
        (streams[1].session, 5)
    });
}

#[test]
fn flipped_byte_of_frame_header_is_found() {
    injured(|log, streams| {
        let at = place_of(log, streams[1].lines[4].bytes());
        let (start, _) = *frames(log)
            .iter()
            .find(|(start, end)| (*start..*end).contains(&at))
            .unwrap();
        log[start + 9] ^= 1;
        (streams[1].session, 5)
    });
}

#[test]
fn removed_frame_is_found() {
    injured(|log, streams| {
        let at = place_of(log, streams[2].lines[2].bytes());
        let (start, end) = *frames(log)
            .iter()
            .find(|(start, end)| (*start..*end).contains(&at))
            .unwrap();
        log.drain(start..end);
        // The first record at a wrong place is the one that follows in the log.
        (streams[0].session, 5)
    });
}

#[test]
fn swapped_frames_are_found() {
    injured(|log, streams| {
        let at = place_of(log, streams[0].lines[2].bytes());
        let all = frames(log);
        let first = all
            .iter()
            .position(|(start, end)| (*start..*end).contains(&at))
            .unwrap();
        let ((start, middle), (_, end)) = (all[first], all[first + 1]);
        log[start..end].rotate_left(middle - start);
        (streams[1].session, 3)
    });
}

#[test]
fn duplicated_frame_is_found() {
    injured(|log, streams| {
        let at = place_of(log, streams[0].lines[2].bytes());
        let (start, end) = *frames(log)
            .iter()
            .find(|(start, end)| (*start..*end).contains(&at))
            .unwrap();
        let copy = log[start..end].to_vec();
        log.splice(end..end, copy);
        (streams[0].session, 3)
    });
}

#[test]
fn cut_tail_is_found_by_index() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let mut log = fs::read(log_file(directory.path())).unwrap();
    let at = place_of(&log, streams[1].lines[8].bytes());
    let (start, _) = *frames(&log)
        .iter()
        .find(|(start, end)| (*start..*end).contains(&at))
        .unwrap();
    let sound = log.clone();
    log.truncate(start);
    fs::write(log_file(directory.path()), &log).unwrap();
    let report = verify::directory(directory.path()).unwrap();
    for (stream, seq) in [(1, 9), (2, 9)] {
        let place = (Some(streams[stream].session), Some(seq));
        assert!(
            report
                .findings
                .iter()
                .any(|finding| (finding.session, finding.seq) == place),
            "{report:?}"
        );
    }
    assert!(matches!(
        DiskJournal::open(directory.path()),
        Err(Error::Damaged {
            session: Some(_),
            seq: Some(_),
            ..
        })
    ));
    // Zeros instead of the tail are found as well.
    log.resize(sound.len(), 0);
    fs::write(log_file(directory.path()), &log).unwrap();
    assert!(matches!(
        DiskJournal::open(directory.path()),
        Err(Error::Damaged {
            session: Some(_),
            seq: Some(_),
            ..
        })
    ));
    fs::write(log_file(directory.path()), &sound).unwrap();
    assert!(verify::directory(directory.path()).unwrap().is_sound());
}

#[test]
fn cut_tail_without_index_shows_missing_close() {
    let directory = tempfile::tempdir().unwrap();
    closed_journal(directory.path());
    let mut log = fs::read(log_file(directory.path())).unwrap();
    let all = frames(&log);
    log.truncate(all[all.len() - 2].0);
    fs::write(log_file(directory.path()), &log).unwrap();
    fs::remove_dir_all(directory.path().join("sled")).unwrap();
    fs::remove_file(directory.path().join("CLOSED")).unwrap();
    let report = verify::directory(directory.path()).unwrap();
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("was not closed")),
        "{report:?}"
    );
}

#[test]
fn session_removed_from_consistent_log_is_found_by_index() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let log = fs::read(log_file(directory.path())).unwrap();
    let mut forged = log[..64].to_vec();
    let (mut number, mut chain) = (0_u64, [0; 4]);
    for (start, end) in frames(&log) {
        let session: &[u8] = &log[start + 32 + 8..start + 32 + 24];
        if session == streams[1].session.as_bytes() {
            continue;
        }
        number += 1;
        let mut frame = log[start..end].to_vec();
        frame[8..16].copy_from_slice(&number.to_be_bytes());
        frame[20..24].copy_from_slice(&chain);
        chain = crc32fast::hash(&frame[..28]).to_be_bytes();
        frame[28..32].copy_from_slice(&chain);
        forged.extend(frame);
    }
    fs::write(log_file(directory.path()), forged).unwrap();
    let report = verify::directory(directory.path()).unwrap();
    let place = (Some(streams[1].session), Some(1));
    assert!(
        report
            .findings
            .iter()
            .any(|finding| (finding.session, finding.seq) == place),
        "{report:?}"
    );
    assert!(matches!(
        DiskJournal::open(directory.path()),
        Err(Error::Damaged { session: Some(at), .. }) if at == streams[1].session
    ));
}

#[test]
fn flipped_byte_anywhere_in_log_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let log = fs::read(log_file(directory.path())).unwrap();
    let end = frames(&log).last().unwrap().1;
    for at in (0..end).step_by(241) {
        let mut injured = log.clone();
        injured[at] ^= 0x40;
        fs::write(log_file(directory.path()), injured).unwrap();
        let report = verify::directory(directory.path()).unwrap();
        assert!(!report.is_sound(), "byte {at}");
        assert!(
            matches!(
                DiskJournal::options(directory.path()).read_only().open(),
                Err(Error::Damaged { .. })
            ),
            "byte {at}"
        );
    }
    fs::write(log_file(directory.path()), &log).unwrap();
    let report = verify::directory(directory.path()).unwrap();
    assert!(report.is_sound() && report.root != Hash::ZERO, "{report:?}");
    assert_eq!(
        (report.records, report.sessions),
        (32, streams.len() as u64)
    );
}

#[test]
fn read_only_opening_does_not_recreate_lost_log() {
    for emptied in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        closed_journal(directory.path());
        fs::remove_dir_all(directory.path().join("sled")).unwrap();
        if emptied {
            fs::write(log_file(directory.path()), "").unwrap();
        } else {
            fs::remove_dir_all(directory.path().join("log")).unwrap();
        }
        for _ in 0..2 {
            assert!(!verify::directory(directory.path()).unwrap().is_sound());
            for opened in [
                DiskJournal::options(directory.path()).read_only().open(),
                DiskJournal::open_existing(directory.path()),
            ] {
                assert!(matches!(opened, Err(Error::Damaged { .. })), "{opened:?}");
            }
        }
    }
}

#[test]
fn foreign_file_in_log_is_found() {
    let directory = tempfile::tempdir().unwrap();
    closed_journal(directory.path());
    fs::write(
        log_file(directory.path()).with_file_name("0000000000000003.log"),
        "",
    )
    .unwrap();
    assert!(matches!(
        DiskJournal::open(directory.path()),
        Err(Error::Damaged { .. })
    ));
    let report = verify::directory(directory.path()).unwrap();
    assert!(
        report.findings[0]
            .what
            .contains("segment 2 of the log is missing"),
        "{report:?}"
    );
}
