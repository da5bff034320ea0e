//! The sample of a bundle, drawn again.

use std::collections::BTreeSet;
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

/// The calls of which the population of a bundle consists.
#[derive(Clone, Copy)]
pub(super) enum Population {
    /// All calls of the sessions in scope.
    EveryCall,
    /// Those that the writer chose by what a reader cannot see.
    Chosen,
}

/// Checks the population, its ranks, and that the calls with the smallest ones are shown.
///
/// In a bundle from which fields were taken out, a call that is shown in part counts as shown.
pub(super) fn check(
    text: &str,
    sample: &Sample,
    promised: Population,
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
    findings.extend(whole(&population, promised, records));
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

/// The findings about calls that are listed twice, that are no calls, or that are not listed.
fn whole(
    population: &[(Hash, SessionId, Seq)],
    promised: Population,
    records: &Records,
) -> Vec<String> {
    let listed: BTreeSet<_> = population.iter().map(|it| (it.1.0, it.2.0)).collect();
    let mut findings = Vec::new();
    if listed.len() != population.len() {
        findings.push("population.jsonl: a call is listed twice".to_owned());
    }
    let found = &records.received;
    let unknown = listed.difference(found).count();
    let missing = match promised {
        Population::EveryCall => found.difference(&listed).count(),
        Population::Chosen => 0,
    };
    if unknown + missing > 0 {
        findings.push(format!(
            "population.jsonl: {missing} calls of records.jsonl are missing, and {unknown} are no \
             calls of it"
        ));
    }
    findings
}
