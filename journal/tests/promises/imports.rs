//! An export becomes a journal again, byte for byte. A faulty export leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use recount_journal::testing::suite::exports::{exported as exported_by, nothing_open};
use recount_journal::{
    After, Append, DiskJournal, Error, Journal, Object, OpenItem, WorkChange, block_on, import,
    verify,
};
use uuid::Uuid;

use crate::stream::Stream;

fn exported(path: &Path, session: Option<Uuid>) -> String {
    let journal = DiskJournal::options(path).read_only().open().unwrap();
    String::from_utf8(exported_by(&journal, session)).unwrap()
}

/// Creates a closed journal of three streams that are longer than one append of an import. The
/// first two name two objects. Returns the streams.
fn original(path: &Path) -> [Stream; 3] {
    let journal = DiskJournal::open(path).unwrap();
    let mut streams = [Stream::new(1), Stream::new(2), Stream::new(3)];
    let objects = [
        Object::new(*br#"{"tools":["pay"]}"#),
        Object::new(vec![0xff; 300_000]),
    ];
    let bodies: Vec<String> = (0..130)
        .map(|n| format!(r#"{{"n":{n},"text":"{}"}}"#, "x".repeat(n)))
        .collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.append(&journal, &bodies[..3]);
        if number < 2 {
            let named = format!(r#"["{}","sha256:{}"]"#, objects[0].hash, objects[1].hash);
            let append = Append {
                objects: objects.to_vec(),
                ..stream.next(&[&named])
            };
            block_on(journal.append(append)).unwrap();
        }
        stream.append(&journal, &bodies);
    }
    block_on(journal.close()).unwrap();
    streams
}

#[test]
fn import_has_exact_bytes_and_exports_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("import"),
    );
    let streams = original(&path);
    let file = exported(&path, None);
    let imported = import(file.as_bytes(), &to, nothing_open).unwrap();
    let report = verify::directory(&to).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(
        (
            imported.records,
            imported.sessions,
            imported.objects,
            imported.root
        ),
        (report.records, 3, 2, report.root)
    );
    let of_file = verify::export(file.as_bytes()).unwrap();
    assert_eq!((report.root, report.heads), (of_file.root, of_file.heads));
    assert_eq!(exported(&to, None), file);
    // It continues at the end of the original, which was closed.
    let journal = DiskJournal::open(&to).unwrap();
    assert_eq!(journal.opened().after, After::Clean);
    assert_eq!(journal.opened().records, imported.records);
    for mut stream in streams {
        stream.assert_in(&journal);
        stream.append(&journal, &["{}"]);
    }
    let system = block_on(journal.read(Uuid::nil(), 1, 10)).unwrap();
    let kinds: Vec<&str> = system
        .iter()
        .map(|line| line.record().unwrap().kind)
        .collect();
    assert_eq!(
        kinds,
        ["journal_opened", "journal_closed", "journal_opened"]
    );
    block_on(journal.close()).unwrap();
    assert!(verify::directory(&to).unwrap().is_sound());
}

#[test]
fn one_session_becomes_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("import"),
    );
    let [_, stream, _] = original(&path);
    let file = exported(&path, Some(stream.session));
    let imported = import(file.as_bytes(), &to, nothing_open).unwrap();
    assert_eq!((imported.sessions, imported.records), (1, stream.seq()));
    assert_eq!(verify::directory(&to).unwrap().root, imported.root);
    // In the new journal the records are the first leaves.
    let records = |file: &str| -> Vec<String> {
        let lines = file.lines().filter(|line| line.starts_with("{\"v\":"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        records(&exported(&to, Some(stream.session))),
        records(&file)
    );
    let journal = DiskJournal::open(&to).unwrap();
    stream.assert_in(&journal);
    assert_eq!(block_on(journal.sessions(None, 10)).unwrap().len(), 1);
}

#[test]
fn open_work_is_asked_once_for_each_record() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("import"),
    );
    let streams = original(&path);
    let (mut asked, mut objects): (BTreeMap<Uuid, u64>, usize) = (BTreeMap::new(), 0);
    let item = |session, item| OpenItem {
        session,
        item,
        kind: "confirmation".to_owned(),
        since_us: 7,
        deadline_us: Some(9),
        request: Some(Uuid::from_u128(100 + u128::from(item))),
        flags: 1,
    };
    let imported = import(exported(&path, None).as_bytes(), &to, |append| {
        let seen = asked.entry(append.session).or_default();
        assert_eq!(*seen, append.expected, "in order");
        *seen += append.lines.len() as u64;
        objects += append.objects.len();
        // The second item is settled at once, but its request id stays known.
        let session = append.session;
        Ok::<_, Error>(match append.expected {
            0 => vec![
                WorkChange::Put(item(session, 1)),
                WorkChange::Put(item(session, 2)),
                WorkChange::Remove { session, item: 2 },
            ],
            _ => Vec::new(),
        })
    });
    imported.unwrap();
    assert_eq!(objects, 2);
    for stream in &streams {
        assert_eq!(asked[&stream.session], stream.seq());
    }
    // Open work of the system stream is ignored, but its appends are passed anyway.
    assert_eq!(asked.len(), 4);
    let journal = DiskJournal::open(&to).unwrap();
    let open = block_on(journal.open_work(None, 10)).unwrap();
    assert_eq!(
        open,
        [1, 2, 3].map(|number| item(Uuid::from_u128(number), 1))
    );
    let request = block_on(journal.request(Uuid::from_u128(102))).unwrap();
    assert_eq!(request.map(|(_, item)| item), Some(2));
}

