//! The file `bundle.json`: what a bundle is about.

use recount_journal::Hash;
use serde::{Deserialize, Serialize};

use crate::contents::Contents;
use crate::sample::Sample;
use crate::scope::ScopeJson;

/// The version of the format of a bundle.
pub(crate) const FORMAT: u32 = 1;

/// The content of `bundle.json`.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    format: u32,
    scope: ScopeJson,
    disclose: &'static str,
    sample: Option<Sample>,
    redacted: Vec<String>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// The checkpoints on record, with those that sign another tree.
    checkpoints: u64,
    pub(crate) checkpoints_of_another_tree: u64,
    unread_sessions: u64,
    written_by: String,
    program_sha256: Option<Hash>,
    written_at: String,
}

/// The numbers that a reader can compare with the records.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Counts {
    pub(crate) size: u64,
    pub(crate) root: Hash,
    pub(crate) records: u64,
    pub(crate) disclosed: u64,
    pub(crate) sessions_in_scope: u64,
    pub(crate) sessions: u64,
    /// The number of records that the latest checkpoint signs.
    pub(crate) signed: Option<u64>,
}

impl Description {
    pub(crate) fn of(contents: &Contents, foreign: u64, signed: Option<u64>) -> Description {
        let (request, extent) = (&contents.request, &contents.extent);
        let unread = contents.sessions.iter().filter(|it| it.unread.is_some());
        Description {
            format: FORMAT,
            scope: request.scope.in_json(),
            disclose: request.disclose.as_str(),
            sample: request.sample.clone(),
            redacted: request.redacted.clone(),
            counts: Counts {
                size: extent.size,
                root: extent.root,
                records: extent.records,
                disclosed: extent.disclosed,
                sessions_in_scope: extent.sessions_in_scope,
                sessions: extent.sessions,
                signed,
            },
            checkpoints: contents.own.checkpoints.len() as u64,
            checkpoints_of_another_tree: foreign,
            unread_sessions: unread.count() as u64,
            written_by: request.written_by.program.clone(),
            program_sha256: request.written_by.sha256,
            written_at: recount_telling::age::stamp(request.written_at),
        }
    }

    pub(crate) fn to_json(&self) -> std::io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}
