//! A sample of the calls, which an auditor can draw again.

use recount::audit::AuditedCall;
use recount::session::{CallId, Seq, SessionId};
use recount_journal::Hash;
use serde::{Deserialize, Serialize};

/// A sample: the calls with the smallest ranks. Only they are disclosed.
///
/// The rank of a call is the SHA-256 of the seed, the session's id and the call's id as text, one
/// after the other. Who has the seed and the list of all calls can draw the sample again.
///
/// ```
/// use recount::session::{CallId, SessionId};
/// use recount_bundle::Sample;
///
/// let sample = Sample { count: 1, seed: "2026-Q4".to_owned() };
/// let nil = uuid::Uuid::nil();
/// let (session, call) = (SessionId(nil), CallId(nil));
/// let text = format!("2026-Q4{nil}{nil}");
/// assert_eq!(sample.rank(session, call), recount_journal::Hash::of_object(text.as_bytes()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sample {
    /// The number of calls.
    pub count: u64,
    /// The seed, which the auditor should choose.
    pub seed: String,
}

/// A call of the population from which a sample is drawn.
///
/// ```json
/// {"session":"0199…","call":5,"call_id":"5b1c…","tool":"refund","verdict":"approved",
///  "rank":"44136f…"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The session.
    pub session: SessionId,
    /// The seq of the record that received the call.
    pub call: Seq,
    /// The call's id.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The verdict about the call, as in an audit.
    pub verdict: &'static str,
    /// The rank.
    pub rank: Hash,
}

impl Sample {
    /// Returns the rank of a call.
    #[must_use]
    pub fn rank(&self, session: SessionId, call: CallId) -> Hash {
        Hash::of_object(format!("{}{session}{call}", self.seed).as_bytes())
    }

    /// Returns a call as a member of the population.
    pub(crate) fn member(&self, call: &AuditedCall) -> Member {
        Member {
            session: call.session,
            call: call.seq,
            call_id: call.id,
            tool: call.tool.clone(),
            verdict: call.verdict.as_str(),
            rank: self.rank(call.session, call.id),
        }
    }

    /// Returns the members of the sample.
    pub(crate) fn draw<'p>(&self, population: &'p [Member]) -> Vec<&'p Member> {
        let mut ranked: Vec<&Member> = population.iter().collect();
        ranked.sort_by_key(|it| it.rank);
        ranked.truncate(usize::try_from(self.count).unwrap_or(usize::MAX));
        ranked
    }
}
