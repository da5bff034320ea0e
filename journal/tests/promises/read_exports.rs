//! An export read into memory answers like the journal that an import of it makes.

use std::io::{self, BufReader, ErrorKind, Read};

use recount_journal::{
    Append, DiskJournal, Error, Journal, MemoryJournal, Object, OpenItem, WorkChange, block_on,
    export, import, read_export, verify,
};

use crate::stream::Stream;

/// An export of three streams of 200 records with an object, and the streams.
fn exported() -> (Vec<u8>, [Stream; 3]) {
    let journal = MemoryJournal::new();
    let mut streams = [Stream::new(1), Stream::new(2), Stream::new(3)];
    let object = Object::new(vec![0xff; 3_000]);
    for stream in &mut streams {
        let named = format!(r#""{}""#, object.hash);
        let first = Append {
            objects: vec![object.clone()],
            ..stream.next(&[&named])
        };
        block_on(journal.append(first)).unwrap();
        stream.append(&journal, &["{}"; 199]);
    }
    let mut file = Vec::new();
    block_on(export(&journal, None, &mut file)).unwrap();
    (file, streams)
}

/// An open item for the last record of each append.
fn last_is_open(append: &Append) -> Result<Vec<WorkChange>, Error> {
    let item = append.expected + append.lines.len() as u64;
    Ok(vec![WorkChange::Put(OpenItem {
        session: append.session,
        item,
        kind: "confirmation".to_owned(),
        since_us: 1,
        deadline_us: None,
        request: Some(uuid::Uuid::from_u128(
            append.session.as_u128() << 64 | u128::from(item),
        )),
        flags: 0,
    })])
}

#[test]
fn answers_are_those_of_an_import() {
    let (file, streams) = exported();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    import(&file[..], &path, last_is_open).unwrap();
    let imported = DiskJournal::options(&path).read_only().open().unwrap();
    let read = read_export(&file[..], last_is_open).unwrap();
    let journals: [&dyn Journal; 2] = [&imported, &read];
    let [of_import, of_read] = journals.map(|journal| {
        let lines = streams.iter().map(|stream| {
            let lines = block_on(journal.read(stream.session, 1, 1000)).unwrap();
            assert_eq!(lines, stream.lines);
            lines
        });
        let lines: Vec<_> = lines.collect();
        let work = block_on(journal.open_work(None, 1000)).unwrap();
        let requests = work
            .iter()
            .map(|it| block_on(journal.request(it.request.unwrap())));
        let requests: Vec<_> = requests.map(|it| it.unwrap().unwrap()).collect();
        let mut again = Vec::new();
        block_on(export(journal, None, &mut again)).unwrap();
        (
            lines,
            work,
            requests,
            block_on(journal.sessions(None, 10)).unwrap(),
            again,
        )
    });
    assert!(of_import.1.len() >= 9);
    assert_eq!(of_read, of_import);
    assert_eq!(of_read.4, file);
}

#[test]
fn journal_of_an_export_rejects_appends() {
    let (file, mut streams) = exported();
    let read = read_export(&file[..], |_| Ok::<_, Error>(Vec::new())).unwrap();
    let more = block_on(read.append(streams[0].next(&["{}"])));
    assert!(matches!(more, Err(Error::ReadOnly)), "{more:?}");
    let head = block_on(read.head(streams[0].session)).unwrap();
    assert_eq!(head.unwrap().seq, 200);
}

#[test]
fn damaged_export_is_not_read() {
    let (file, _) = exported();
    let nothing = |_: &Append| Ok::<_, Error>(Vec::new());
    for at in (0..file.len()).step_by(file.len() / 40) {
        let mut flipped = file.clone();
        flipped[at] ^= 1;
        let read = read_export(&flipped[..], nothing);
        assert!(
            matches!(read, Err(Error::DamagedExport { .. })),
            "{at} {read:?}"
        );
        let cut = read_export(&file[..at], nothing);
        assert!(
            matches!(cut, Err(Error::DamagedExport { .. })),
            "{at} {cut:?}"
        );
    }
}

/// A reader whose file ends with an error of this kind.
struct Breaks(ErrorKind);

impl Read for Breaks {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0, "the words of the reader"))
    }
}

#[test]
fn damage_that_the_reader_reports_is_a_finding() {
    let (file, streams) = exported();
    let half = file.len() / 2;
    let broken = |kind| BufReader::new(file[..half].chain(Breaks(kind)));
    for kind in [ErrorKind::InvalidData, ErrorKind::UnexpectedEof] {
        let report = verify::export(broken(kind)).unwrap();
        let found: Vec<_> = report.findings.iter().map(|it| it.what.as_str()).collect();
        assert!(found[0].ends_with("the words of the reader"), "{found:?}");
        assert!(found[1].contains("it has no trailer"), "{found:?}");
        assert_eq!(report.findings[0].session, Some(streams[1].session));
        let read = read_export(broken(kind), |_| Ok::<_, Error>(Vec::new()));
        assert!(matches!(read, Err(Error::DamagedExport { .. })), "{read:?}");
    }
    for failed in [
        verify::export(broken(ErrorKind::PermissionDenied)).map(drop),
        read_export(broken(ErrorKind::PermissionDenied), last_is_open).map(drop),
    ] {
        assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
    }
}
