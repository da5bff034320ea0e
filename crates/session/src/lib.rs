//! The session core: events, commands and effects as values, and the functions that join them.
//!
//! [`admit`] turns a command into an observation or a [`Rejection`]. [`step`] folds an observation
//! and decides what follows. [`evolve`] folds one fact. [`owed`] lists the effects that the session
//! owes. Nothing in this crate reads a clock, a disk or a socket, draws a random number or waits.

// The modules, each of which imports only those before it: `json`, `values`, `policies`,
// `declared`, `record`, `calls`, `state`, `admission`, `reducers`, `deciding`, `story`, `testing`.
// Read `reducers/dispatcher` and `reducers/tracker` first, then `deciding/step` and `calls/call`.
mod admission;
mod calls;
mod deciding;
mod declared;
mod json;
mod policies;
mod record;
mod reducers;
mod state;
pub mod story;
#[cfg(any(test, feature = "given"))]
pub mod testing;
mod values;

pub use admission::admit::{
    REFUSALS_RECORDED_MAX, fits, fits_state, open_request, refusal_on_record,
};
#[doc(hidden)]
pub use admission::admit::{unfit, unfit_policy};
pub use admission::approving::may_answer;
pub use admission::claiming::{CLAIM_BYTES_MAX, ClaimAction, ClaimCommand, ClaimRejection};
#[doc(hidden)]
pub use admission::command::BODY_BYTES_MAX;
pub use admission::command::{Command, Rejection, UnfitAnswer};
pub use admission::keyed::earlier_call;
pub use admission::pausing::PauseCommand;
pub use calls::agent_run::{AgentCall, AgentRun, AgentTurn};
pub use calls::call::{Asked, Call, Flaw, InPlace, Leave, Phase, WaitsFor};
pub use calls::claim::{Claim, ClaimState};
pub use calls::deliveries::Deliveries;
pub use calls::deliveries::{Delivery, Wording};
pub use calls::keys::KEY_BYTES_MAX;
pub use calls::open_calls::OpenCalls;
pub use calls::requests::{Answered, Approval, Asking, Request, RequestState};
pub use calls::settled::{Reconciled, Settled, Supplied};
pub use deciding::admitting::{admit, admit_at};
#[doc(hidden)]
pub use deciding::causes::Causes;
pub use deciding::rules::{RULES, RULES_MIN, RULES_OF_KEYS, RULES_OF_STRICT_FIELDS, rules_needed};
pub use deciding::step::{Endless, Step, decide, evolve, overdue, owed, step};
#[doc(hidden)]
pub use deciding::step::{evolve_in_place, owed_about, step_in_place};
pub use declared::capabilities::Capabilities;
pub use declared::catalog;
pub use declared::catalog::{AgentDeclaration, Catalog, ToolDeclaration};
pub use declared::platform::Platform;
#[doc(hidden)]
pub use declared::schema;
pub use json::{DEPTH_MAX, Json, JsonProblem};
pub use policies::approvers::{Approvers, BareName, QUORUM_MAX};
pub use policies::condition::{Comparison, Condition, S};
pub use policies::hooks::Hooks;
pub use policies::on_settled::OnSettled;
pub use policies::phase::{PhaseDeclaration, Transition};
pub use policies::policy::{
    Background, Edits, GateTerms, InDoubt, Limits, OnExpiry, OptionalGateTerms, PolicySet, Repeats,
    Retry, ToolPolicy,
};
pub use policies::policy_changes::{CacheChange, GateChange, PolicyChanges, ToolPolicyChanges};
pub use policies::progress::{PROGRESS_EVENT, Progress};
pub use policies::response::ResponseShape;
pub use policies::{policy, response};
pub use record::approvals::answers::ToolConfirmation;
pub use record::approvals::needs::{Barred, Needs, Requester};
pub use record::approvals::standing::{ALLOW_COUNT_MAX, ALLOW_FOR_MS_MAX, AllowFor};
pub use record::decision::*;
pub use record::event::{DecodeError, Event, Fact};
#[cfg(feature = "schema")]
pub use record::event_schema::event_schema;
pub use record::finding::{Finding, FoundAs};
pub use record::hook::Hook;
pub use record::media::{Frames, MediaCount};
pub use record::observation::*;
pub use record::reconnection::HistoryForm;
#[doc(hidden)]
pub use record::reconnection::{LEFT_IN_TIME, SHUT_DOWN};
pub use state::closing::Closing;
pub use state::effect::Effect;
pub use state::library::Library;
pub use state::open_work::{OpenKind, OpenWork, open_work};
pub use state::pauses::{Pause, Pauses};
pub use state::resumption::{HANDLE_LIFE_MS, Resumption, ResumptionHandle};
pub use state::session::{Runner, Session, Stay};
pub use state::snapshot;
pub use state::standing::{LeaveEnd, StandingLeave};
pub use state::terms::Terms;
pub use values::actor::{ActedAs, Actor, ActorKind, Authentication, Identity, Person};
pub use values::id::{CallId, RequestId, Seq, SessionId};
pub use values::lease::{Lease, UnfitLease};
pub use values::object;
pub use values::object::ObjectHash;
pub use values::scheduling::FunctionResponseScheduling;
pub use values::scope::{STATE_KEY_BYTES_MAX, Scope, UnfitKey, recorded_key};
#[doc(hidden)]
pub use values::secret;
pub use values::time::Timestamp;
pub use values::trace::{SpanId, SpanOf, TraceId};

#[cfg(test)]
mod spelling_tests;

#[cfg(test)]
mod engine_tests;
