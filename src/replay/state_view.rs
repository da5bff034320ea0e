//! A folded session as JSON: the form in which its state is shown, compared and addressed by
//! pointers.
//!
//! Calls, requests and responses are keyed by their seq, as everywhere in a journal. Absent values
//! are left out, except for lists, which may be empty. Times are microseconds since 1970, as in the
//! records. Keys are only ever added.
//!
//! ```json
//! {"session":"0199…","head":9,"at_us":1763700000000000,"opened_at_us":1763700000000000,
//!  "agent":"support","rules":1,"closed":false,"runner":2,"draining":false,
//!  "gates":{"enforced":true},"tools":["refund"],"policies":"9f86…",
//!  "connection":3,"leaving_us":1763700000000000,"reconnecting":false,"turn_open":true,
//!  "resumption":{"fingerprint":"b644…","expires_at_us":1763700000000000,"covers":3},
//!  "phase":{"name":"settle","entered":4,"told":3},
//!  "state":{"identity_verified":true},
//!  "calls":{"5":{"tool":"refund","args":{"cents":4200},"wire_id":"c1","epoch":3,
//!    "phase":{"name":"awaiting_confirmation","waits_for":"person","request":7,"about":"gate"},
//!    "since_us":1763700000000000,"attempts":0}},
//!  "settled":{"8":{"outcome":"returned","attempts":1,"at":12}},
//!  "requests":{"7":{"call":5,"state":"open","refused":0}},
//!  "leaves":{"9":{"tool":"refund","request":7,"allow_for":{"count":5},"used":3,
//!    "in_force":true,"by":[{"name":"ada","authenticated_by":"os_user"}]}},
//!  "deliveries":{"12":{"call":8,"tool":"look","outcome":"returned",
//!    "route":{"via":"parked"},"sent":false}},
//!  "open_work":{"5":{"kind":"confirmation","since_us":1763700000000000,"request":7}},
//!  "owed":[{"effect":"ask_confirmation","call":5,"request":7}]}
//! ```
//!
//! `connection` is the seq of the live connection, and `runner` that of the process that can run
//! tools. `calls` are the open calls, and `settled` the ended ones. `supplied` and `reconciled`
//! hold results that were supplied or found later. `pauses` are those in force, such as
//! `{"scope":"session","by":{…},"at":21,"since_us":…}`. `owed` are the effects that the engine
//! owes. `due` is the kind of the next decision. With `due`, the batch is incomplete, and no effect
//! of it is performed before its end. Without `due`, the batch may still continue with an
//! observation, which a state cannot predict. Arguments that are sealed in the journal are sealed
//! here.

use std::collections::BTreeMap;

use serde::Serialize;

use super::call_view::CallView;
use super::leave_view::LeaveView;
use crate::session::{
    Actor, Approval, CancelReason, Delivery, Effect, FoundAs, FunctionResponseScheduling, Gates,
    Json, Needs, ObjectHash, OpenWork, Outcome, Pauses, Request, RequestState, Route, Seq, Session,
    SessionId, Settled, StandingLeave, Timestamp, Wording, decide, open_work, owed,
};

/// The whole state of a session.
///
/// ```
/// use recount::replay::state_json;
/// use recount::session::{Session, SessionId};
///
/// let nothing = state_json(&Session::new(SessionId(uuid::Uuid::nil())));
/// assert_eq!(nothing.text_at("/head"), Some("0"));
/// assert_eq!(nothing.text_at("/calls"), Some("{}"));
/// ```
pub fn state_json(session: &Session) -> Json {
    Json::of_serialized(&StateView::of(session, |_| true))
}

/// The state of a session, without the calls, requests and effects of other calls than these.
pub fn state_json_about(session: &Session, calls: &[Seq]) -> Json {
    Json::of_serialized(&StateView::of(session, |call| calls.contains(&call)))
}

/// An open call, as in `calls` of the [state](state_json). `None` if the session has no such open
/// call.
///
/// ```
/// use recount::replay::call_json;
/// use recount::session::{Seq, Session, SessionId};
///
/// let nothing = Session::new(SessionId(uuid::Uuid::nil()));
/// assert_eq!(call_json(&nothing, Seq(5)), None);
/// ```
pub fn call_json(session: &Session, call: Seq) -> Option<Json> {
    let open = session.calls.get(&call)?;
    Some(Json::of_serialized(&CallView::of(open)))
}

/// The close that a tool requested.
#[derive(Serialize)]
struct ClosingView<'s> {
    of: Seq,
    since_us: Timestamp,
    reason: &'s str,
}

