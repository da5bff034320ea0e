//! What a session is at one moment: the fold of its events.
//!
//! It holds no transcript and no body of anything settled: of an ended call and of a request a line each remains, so
//! that a late answer is told what was decided, and everything else is the size of what is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::resumption::Resumption;
use super::snapshot::{requests, settled, shared, wire_ids};
use super::terms::Terms;
use crate::admission::command::Answered;
use crate::calls::deliveries::Deliveries;
use crate::calls::open_calls::OpenCalls;
use crate::declared::catalog::Catalog;
use crate::json::Json;
use crate::policies::policy::PolicySet;
use crate::record::decision::{CancelReason, Outcome, Route};
use crate::record::finding::FoundAs;
use crate::record::observation::RunnerAttached;
use crate::reducers::earlier::cache::Cache;
use crate::reducers::earlier::limits::Uses;
use crate::reducers::ending::closing::Closing;
use crate::reducers::telling::redelivery::Repeatable;
use crate::values::actor::Actor;
use crate::values::id::{Seq, SessionId};
use crate::values::object::ObjectHash;
use crate::values::scheduling::FunctionResponseScheduling;
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

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How.
    pub outcome: Outcome,
    /// How often its tool was started.
    pub attempts: u32,
    /// The record that ended it: `response_issued` or `call_cancelled`.
    pub at: Seq,
    /// A program or an agent made the call, and no connection brought it.
    pub made_by_program: bool,
}

/// The result of a paused call, as somebody outside gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supplied {
    /// The `response_supplied` record.
    pub at: Seq,
    /// SHA-256 of the response as it stands there.
    pub response: ObjectHash,
    /// Who gave it.
    pub by: Actor,
}

/// What was found out about a call whose outcome was unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// The `outcome_found` record.
    pub at: Seq,
    /// Whether it took effect.
    pub found: FoundAs,
    /// Who found out.
    pub by: Actor,
}

/// What was found out and is to be told at the next decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToReconcile {
    pub(crate) call: Seq,
    /// The `outcome_found`.
    pub(crate) of: Seq,
    pub(crate) tool: String,
    /// Why it failed, if it did.
    pub(crate) failed: Option<String>,
}

/// What became of a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The call it is about.
    pub call: Seq,
    /// Its state.
    pub state: RequestState,
    /// How many answers to it were refused so far.
    pub refused: u32,
}

/// The state of a confirmation request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// It waits for an answer.
    Open,
    /// It was answered.
    Answered(Answered),
    /// Nobody answered in time.
    Expired {
        /// The record that says so.
        at: Seq,
    },
    /// The question has become pointless.
    Withdrawn {
        /// The record that says so.
        at: Seq,
        /// Why.
        reason: CancelReason,
    },
    /// The question was asked anew.
    Superseded {
        /// The request that took its place.
        by: Seq,
    },
}

/// A response on its way to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The call.
    pub call: Seq,
    /// The call's id on the wire.
    pub wire_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// How the call ended, or that it goes on.
    pub outcome: Outcome,
    /// How it travels.
    pub route: Route,
    /// Whether another response for the same call follows, where there are several.
    pub will_continue: Option<bool>,
    /// When the model should take it up, where it did not wait.
    pub scheduling: Option<FunctionResponseScheduling>,
    /// Which words are sent.
    pub wording: Wording,
    /// It only says that the call waits, to a model that may wait for it; another connection has no use for it.
    pub acknowledges: bool,
    /// Since when a connection is to be opened for it, where there was none when it was issued.
    pub connects: Option<Timestamp>,
    /// Whether it was written to the socket; only later traffic of the server proves that it arrived.
    pub sent: bool,
}

/// Which words of a response are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wording {
    /// Those that were issued.
    AsIssued,
    /// None yet: a hook is to see them first.
    AwaitingHook,
    /// Those of this `hook_answered`.
    Hooked(Seq),
}

