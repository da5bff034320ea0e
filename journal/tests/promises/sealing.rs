//! A sealed session behaves like any other for users without its key, and reveals no content.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use recount_journal::seal::{self, FileKeyStore, KeyStore, MasterKey};
use recount_journal::testing::suite::sealing::{
    NAME, SEALED, SECRET, append_sealed, assert_sealed, has_text,
};
use recount_journal::{After, DiskJournal, Journal, block_on, verify};
use uuid::Uuid;

fn master(digit: &str) -> MasterKey {
    MasterKey::from_text(&digit.repeat(64)).unwrap()
}

/// Writes a session of three records, the first of which names an object.
fn write_and_die(journal: &Path, keys: &dyn KeyStore) {
    let key = block_on(keys.create_key(SEALED)).unwrap();
    let journal = DiskJournal::open(journal).unwrap();
    append_sealed(&journal, &key);
    // No destructor runs, so everything that is read later was on disk.
    std::process::abort();
}

const CHILD: &str = "RECOUNT_JOURNAL_SEALING";

/// The child process that is killed, not a test by itself.
#[test]
fn child_seals() {
    let Ok(directory) = env::var(CHILD) else {
        return;
    };
    let directory = Path::new(&directory);
    let keys = FileKeyStore::create(directory.join("keys"), master("1")).unwrap();
    write_and_die(&directory.join("journal"), &keys);
}

fn files(directory: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn sealed_session_survives_kill_and_verifies_without_keys() {
    let directory = tempfile::tempdir().unwrap();
    let (path, at) = (
        directory.path().join("journal"),
        directory.path().join("keys"),
    );
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sealing::child_seals", "--nocapture"])
        .env(CHILD, directory.path())
        .output()
        .unwrap();
    assert!(!child.status.success(), "{child:?}");

    let of_journal = files(&path);
    assert!(of_journal.iter().any(|it| has_text(it, "$sealed")));
    for bytes in of_journal.iter().chain(&files(&at)) {
        assert!(!has_text(bytes, SECRET) && !has_text(bytes, NAME));
    }

    let keys = FileKeyStore::open(&at, master("1")).unwrap();
    let key = block_on(keys.key(SEALED)).unwrap().unwrap();
    let journal = DiskJournal::open(&path).unwrap();
    assert_eq!(journal.opened().after, After::Crash);
    let exported = directory.path().join("export.jsonl");
    fs::write(&exported, assert_sealed(&journal, &key)).unwrap();
    verified_by_the_script(&exported);
    block_on(journal.close()).unwrap();
    assert!(verify::directory(&path).unwrap().is_sound());
}

fn verified_by_the_script(export: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/verify_export.py");
    let Ok(said) = Command::new("python3").arg(script).arg(export).output() else {
        // Not every build machine has Python; the CI has.
        return;
    };
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(
        said.status.success() && text.contains(": 1 sessions, 3 records, 1 objects, "),
        "{text}"
    );
}

#[test]
fn wrong_master_key_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("keys");
    let keys = FileKeyStore::create(&at, master("1")).unwrap();
    block_on(keys.create_key(SEALED)).unwrap();
    for refused in [
        FileKeyStore::open(&at, master("2")),
        FileKeyStore::create(&at, master("2")),
    ] {
        let Err(seal::Error::WrongMasterKey { path }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(path, at);
    }
    let missing = FileKeyStore::open(directory.path().join("nothing"), master("1"));
    assert!(matches!(missing, Err(seal::Error::Missing { .. })));
    assert!(!directory.path().join("nothing").exists());
    // The key of another session under the name of this one.
    let other = Uuid::from_u128(8);
    block_on(keys.create_key(other)).unwrap();
    fs::copy(
        at.join(format!("{other}.key")),
        at.join(format!("{SEALED}.key")),
    )
    .unwrap();
    let refused = block_on(keys.key(SEALED));
    assert!(matches!(refused, Err(seal::Error::DoesNotOpen { .. })));
}

#[test]
fn key_store_inside_journal_is_rejected_through_any_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    block_on(DiskJournal::open(&path).unwrap().close()).unwrap();
    let mut places = vec![path.clone(), path.join("keys"), path.join("a/b/keys")];
    #[cfg(unix)]
    {
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        places.push(link.join("keys"));
    }
    for place in places {
        for refused in [
            FileKeyStore::create(&place, master("1")),
            FileKeyStore::open(&place, master("1")),
        ] {
            assert!(
                matches!(refused, Err(seal::Error::InsideJournal { .. })),
                "{place:?}"
            );
        }
    }
    assert!(!path.join("keys").exists() && !path.join("a").exists());
    // A journal is not created in a directory that holds something else, either.
    let early = directory.path().join("early");
    FileKeyStore::create(early.join("keys"), master("1")).unwrap();
    assert!(DiskJournal::open(&early).is_err());
}