#[derive(Serialize)]
struct StateView<'s> {
    session: SessionId,
    head: Seq,
    at_us: Timestamp,
    opened_at_us: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'s str>,
    rules: u32,
    closed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    closing: Option<ClosingView<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runner: Option<Seq>,
    draining: bool,
    /// The pauses in force. Left out without one.
    #[serde(skip_serializing_if = "Pauses::is_empty")]
    pauses: &'s Pauses,
    gates: &'s Gates,
    tools: Vec<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<ObjectHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaving_us: Option<Timestamp>,
    reconnecting: bool,
    turn_open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumption: Option<ResumptionView<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<StayView<'s>>,
    state: &'s BTreeMap<String, Json>,
    calls: BTreeMap<Seq, CallView<'s>>,
    settled: BTreeMap<Seq, SettledView>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    supplied: BTreeMap<Seq, SuppliedView<'s>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    reconciled: BTreeMap<Seq, ReconciledView<'s>>,
    requests: BTreeMap<Seq, RequestView<'s>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    leaves: BTreeMap<Seq, LeaveView<'s>>,
    deliveries: BTreeMap<Seq, DeliveryView<'s>>,
    open_work: BTreeMap<Seq, OpenView>,
    owed: Vec<Effect>,
}

impl<'s> StateView<'s> {
    /// The state with the calls for which `wanted` is true, and what belongs to them.
    fn of(session: &'s Session, wanted: impl Fn(Seq) -> bool) -> StateView<'s> {
        let due = || decide(session).map(|it| it.kind());
        let calls = session.calls.iter().filter(|(seq, _)| wanted(**seq));
        let settled = session.settled.iter().filter(|(seq, _)| wanted(**seq));
        let supplied = session.supplied.iter().filter(|(seq, _)| wanted(**seq));
        let reconciled = session.reconciled.iter().filter(|(seq, _)| wanted(**seq));
        let requests = session.requests.iter().filter(|(_, it)| wanted(it.call));
        let deliveries = session.deliveries.iter().filter(|(_, it)| wanted(it.call));
        let asked = |it: &StandingLeave| session.requests.get(&it.request);
        let leaves = session.leaves.iter();
        let leaves = leaves.filter(|(_, it)| asked(it).is_none_or(|it| wanted(it.call)));
        // An item is keyed by its call, by a response that is not delivered, or by the session's
        // first record.
        let item_of = |seq: &Seq| session.deliveries.get(seq).map_or(*seq, |it| it.call);
        let open = open_work(session).into_iter();
        let of_session = |seq: Seq| seq == Seq(1) || session.pauses.iter().any(|it| it.at == seq);
        let open = open.filter(|(seq, _)| of_session(*seq) || wanted(item_of(seq)));
        let owed = owed(session).into_iter();
        StateView {
            session: session.id,
            head: session.head,
            at_us: session.at,
            opened_at_us: session.opened_at,
            agent: session.agent.as_deref(),
            rules: session.rules,
            closed: session.closed,
            closing: session.closing.as_ref().map(|it| ClosingView {
                of: it.of,
                since_us: it.since,
                reason: &it.reason,
            }),
            // Before the first record, no decision can be due.
            due: (session.head > Seq(0)).then(due).flatten(),
            runner: session.runner.map(|it| it.seq),
            draining: session.draining,
            pauses: &session.pauses,
            gates: &session.terms.gates,
            tools: session
                .terms
                .catalog
                .tools
                .keys()
                .map(String::as_str)
                .collect(),
            policies: session.terms.policies_hash,
            connection: session.connection,
            leaving_us: session.leaving,
            reconnecting: session.reconnecting,
            turn_open: session.turn_open,
            resumption: session.resumption.as_ref().map(|it| ResumptionView {
                fingerprint: &it.fingerprint,
                expires_at_us: it.expires_at,
                covers: it.covers,
            }),
            phase: session.phase.as_ref().map(|it| StayView {
                name: &it.phase,
                entered: it.entered,
                told: it.told,
            }),
            state: &session.state,
            calls: calls.map(|(seq, it)| (*seq, CallView::of(it))).collect(),
            settled: settled.map(|(seq, it)| (*seq, it.into())).collect(),
            supplied: supplied
                .map(|(seq, it)| {
                    let (at, by, response_sha256) = (it.at, &it.by, it.response);
                    (
                        *seq,
                        SuppliedView {
                            at,
                            by,
                            response_sha256,
                        },
                    )
                })
                .collect(),
            reconciled: reconciled
                .map(|(seq, it)| {
                    let (at, by, found) = (it.at, &it.by, it.found);
                    (*seq, ReconciledView { at, by, found })
                })
                .collect(),
            requests: requests.map(|(seq, it)| (*seq, it.into())).collect(),
            leaves: leaves
                .map(|(seq, it)| (*seq, LeaveView::of(it, session.at)))
                .collect(),
            deliveries: deliveries.map(|(seq, it)| (*seq, it.into())).collect(),
            open_work: open.map(|(seq, it)| (seq, it.into())).collect(),
            owed: owed.filter(|it| it.call().is_none_or(&wanted)).collect(),
        }
    }
}

#[derive(Serialize)]
struct ResumptionView<'s> {
    fingerprint: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_us: Option<Timestamp>,
    covers: Seq,
}

