//! What a session is at one moment: the fold of its events.
//!
//! It holds no transcript and no body of anything settled: of an ended call and of a request a line
//! each remains, so that a late answer is told what was decided, and everything else is the size of
//! what is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::closing::Closing;
use super::library::Library;
use super::resumption::Resumption;
use super::rows::{requests, settled, shared, wire_ids};
use super::terms::Terms;
use crate::calls::deliveries::Deliveries;
use crate::calls::open_calls::OpenCalls;
use crate::calls::repeatable::Repeatable;
use crate::calls::requests::Request;
use crate::calls::reusable::Cache;
use crate::calls::settled::{Reconciled, Settled, Supplied, ToReconcile};
use crate::calls::uses::Uses;
use crate::json::Json;
use crate::record::decision::Route;
use crate::record::observation::RunnerAttached;
use crate::values::id::{Seq, SessionId};
use crate::values::scope::Scope;
use crate::values::time::Timestamp;

/// One session, folded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// The last record folded; 0 before the first.
    pub head: Seq,
    /// When that was recorded.
    pub at: Timestamp,
    /// When it began.
    pub opened_at: Timestamp,
    /// The agent that serves it.
    pub agent: Option<String>,
    /// The number of the rules in force.
    pub rules: u32,
    /// Whether it is closed.
    pub closed: bool,
    /// It is about to end, because a tool asked for it.
    pub closing: Option<Closing>,
    /// The tools and policies in force: those of the last runner.
    #[serde(skip)]
    pub terms: Terms,
    /// The process that can run tools, while there is one.
    pub runner: Option<Runner>,
    /// The live connection, while there is one; its seq is the epoch.
    pub connection: Option<Seq>,
    /// The model of the last connection takes one response to a call and no more.
    pub single_response: bool,
    /// When the live connection is left at the latest, where that is planned.
    pub leaving: Option<Timestamp>,
    /// There is no connection, and the runner tries for the next one.
    pub reconnecting: bool,
    /// Whether the model's turn is under way, or the user's words wait for it.
    pub turn_open: bool,
    /// By what the conversation can be resumed on another connection.
    pub resumption: Option<Resumption>,
    /// The last record that changed what the model knows of the conversation.
    pub(crate) said: Seq,
    /// The runner will end soon and starts nothing more.
    pub draining: bool,
    /// The calls that have not ended, by the seq that received them.
    pub calls: OpenCalls,
    /// How the others ended.
    #[serde(with = "settled")]
    pub settled: BTreeMap<Seq, Settled>,
    /// The results of paused calls that came from outside.
    pub supplied: BTreeMap<Seq, Supplied>,
    /// What was found out about those whose outcome was unknown.
    pub reconciled: BTreeMap<Seq, Reconciled>,
    /// What of it is to be told.
    pub(crate) to_reconcile: Option<ToReconcile>,
    /// What became of every confirmation request.
    #[serde(with = "requests")]
    pub requests: BTreeMap<Seq, Request>,
    /// What the model is still to be told, by the seq of `response_issued`.
    pub deliveries: Deliveries,
    /// The values that tools, hooks and the program wrote, by key; see [`Scope`](crate::Scope).
    #[serde(with = "shared")]
    pub state: Arc<BTreeMap<String, Json>>,
    /// The phase that the conversation is in; none where none are declared.
    pub phase: Option<Stay>,
    /// How many phases may still be entered because of the last change.
    pub(crate) phase_moves: usize,
    /// The results that may be used again.
    pub(crate) cache: Cache,
    /// How often each tool was called.
    pub(crate) uses: BTreeMap<String, Uses>,
    /// The calls about which something may be due; the others wait for an observation.
    pub(crate) restless: BTreeSet<Seq>,
    /// The calls that run, where their number is limited, so that who waits need not count them.
    pub(crate) slots_taken: BTreeSet<Seq>,
    /// The calls by connection and wire id, since the last connection was made.
    #[serde(with = "wire_ids")]
    pub(crate) wire_ids: BTreeMap<(Seq, String), Seq>,
    /// The calls that a resumed connection might deliver again.
    pub(crate) repeatable: Repeatable,
    /// The first words of the user to which the model has shown no reaction.
    pub(crate) unanswered: Option<Seq>,
    #[serde(skip)]
    pub(crate) library: Library,
}