#[test]
fn concurrent_requests_create_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("keys");
    let keys = Arc::new(FileKeyStore::create(&at, master("1")).unwrap());
    let sealed: Vec<String> = std::thread::scope(|scope| {
        let asked = || {
            block_on(keys.create_key(SEALED))
                .unwrap()
                .seal_text("a", "b")
                .unwrap()
        };
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(asked)).collect();
        asking.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(
        sealed.windows(2).all(|pair| pair[0] == pair[1]),
        "{sealed:?}"
    );
}

#[test]
fn side_store_keeps_last_text_sealed() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("keys");
    let keys = FileKeyStore::create(&at, master("1")).unwrap();
    let key = block_on(keys.create_key(SEALED)).unwrap();
    assert_eq!(block_on(keys.kept(SEALED, "handle")).unwrap(), None);
    for text in ["before", SECRET] {
        let sealed = key.seal_text("handle", text).unwrap();
        block_on(keys.keep(SEALED, "handle", &sealed)).unwrap();
    }
    let again = FileKeyStore::open(&at, master("1")).unwrap();
    let kept = block_on(again.kept(SEALED, "handle")).unwrap().unwrap();
    assert_eq!(*key.open_text("handle", &kept).unwrap(), SECRET);
    assert!(files(&at).iter().all(|it| !has_text(it, SECRET)));
    block_on(again.discard(SEALED, "handle")).unwrap();
    block_on(again.discard(SEALED, "handle")).unwrap();
    assert_eq!(block_on(again.kept(SEALED, "handle")).unwrap(), None);
}

#[cfg(unix)]
#[test]
fn key_store_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("keys");
    let keys = FileKeyStore::create(&at, master("1")).unwrap();
    block_on(keys.create_key(SEALED)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&at), 0o700);
    assert_eq!(mode(&at.join(format!("{SEALED}.key"))), 0o600);
}

#[test]
fn text_name_cannot_reach_another_file() {
    let directory = tempfile::tempdir().unwrap();
    let keys = FileKeyStore::create(directory.path().join("keys"), master("1")).unwrap();
    let sealed = {
        let key = block_on(keys.create_key(SEALED)).unwrap();
        key.seal_text("a", "b").unwrap()
    };
    for name in ["key", "", "/../../elsewhere", "a.key"] {
        block_on(keys.keep(SEALED, name, "x")).unwrap_err();
        block_on(keys.kept(SEALED, name)).unwrap_err();
        block_on(keys.discard(SEALED, name)).unwrap_err();
    }
    let key = block_on(keys.key(SEALED)).unwrap().unwrap();
    assert_eq!(*key.open_text("a", &sealed).unwrap(), "b");
}

#[test]
fn erasing_removes_only_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("keys");
    let keys = FileKeyStore::create(&at, master("1")).unwrap();
    let (erased, other) = (Uuid::from_u128(7), Uuid::from_u128(8));
    for session in [erased, other] {
        block_on(keys.create_key(session)).unwrap();
        block_on(keys.keep(session, "resumption", "v1.sealed")).unwrap();
    }
    block_on(keys.erase(erased)).unwrap();
    let names: Vec<String> = std::fs::read_dir(&at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.contains(&erased.to_string())),
        "{names:?}"
    );
    assert!(block_on(keys.key(other)).unwrap().is_some());
    let kept = block_on(keys.kept(other, "resumption")).unwrap();
    assert_eq!(kept.as_deref(), Some("v1.sealed"));
    // Erasing a missing session is no error.
    block_on(keys.erase(erased)).unwrap();
}