#[derive(Serialize)]
struct StayView<'s> {
    name: &'s str,
    entered: Seq,
    /// The connection on which the model received the phase's instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<Seq>,
}

#[derive(Serialize)]
struct SettledView {
    outcome: Outcome,
    attempts: u32,
    /// The record that ended it.
    at: Seq,
}

impl From<&Settled> for SettledView {
    fn from(it: &Settled) -> SettledView {
        SettledView {
            outcome: it.outcome,
            attempts: it.attempts,
            at: it.at,
        }
    }
}

#[derive(Serialize)]
struct SuppliedView<'s> {
    at: Seq,
    by: &'s Actor,
    response_sha256: ObjectHash,
}

#[derive(Serialize)]
struct ReconciledView<'s> {
    at: Seq,
    by: &'s Actor,
    found: FoundAs,
}

#[derive(Serialize)]
struct RequestView<'s> {
    call: Seq,
    /// `open`, `answered`, `expired`, `withdrawn` or `superseded`.
    state: &'static str,
    /// The record that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<FoundAs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'s Actor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<CancelReason>,
    /// The number of refused answers.
    refused: u32,
    /// The terms of the answers, while the request is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'s Needs>,
    /// The approvals so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<ApprovalView<'s>>,
    /// The number of approvals that are still needed, if the request has terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<u32>,
}

#[derive(Clone, Serialize)]
struct ApprovalView<'s> {
    at: Seq,
    by: &'s Actor,
}

impl<'s> From<&'s Request> for RequestView<'s> {
    fn from(it: &'s Request) -> RequestView<'s> {
        let open = RequestView {
            call: it.call,
            state: "open",
            at: None,
            confirmed: None,
            found: None,
            by: None,
            reason: None,
            refused: it.refused,
            needs: it.asking.as_ref().map(|it| &it.needs),
            approvals: it
                .asking
                .iter()
                .flat_map(|it| approvals(&it.given))
                .collect(),
            missing: it.asking.as_ref().map(|it| it.missing()),
        };
        match &it.state {
            RequestState::Open => open,
            RequestState::Answered(answer) => RequestView {
                state: "answered",
                at: Some(answer.at),
                confirmed: answer.found.is_none().then_some(answer.confirmed),
                found: answer.found,
                by: Some(&answer.by),
                ..open
            },
            RequestState::Expired { at, goes_on } => RequestView {
                state: match goes_on {
                    true => "allowed_unanswered",
                    false => "expired",
                },
                at: Some(*at),
                ..open
            },
            RequestState::Withdrawn { at, reason } => RequestView {
                state: "withdrawn",
                at: Some(*at),
                reason: Some(*reason),
                ..open
            },
            RequestState::Superseded { by } => RequestView {
                state: "superseded",
                at: Some(*by),
                ..open
            },
        }
    }
}

fn approvals(given: &[Approval]) -> impl Iterator<Item = ApprovalView<'_>> {
    given.iter().map(|it| ApprovalView {
        at: it.at,
        by: &it.by,
    })
}

#[derive(Serialize)]
struct DeliveryView<'s> {
    call: Seq,
    tool: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire_id: Option<&'s str>,
    outcome: Outcome,
    route: Route,
    #[serde(skip_serializing_if = "Option::is_none")]
    will_continue: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling: Option<FunctionResponseScheduling>,
    /// True if a hook must answer before it is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    awaits_hook: bool,
    /// The `hook_answered` whose response is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    hooked: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connects_us: Option<Timestamp>,
    sent: bool,
}

impl<'s> From<&'s Delivery> for DeliveryView<'s> {
    fn from(it: &'s Delivery) -> DeliveryView<'s> {
        let (awaits_hook, hooked) = match it.wording {
            Wording::AsIssued => (false, None),
            Wording::AwaitingHook => (true, None),
            Wording::Hooked(at) => (false, Some(at)),
        };
        DeliveryView {
            call: it.call,
            tool: &it.name,
            wire_id: it.wire_id.as_deref(),
            outcome: it.outcome,
            route: it.route,
            will_continue: it.will_continue,
            scheduling: it.scheduling,
            awaits_hook,
            hooked,
            connects_us: it.connects,
            sent: it.sent,
        }
    }
}

#[derive(Serialize)]
struct OpenView {
    kind: &'static str,
    since_us: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_us: Option<Timestamp>,
}

impl From<OpenWork> for OpenView {
    fn from(it: OpenWork) -> OpenView {
        OpenView {
            kind: it.kind.as_str(),
            since_us: it.since,
            request: it.request,
            deadline_us: it.deadline,
        }
    }
}
