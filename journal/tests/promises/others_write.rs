//! A journal that other users can write to is not trusted. A new one is private to its user, and is
//! never created through a link.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use recount_journal::seal::{self, FileKeyStore, KeyStore, MasterKey};
use recount_journal::{
    CompactOptions, DiskJournal, Error, Journal, Options, RepairOptions, block_on, compact, guard,
    guard_path, repair, verify,
};

use crate::stream::{Stream, closed_journal, log_file};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Asserts that every operation rejects the journal because of this path, and changes nothing.
fn assert_refused(path: &Path, because: &Path) {
    let before = fs::read_dir(path).unwrap().count();
    let place = |told: Error| match told {
        Error::Insecure { path, .. } => path,
        other => panic!("{other}"),
    };
    let told = [
        DiskJournal::open(path).map(drop),
        DiskJournal::options(path).read_only().open().map(drop),
        verify::directory(path).map(drop),
        repair(path, RepairOptions::default().dry_run()).map(drop),
        repair(path, RepairOptions::default()).map(drop),
        compact(path, CompactOptions::default()).map(drop),
        guard(path),
    ];
    for told in told {
        assert_eq!(place(told.unwrap_err()), because);
    }
    assert_eq!(fs::read_dir(path).unwrap().count(), before);
}

/// Asserts that every operation accepts the journal when the options say so.
fn assert_taken(path: &Path, trusting: fn(Options) -> Options) {
    let journal = trusting(DiskJournal::options(path)).open().unwrap();
    block_on(journal.close()).unwrap();
    let reading = trusting(DiskJournal::options(path)).read_only();
    drop(reading.open().unwrap());
}

#[test]
fn directory_that_others_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    let own_group = fs::metadata(&path).unwrap();
    for mode in [0o1777, 0o777, 0o702, 0o733] {
        set_mode(&path, mode);
        assert_refused(&path, &path);
        assert_taken(&path, Options::insecure_directory);
    }
    let trusted = RepairOptions::default().insecure_directory();
    assert!(!repair(&path, trusted).unwrap().was_needed());
    compact(&path, CompactOptions::default().insecure_directory()).unwrap();
    assert!(verify::insecure_directory(&path).unwrap().is_sound());
    // A private group of the owner counts as the owner.
    set_mode(&path, 0o770);
    if own_group.gid() == own_group.uid() {
        assert_taken(&path, |options| options);
    } else {
        assert_refused(&path, &path);
    }
    for mode in [0o755, 0o700, 0o1755] {
        set_mode(&path, mode);
        assert_taken(&path, |options| options);
    }
    // An empty directory is rejected as well.
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    set_mode(&empty, 0o1777);
    assert_refused(&empty, &empty);
}

#[test]
fn file_that_others_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    fs::write(path.join("CONTROL"), "{}").unwrap();
    let files = ["JOURNAL", "LOCK", "CLOSED", "CONTROL", "sled/conf", "log"];
    for file in files
        .map(|it| path.join(it))
        .into_iter()
        .chain([log_file(&path)])
    {
        let before = fs::metadata(&file).unwrap().mode() & 0o7777;
        set_mode(&file, before | 0o002);
        assert_refused(&path, &file);
        assert_taken(&path, Options::insecure_directory);
        if file.exists() {
            set_mode(&file, before);
        } else {
            closed_journal_again(&path);
        }
    }
    assert_taken(&path, |options| options);
}

fn closed_journal_again(path: &Path) {
    let journal = DiskJournal::options(path).insecure_directory().open();
    block_on(journal.unwrap().close()).unwrap();
}

/// This test needs the superuser, who alone can give files away.
#[test]
fn file_of_another_user_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    closed_journal(&path);
    let planted = path.join("CONTROL");
    fs::write(&planted, "{}").unwrap();
    if chown(&planted, Some(4_711), None).is_err() {
        return;
    }
    assert_refused(&path, &planted);
    fs::remove_file(&planted).unwrap();
    symlink("elsewhere", &planted).unwrap();
    std::os::unix::fs::lchown(&planted, Some(4_711), None).unwrap();
    assert_refused(&path, &planted);
    fs::remove_file(&planted).unwrap();
    assert_taken(&path, |options| options);
    // The owner could not use files of the superuser.
    chown(&path, Some(4_711), Some(4_711)).unwrap();
    for told in [DiskJournal::open(&path).map(drop), guard(&path)] {
        assert!(
            matches!(told, Err(Error::NotYours { owner: 4_711, .. })),
            "{told:?}"
        );
    }
    assert_taken(&path, Options::insecure_directory);
}

