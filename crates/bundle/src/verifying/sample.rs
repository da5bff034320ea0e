//! The sample of a bundle, drawn again.

use std::io;

use recount::session::{CallId, Seq, SessionId};
use recount_journal::Hash;
use serde::Deserialize;

use super::records::Records;
use crate::sample::Sample;

/// A line of `population.jsonl`, as far as it is checked.
#[derive(Deserialize)]
struct Line {
    session: SessionId,
    call: Seq,
    call_id: CallId,
    rank: Hash,
}

/// Checks the ranks, and that the calls with the smallest ones are shown.
///
/// In a bundle from which fields were taken out, a call that is shown in part counts as shown.
pub(super) fn check(
    text: &str,
    sample: &Sample,
    is_redacted: bool,
    records: &Records,
) -> io::Result<Vec<String>> {
    let (mut findings, mut population) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line: Line = serde_json::from_str(line)?;
        let (session, call) = (line.session, line.call);
        if line.call_id != session.call_id(call) || sample.rank(session, line.call_id) != line.rank
        {
            findings.push(format!(
                "population.jsonl: call {call} of session {session} has another id or rank"
            ));
        }
        population.push((line.rank, session, call));
    }
    population.sort_unstable();
    let drawn = usize::try_from(sample.count).unwrap_or(usize::MAX);
    for (_, session, call) in population.iter().take(drawn) {
        let place = (session.0, call.0);
        let in_part = is_redacted && records.redacted_calls.contains(&place);
        if !in_part && !records.calls.contains(&place) {
            findings.push(format!(
                "call {call} of session {session} belongs to the sample and is not shown"
            ));
        }
    }
    Ok(findings)
}