/// A stay in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// The phase.
    pub phase: String,
    /// Its `phase_entered`.
    pub entered: Seq,
    /// The connection on which the model was told its instruction.
    pub told: Option<Seq>,
}

/// A process that can run tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Its `runner_attached`.
    pub seq: Seq,
}

impl Session {
    /// A session of which nothing is known yet.
    pub fn new(id: SessionId) -> Session {
        Session::with_library(id, Library::default())
    }

    /// A session of which nothing is known yet, and the objects that its events may name.
    pub fn with_library(id: SessionId, library: Library) -> Session {
        Session {
            id,
            head: Seq(0),
            at: Timestamp(0),
            opened_at: Timestamp(0),
            agent: None,
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
            calls: OpenCalls::default(),
            settled: BTreeMap::new(),
            supplied: BTreeMap::new(),
            reconciled: BTreeMap::new(),
            to_reconcile: None,
            requests: BTreeMap::new(),
            deliveries: Deliveries::default(),
            state: Arc::default(),
            phase: None,
            phase_moves: 0,
            cache: Cache::default(),
            uses: BTreeMap::new(),
            restless: BTreeSet::new(),
            slots_taken: BTreeSet::new(),
            wire_ids: BTreeMap::new(),
            repeatable: Repeatable::default(),
            unanswered: None,
            library,
        }
    }

    /// The objects that events of this session may name.
    pub fn library_mut(&mut self) -> &mut Library {
        &mut self.library
    }

    /// The objects that events of this session may name.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The open calls that may move on by themselves.
    #[doc(hidden)]
    pub fn may_move(&self) -> impl Iterator<Item = Seq> {
        self.restless.iter().copied()
    }

    /// The value of a key of the state.
    ///
    /// ```
    /// use recount_session::{Session, SessionId};
    /// let session = Session::new(SessionId(uuid::Uuid::nil()));
    /// assert_eq!(session.value("identity_verified"), None);
    /// ```
    pub fn value(&self, key: &str) -> Option<&Json> {
        self.state.get(Scope::of(key).1)
    }

    /// Whether a conversation that is resumed now would know everything that was said; also where
    /// none can be resumed.
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

    /// Whether the model waits for a response on the live connection: a call that it brought, of a
    /// function that is `blocking`, has had none so far.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().plain("pay");
    /// let history = history().opened("support").attached(&tools).connected();
    /// let called = history.call("c1", "pay", json!({})).started();
    /// assert!(called.session().model_waits(|_| true) && !called.session().model_waits(|name| name != "pay"));
    /// let answered = called.returned(json!({"paid": true}));
    /// assert!(answered.session().model_waits(|_| true));
    /// assert!(!answered.sent().session().model_waits(|_| true));
    /// ```
    pub fn model_waits(&self, blocking: impl Fn(&str) -> bool) -> bool {
        let Some(epoch) = self.connection else {
            return false;
        };
        // An acknowledgement is a response to a model that waits; what comes after it is no longer
        // waited for.
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

    /// How many calls run.
    pub fn running(&self) -> usize {
        match self.terms.policies.running_max {
            Some(_) => self.slots_taken.len(),
            None => self.calls.values().filter(|it| it.runs()).count(),
        }
    }

    /// The terms that `runner` brings; an object nobody handed in counts as empty, which a loader
    /// rules out.
    pub(crate) fn take_terms(&mut self, runner: &RunnerAttached) {
        self.terms = Terms::new(
            self.library
                .catalog(&runner.catalog)
                .cloned()
                .unwrap_or_default(),
            self.library
                .policies(&runner.policies)
                .cloned()
                .unwrap_or_default(),
            Some(runner.policies),
            runner.gates.clone(),
        );
        self.rules = runner.rules;
    }
}