#[test]
fn what_is_made_is_for_its_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("given");
    fs::create_dir(&path).unwrap();
    set_mode(&path, 0o755);
    let journal = crate::stream::options(&path).open().unwrap();
    let mut stream = Stream::new(1);
    for _ in 0..30 {
        stream.append(
            &journal,
            &[&format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000))],
        );
    }
    block_on(journal.keep_snapshot(stream.session, vec![1])).unwrap();
    block_on(journal.close()).unwrap();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&path), 0o755, "it stays as it was given");
    let mut seen = 0;
    for name in ["JOURNAL", "LOCK", "CLOSED", "log", "sled", "snapshots"] {
        let place = path.join(name);
        let expected = if place.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&place), expected, "{name}");
        seen += 1;
        for entry in fs::read_dir(&place).into_iter().flatten() {
            // sled creates its files with its own mode, inside the private directory.
            let entry = entry.unwrap().path();
            assert!(
                name == "sled" || mode(&entry) == 0o600,
                "{}",
                entry.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn drafts_do_not_follow_links() {
    let directory = tempfile::tempdir().unwrap();
    let (path, outside) = (
        directory.path().join("journal"),
        directory.path().join("outside"),
    );
    fs::write(&outside, "kept").unwrap();
    fs::create_dir(&path).unwrap();
    symlink(&outside, path.join("JOURNAL.new")).unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    symlink(&outside, path.join("CLOSED.new")).unwrap();
    block_on(journal.close()).unwrap();
    assert!(verify::directory(&path).unwrap().is_sound());
    symlink(&outside, path.join("salvage.part")).unwrap();
    fs::write(path.join("JOURNAL"), "scribbled over").unwrap();
    symlink(&outside, path.join("JOURNAL.new")).unwrap();
    repair(&path, RepairOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");

    // The lock, and a segment that is not created yet.
    fs::remove_file(path.join("LOCK")).unwrap();
    symlink(&outside, path.join("LOCK")).unwrap();
    DiskJournal::open(&path).unwrap_err();
    fs::remove_file(path.join("LOCK")).unwrap();
    let second = path.join("log/0000000000000002.log");
    symlink(directory.path().join("made"), &second).unwrap();
    let opened = DiskJournal::open(&path);
    assert!(opened.is_err() || !directory.path().join("made").exists());
    assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
}

#[test]
fn path_through_directory_that_all_can_write_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let above = fs::canonicalize(directory.path()).unwrap().join("above");
    let path = above.join("between/journal");
    fs::create_dir_all(&path).unwrap();
    guard_path(&path).unwrap();
    guard_path(path.join("not there")).unwrap();
    for (mode, is_refused) in [(0o777, true), (0o1777, false), (0o775, false)] {
        set_mode(&above, mode);
        match guard_path(&path) {
            Err(Error::Insecure { path, .. }) => assert!(is_refused && path == above, "{mode:o}"),
            told => assert!(told.is_ok() && !is_refused, "{mode:o}: {told:?}"),
        }
    }
}

#[test]
fn key_store_that_others_read_or_write_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let master = || MasterKey::from_text(&"0f".repeat(32)).unwrap();
    let keys = FileKeyStore::create(&path, master()).unwrap();
    let session = uuid::Uuid::from_u128(7);
    block_on(keys.create_key(session)).unwrap();
    let key = path.join(format!("{session}.key"));
    let assert_refused = |because: &Path| {
        for opened in [
            FileKeyStore::open(&path, master()),
            FileKeyStore::create(&path, master()),
        ] {
            match opened {
                Err(seal::Error::Insecure { path, .. }) => assert_eq!(path, because),
                other => panic!("{other:?}"),
            }
        }
        FileKeyStore::open_insecure(&path, master()).unwrap();
        FileKeyStore::create_insecure(&path, master()).unwrap();
    };
    for (place, modes) in [
        (&path, [0o1777, 0o702].as_slice()),
        (&key, [0o604, 0o602].as_slice()),
        (&path.join("KEYS"), [0o644].as_slice()),
    ] {
        let before = fs::metadata(place).unwrap().mode() & 0o7777;
        for mode in modes {
            set_mode(place, *mode);
            assert_refused(place);
        }
        set_mode(place, before);
    }
    FileKeyStore::open(&path, master()).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o7777, 0o600);

    // Only the superuser can give files away.
    if chown(&key, Some(4_711), None).is_ok() {
        assert_refused(&key);
        chown(&key, Some(0), None).unwrap();
        chown(&path, Some(4_711), Some(4_711)).unwrap();
        assert_refused(&path);
        chown(&path, Some(0), Some(0)).unwrap();
    } else {
        println!("not looked at: files of other users, since only the superuser makes them");
    }

    // The target of a link is neither read nor written.
    fs::remove_file(&key).unwrap();
    symlink("/dev/zero", &key).unwrap();
    let keys = FileKeyStore::open(&path, master()).unwrap();
    let error = block_on(keys.key(session)).unwrap_err();
    assert!(matches!(error, seal::Error::Io { .. }), "{error}");
}
