//! A file of format 2 has the tree of its journal. Files of format 1 are still read.

use recount_journal::testing::suite::exports::{exported, interleaved_streams, nothing_open};
use recount_journal::testing::suite::following::whole_log;
use recount_journal::tree::Frontier;
use recount_journal::{DiskJournal, Error, ExportWriter, Hash, Line, import, read_export, verify};
use uuid::Uuid;

/// A journal whose two streams take turns, and all its lines in the order of the log.
fn interleaved(directory: &std::path::Path) -> (DiskJournal, Vec<(Uuid, Line)>) {
    let journal = DiskJournal::open(directory).unwrap();
    interleaved_streams(&journal);
    let lines = whole_log(&journal);
    (journal, lines)
}

#[test]
fn export_and_import_keep_the_root_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, lines) = interleaved(&directory.path().join("one"));
    let tree: Frontier = lines.iter().map(|(_, line)| line.leaf()).collect();
    let file = exported(&journal, None);
    let to = directory.path().join("two");
    import(&file[..], &to, nothing_open).unwrap();
    assert_eq!(verify::directory(&to).unwrap().root, tree.root());
    let again = DiskJournal::options(&to).read_only().open().unwrap();
    assert_eq!(exported(&again, None), file);
}

/// The lines as in format 1: stream after stream.
fn of_format_one(lines: &[(Uuid, Line)]) -> (String, Hash) {
    let mut sorted = lines.to_vec();
    sorted.sort_by_key(|(stream, _)| *stream);
    let (mut heads, mut tree) = (serde_json::Map::new(), Frontier::default());
    let mut file = String::new();
    for (stream, line) in &sorted {
        let seq = line.record().unwrap().seq;
        let head = serde_json::json!({"seq": seq, "hash": line.leaf()});
        heads.insert(stream.to_string(), head);
        tree.push(line.leaf());
        file += &format!("{}\n", str::from_utf8(line.bytes()).unwrap());
    }
    let trailer = serde_json::json!({"trailer": {
        "records": sorted.len(), "objects": 0, "heads": heads, "root": tree.root(),
    }});
    (format!("{file}{trailer}\n"), tree.root())
}

#[test]
fn format_one_is_read_and_its_root_is_still_an_anchor() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one");
    let (journal, lines) = interleaved(&path);
    let (old, root) = of_format_one(&lines);
    let report = verify::export(old.as_bytes()).unwrap();
    assert!(report.is_sound() && report.size.is_none(), "{report:?}");
    assert_eq!(report.root, root);
    let new = verify::export(&exported(&journal, None)[..]).unwrap();
    assert!(new.clone().against(root).is_sound());
    assert!(!new.against(Hash::ZERO).is_sound());
    drop(journal);
    let to = directory.path().join("two");
    import(old.as_bytes(), &to, nothing_open).unwrap();
    assert!(verify::directory(&to).unwrap().against(root).is_sound());
    let mixed = old.replacen('\n', "\n{\"leaf\":1}\n", 1);
    assert!(!verify::export(mixed.as_bytes()).unwrap().is_sound());
}

/// A file with the second stream alone, its second record withheld, and the rest as subtrees.
fn partial(lines: &[(Uuid, Line)], hide: bool) -> Vec<u8> {
    let session = Uuid::from_u128(2);
    let mut file = Vec::new();
    let mut writer = ExportWriter::new(&mut file);
    for (index, (stream, line)) in lines.iter().enumerate() {
        writer.at(index as u64).unwrap();
        let seq = line.record().unwrap().seq;
        if *stream != session {
            writer.subtree(1, line.leaf()).unwrap();
        } else if hide && seq == 2 {
            writer.withheld(line, "null").unwrap();
        } else {
            writer.record(line).unwrap();
        }
    }
    writer.finish().unwrap();
    file
}

#[test]
fn withheld_records_and_subtrees_keep_the_root() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, lines) = interleaved(directory.path());
    let whole = verify::export(&exported(&journal, None)[..]).unwrap();
    let file = partial(&lines, true);
    let report = verify::export(&file[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.root, report.size), (whole.root, whole.size));
    assert_eq!(
        (report.withheld, report.records, report.sessions),
        (1, 6, 1)
    );
    let to = directory.path().join("none");
    for (file, is_read) in [(file, false), (partial(&lines, false), true)] {
        let error = import(&file[..], &to, nothing_open).unwrap_err();
        assert!(matches!(error, Error::PartialExport { .. }), "{error}");
        assert_eq!(read_export(&file[..], nothing_open).is_ok(), is_read);
    }
}

#[test]
fn withheld_record_is_bound_by_its_neighbours() {
    let directory = tempfile::tempdir().unwrap();
    let (_journal, lines) = interleaved(directory.path());
    let file = String::from_utf8(partial(&lines, true)).unwrap();
    let hash = lines
        .iter()
        .filter(|(stream, _)| *stream == Uuid::from_u128(2));
    let hash = hash
        .map(|(_, line)| line.leaf())
        .nth(1)
        .unwrap()
        .to_string();
    let other = Hash::ZERO.to_string();
    let injuries = [
        // The hash in the withheld line comes first; its copy is the `prev` of the next record.
        file.replacen(&hash, &other, 1),
        file.replacen("\"seq\":2", "\"seq\":3", 1),
        file.replacen(
            "{\"subtree\":{\"leaves\":1",
            "{\"subtree\":{\"leaves\":2",
            1,
        ),
        file.replacen("\"size\":", "\"size\":1", 1),
        file.replacen("\"format\":2", "\"format\":3", 1),
        file.replacen("{\"leaf\":0}\n", "", 1),
        file.replacen("{\"leaf\":0}", "{\"leaf\":1}", 1),
    ];
    for (number, injured) in injuries.iter().enumerate() {
        assert_ne!(*injured, file, "injury {number}");
        let report = verify::export(injured.as_bytes()).unwrap();
        assert!(!report.is_sound(), "injury {number}: {report:?}");
    }
}
