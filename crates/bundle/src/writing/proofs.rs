//! The proofs of a bundle: that answers to approvals are records under its latest checkpoint.
//!
//! That each checkpoint is a beginning of the next one needs no proof here, because
//! `records.jsonl` gives the root at each of their sizes.

use std::collections::BTreeSet;

use recount::session::{Seq, SessionId};
use recount_evidence::{Leaves, LogProof, Recorded};

use super::records::Placed;
use crate::contents::Contents;

/// The answers to approvals whose content is disclosed.
pub(super) fn answers(contents: &Contents) -> BTreeSet<(SessionId, Seq)> {
    let disclosed = contents.sessions.iter().flat_map(|session| {
        let calls = session.calls.iter();
        calls.filter(|it| contents.is_disclosed(it))
    });
    let questions = disclosed.flat_map(|call| call.questions.iter().map(|it| (call.session, it)));
    let answered = questions.filter(|(_, it)| it.by.is_some());
    answered
        .filter_map(|(session, it)| Some((session, it.ended_seq?)))
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
