//! The state of a session at one moment: the fold of its events.
//!
//! It holds no transcript and no body of anything settled. A short entry remains of each ended call
//! and each request, so that a late answer can be told what was decided. Everything else is
//! proportional to what is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::closing::Closing;
use super::library::Library;
use super::pauses::Pauses;
use super::recent_approvals::RecentApprovals;
use super::resumption::Resumption;
use super::rows::{requests, settled, shared, wire_ids};
use super::standing::StandingLeave;
use super::terms::Terms;
use crate::calls::claim::Claim;
use crate::calls::deliveries::Deliveries;
use crate::calls::keys::KeyedCalls;
use crate::calls::open_calls::OpenCalls;
use crate::calls::repeatable::Repeatable;
use crate::calls::requests::Request;
use crate::calls::reusable::Cache;
use crate::calls::settled::{Reconciled, Settled, Supplied, ToReconcile};
use crate::calls::uses::Uses;
use crate::json::Json;
use crate::record::decision::Route;
use crate::record::observation::Gates;
use crate::values::id::{Seq, SessionId};
use crate::values::object::ObjectHash;
use crate::values::scope::Scope;
use crate::values::time::Timestamp;

/// A folded session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The id of the session.
    pub id: SessionId,
    /// The seq of the last folded record. 0 before the first.
    pub head: Seq,
    /// The time of the last folded record.
    pub at: Timestamp,
    /// The time at which the session was opened.
    pub opened_at: Timestamp,
    /// The name of the agent that serves the session.
    pub agent: Option<String>,
    /// The party for whom the agent acts, as the session was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The rules number in force.
    pub rules: u32,
    /// True if the session is closed.
    pub closed: bool,
    /// Set once a tool has asked for the end of the session.
    pub closing: Option<Closing>,
    /// The tools and policies in force, as the last runner declared them.
    #[serde(skip)]
    pub terms: Terms,
    /// The attached runner.
    pub runner: Option<Runner>,
    /// The epoch of the live connection.
    pub connection: Option<Seq>,
    /// True if the model of the last connection takes only one response for each call.
    pub single_response: bool,
    /// The latest time at which the live connection is left, if a switch is planned.
    pub leaving: Option<Timestamp>,
    /// True if there is no connection and the runner is trying to open one.
    pub reconnecting: bool,
    /// True if the model's turn is in progress, or user input waits for it.
    pub turn_open: bool,
    /// The handle that resumes the conversation on another connection.
    pub resumption: Option<Resumption>,
    /// The last record that changed what the model knows of the conversation.
    pub(crate) said: Seq,
    /// True if the runner is about to end and starts nothing more.
    pub draining: bool,
    /// The pauses in force, which hold calls before their start.
    #[serde(default, skip_serializing_if = "Pauses::is_empty")]
    pub pauses: Pauses,
    /// The calls that have not ended, by the seq of their `function_call_received` record.
    pub calls: OpenCalls,
    /// The ends of the other calls.
    #[serde(with = "settled")]
    pub settled: BTreeMap<Seq, Settled>,
    /// The results of paused calls that came from outside.
    pub supplied: BTreeMap<Seq, Supplied>,
    /// The outcomes that were found after their calls had ended as unknown.
    pub reconciled: BTreeMap<Seq, Reconciled>,
    /// The last claims of calls that ended with an unknown outcome, which the client may still
    /// report.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) lapsed: BTreeMap<Seq, Claim>,
    /// The reconciled outcome that the next decision reports to the model.
    pub(crate) to_reconcile: Option<ToReconcile>,
    /// All confirmation requests, with their states.
    #[serde(with = "requests")]
    pub requests: BTreeMap<Seq, Request>,
    /// All standing leaves, also ended ones, by the seq of the answer that gave them.
    pub leaves: BTreeMap<Seq, StandingLeave>,
    /// The responses that are on their way to the model, by the seq of their `response_issued`
    /// record.
    pub deliveries: Deliveries,
    /// The values that tools, hooks and the program wrote, by key; see [`Scope`](crate::Scope).
    #[serde(with = "shared")]
    pub state: Arc<BTreeMap<String, Json>>,
    /// The phase of the conversation. `None` if no phases are declared.
    pub phase: Option<Stay>,
    /// The number of phase transitions that the last change may still cause.
    pub(crate) phase_moves: usize,
    /// The reusable results.
    pub(crate) cache: Cache,
    /// The calls that have an idempotency key.
    pub(crate) keys: KeyedCalls,
    /// The number of calls of each tool.
    pub(crate) uses: BTreeMap<String, Uses>,
    /// The approvals of the last minute, if their number is limited.
    #[serde(default, skip_serializing_if = "RecentApprovals::is_empty")]
    pub(crate) recent_approvals: RecentApprovals,
    /// The calls for which a decision may be due. The others wait for an observation.
    pub(crate) restless: BTreeSet<Seq>,
    /// The running calls, if their number is limited. A waiting call then does not need to count
    /// them.
    pub(crate) slots_taken: BTreeSet<Seq>,
    /// The calls by connection and wire id, since the last connection was opened.
    #[serde(with = "wire_ids")]
    pub(crate) wire_ids: BTreeMap<(Seq, String), Seq>,
    /// The calls that a resumed connection may deliver again.
    pub(crate) repeatable: Repeatable,
    /// The first user message to which the model has not reacted.
    pub(crate) unanswered: Option<Seq>,
    #[serde(skip)]
    pub(crate) library: Library,
}

