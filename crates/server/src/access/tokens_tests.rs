//! Tests of the store of tokens.

use std::fs;

use super::*;
use crate::access::Role;

const NOW: Timestamp = Timestamp(1_795_183_387_112_345);

fn viewer() -> NewToken {
    NewToken::new("ada").grant(Grant::everywhere(Role::Viewer))
}

fn store() -> (tempfile::TempDir, PathBuf, TokenStore) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokens.json");
    let store = TokenStore::open(&path).unwrap();
    (directory, path, store)
}

#[test]
fn token_is_recognised_until_it_is_revoked() {
    let (_directory, path, store) = store();
    let (token, info) = store
        .create(viewer().role("finance").group("staff"), NOW)
        .unwrap();
    // As a service beside the command line has it.
    let service = TokenStore::open(&path).unwrap();
    let principal = service.recognise(token.expose(), NOW).unwrap();
    let actor = principal.actor();
    assert_eq!(
        (actor.name.as_str(), actor.issuer()),
        ("ada", Some("recount"))
    );
    let identity = actor.identity.as_ref().unwrap();
    assert_eq!(identity.roles, BTreeSet::from(["finance".to_owned()]));
    assert_eq!(identity.groups, BTreeSet::from(["staff".to_owned()]));
    store.revoke(&info.id, NOW).unwrap();
    let again = store.revoke(&info.id, Timestamp(NOW.0 + 1)).unwrap();
    assert_eq!(again.revoked_at, Some(NOW), "the first revocation counts");
    assert_eq!(service.recognise(token.expose(), NOW), None);
    let unknown = store.revoke("0000", NOW).unwrap_err();
    assert!(matches!(unknown, TokenError::UnknownToken { .. }));
}

#[test]
fn token_is_invalid_from_its_expiry_on() {
    let (_directory, _, store) = store();
    let until = Timestamp(NOW.0 + 1);
    let (token, _) = store.create(viewer().expires_at(until), NOW).unwrap();
    assert!(store.recognise(token.expose(), NOW).is_some());
    assert_eq!(store.recognise(token.expose(), until), None);
}

#[test]
fn guessed_or_cut_token_is_unknown() {
    let (_directory, _, store) = store();
    let (token, info) = store.create(viewer(), NOW).unwrap();
    let text = token.expose();
    let stored = serde_json::to_string(&store.known().tokens[0].sha256).unwrap();
    let cut = &text[..text.len() - 1];
    for guess in ["", "rct_", cut, &info.id, stored.trim_matches('"')] {
        assert_eq!(store.recognise(guess, NOW), None, "{guess}");
    }
}

#[cfg(unix)]
#[test]
fn file_is_private_and_has_no_token() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path, store) = store();
    let (token, info) = store.create(viewer(), NOW).unwrap();
    assert!(!token.expose().contains(&info.id));
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    let random = token.expose().strip_prefix(TOKEN_PREFIX).unwrap();
    assert!(!text.contains(random));
    assert!(!format!("{store:?}").contains(random));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let exposed = TokenStore::open(&path).unwrap_err();
    assert!(matches!(exposed, TokenError::Exposed { mode: 0o640, .. }));
}

/// Root alone can read a private file of another user. Other users see the failure of the system.
#[cfg(unix)]
#[test]
fn file_of_another_user_is_refused_by_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_directory, path, store) = store();
    store.create(viewer(), NOW).unwrap();
    std::os::unix::fs::chown(&path, Some(1), None).unwrap();
    let foreign = TokenStore::open(&path).unwrap_err();
    assert!(matches!(foreign, TokenError::NotYours { owner: 1, .. }));
}

#[test]
fn invalid_file_leaves_the_known_tokens() {
    let (_directory, path, store) = store();
    let (token, _) = store.create(viewer(), NOW).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, "{").unwrap();
    assert!(store.reload().is_err());
    assert!(store.recognise(token.expose(), NOW).is_some());
    fs::write(&path, whole.replace("\"version\": 1", "\"version\": 2")).unwrap();
    let newer = store.reload().unwrap_err().to_string();
    assert!(newer.contains("found \"recount-tokens\" 2"), "{newer}");
    fs::write(&path, whole.replace("recount-tokens", "other-tokens")).unwrap();
    let other = store.reload().unwrap_err().to_string();
    assert!(other.contains("found \"other-tokens\" 1"), "{other}");
    fs::write(&path, whole + &" ".repeat(8 << 20)).unwrap();
    let large = store.reload().unwrap_err().to_string();
    assert!(large.contains("more than 8388608 bytes"), "{large}");
    fs::remove_file(&path).unwrap();
    assert_eq!(store.recognise(token.expose(), NOW), None);
}

