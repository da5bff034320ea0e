//! A sealed session is stored and exported like any other, and reveals no content.

use uuid::Uuid;

use super::exports::exported;
use super::{Open, reopened};
use crate::seal::{self, SealedBody, SessionKey, is_sealed_object};
use crate::{Actor, Append, Draft, Hash, Journal, Line, block_on, verify};

/// The id of the sealed session.
pub const SEALED: Uuid = Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0007);
/// A text in its records and in its object.
pub const SECRET: &str = "four-one-one-one";
/// The person to whom its records refer.
pub const NAME: &str = "ada-lovelace";

fn sealed_line(key: &SessionKey, seq: u64, prev: Hash, objects: &[Hash]) -> Line {
    let body = format!(r#"{{"card":"{SECRET}","seq":{seq}}}"#);
    let draft = Draft {
        session: SEALED,
        seq,
        at_us: 1,
        kind: "paid",
        cause: None,
        actor: Actor::new("person").with_reference(key.reference(NAME).to_string()),
        body: &body,
        prev,
    };
    seal::line(key, &draft, objects).unwrap()
}

/// Appends a session of three records, the first of which names an object.
///
/// # Panics
/// If an append fails.
pub fn append_sealed(journal: &dyn Journal, key: &SessionKey) {
    let object = key.seal_object(SECRET.as_bytes()).unwrap();
    let first = sealed_line(key, 1, Hash::ZERO, &[object.hash]);
    let second = sealed_line(key, 2, first.leaf(), &[]);
    let mut append = Append::new(SEALED, 0, vec![first, second.clone()]);
    append.objects = vec![object];
    block_on(journal.append(append)).unwrap();
    let third = sealed_line(key, 3, second.leaf(), &[]);
    block_on(journal.append(Append::new(SEALED, 2, vec![third]))).unwrap();
}

/// Asserts that the session is there, and opens with its key alone. Returns its export.
///
/// # Panics
/// If a record is missing, or its content is shown.
pub fn assert_sealed(journal: &dyn Journal, key: &SessionKey) -> Vec<u8> {
    let lines = block_on(journal.read(SEALED, 1, 10)).unwrap();
    assert_eq!(lines.len(), 3);
    for (line, seq) in lines.iter().zip(1..) {
        let sealed = SealedBody::of(&line.record().unwrap()).unwrap().unwrap();
        let body = sealed.open(key).unwrap();
        assert_eq!(body, format!(r#"{{"card":"{SECRET}","seq":{seq}}}"#));
        for address in sealed.objects {
            let stored = block_on(journal.object(address)).unwrap().unwrap();
            assert!(is_sealed_object(&stored));
            assert_eq!(*key.open_object(&stored).unwrap(), SECRET.as_bytes());
        }
    }
    let file = exported(journal, Some(SEALED));
    assert!(!has_text(&file, SECRET) && !has_text(&file, NAME));
    let report = verify::export(&file[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.records, report.objects), (3, 1));
    file
}

/// True if the bytes contain a text.
pub fn has_text(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

/// Checks that a sealed session opens with its key, and that its export verifies without it.
pub fn sealed_session_verifies_without_key(open: Open<'_>) {
    let key = SessionKey::generate(SEALED).unwrap();
    let journal = open("journal");
    append_sealed(&*journal, &key);
    let journal = reopened(open, "journal", journal);
    assert_sealed(&*journal, &key);
}

/// Checks that exchanged bodies do not open, though their chain is valid.
pub fn swapped_bodies_do_not_open(open: Open<'_>) {
    let key = SessionKey::generate(SEALED).unwrap();
    let first = sealed_line(&key, 1, Hash::ZERO, &[]);
    let second = sealed_line(&key, 2, first.leaf(), &[]);
    // An attacker who can write the journal builds a valid chain with exchanged bodies.
    let forged = |of: &Line, seq, prev| {
        let record = of.record().unwrap();
        Draft {
            session: SEALED,
            seq,
            at_us: record.at_us,
            kind: record.kind,
            cause: record.cause,
            actor: record.actor,
            body: record.body.get(),
            prev,
        }
        .line()
    };
    let one = forged(&second, 1, Hash::ZERO);
    let two = forged(&first, 2, one.leaf());
    let journal = &*open("journal");
    block_on(journal.append(Append::new(SEALED, 0, vec![one, two]))).unwrap();
    let report = verify::export(&exported(journal, None)[..]).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let lines = block_on(journal.read(SEALED, 1, 10)).unwrap();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let refused = SealedBody::of(&line.record().unwrap())
            .unwrap()
            .unwrap()
            .open(&key);
        assert!(matches!(refused, Err(seal::Error::DoesNotOpen { .. })));
    }
}