/// The time that the conversation spends in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// The name of the phase.
    pub phase: String,
    /// The `phase_entered` record.
    pub entered: Seq,
    /// The connection on which the model received the phase's instruction.
    pub told: Option<Seq>,
}

/// A process that can run tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// The `runner_attached` record.
    pub seq: Seq,
}

impl Session {
    /// Creates a session without records.
    pub fn new(id: SessionId) -> Session {
        Session::with_library(id, Library::default())
    }

    /// Creates a session without records, with the objects that its events may name.
    pub fn with_library(id: SessionId, library: Library) -> Session {
        Session {
            id,
            head: Seq(0),
            at: Timestamp(0),
            opened_at: Timestamp(0),
            agent: None,
            on_behalf_of: None,
            rules: 0,
            closed: false,
            closing: None,
            terms: Terms::default(),
            runner: None,
            connection: None,
            single_response: false,
            leaving: None,
            reconnecting: false,
            turn_open: false,
            resumption: None,
            said: Seq(0),
            draining: false,
            pauses: Pauses::default(),
            calls: OpenCalls::default(),
            settled: BTreeMap::new(),
            supplied: BTreeMap::new(),
            reconciled: BTreeMap::new(),
            lapsed: BTreeMap::new(),
            to_reconcile: None,
            requests: BTreeMap::new(),
            leaves: BTreeMap::new(),
            deliveries: Deliveries::default(),
            state: Arc::default(),
            phase: None,
            phase_moves: 0,
            cache: Cache::default(),
            keys: KeyedCalls::default(),
            uses: BTreeMap::new(),
            recent_approvals: RecentApprovals::default(),
            restless: BTreeSet::new(),
            slots_taken: BTreeSet::new(),
            wire_ids: BTreeMap::new(),
            repeatable: Repeatable::default(),
            unanswered: None,
            library,
        }
    }

    /// The objects that events of this session may name, for additions.
    pub fn library_mut(&mut self) -> &mut Library {
        &mut self.library
    }

    /// The objects that events of this session may name.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The open calls for which a decision may be due.
    #[doc(hidden)]
    pub fn may_move(&self) -> impl Iterator<Item = Seq> {
        self.restless.iter().copied()
    }

    /// The value of a key of the session state.
    ///
    /// ```
    /// use recount_session::{Session, SessionId};
    /// let session = Session::new(SessionId(uuid::Uuid::nil()));
    /// assert_eq!(session.value("identity_verified"), None);
    /// ```
    pub fn value(&self, key: &str) -> Option<&Json> {
        self.state.get(Scope::of(key).1)
    }

    /// True if a conversation that is resumed now would know everything that was said.
    ///
    /// Also true if no conversation can be resumed.
    ///
    /// ```
    /// use recount_session::testing::history;
    /// let said = history().opened("support").connected().handle("h1").user_text("Hello");
    /// assert!(!said.session().resumes_whole());
    /// assert!(said.turn_ended().handle("h2").session().resumes_whole());
    /// ```
    pub fn resumes_whole(&self) -> bool {
        let resumption = self.resumption.as_ref();
        resumption.is_none_or(|it| it.covers >= self.said)
    }

    /// True if the model waits for a response on the live connection.
    ///
    /// The model waits while a `blocking` function that it called on this connection has had no
    /// response.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().plain("pay");
    /// let history = history().opened("support").attached(&tools).connected();
    /// let called = history.call("c1", "pay", json!({})).started();
    /// assert!(called.session().model_waits(|_| true));
    /// assert!(!called.session().model_waits(|name| name != "pay"));
    /// let answered = called.returned(json!({"paid": true}));
    /// assert!(answered.session().model_waits(|_| true));
    /// assert!(!answered.sent().session().model_waits(|_| true));
    /// ```
    pub fn model_waits(&self, blocking: impl Fn(&str) -> bool) -> bool {
        let Some(epoch) = self.connection else {
            return false;
        };
        // An acknowledgement is a response, so the model does not wait for anything after it.
        let open = self.calls.values().any(|call| {
            let answered = call.told_meanwhile || call.model_lost_interest;
            call.epoch == epoch && !answered && blocking(&call.name)
        });
        let unsent = self.deliveries.values().any(|delivery| {
            let route = Route::ToolResponse { epoch };
            delivery.route == route && !delivery.sent && blocking(&delivery.name)
        });
        open || unsent
    }

    /// The number of calls that run in the process. Calls that clients run take no slot.
    pub fn running(&self) -> usize {
        match self.terms.policies.running_max {
            Some(_) => self.slots_taken.len(),
            None => self.calls.values().filter(|it| it.takes_slot()).count(),
        }
    }

    /// Takes over the terms that a record names.
    ///
    /// A missing object counts as empty. Loaders make sure that none is missing.
    pub(crate) fn take_terms(
        &mut self,
        catalog: &ObjectHash,
        policies: &ObjectHash,
        gates: Gates,
        rules: u32,
    ) {
        self.terms = Terms::new(
            self.library.catalog(catalog).cloned().unwrap_or_default(),
            self.library.policies(policies).cloned().unwrap_or_default(),
            Some(*policies),
            gates,
        );
        self.rules = rules;
        let head = self.head;
        self.leaves
            .values_mut()
            .for_each(|it| it.end_if_changed(&self.terms, head));
    }
}