/// A version of the file may differ from the one before in its length, time or inode alone.
#[cfg(unix)]
#[test]
fn every_version_of_the_file_is_read() {
    let (directory, path, store) = store();
    let (token, _) = store.create(viewer(), NOW).unwrap();
    let is_known = || store.recognise(token.expose(), NOW).is_some();
    let whole = fs::read_to_string(&path).unwrap();
    let expired = |by: &str| {
        let field = "\"expires_at_us\": null";
        whole.replace(field, &format!("\"expires_at_us\": {by}"))
    };
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let write = |path: &Path, text: &str, modified| {
        fs::write(path, text).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    };
    assert!(is_known());
    write(&path, &expired("1"), modified);
    assert!(!is_known(), "another length");
    write(&path, &whole, modified);
    assert!(is_known());
    write(
        &path,
        &expired("1000"),
        modified + std::time::Duration::from_secs(1),
    );
    assert_eq!(whole.len(), expired("1000").len());
    assert!(!is_known(), "another time");
    write(&path, &whole, modified);
    assert!(is_known());
    let other = directory.path().join("other");
    write(&other, &expired("1000"), modified);
    let private = fs::metadata(&path).unwrap().permissions();
    fs::set_permissions(&other, private).unwrap();
    fs::rename(&other, &path).unwrap();
    assert!(!is_known(), "another inode");
}

/// A process that ends in the middle of a change leaves the old file and a draft.
#[test]
fn change_replaces_the_file_and_a_stale_draft() {
    let (directory, path, store) = store();
    store.create(viewer(), NOW).unwrap();
    let before = fs::read(&path).unwrap();
    let link = directory.path().join("before");
    fs::hard_link(&path, &link).unwrap();
    fs::write(directory.path().join("tokens.json.new"), "{").unwrap();
    store.create(viewer(), NOW).unwrap();
    assert_eq!(fs::read(&link).unwrap(), before);
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn unfit_new_token_changes_nothing() {
    let (_directory, path, store) = store();
    let no_grant = store.create(NewToken::new("ada"), NOW).unwrap_err();
    assert!(matches!(no_grant, TokenError::NoGrant));
    let everywhere = Grant::everywhere(Role::Viewer);
    let unnamed = NewToken::new(" ").grant(everywhere);
    let unnamed = store.create(unnamed, NOW).unwrap_err();
    assert!(matches!(unnamed, TokenError::UnfitName { .. }));
    let of_bytes = |bytes: usize| {
        let everywhere = Grant::everywhere(Role::Viewer);
        NewToken::new("x".repeat(bytes)).grant(everywhere)
    };
    let long = store.create(of_bytes(257), NOW).unwrap_err();
    assert!(matches!(long, TokenError::UnfitName { bytes: 257 }));
    assert!(!path.exists());
    assert!(store.create(of_bytes(256), NOW).is_ok());
}

#[test]
fn tokens_made_at_once_are_all_kept() {
    let (_directory, path, _) = store();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = TokenStore::open(&path).unwrap();
                store.create(viewer(), NOW).unwrap();
            });
        }
    });
    assert_eq!(TokenStore::open(&path).unwrap().list().unwrap().len(), 8);
}

#[test]
fn file_without_models_allows_every_model() {
    let (_directory, path, store) = store();
    let limited = Grant::everywhere(Role::Client).of_model("live");
    store
        .create(NewToken::new("shop").grant(limited), NOW)
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let models = "\"models\": [";
    assert!(text.contains(models), "{text}");
    store.create(viewer(), NOW).unwrap();
    let listed = TokenStore::open(&path).unwrap().list().unwrap();
    let models = |at: usize| listed[at].grants[0].models.clone();
    assert_eq!(models(0), Some(BTreeSet::from(["live".to_owned()])));
    assert_eq!(models(1), None);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text.matches("\"models\"").count(),
        1,
        "an older program reads the other one"
    );
}
