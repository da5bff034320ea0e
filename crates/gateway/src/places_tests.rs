//! Tests of the index of sessions on a real file.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use uuid::Uuid;

use super::*;

const LIMITS: PlaceLimits = PlaceLimits {
    keep: Duration::from_secs(100),
    entries: 1_000,
};

fn second(second: i64) -> Timestamp {
    Timestamp(second * 1_000_000)
}

fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

fn name(name: &str) -> PlaceKey {
    PlaceKey::of_name("token", name)
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("journal.gateway")
    }

    fn open(&self, now: i64) -> (Places, PlacesRead) {
        Places::open(Some(self.path()), LIMITS, second(now)).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

#[test]
fn entry_survives_the_process() {
    let folder = Folder::new();
    let (mut places, read) = folder.open(0);
    assert_eq!(read, PlacesRead::default());
    places.put(name("a"), session(1), second(1)).unwrap();
    places.put(name("b"), session(2), second(2)).unwrap();
    places.put(name("a"), session(3), second(3)).unwrap();
    // A killed process drops nothing.
    std::mem::forget(places);
    let (places, read) = folder.open(4);
    assert_eq!((read.damaged, read.entries), (0, 2));
    assert_eq!(places.get(name("a"), second(4)), Some(session(3)));
    assert_eq!(places.get(name("b"), second(4)), Some(session(2)));
    assert_eq!(places.get(name("c"), second(4)), None);
}

#[test]
fn key_counts_only_in_its_scope() {
    let handle = ResumptionHandle::new("very-secret");
    let ours = PlaceKey::of_handle("print-1", &handle);
    assert_eq!(ours, PlaceKey::of_handle("print-1", &handle));
    for other in [
        PlaceKey::of_handle("print-2", &handle),
        PlaceKey::of_handle("print-1", &ResumptionHandle::new("other")),
        PlaceKey::of_name("print-1", "very-secret"),
        // The same text in a row, cut elsewhere.
        PlaceKey::of_handle("print-1very", &ResumptionHandle::new("-secret")),
    ] {
        assert_ne!(other, ours);
    }
}

#[test]
fn file_has_no_key_and_one_owner() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    let handle = ResumptionHandle::new("very-secret");
    let key = PlaceKey::of_handle("print-1", &handle);
    places.put(key, session(7), second(1)).unwrap();
    places
        .put(name("caller-49"), session(8), second(1))
        .unwrap();
    let check = |folder: &Folder| {
        let text = folder.text();
        assert!(text.contains(&session(7).0.to_string()), "{text}");
        for secret in ["very-secret", "print-1", "caller-49", "token"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(is_private(&folder.path()));
    };
    check(&folder);
    places.rewrite_if_large(true).unwrap();
    check(&folder);
}

#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777 == 0o600
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

#[test]
fn old_entries_are_dropped() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    places.put(name("a"), session(1), second(1)).unwrap();
    places.put(name("b"), session(2), second(50)).unwrap();
    assert_eq!(places.get(name("a"), second(101)), Some(session(1)));
    assert_eq!(places.get(name("a"), second(102)), None);
    // Another put refreshes an entry.
    places.put(name("b"), session(2), second(120)).unwrap();
    assert_eq!(places.entries.len(), 1);
    let (places, read) = folder.open(219);
    assert_eq!(read.entries, 1);
    assert_eq!(places.get(name("b"), second(219)), Some(session(2)));
    assert_eq!(folder.open(221).1.entries, 0);
}

#[test]
fn oldest_entries_give_way_at_the_limit() {
    let folder = Folder::new();
    let limits = PlaceLimits {
        entries: 3,
        ..LIMITS
    };
    let (mut places, _) = Places::open(Some(folder.path()), limits, second(0)).unwrap();
    for number in 0..5_i64 {
        let key = name(&number.to_string());
        places
            .put(key, session(number.unsigned_abs().into()), second(number))
            .unwrap();
    }
    let held = |places: &Places| -> Vec<bool> {
        let keys = (0..5).map(|it| name(&it.to_string()));
        keys.map(|key| places.get(key, second(5)).is_some())
            .collect()
    };
    let expected = [false, false, true, true, true];
    assert_eq!(held(&places), expected);
    assert_eq!(places.ages.len(), 3);
    let (places, read) = Places::open(Some(folder.path()), limits, second(5)).unwrap();
    assert_eq!((held(&places), read.entries), (expected.to_vec(), 3));
}