#[test]
fn open_work_can_fail_and_cannot_open_foreign_items() {
    let directory = tempfile::tempdir().unwrap();
    let (path, to) = (
        directory.path().join("journal"),
        directory.path().join("import"),
    );
    let [stream, ..] = original(&path);
    let file = exported(&path, None);
    let error = import(file.as_bytes(), &to, |_| Err(Error::ReadOnly)).unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error}");
    let error = import(file.as_bytes(), &to, |append| {
        if append.session.is_nil() {
            return Ok(Vec::new());
        }
        let session = Uuid::from_u128(9);
        assert_eq!(
            append.session, stream.session,
            "the first one already is refused"
        );
        Ok::<_, Error>(vec![WorkChange::Remove { session, item: 1 }])
    });
    assert!(matches!(error, Err(Error::Refused { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Asserts that the file is rejected at this place, and that nothing is left.
fn refused(directory: &Path, lines: &[String], place: Option<(Uuid, u64)>) {
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let to = directory.join("import");
    let before = fs::read_dir(directory).unwrap().count();
    match import(file.as_bytes(), &to, nothing_open).unwrap_err() {
        Error::DamagedExport { session, seq, .. } => {
            let told = session.zip(seq);
            assert!(
                place.is_none() || told == place,
                "{told:?} instead of {place:?}"
            );
        }
        other => panic!("expected a damaged export, found {other}"),
    }
    assert_eq!(fs::read_dir(directory).unwrap().count(), before);
}

#[test]
fn damaged_export_is_rejected_with_place_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let [first, second, third] = original(&path);
    let lines: Vec<String> = exported(&path, None).lines().map(str::to_owned).collect();
    let at = |stream: &Stream, seq: usize| {
        let line = str::from_utf8(stream.lines[seq - 1].bytes()).unwrap();
        lines.iter().position(|other| other == line).unwrap()
    };
    let check = |injure: &dyn Fn(&mut Vec<String>), place: Option<(Uuid, u64)>| {
        let mut injured = lines.clone();
        injure(&mut injured);
        assert_ne!(injured, lines);
        refused(directory.path(), &injured, place);
    };
    for (stream, seq) in [(&first, 1), (&first, 70), (&second, 130), (&third, 132)] {
        let (line, place) = (at(stream, seq), (stream.session, seq as u64));
        // The next record shows the fault; for the last record it is the trailer.
        check(
            &|lines| lines[line] = lines[line].replacen("noted", "notes", 1),
            Some(place),
        );
        check(&|lines| drop(lines.remove(line)), Some(place));
        check(&|lines| lines.swap(line, line + 1), Some(place));
        // An unreadable line counts as the record after the previous one.
        let cut = Some(place).filter(|_| seq > 1);
        check(&|lines| lines[line].truncate(100), cut);
        check(&|lines| lines.insert(line, lines[line].clone()), None);
    }
    let object = at(&first, 4) - 1;
    assert!(lines[object].starts_with("{\"object\""));
    let named = Some((first.session, 4));
    check(
        &|lines| lines[object] = lines[object].replacen("7", "8", 1),
        named,
    );
    check(&|lines| lines.insert(object, lines[object].clone()), named);
    check(&|lines| drop(lines.remove(object)), None);
    let trailer = lines.len() - 1;
    // The last record is that of the close.
    check(&|lines| drop(lines.pop()), Some((Uuid::nil(), 3)));
    check(&|lines| lines.swap(object, trailer), None);
    check(&|lines| lines.push(lines[1].clone()), None);
    check(
        &|lines| lines[trailer] = lines[trailer].replacen("\"records\":4", "\"records\":5", 1),
        None,
    );
    check(&Vec::clear, None);
}

#[test]
fn unacceptable_records_are_not_imported() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("import");
    let stream = |body: &str| {
        let mut stream = Stream::new(1);
        stream.next(&["{}", body]);
        stream
    };
    let deep = format!("{}{}", "[".repeat(90), "]".repeat(90));
    for body in [&deep, r#"{"a":1,"a":2}"#, r#""\ud800""#] {
        let file = by_hand(&stream(body));
        assert!(verify::export(file.as_bytes()).unwrap().is_sound());
        let error = import(file.as_bytes(), &to, nothing_open).unwrap_err();
        let place = match error {
            Error::TooDeep { session, seq, .. } | Error::Unreadable { session, seq, .. } => {
                (session, seq)
            }
            other => panic!("expected a refusal, found {other}"),
        };
        assert_eq!(place, (Uuid::from_u128(1), 2));
        assert!(!to.exists());
    }
    let file = by_hand(&stream("{}"));
    import(file.as_bytes(), &to, nothing_open).unwrap();
    let error = import(file.as_bytes(), &to, nothing_open).unwrap_err();
    assert!(matches!(error, Error::Occupied { .. }), "{error}");
    let root = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let empty =
        format!(r#"{{"trailer":{{"records":0,"objects":0,"heads":{{}},"root":"{root}"}}}}"#);
    refused(&directory.path().join("import"), &[empty], None);
}

/// Writes an export of one stream of two records that no journal would write.
fn by_hand(stream: &Stream) -> String {
    let leaves = [stream.lines[0].leaf(), stream.lines[1].leaf()];
    let node = [&[1][..], leaves[0].as_bytes(), leaves[1].as_bytes()].concat();
    let lines = stream
        .lines
        .iter()
        .map(|line| str::from_utf8(line.bytes()).unwrap());
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let heads = format!(
        r#"{{"{}":{{"seq":2,"hash":"{}"}}}}"#,
        stream.session, leaves[1]
    );
    let root = recount_journal::Hash::of_object(&node);
    format!(
        "{lines}{{\"trailer\":{{\"records\":2,\"objects\":0,\"heads\":{heads},\
         \"root\":\"{root}\"}}}}\n"
    )
}

#[test]
fn file_without_line_ends_is_rejected_early() {
    let directory = tempfile::tempdir().unwrap();
    let endless = || io::BufReader::new(io::repeat(b'x'));
    let imported = import(endless(), directory.path().join("to"), |_| {
        Ok::<_, Error>(Vec::new())
    });
    let told = imported.unwrap_err();
    assert!(matches!(told, Error::DamagedExport { .. }), "{told}");
    let report = verify::export(endless()).unwrap();
    assert!(
        report.findings[0]
            .what
            .contains("line 1: it has a line of over"),
        "{report:?}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
