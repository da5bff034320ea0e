//! The verification of a proof file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use recount_evidence::{Checkpoint, LogProof, Unproven};
use recount_journal::{Hash, Record};
use serde_json::json;

use super::since::Since;
use crate::failures::{Exit, Failure};
use crate::terminal::{Screen, Tone};
use recount_telling::{count, one_line, shown};

/// The first bytes of a proof.
const BEGINNING: &[u8] = b"c2sp.org/tlog-proof@";

/// The maximum length of a proof, in bytes. A record has 4 MiB at most, and Base64 adds a third.
const PROOF_MAX: u64 = 8 << 20;

/// True if there is a proof at the path.
pub(super) fn is_at(path: &Path) -> bool {
    let mut first = [0; BEGINNING.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == BEGINNING
}

/// Verifies the proof, with the public keys that are given.
pub(super) fn verify(
    path: &Path,
    since: &Since,
    as_json: bool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let text = recount_text::files::given_file::text(path, PROOF_MAX);
    let text = text.map_err(|error| Failure::io(format!("read {}", shown(path)), &error))?;
    let damaged = |what: String| {
        Failure::new("bad-proof", format!("{}: {what}", shown(path))).exit(Exit::Damaged)
    };
    let proof: LogProof = text.parse().map_err(|it| damaged(format!("{it}")))?;
    let known = since.known()?;
    let verified: Result<(Checkpoint, Vec<String>), Unproven> = match known.is_empty() {
        true => proof.verify_unsigned().map(|it| (it, Vec::new())),
        false => proof.verify(&known).and_then(|it| {
            let signed = proof.checkpoint.signed_by(&known)?;
            Ok((it, signed))
        }),
    };
    let (checkpoint, signed_by) = verified.map_err(|it| damaged(it.to_string()))?;
    let record = Record::parse(&proof.line).map_err(|it| damaged(it.to_string()))?;
    if as_json {
        screen.json(&json!({
            "kind": "proof",
            "verdict": if signed_by.is_empty() { "consistent" } else { "anchored" },
            "session": record.session,
            "seq": record.seq,
            "record_kind": record.kind,
            "leaf": Hash::of_line(&proof.line),
            "index": proof.index,
            "origin": checkpoint.origin,
            "records": checkpoint.size,
            "root": checkpoint.root,
            "signed_by": signed_by,
        }))?;
        return Ok(Exit::Ok);
    }
    let what = format!(
        "record {} of session {} ({}) is leaf {} of {} of {}",
        record.seq,
        record.session,
        record.kind,
        proof.index,
        count(checkpoint.size, "record"),
        checkpoint.origin
    );
    if signed_by.is_empty() {
        let line = format!("Consistent proof, not anchored: {what}");
        screen.toned(Tone::Good, &one_line(&line))?;
        let note = "note: the signatures of its checkpoint were not checked; give --public-key";
        screen.toned(Tone::Quiet, note)?;
    } else {
        let line = format!("Proven: {what}, signed by {}", signed_by.join(", "));
        screen.toned(Tone::Good, &one_line(&line))?;
    }
    screen.line(&String::from_utf8_lossy(&proof.line))?;
    Ok(Exit::Ok)
}