/// The catalogs and policies that events of this session may name.
///
/// They are handed in before the fold, because folding reads no journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    catalogs: BTreeMap<ObjectHash, Arc<Catalog>>,
    policies: BTreeMap<ObjectHash, Arc<PolicySet>>,
}

impl Library {
    /// Adds a catalog under the address by which records name it: its own hash, or that of its sealed form.
    pub fn add_catalog(&mut self, address: ObjectHash, catalog: Arc<Catalog>) {
        self.catalogs.insert(address, catalog);
    }

    /// Takes the bytes of an object for whatever they can be read as: a catalog, policies, or (being empty) both.
    ///
    /// The address is that of the bytes: a later version may have written fields that this one passes over.
    pub fn adopt(&mut self, hash: ObjectHash, bytes: &[u8]) -> bool {
        let (catalog, policies) = (Catalog::from_bytes(bytes), PolicySet::from_bytes(bytes));
        let readable = catalog.is_ok() || policies.is_ok();
        if let Ok(catalog) = catalog {
            self.catalogs.insert(hash, Arc::new(catalog));
        }
        if let Ok(policies) = policies {
            self.policies.insert(hash, Arc::new(policies));
        }
        readable
    }

    /// Adds a policy set, as [`add_catalog`](Library::add_catalog) does a catalog.
    pub fn add_policies(&mut self, address: ObjectHash, policies: Arc<PolicySet>) {
        self.policies.insert(address, policies);
    }

    /// The address of that very catalog, if it is here.
    pub(super) fn address_of(&self, catalog: &Arc<Catalog>) -> Option<ObjectHash> {
        let mut all = self.catalogs.iter();
        let (address, _) = all.find(|(_, it)| Arc::ptr_eq(it, catalog))?;
        Some(*address)
    }

    /// Everything that is here.
    pub(super) fn addresses(&self) -> BTreeSet<ObjectHash> {
        let catalogs = self.catalogs.keys();
        catalogs.chain(self.policies.keys()).copied().collect()
    }

    /// The catalog of this address.
    pub fn catalog(&self, address: &ObjectHash) -> Option<&Arc<Catalog>> {
        self.catalogs.get(address)
    }

    /// The policies of this address.
    pub fn policies(&self, address: &ObjectHash) -> Option<&Arc<PolicySet>> {
        self.policies.get(address)
    }

    /// The hashes among `named` that nobody handed in.
    pub fn missing(&self, named: &[ObjectHash]) -> Vec<ObjectHash> {
        let known = |hash: &&ObjectHash| {
            !self.catalogs.contains_key(*hash) && !self.policies.contains_key(*hash)
        };
        named.iter().filter(known).copied().collect()
    }
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

    /// Removes the responses of a call, of which the model is told in no way.
    #[doc(hidden)]
    pub fn forget_deliveries(&mut self, call: Seq) {
        let of_call = self.deliveries.of_call(call).map(|(response, _)| response);
        crate::reducers::telling::redelivery::no_longer_told(self, &of_call.collect::<Vec<_>>());
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

    /// Whether a conversation that is resumed now would know everything that was said; also where none can be resumed.
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

    /// Whether the model waits for a response on the live connection: a call that it brought, of a function that is
    /// `blocking`, has had none so far.
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
        // An acknowledgement is a response to a model that waits; what comes after it is no longer waited for.
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

    /// The terms that `runner` brings; an object nobody handed in counts as empty, which a loader rules out.
    pub(crate) fn take_terms(&mut self, runner: &RunnerAttached) {
        self.terms = Terms::new(
            self.library
                .catalogs
                .get(&runner.catalog)
                .cloned()
                .unwrap_or_default(),
            self.library
                .policies
                .get(&runner.policies)
                .cloned()
                .unwrap_or_default(),
            Some(runner.policies),
            runner.gates.clone(),
        );
        self.rules = runner.rules;
    }
}
