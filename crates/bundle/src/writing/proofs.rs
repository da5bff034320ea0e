//! The proofs of a bundle: of consistency between its checkpoints, and of answers to approvals.

use std::collections::BTreeSet;

use recount::session::{Seq, SessionId};
use recount_evidence::{Leaves, LogProof, Recorded};
use recount_journal::Hash;
use serde::{Deserialize, Serialize};

use super::records::Placed;
use crate::contents::Contents;

/// The proof that the tree of one size is the beginning of that of another, as one line of
/// `proofs/consistency.jsonl`.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Consistency {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The hashes of RFC 9162, section 2.1.4.
    pub(crate) path: Vec<Hash>,
}

/// The answers to approvals whose content is disclosed.
pub(super) fn answers(contents: &Contents) -> BTreeSet<(SessionId, Seq)> {
    let disclosed = contents.sessions.iter().flat_map(|session| {
        let calls = session.calls.iter();
        calls.filter(|it| session.disclosed.contains(&it.seq))
    });
    let questions = disclosed.flat_map(|call| call.questions.iter().map(|it| (call.session, it)));
    let answered = questions.filter(|(_, it)| it.by.is_some());
    answered
        .filter_map(|(session, it)| Some((session, it.ended_seq?)))
        .collect()
}

/// The lines that lead from each checkpoint to the latest one.
pub(super) fn consistency(
    leaves: &Leaves,
    checkpoints: &[&Recorded],
    latest: &Recorded,
) -> Vec<Consistency> {
    let to = latest.checkpoint.size;
    let sizes: BTreeSet<u64> = checkpoints.iter().map(|it| it.checkpoint.size).collect();
    let earlier = sizes.into_iter().filter(|it| (1..to).contains(it));
    earlier
        .filter_map(|from| {
            let path = leaves.consistency(from, to)?;
            Some(Consistency { from, to, path })
        })
        .collect()
}

/// The proofs of the wanted records that the checkpoint covers, each with the name of its file.
pub(super) fn of_records<'p>(
    leaves: &'p Leaves,
    placed: &'p Placed,
    latest: &'p Recorded,
) -> impl Iterator<Item = (String, LogProof)> + 'p {
    let size = latest.checkpoint.size;
    placed
        .indexes
        .iter()
        .filter_map(move |((session, seq), (index, line))| {
            let proof = LogProof {
                line: line.bytes().to_vec(),
                index: *index,
                path: leaves.inclusion(*index, size)?,
                checkpoint: latest.note.clone(),
            };
            Some((format!("proofs/{session}-{seq}.tlog-proof"), proof))
        })
}
