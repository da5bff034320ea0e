//! Exports from the database and from a directory have the same bytes and the same root.

use recount_journal::testing::suite::exports::{
    exported, interleaved_streams, nothing_open, streams_with_objects,
};
use recount_journal::testing::suite::following::whole_log;
use recount_journal::{DiskJournal, Journal, import, verify};

use crate::place::Place;

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn export_of_several_nodes_becomes_a_directory() {
    let place = Place::new();
    let (a, b) = (place.node("a"), place.node("b"));
    let streams = streams_with_objects(&*a);
    a.close().await.unwrap();
    for mut stream in streams.clone() {
        stream.append(&*b, &["{}"]);
    }
    let reader = place.reader();
    let file = exported(&reader, None);
    let report = verify::export(&file[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(
        (report.records, report.sessions, report.objects),
        (14, 2, 2)
    );

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let imported = import(&file[..], &path, nothing_open).unwrap();
    assert_eq!(imported.root, report.root);
    let of_directory = verify::directory(&path).unwrap();
    assert!(of_directory.is_sound(), "{of_directory:?}");
    assert_eq!(
        (of_directory.root, of_directory.heads),
        (report.root, report.heads)
    );
    let disk = DiskJournal::options(&path).read_only().open().unwrap();
    assert!(exported(&disk, None) == file);
    assert_eq!(whole_log(&disk), whole_log(&reader));
    let session = Some(streams[1].session);
    assert!(exported(&disk, session) == exported(&reader, session));
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn positions_of_a_new_reader_are_those_of_followers() {
    let place = Place::new();
    let node = place.node("a");
    interleaved_streams(&*node);
    // No follower and no reader has asked for positions yet.
    let reader = place.reader();
    assert_eq!(
        reader.position().await.unwrap(),
        node.position().await.unwrap()
    );
    assert_eq!(whole_log(&reader), whole_log(&*node));
}
