//! Roots, proofs, notes and checkpoints agree with those of other programs.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::prelude::*;
use recount_evidence::{Checkpoint, Leaves, LogProof, Note, PrivateKey, PublicKey};
use recount_journal::Hash;
use recount_journal::tree::{verify_consistency, verify_inclusion};
use signed_note::{StandardSigner, StandardVerifier, Verifier, VerifierList};

fn lines(count: u64) -> Vec<Vec<u8>> {
    (0..count).map(|n| n.to_be_bytes().to_vec()).collect()
}

fn bytes_of(path: &[Hash]) -> Vec<u8> {
    path.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

fn tlog(hash: Hash) -> tlog_tiles::tlog::Hash {
    tlog_tiles::tlog::Hash(*hash.as_bytes())
}

fn tlog_path(path: &[Hash]) -> Vec<tlog_tiles::tlog::Hash> {
    path.iter().map(|hash| tlog(*hash)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn proofs_are_those_of_ct_merkle_and_tlog_tiles(
        size in 1_u64..1_200,
        index in any::<prop::sample::Index>(),
        older in any::<prop::sample::Index>(),
    ) {
        let lines = lines(size);
        let leaves: Leaves = lines.iter().map(|line| Hash::of_line(line)).collect();
        let mut theirs = MemoryBackedTree::<sha2::Sha256, Vec<u8>>::new();
        lines.iter().for_each(|line| theirs.push(line.clone()));
        let root = leaves.root_at(size).unwrap();
        prop_assert_eq!(theirs.root().as_bytes().to_vec(), root.as_bytes().to_vec());

        let index = index.index(lines.len());
        let path = leaves.inclusion(index as u64, size).unwrap();
        prop_assert_eq!(theirs.prove_inclusion(index).as_bytes().to_vec(), bytes_of(&path));
        let leaf = leaves.get(index as u64).unwrap();
        let (theirs_path, index) = (tlog_path(&path), index as u64);
        tlog_tiles::tlog::check_record(&theirs_path, size, tlog(root), index, tlog(leaf)).unwrap();

        let older = older.index(lines.len()) as u64 + 1;
        let path = leaves.consistency(older, size).unwrap();
        let added = usize::try_from(size - older).unwrap();
        prop_assert_eq!(theirs.prove_consistency(added).as_bytes().to_vec(), bytes_of(&path));
        let beginning = leaves.root_at(older).unwrap();
        tlog_tiles::tlog::check_tree(&tlog_path(&path), size, tlog(root), older, tlog(beginning))
            .unwrap();
    }

    #[test]
    fn both_checks_give_the_same_verdict_on_altered_proofs(
        size in 2_u64..300,
        index in any::<prop::sample::Index>(),
        injured in any::<prop::sample::Index>(),
        bit in 0_usize..256,
    ) {
        let leaves: Leaves = lines(size).iter().map(|line| Hash::of_line(line)).collect();
        let index = index.index(usize::try_from(size).unwrap()) as u64;
        let (root, leaf) = (leaves.root_at(size).unwrap(), leaves.get(index).unwrap());
        let mut path = leaves.inclusion(index, size).unwrap();
        let at = injured.index(path.len());
        let mut bytes = *path[at].as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        path[at] = Hash::from_bytes(bytes);
        prop_assert!(verify_inclusion(leaf, index, (size, root), &path).is_err());
        let theirs = tlog_tiles::tlog::check_record(
            &tlog_path(&path), size, tlog(root), index, tlog(leaf),
        );
        prop_assert!(theirs.is_err());
    }
}

#[test]
fn larger_trees_agree_across_kept_subtrees() {
    // Above 65,536 leaves, the roots of kept subtrees are of two sizes.
    let size = 70_001;
    let leaves: Leaves = lines(size).iter().map(|line| Hash::of_line(line)).collect();
    let root = leaves.root_at(size).unwrap();
    for index in [0, 255, 256, 65_535, 65_536, 70_000] {
        let path = leaves.inclusion(index, size).unwrap();
        let leaf = leaves.get(index).unwrap();
        tlog_tiles::tlog::check_record(&tlog_path(&path), size, tlog(root), index, tlog(leaf))
            .unwrap();
    }
    for older in [1, 256, 300, 65_536, 65_537, 70_000] {
        let path = leaves.consistency(older, size).unwrap();
        let beginning = leaves.root_at(older).unwrap();
        verify_consistency((older, beginning), (size, root), &path).unwrap();
        tlog_tiles::tlog::check_tree(&tlog_path(&path), size, tlog(root), older, tlog(beginning))
            .unwrap();
    }
}

#[test]
fn notes_and_keys_are_those_of_signed_note() {
    let key = PrivateKey::generate("example.com/journal").unwrap();
    let checkpoint = Checkpoint::new("example.com/journal", 3, Hash::ZERO).unwrap();
    let mut note = Note::new(checkpoint.to_string()).unwrap();
    note.sign(&key).unwrap();

    // Ours is read there.
    let verifier = StandardVerifier::new(&key.public().to_string()).unwrap();
    assert_eq!(verifier.key_id(), key.public().id());
    let theirs = signed_note::Note::from_bytes(note.to_string().as_bytes()).unwrap();
    let (verified, unknown) = theirs
        .verify(&VerifierList::new(vec![Box::new(verifier)]))
        .unwrap();
    assert_eq!((verified.len(), unknown.len()), (1, 0));
    let read = tlog_tiles::Checkpoint::from_bytes(theirs.text()).unwrap();
    assert_eq!((read.origin(), read.size()), ("example.com/journal", 3));
    assert_eq!(read.hash().0, *Hash::ZERO.as_bytes());

    // Theirs is read here, with the same key.
    let signer = StandardSigner::new(key.to_secret_text().trim_end()).unwrap();
    let mut other = signed_note::Note::new(checkpoint.to_string().as_bytes(), &[]).unwrap();
    other.add_sigs(&[&signer]).unwrap();
    let other: Note = String::from_utf8(other.to_bytes())
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(other, note);
    let again: PrivateKey = key.to_secret_text().parse().unwrap();
    assert_eq!(
        other.signed_by(&[again.public()]).unwrap(),
        ["example.com/journal"]
    );
}

#[test]
fn proof_in_a_file_is_checked_by_another_program() {
    let key = PrivateKey::generate("example.com/journal").unwrap();
    let all = lines(300);
    let leaves: Leaves = all.iter().map(|line| Hash::of_line(line)).collect();
    let root = leaves.root_at(300).unwrap();
    let checkpoint = Checkpoint::new("example.com/journal", 300, root).unwrap();
    let mut note = Note::new(checkpoint.to_string()).unwrap();
    note.sign(&key).unwrap();
    let proof = LogProof {
        line: all[17].clone(),
        index: 17,
        path: leaves.inclusion(17, 300).unwrap(),
        checkpoint: note,
    };
    let known: Vec<PublicKey> = vec![key.public().to_string().parse().unwrap()];
    let read: LogProof = proof.to_string().parse().unwrap();
    assert_eq!(read, proof);
    assert_eq!(read.verify(&known).unwrap(), checkpoint);

    // The lines of the file, read as the format says and not by this program.
    let text = proof.to_string();
    let (head, note) = text.split_once("\n\n").unwrap();
    let mut head = head.lines().skip(1);
    let base64 = |text: &str| {
        use base64::Engine;
        base64::prelude::BASE64_STANDARD.decode(text).unwrap()
    };
    let line = base64(head.next().unwrap().strip_prefix("extra ").unwrap());
    let index: u64 = head
        .next()
        .unwrap()
        .strip_prefix("index ")
        .unwrap()
        .parse()
        .unwrap();
    let path: Vec<_> = head
        .map(|hash| tlog_tiles::tlog::Hash(base64(hash).try_into().unwrap()))
        .collect();
    let theirs = signed_note::Note::from_bytes(note.as_bytes()).unwrap();
    let read = tlog_tiles::Checkpoint::from_bytes(theirs.text()).unwrap();
    let leaf = tlog_tiles::tlog::record_hash(&line);
    tlog_tiles::tlog::check_record(&path, read.size(), *read.hash(), index, leaf).unwrap();
}