/// A process may be killed anywhere in a line. Nothing but that line is lost.
#[test]
fn cut_line_is_told_and_costs_nothing_else() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    places.put(name("a"), session(1), second(1)).unwrap();
    let before = folder.text().len();
    places.put(name("b"), session(2), second(2)).unwrap();
    let whole = folder.text();
    for end in before..whole.len() {
        fs::write(folder.path(), &whole[..end]).unwrap();
        let (mut places, read) = folder.open(3);
        // Without its last byte, the line lacks only its end.
        let is_whole = end == before || end == whole.len() - 1;
        assert_eq!(read.damaged, usize::from(!is_whole), "{end}");
        assert_eq!(places.get(name("a"), second(3)), Some(session(1)));
        assert_eq!(
            places.get(name("b"), second(3)).is_some(),
            end == whole.len() - 1
        );
        places.put(name("c"), session(3), second(3)).unwrap();
        let (places, read) = folder.open(4);
        assert_eq!(read.damaged, 0, "{end}: {}", folder.text());
        assert_eq!(places.get(name("a"), second(4)), Some(session(1)));
        assert_eq!(places.get(name("c"), second(4)), Some(session(3)));
    }
}

#[test]
fn foreign_lines_are_skipped_and_counted() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    places.put(name("a"), session(1), second(1)).unwrap();
    let good = folder.text();
    let short = good.replacen("\"key\":\"", "\"key\":\"0", 1);
    let odd = good.replacen("\"key\":\"", "\"key\":\"ää", 1);
    let text = format!("{{}}\n\u{0}\n{short}{odd}not json\n\n{good}");
    fs::write(folder.path(), text).unwrap();
    let (places, read) = folder.open(2);
    assert_eq!((read.damaged, read.entries), (5, 1));
    assert_eq!(places.get(name("a"), second(2)), Some(session(1)));
    // The file was rewritten without them.
    assert_eq!(folder.text(), good);
}

#[test]
fn file_is_rewritten_when_it_has_grown() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    let mut most = 0;
    for number in 0..2_000_i64 {
        let key = name(&(number % 10).to_string());
        places
            .put(key, session(number.unsigned_abs().into()), second(1))
            .unwrap();
        let lines = places.file.as_ref().unwrap().lines();
        most = most.max(lines);
        assert_eq!(folder.text().lines().count(), lines);
    }
    assert!(
        (2 * LINES_MIN..=2 * LINES_MIN + 1).contains(&most),
        "{most}"
    );
    let (places, read) = folder.open(2);
    assert_eq!((read.damaged, read.entries), (0, 10));
    for number in 0..10_u16 {
        let expected = session(u128::from(1_990 + number));
        let key = name(&number.to_string());
        assert_eq!(places.get(key, second(2)), Some(expected));
    }
    let draft = folder.0.path().join("journal.gateway.part");
    assert!(!draft.exists());
}

#[test]
fn index_without_a_file_is_in_memory() {
    let (mut places, read) = Places::open(None, LIMITS, second(0)).unwrap();
    assert_eq!(read, PlacesRead::default());
    places.put(name("a"), session(1), second(1)).unwrap();
    places.put(name("b"), session(2), second(1)).unwrap();
    assert_eq!(places.get(name("a"), second(2)), Some(session(1)));
    let mut sessions: Vec<_> = places.sessions().collect();
    sessions.sort();
    assert_eq!(sessions, [session(1), session(2)]);
}

#[test]
fn draft_of_a_killed_process_is_replaced() {
    let folder = Folder::new();
    let (mut places, _) = folder.open(0);
    places.put(name("a"), session(1), second(1)).unwrap();
    fs::write(folder.0.path().join("journal.gateway.part"), "{\"half").unwrap();
    places.rewrite_if_large(true).unwrap();
    places.put(name("b"), session(2), second(2)).unwrap();
    let (_, read) = folder.open(3);
    assert_eq!((read.damaged, read.entries), (0, 2));
}
