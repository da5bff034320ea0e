//! An export has the exact bytes and the tree of its journal, and reads back as the same journal.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::following::whole_log;
use super::{Open, reopened};
use crate::testing::Stream;
use crate::tree::Frontier;
use crate::{Append, Error, Journal, Object, WorkChange, block_on, export, read_export, verify};

/// Returns the export of a journal, or of one stream.
///
/// # Panics
/// If the journal fails.
pub fn exported(journal: &dyn Journal, session: Option<Uuid>) -> Vec<u8> {
    let mut file = Vec::new();
    block_on(export(journal, session, &mut file)).unwrap();
    file
}

/// The open work of an import that opens none.
///
/// # Errors
/// Never.
pub fn nothing_open(_: &Append) -> Result<Vec<WorkChange>, Error> {
    Ok(Vec::new())
}

/// Appends two streams that name a text object and a binary one.
///
/// # Panics
/// If an append fails.
pub fn streams_with_objects(journal: &dyn Journal) -> [Stream; 2] {
    let mut streams = [Stream::new(1), Stream::new(2)];
    let objects = [
        Object::new(*br#"{"tools":["pay"]}"#),
        Object::new(vec![0xff; 300]),
    ];
    for stream in &mut streams {
        stream.append(journal, &["{}"]);
        let bodies = [
            format!(r#"{{"catalog":"{}"}}"#, objects[0].hash),
            format!(r#"{{"result":"sha256:{}"}}"#, objects[1].hash),
        ];
        let append = Append {
            objects: objects.to_vec(),
            ..stream.next(&[&bodies[0], &bodies[1], r#"{"n":1}"#])
        };
        block_on(journal.append(append)).unwrap();
        stream.append(journal, &["{}", "{}"]);
    }
    streams
}

/// Appends to two streams by turns.
///
/// # Panics
/// If an append fails.
pub fn interleaved_streams(journal: &dyn Journal) -> [Stream; 2] {
    let mut streams = [Stream::new(1), Stream::new(2)];
    for _ in 0..3 {
        for stream in &mut streams {
            stream.append(journal, &["{}", "{\"n\":1}"]);
        }
    }
    streams
}

/// Checks that an export has the exact lines in the order of each stream, and each object once,
/// before the first record that names it.
pub fn export_has_objects_before_first_use(open: Open<'_>) {
    let journal = open("journal");
    let streams = streams_with_objects(&*journal);
    let journal = reopened(open, "journal", journal);
    let file = String::from_utf8(exported(&*journal, None)).unwrap();
    let lines: Vec<&str> = file.lines().collect();
    let line_of = |stream: &Stream, seq: usize| {
        let line = str::from_utf8(stream.lines[seq - 1].bytes()).unwrap();
        lines.iter().position(|other| *other == line).unwrap()
    };
    for stream in &streams {
        let places: Vec<usize> = (1..=6).map(|seq| line_of(stream, seq)).collect();
        assert!(places.is_sorted());
    }
    let objects: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].starts_with("{\"object\":"))
        .collect();
    assert_eq!(
        objects,
        [line_of(&streams[0], 2) - 1, line_of(&streams[0], 3) - 1]
    );
    assert!(lines[objects[0]].contains("\"text\":") && lines[objects[1]].contains("\"base64\":"));
    assert!(lines.last().unwrap().starts_with("{\"trailer\":"));
    let report = verify::export(file.as_bytes()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.sessions, report.objects), (2, 2));
}

/// Checks that an export has the root over the records in the order of followers, and that what
/// reads it back writes the same bytes.
pub fn export_has_root_of_followed_order(open: Open<'_>) {
    let journal = open("journal");
    interleaved_streams(&*journal);
    let journal = reopened(open, "journal", journal);
    let lines = whole_log(&*journal);
    let tree: Frontier = lines.iter().map(|(_, line)| line.leaf()).collect();
    let file = exported(&*journal, None);
    let report = verify::export(&file[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.root, report.size), (tree.root(), Some(tree.size())));
    assert_ne!(report.root, report.root_by_stream);
    let read = read_export(&file[..], nothing_open).unwrap();
    assert!(exported(&read, None) == file);
}

/// Checks that the export of one stream has the indexes of its records in the whole journal.
pub fn one_stream_is_exported_with_its_indexes(open: Open<'_>) {
    let journal = &*open("journal");
    let [_, stream] = interleaved_streams(journal);
    let session = stream.session;
    let file = String::from_utf8(exported(journal, Some(session))).unwrap();
    let (mut index, mut found) = (0, BTreeMap::new());
    for line in file.lines() {
        if let Some(number) = line.strip_prefix("{\"leaf\":") {
            index = number.trim_end_matches('}').parse::<usize>().unwrap();
        } else if line.starts_with("{\"v\":") {
            found.insert(index, line.to_owned());
            index += 1;
        }
    }
    let lines = whole_log(journal);
    let expected: BTreeMap<usize, String> = (lines.iter().enumerate())
        .filter(|(_, (stream, _))| *stream == session)
        .map(|(index, (_, line))| (index, String::from_utf8(line.bytes().to_vec()).unwrap()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), stream.lines.len());
    let report = verify::export(file.as_bytes()).unwrap();
    assert!(report.is_sound() && report.size.is_none(), "{report:?}");
}
