//! Commands that only read use a consistent copy while another process has the journal open.

use std::fs;

use recount_journal::DiskJournal;

use crate::program::Bench;

/// A journal that another process has open, and the id of its session.
fn in_use() -> (Bench, String, DiskJournal) {
    let bench = Bench::with_demo();
    let session = bench.session("demo");
    let held = DiskJournal::open_existing(bench.path("demo")).unwrap();
    (bench, session, held)
}

#[test]
fn every_reading_command_works_beside_a_writer() {
    let (bench, session, held) = in_use();
    for command in [
        "verify demo".to_owned(),
        "replay demo".to_owned(),
        format!("state demo {session}"),
        format!("diff demo:{session} {session}"),
        "audit decisions demo".to_owned(),
        "audit decisions demo --html report.html".to_owned(),
        "export demo --out demo.jsonl".to_owned(),
        format!("show demo {}", hash_of_policies(&bench, &session)),
        format!("fixture export demo {session} fixture"),
    ] {
        bench.run(&command).ends_with(0).prints(&[
            "note: read up to commit ",
            "records); another process has the journal open",
        ]);
    }
    let state = bench
        .run(&format!("state demo {session} --json"))
        .ends_with(0)
        .json();
    let records = state["read_up_to"][0]["records"].as_u64().unwrap();
    assert_eq!(state["read_up_to"][0]["journal"], "demo");
    let verified = bench.run("verify demo --json").ends_with(0).json();
    assert_eq!(verified["records"], records);
    assert_eq!(verified["read_up_to"], state["read_up_to"]);
    let replayed = bench.run("replay demo --json").ends_with(0).json();
    assert_eq!(replayed["read_up_to"], state["read_up_to"]);
    drop(held);
    let alone = bench.run("verify demo --json").ends_with(0).json();
    assert!(alone.get("read_up_to").is_none(), "{alone}");
}

/// The hash of an object that the session names.
fn hash_of_policies(bench: &Bench, session: &str) -> String {
    let exported = bench.run(&format!("export demo --session {session}"));
    let object = exported.out.lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["object"].as_str().map(str::to_owned)
    });
    object.unwrap()
}

/// A command removes the copy of a killed one, but not a copy that another command reads.
#[test]
fn copy_of_a_killed_command_is_removed_by_the_next() {
    let (bench, _, held) = in_use();
    for name in [
        "recount-beside-left",
        "recount-beside-read",
        "recount-beside-new",
        "other",
    ] {
        fs::create_dir_all(bench.path(&format!("tmp/{name}/journal"))).unwrap();
    }
    for name in ["recount-beside-left", "recount-beside-read", "other"] {
        fs::write(bench.path(&format!("tmp/{name}/LOCK")), "").unwrap();
    }
    let reader = fs::File::open(bench.path("tmp/recount-beside-read/LOCK")).unwrap();
    reader.lock().unwrap();
    let verified = bench
        .command("verify demo")
        .env("TMPDIR", bench.path("tmp"))
        .status();
    assert!(verified.unwrap().success());
    let left = fs::read_dir(bench.path("tmp")).unwrap();
    let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["other", "recount-beside-new", "recount-beside-read"]);
    drop(held);
}

/// The note goes to standard error, because it must not be part of the stream.
#[test]
fn export_beside_a_writer_is_complete() {
    let (bench, _, held) = in_use();
    let exported = bench.run("export demo");
    assert_eq!(exported.code, 0, "{exported:?}");
    let exported = exported.prints_error(&["note: read up to commit "]);
    bench.write("stream.jsonl", &exported.out);
    bench.run("verify stream.jsonl").ends_with(0);
    bench
        .run("audit decisions demo --csv")
        .prints_error(&["note: read up to commit "]);
    drop(held);
}

/// The journal does not change, and the copy is removed.
#[test]
fn reading_beside_a_writer_leaves_nothing_behind() {
    let (bench, _, held) = in_use();
    fs::create_dir(bench.path("tmp")).unwrap();
    let before = fs::read_dir(bench.path("demo/log")).unwrap().count();
    let verified = bench
        .command("verify demo")
        .env("TMPDIR", bench.path("tmp"))
        .status();
    assert!(verified.unwrap().success());
    assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 0);
    assert_eq!(
        fs::read_dir(bench.path("demo/log")).unwrap().count(),
        before
    );
    drop(held);
}

#[test]
fn damage_is_found_beside_a_writer() {
    let (bench, _, held) = in_use();
    let log = fs::read_dir(bench.path("demo/log")).unwrap();
    let mut files: Vec<_> = log.map(|it| it.unwrap().path()).collect();
    files.sort();
    let mut bytes = fs::read(&files[0]).unwrap();
    bytes[5000] ^= 1;
    fs::write(&files[0], bytes).unwrap();
    let verified = bench.run("verify demo");
    assert_eq!(verified.code, 4, "{verified:?}");
    drop(held);
}
