//! The journal opens with everything, whatever happened to the index.

use std::fs;
use std::path::Path;

use recount_journal::{
    Append, DiskJournal, IndexState, Journal, Object, OpenItem, WorkChange, block_on, verify,
};

use crate::stream::{Stream, closed_journal, index};

fn opens_with_everything(path: &Path, streams: &[Stream]) -> IndexState {
    let journal = DiskJournal::open_existing(path).unwrap();
    streams.iter().for_each(|stream| stream.assert_in(&journal));
    assert_eq!(
        block_on(journal.sessions(None, 99)).unwrap().len(),
        streams.len()
    );
    let state = journal.opened().index.clone();
    block_on(journal.close()).unwrap();
    state
}

#[test]
fn a_sound_index_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    assert_eq!(
        opens_with_everything(directory.path(), &streams),
        IndexState::Kept
    );
}

#[test]
fn a_missing_index_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    fs::remove_dir_all(directory.path().join("sled")).unwrap();
    assert!(matches!(
        opens_with_everything(directory.path(), &streams),
        IndexState::Rebuilt(_)
    ));
    assert_eq!(
        opens_with_everything(directory.path(), &streams),
        IndexState::Kept
    );
}

#[test]
fn an_older_index_is_caught_up() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    let old = directory.path().join("old");
    fs::rename(directory.path().join("sled"), &old).unwrap();
    fs::create_dir(directory.path().join("sled")).unwrap();
    for entry in fs::read_dir(&old)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_file())
    {
        fs::copy(
            entry.path(),
            directory.path().join("sled").join(entry.file_name()),
        )
        .unwrap();
    }
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut streams = streams;
    streams[0].append(&journal, &["{}"]);
    block_on(journal.close()).unwrap();
    fs::remove_dir_all(directory.path().join("sled")).unwrap();
    fs::rename(&old, directory.path().join("sled")).unwrap();
    assert_eq!(
        opens_with_everything(directory.path(), &streams),
        IndexState::CaughtUp(3)
    );
}

#[test]
fn the_index_of_another_journal_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(&directory.path().join("one"));
    closed_journal(&directory.path().join("two"));
    fs::remove_dir_all(directory.path().join("one/sled")).unwrap();
    fs::rename(
        directory.path().join("two/sled"),
        directory.path().join("one/sled"),
    )
    .unwrap();
    let state = opens_with_everything(&directory.path().join("one"), &streams);
    assert!(
        matches!(&state, IndexState::Rebuilt(why) if why.contains("belongs to journal")),
        "{state:?}"
    );
}

#[test]
fn flipped_torn_and_empty_index_files_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let streams = closed_journal(path);
    let sled = path.join("sled");
    let files: Vec<_> = fs::read_dir(&sled)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    let sound: Vec<(_, Vec<u8>)> = files
        .into_iter()
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect();
    let mut injuries = 0;
    for (file, bytes) in &sound {
        let end = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let flips = (0..12).map(|part| end * part / 12);
        let injured = flips.filter(|at| *at < end).map(|at| {
            let mut injured = bytes.clone();
            injured[at] ^= 0x11;
            injured
        });
        for injured in injured.chain([Vec::new(), bytes[..end / 2].to_vec()]) {
            // Opening for reading adds no records, so the log has no further ones here.
            fs::remove_dir_all(&sled).unwrap();
            fs::create_dir(&sled).unwrap();
            sound
                .iter()
                .for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
            fs::write(file, injured).unwrap();
            let journal = DiskJournal::options(path).read_only().open().unwrap();
            streams.iter().for_each(|stream| stream.assert_in(&journal));
            injuries += 1;
        }
    }
    assert!(injuries > 20);
    assert!(verify::directory(path).unwrap().is_sound());
}

#[test]
fn open_work_and_objects_are_rebuilt_too() {
    let directory = tempfile::tempdir().unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    let mut stream = Stream::new(1);
    let object = Object::new(vec![0xfe; 10_000]);
    let item = |item| OpenItem {
        session: stream.session,
        item,
        kind: "call".to_owned(),
        since_us: 1,
        deadline_us: Some(50),
        request: Some(uuid::Uuid::from_u128(u128::from(item))),
        flags: 0,
    };
    let (one, two) = (item(1), item(2));
    let opened = Append {
        objects: vec![object.clone()],
        open_work: vec![WorkChange::Put(one.clone()), WorkChange::Put(two.clone())],
        ..stream.next(&["{}", "{}"])
    };
    block_on(journal.append(opened)).unwrap();
    let settled = WorkChange::Remove {
        session: stream.session,
        item: 1,
    };
    block_on(journal.append(Append {
        open_work: vec![settled],
        ..stream.next(&["{}"])
    }))
    .unwrap();
    drop(journal);
    fs::remove_dir_all(directory.path().join("sled")).unwrap();
    let journal = DiskJournal::open(directory.path()).unwrap();
    assert_eq!(
        block_on(journal.open_work(None, 9)).unwrap(),
        std::slice::from_ref(&two)
    );
    assert_eq!(
        block_on(journal.open_work_of(stream.session)).unwrap(),
        std::slice::from_ref(&two)
    );
    assert_eq!(
        block_on(journal.deadlines(50, 9)).unwrap(),
        std::slice::from_ref(&two)
    );
    assert_eq!(
        block_on(journal.request(uuid::Uuid::from_u128(1))).unwrap(),
        Some((one.session, one.item)),
        "a request is known for ever"
    );
    assert_eq!(
        block_on(journal.request(uuid::Uuid::from_u128(2))).unwrap(),
        Some((two.session, two.item))
    );
    assert_eq!(
        block_on(journal.object(object.hash)).unwrap().as_deref(),
        Some(&*object.bytes)
    );
    drop(journal);
    assert_eq!(
        DiskJournal::open(directory.path()).unwrap().opened().index,
        IndexState::Kept
    );
}

#[test]
fn lost_altered_or_invented_rows_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let streams = closed_journal(directory.path());
    for prefix in [b'b', b'h', b'm'] {
        for injury in ["gone", "altered", "invented"] {
            let store = index(directory.path());
            let rows = store.scan_prefix([prefix]).map(Result::unwrap);
            // Keys that were created ahead have no values yet.
            let (key, value) = rows.filter(|(_, value)| !value.is_empty()).last().unwrap();
            let mut altered = value.to_vec();
            altered[9] ^= 1;
            match injury {
                "gone" => drop(store.remove(&key).unwrap()),
                "altered" => drop(store.insert(&key, altered).unwrap()),
                _ => drop(store.insert([&key[..], b"x"].concat(), value).unwrap()),
            }
            store.flush().unwrap();
            drop(store);
            assert!(
                !verify::directory(directory.path()).unwrap().is_sound(),
                "{prefix} {injury}"
            );
            let state = opens_with_everything(directory.path(), &streams);
            assert!(
                matches!(state, IndexState::Rebuilt(_)),
                "{prefix} {injury}: {state:?}"
            );
        }
    }
}
