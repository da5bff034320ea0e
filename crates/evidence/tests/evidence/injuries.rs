//! Altered notes, keys, checkpoints and proofs are refused, and secrets do not show.

use recount_evidence::{Checkpoint, Leaves, LogProof, Note, PrivateKey, PublicKey, Unsigned};
use recount_journal::Hash;

use crate::journals::key;

fn signed(key: &PrivateKey, checkpoint: &Checkpoint) -> Note {
    let mut note = Note::new(checkpoint.to_string()).unwrap();
    note.sign(key).unwrap();
    note
}

#[test]
fn signature_over_another_text_is_a_forgery() {
    let key = key();
    let checkpoint = Checkpoint::new("example.com/journal", 3, Hash::ZERO).unwrap();
    let forged = signed(&key, &checkpoint)
        .to_string()
        .replace("\n3\n", "\n4\n");
    let forged: Note = forged.parse().unwrap();
    assert_eq!(
        forged.signed_by(&[key.public()]),
        Err(Unsigned::Forged {
            name: "example.com/journal".to_owned()
        })
    );
}

#[test]
fn key_of_the_same_name_does_not_count() {
    let checkpoint = Checkpoint::new("example.com/journal", 3, Hash::ZERO).unwrap();
    let note = signed(&key(), &checkpoint);
    let verdict = note.signed_by(&[key().public()]);
    assert!(
        matches!(verdict, Err(Unsigned::Unknown { .. })),
        "{verdict:?}"
    );
}

#[test]
fn rotated_keys_sign_side_by_side() {
    let (old, new) = (
        key(),
        PrivateKey::generate("example.com/journal-2").unwrap(),
    );
    let checkpoint = Checkpoint::new("example.com/journal", 3, Hash::ZERO).unwrap();
    let mut note = signed(&old, &checkpoint);
    note.sign(&new).unwrap();
    let note: Note = note.to_string().parse().unwrap();
    assert_eq!(
        note.signed_by(&[old.public()]).unwrap(),
        ["example.com/journal"]
    );
    assert_eq!(
        note.signed_by(&[new.public()]).unwrap(),
        ["example.com/journal-2"]
    );
    let both = note.signed_by(&[old.public(), new.public()]).unwrap();
    assert_eq!(both.len(), 2);
}

#[test]
fn malformed_notes_and_checkpoints_are_refused() {
    let note = signed(&key(), &Checkpoint::new("a", 3, Hash::ZERO).unwrap()).to_string();
    let without_end = note.trim_end();
    let faults = [
        note.replace("\n\n", "\n"),
        without_end.to_owned(),
        note.replace('\u{2014}', "-"),
        note.replace("\n3\n", "\n\t3\n"),
        note.replace("example.com/journal ", "example.com+journal "),
    ];
    for fault in faults {
        assert!(fault.parse::<Note>().is_err(), "{fault}");
    }
    let root = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let sound = format!("a\n3\n{root}\n");
    assert!(sound.parse::<Checkpoint>().is_ok());
    let faults = [
        format!("a\n03\n{root}\n"),
        format!("a\n+3\n{root}\n"),
        format!("a\n-1\n{root}\n"),
        format!("\n3\n{root}\n"),
        format!("a\n3\n{root}"),
        format!("a\n3\n{root}\n\nb\n"),
        format!("a\n3\n{}\n", &root[1..]),
        "a\n3\n".to_owned(),
    ];
    for fault in faults {
        assert!(fault.parse::<Checkpoint>().is_err(), "{fault}");
    }
}

#[test]
fn malformed_keys_are_refused() {
    let key = key();
    let public = key.public().to_string();
    assert_eq!(public.parse::<PublicKey>().unwrap(), key.public());
    let renamed = public.replace("example.com", "example.org");
    assert!(
        renamed.parse::<PublicKey>().is_err(),
        "the id names the key"
    );
    assert!(public[1..].parse::<PrivateKey>().is_err());
    assert!("a+b".parse::<PublicKey>().is_err());
    assert!(PrivateKey::generate("a b").is_err());
}

#[test]
fn private_key_does_not_show() {
    let key = key();
    let secret = key.to_secret_text();
    // Base64 may have plus signs, too.
    let seed = secret.trim_end().splitn(5, '+').nth(4).unwrap();
    assert!(!format!("{key:?}").contains(seed));
    let broken = secret.replace("PRIVATE+KEY+example.com", "PRIVATE+KEY+example.org");
    let error = broken.parse::<PrivateKey>().unwrap_err();
    assert!(!format!("{error} {error:?}").contains(&seed[4..20]));
}

#[test]
fn proof_of_another_record_or_tree_does_not_hold() {
    let key = key();
    let known = [key.public()];
    let leaves: Leaves = (0..9_u8).map(|n| Hash::of_line(&[n])).collect();
    let tree = |size: u64| {
        Checkpoint::new("example.com/journal", size, leaves.root_at(size).unwrap()).unwrap()
    };
    let proof = LogProof {
        line: vec![4],
        index: 4,
        path: leaves.inclusion(4, 9).unwrap(),
        checkpoint: signed(&key, &tree(9)),
    };
    assert!(proof.verify(&known).is_ok());
    let altered = [
        LogProof {
            line: vec![5],
            ..proof.clone()
        },
        LogProof {
            index: 5,
            ..proof.clone()
        },
        LogProof {
            path: leaves.inclusion(5, 9).unwrap(),
            ..proof.clone()
        },
        LogProof {
            checkpoint: signed(&key, &tree(8)),
            ..proof.clone()
        },
        LogProof {
            checkpoint: signed(&self::key(), &tree(9)),
            ..proof.clone()
        },
    ];
    for altered in altered {
        assert!(altered.verify(&known).is_err(), "{altered}");
    }
}
