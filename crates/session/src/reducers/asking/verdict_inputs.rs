//! The inputs of a verdict, as they are recorded with it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::open_requests::{self, OpenRequests};
use crate::calls::call::Call;
use crate::json::Json;
use crate::reducers::earlier::limits::{self, Used};
use crate::reducers::telling::phases;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The inputs that a verdict depends on, besides the call and the policies.
#[derive(Serialize)]
pub(crate) struct Inputs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<BTreeMap<&'a str, &'a Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<Used>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_requests: Option<OpenRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Seq>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn of(session: &'a Session, call: &Call, of: Option<Seq>) -> Option<Inputs<'a>> {
        let policy = session.terms.policies.of(&call.name);
        let gate = policy.gate_terms.when.as_ref().filter(|_| policy.confirm);
        let conditions = [policy.when.as_ref(), gate];
        let read = conditions.into_iter().flatten();
        let read = read.map(|it| phases::values_read(session, it));
        let state = read.reduce(|one, two| one.into_iter().chain(two).collect());
        let inputs = Inputs {
            phase: phases::name(session),
            state,
            used: limits::used(session, &call.name),
            open_requests: open_requests::counted(session, policy, &call.name),
            of,
        };
        let Inputs {
            phase,
            state,
            used,
            open_requests,
            of,
        } = &inputs;
        let counted = used.is_some() || open_requests.is_some();
        let any = phase.is_some() || state.is_some() || counted || of.is_some();
        any.then_some(inputs)
    }

    /// The inputs of a refusal because the limit of open requests was reached after the verdict.
    pub(crate) fn of_open_requests(session: &'a Session, call: &Call) -> Inputs<'a> {
        let policy = session.terms.policies.of(&call.name);
        Inputs {
            phase: None,
            state: None,
            used: None,
            open_requests: open_requests::counted(session, policy, &call.name),
            of: None,
        }
    }
}
