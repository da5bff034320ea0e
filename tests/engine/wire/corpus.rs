//! The input of the fuzzer, tested without a fuzzer.

#![cfg(feature = "testing")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn corpus() -> Vec<Vec<u8>> {
    let files = files("tests/fuzz/corpus/frames");
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_corpus_file_is_read_and_translated() {
    let corpus = corpus();
    assert!(corpus.len() > 150, "{}", corpus.len());
    for bytes in corpus {
        recount::testing::any_frame(&bytes);
    }
}

/// The reader survives a frame that is cut anywhere or has damaged bytes.
#[test]
fn a_frame_that_was_cut_or_damaged_is_read_and_translated() {
    for bytes in corpus().iter().filter(|it| it.len() < 1000) {
        for cut in (0..bytes.len()).step_by(7) {
            let (head, tail) = bytes.split_at(cut);
            recount::testing::any_frame(head);
            for damage in [b"\xFF".as_slice(), b"\"", b"{", b"null", b"\\ud800", b""] {
                let rest = tail.get(1..).unwrap_or_default();
                recount::testing::any_frame(&[head, damage, rest].concat());
            }
        }
    }
}

#[test]
fn the_corpus_begins_with_what_was_recorded() {
    let corpus = corpus();
    let known: Vec<Value> = corpus
        .iter()
        .filter_map(|bytes| serde_json::from_slice(bytes).ok())
        .collect();
    for path in files("fixtures/gemini-live") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("client_") && !name.starts_with("server_") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            // A frame that is no message is recorded as a text.
            let message = line.get("message").unwrap();
            let is_there = message.is_string() || known.contains(message);
            let case = line.get("case").unwrap();
            assert!(is_there, "{name} {case} is not in the corpus");
        }
    }
}
