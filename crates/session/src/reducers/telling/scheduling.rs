//! The scheduling of responses to calls for which the model does not wait.

use crate::record::decision::Outcome;
use crate::state::session::Session;
use crate::values::id::Seq;
use crate::values::scheduling::FunctionResponseScheduling as Scheduling;

/// The scheduling of a response. Results follow their own wish or the policy, and failures are
/// silent.
///
/// The service treats an interim response without scheduling as `WHEN_IDLE`, so the model would
/// speak about a silent call. So interim responses to a silent call are silent, too.
pub(in crate::reducers) fn scheduling(
    session: &Session,
    call: Seq,
    outcome: Outcome,
) -> Option<Scheduling> {
    let call = session.calls.get(&call)?;
    let of_result = || call.own_scheduling.or(call.background);
    match outcome {
        Outcome::Interim => {
            let declared = session.terms.policies.of(&call.name).background;
            let scheduling = of_result().or(declared.map(|it| it.scheduling));
            scheduling.filter(|it| *it == Scheduling::Silent)
        }
        Outcome::Returned | Outcome::Supplied => of_result(),
        Outcome::Failed => call
            .own_scheduling
            .or(call.background.map(|_| Scheduling::Silent)),
        Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => call.background.map(|_| Scheduling::Silent),
    }
}
