//! The session core: events, commands and effects as values, and the functions that join them.
//!
//! [`admit`] turns a command into an observation or a [`Rejection`]; [`step`] folds an observation and decides what
//! follows; [`evolve`] folds one fact; [`owed`] lists what the world is owed. Nothing in `session` reads a clock, a
//! disk or a socket, draws a random number or waits.

mod actor;
mod admit;
mod agent_run;
mod answers;
mod call;
mod capabilities;
pub mod catalog;
mod causes;
mod command;
mod condition;
mod decision;
mod deliveries;
mod effect;
mod endings;
mod event;
#[cfg(feature = "schema")]
mod event_schema;
mod finding;
mod gate_terms;
mod hook;
mod id;
mod json;
mod json_place;
mod media;
mod milliseconds;
mod models;
pub mod object;
mod observation;
mod on_settled;
mod open_calls;
mod open_work;
mod phase;
mod platform;
pub mod policy;
mod policy_changes;
mod progress;
mod provenance;
mod reconnection;
mod reducers;
pub mod response;
mod restless;
mod resumption;
mod rules;
mod scheduling;
#[doc(hidden)]
pub mod schema;
mod scope;
#[doc(hidden)]
pub mod secret;
pub mod snapshot;
mod state;
mod state_change;
mod step;
mod stored_policy;
pub mod story;
mod terms;
#[cfg(any(test, feature = "given"))]
pub mod testing;
mod time;
mod tool_policy;
mod tool_report;
mod upcast;
mod waiting;

pub use actor::{ActedAs, Actor, ActorKind, Authentication};
pub use admit::{REFUSALS_RECORDED_MAX, admit, fits, fits_state, open_request, refusal_on_record};
#[doc(hidden)]
pub use admit::{unfit, unfit_policy};
pub use agent_run::{AgentCall, AgentRun, AgentTurn};
pub use call::{Asked, Call, Flaw, InPlace, Leave, Phase, WaitsFor};
pub use capabilities::Capabilities;
pub use catalog::{AgentDeclaration, Catalog, ToolDeclaration};
#[doc(hidden)]
pub use causes::Causes;
pub use command::{Answer, Answered, Command, Rejection, UnfitAnswer};
pub use condition::{Comparison, Condition, S};
pub use decision::*;
pub use deliveries::Deliveries;
pub use effect::Effect;
pub use event::{DecodeError, Event, Fact};
#[cfg(feature = "schema")]
pub use event_schema::event_schema;
pub use finding::{Finding, FoundAs};
pub use hook::{Hook, Hooks};
pub use id::{CallId, RequestId, Seq, SessionId};
pub use json::{DEPTH_MAX, Json, JsonProblem};
pub use media::{Frames, MediaCount};
pub use object::ObjectHash;
pub use observation::*;
pub use on_settled::OnSettled;
pub use open_calls::OpenCalls;
pub use open_work::{OpenKind, OpenWork, open_work};
pub use phase::{PhaseDeclaration, Transition};
pub use platform::Platform;
pub use policy::{
    Background, Edits, GateTerms, InDoubt, Limits, OptionalGateTerms, PolicySet, Repeats, Retry,
    ToolPolicy,
};
pub use policy_changes::{CacheChange, GateChange, PolicyChanges, ToolPolicyChanges};
pub use progress::{PROGRESS_EVENT, Progress};
pub use reconnection::HistoryForm;
#[doc(hidden)]
pub use reconnection::SHUT_DOWN;
pub use reducers::closing::Closing;
pub use response::ResponseShape;
pub use resumption::{HANDLE_LIFE_MS, Resumption, ResumptionHandle};
pub use rules::RULES;
pub use scheduling::FunctionResponseScheduling;
pub use scope::{STATE_KEY_BYTES_MAX, Scope, UnfitKey, recorded_key};
pub use state::{
    Delivery, Library, Reconciled, Request, RequestState, Runner, Session, Settled, Stay, Supplied,
    Wording,
};
pub use step::{Endless, Step, decide, evolve, overdue, owed, step};
#[doc(hidden)]
pub use step::{evolve_in_place, owed_about, step_in_place};
pub use terms::Terms;
pub use time::Timestamp;

#[cfg(test)]
mod spelling_tests;

#[cfg(test)]
mod state_tests;

#[cfg(test)]
mod step_tests;

#[cfg(test)]
mod engine_tests;
