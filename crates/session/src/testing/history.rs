//! Histories of sessions for tests, built from observations through the real `step`.

use serde_json::Value;

use super::toolbox::{PROGRAM, Toolbox};
use super::world_words::{self, answer_to};
use crate::admission::command::{Command, Rejection};
use crate::calls::call::{Call, Phase};
use crate::deciding::admitting::admit_at;
use crate::deciding::rules::RULES_MIN;
use crate::deciding::step::{owed, step};
use crate::declared::capabilities::Capabilities;
use crate::json::Json;
use crate::record::event::{Event, Fact};
use crate::record::observation::{
    CallCancellationReceived, Connected, Deadline, DeadlinePassed, Disconnected,
    FunctionCallReceived, Observation, ResponsesSent, RunnerDetached, SessionOpened, Start,
    ToolAsked, ToolPaused, ToolReturned,
};
use crate::state::effect::Effect;
use crate::state::library::Library;
use crate::state::session::Session;
use crate::story::Story;
use crate::values::actor::Actor;
use crate::values::id::{Seq, SessionId};
use crate::values::time::Timestamp;

/// An empty history.
///
/// ```
/// use recount_session::testing::{history, toolbox};
/// use serde_json::json;
///
/// let paid = history()
///     .opened("support")
///     .attached(&toolbox().gated("pay"))
///     .connected()
///     .call("c1", "pay", json!({"cents": 4200}))
///     .asked()
///     .granted("ada")
///     .started()
///     .returned(json!({"paid": true}));
/// assert!(paid.session().calls.is_empty());
/// assert_eq!(paid.kinds().last(), Some(&"response_issued"));
/// ```
#[must_use]
pub fn history() -> History {
    History {
        session: Session::new(SessionId(uuid::Uuid::nil())),
        facts: Vec::new(),
        now: Timestamp(1_763_700_000_000_000),
        call: Seq(0),
    }
}

/// A session with the facts that led to it.
///
/// Methods such as [`returned`](History::returned) apply to the current call: the latest one, or
/// the one chosen with [`about`](History::about). An observation that is impossible at this point
/// panics with the history.
#[derive(Clone, Debug)]
pub struct History {
    session: Session,
    facts: Vec<Fact>,
    now: Timestamp,
    call: Seq,
}

impl History {
    /// Opens the session for an agent.
    #[must_use]
    pub fn opened(self, agent: &str) -> History {
        self.observed(SessionOpened {
            agent: agent.to_owned(),
            external_id: None,
            on_behalf_of: None,
            labels: Default::default(),
            rules: RULES_MIN,
            program: PROGRAM.to_owned(),
        })
    }

    /// Attaches a runner with these tools.
    #[must_use]
    pub fn attached(mut self, tools: &Toolbox) -> History {
        let agent = self.session.agent.clone().unwrap_or_default();
        let attached = tools.attached(&agent, self.session.library_mut());
        self.observed(attached)
    }

    /// Detaches the runner.
    #[must_use]
    pub fn detached(self) -> History {
        self.observed(RunnerDetached {
            reason: "shutdown".to_owned(),
            not_begun: Vec::new(),
        })
    }

    /// Detaches the runner before the current call's tool began, although its start is recorded.
    #[must_use]
    pub fn detached_before_it_began(self) -> History {
        let (call, attempt) = (self.call_seq(), self.attempt());
        self.observed(RunnerDetached {
            reason: "shutdown".to_owned(),
            not_begun: vec![Start { call, attempt }],
        })
    }

    /// Opens a connection.
    #[must_use]
    pub fn connected(self) -> History {
        self.connected_as(None)
    }

    /// Opens a connection to a model with these recorded capabilities.
    #[must_use]
    pub fn connected_as(self, capabilities: Option<Capabilities>) -> History {
        self.observed(Connected {
            model: "models/test".to_owned(),
            endpoint: "ws://127.0.0.1:1".to_owned(),
            phase: None,
            capabilities,
            non_blocking: Vec::new(),
            resumed: None,
        })
    }

    /// Ends the connection.
    #[must_use]
    pub fn disconnected(self) -> History {
        let epoch = self.epoch();
        self.observed(Disconnected {
            epoch,
            code: Some(1006),
            reason: "gone".to_owned(),
        })
    }

    /// Receives a call of the model.
    #[must_use]
    pub fn call(self, id: &str, name: &str, args: Value) -> History {
        let call = FunctionCallReceived {
            epoch: self.epoch(),
            id: Some(id.to_owned()),
            name: Some(name.to_owned()),
            args: Some(Json::of(&args)),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        };
        self.observed(call)
    }

    /// Receives the model's cancellation of a call, by its id on the wire.
    #[must_use]
    pub fn taken_back(self, id: &str) -> History {
        let epoch = self.epoch();
        self.observed(CallCancellationReceived {
            epoch,
            ids: vec![id.to_owned()],
        })
    }

    /// Receives traffic, which shows that the connection is alive: the model ends its turn.
    #[must_use]
    pub fn heard(self) -> History {
        self.turn_ended()
    }

    /// Sends all responses that are owed to the connection.
    #[must_use]
    pub fn sent(self) -> History {
        let epoch = self.epoch();
        let responses = owed(&self.session)
            .into_iter()
            .filter_map(world_words::response_of);
        let responses = responses.collect();
        self.observed(ResponsesSent { epoch, responses })
    }

    /// Approves the open request about the current call.
    #[must_use]
    pub fn granted(self, by: &str) -> History {
        let answer = self.answer(true, None, by);
        self.commanded(answer)
    }

    /// Denies the open request about the current call.
    #[must_use]
    pub fn denied(self, by: &str, reason: Option<&str>) -> History {
        let answer = self.answer(false, reason, by);
        self.commanded(answer)
    }

    /// Ends the tool of the current call with a result.
    #[must_use]
    pub fn returned(self, response: Value) -> History {
        let returned = self.tool_returned(false, &response);
        self.observed(returned)
    }

    /// Ends the tool of the current call with a failure.
    #[must_use]
    pub fn failed(self, response: Value) -> History {
        let returned = self.tool_returned(true, &response);
        self.observed(returned)
    }

    /// Lets the current call's tool ask a person. The run ends.
    #[must_use]
    pub fn asks(self, hint: &str) -> History {
        self.tool_asks(hint, false)
    }

    /// Lets the current call's tool ask a person and wait in place, for at most a minute.
    #[must_use]
    pub fn asks_in_place(self, hint: &str) -> History {
        self.tool_asks(hint, true)
    }

    fn tool_asks(self, hint: &str, in_place: bool) -> History {
        let (call, attempt) = (self.call_seq(), self.attempt());
        self.observed(ToolAsked {
            call,
            attempt,
            hint: hint.to_owned(),
            payload_schema: None,
            state: Json::empty_object(),
            expires_after_ms: in_place.then_some(60_000),
            in_place,
        })
    }

    /// Pauses the current call: its tool started work that will be finished elsewhere.
    #[must_use]
    pub fn paused(self, interim: Option<Value>) -> History {
        let (call, attempt) = (self.call, self.attempt());
        let interim = interim.as_ref().map(Json::of);
        self.observed(ToolPaused {
            call,
            attempt,
            interim,
            state: None,
        })
    }

    /// Supplies the result of the current call from outside.
    #[must_use]
    pub fn supplied(self, response: Value) -> History {
        let supply = Command::SupplyResponse {
            call: self.call,
            name: self.current().name.clone(),
            response: Json::of(&response),
            will_continue: false,
            by: Actor::embedder("warehouse"),
        };
        self.commanded(supply)
    }

    /// Cancels the current call from outside.
    #[must_use]
    pub fn cancelled(self) -> History {
        let cancel = Command::CancelCall {
            call: self.call,
            reason: None,
            by: Actor::embedder("ops"),
        };
        self.commanded(cancel)
    }

    /// Closes the session.
    #[must_use]
    pub fn closed(self) -> History {
        self.commanded(Command::CloseSession {
            reason: "done".to_owned(),
            by: Actor::embedder("ops"),
        })
    }

    /// Advances the clock without a record.
    #[must_use]
    pub fn later(mut self, ms: u64) -> History {
        self.now = self.now.after_ms(ms);
        self
    }

    /// Advances the clock to the deadline of the current call and records that it passed.
    #[must_use]
    pub fn timed_out(mut self) -> History {
        let due = owed(&self.session).into_iter().find_map(|effect| {
            let Effect::ArmTimer { deadline, due_us } = effect else {
                return None;
            };
            let (Deadline::Run { call, .. }
            | Deadline::Confirmation { call, .. }
            | Deadline::Retry { call, .. }
            | Deadline::Lease { call, .. }
            | Deadline::Acknowledgement { call }) = deadline;
            (call == self.call).then_some(DeadlinePassed { deadline, due_us })
        });
        let due = self.expected(due, "no timer is armed for the call");
        self.now = self.now.max(due.due_us);
        self.observed(due)
    }

    /// Records any observation, with the decisions that follow.
    #[must_use]
    pub fn observed(mut self, observation: impl Into<Observation>) -> History {
        let observation = observation.into();
        let is_call = matches!(observation, Observation::FunctionCallReceived(_));
        let done = step(self.session.clone(), self.now, observation);
        let done = self.expected(done.ok(), "the decisions come to no end");
        self.session = done.session;
        // A redelivered call is not a new call, so the current call stays the same.
        let calls = (&self.session.calls, &self.session.settled);
        let is_new = |seq: &Seq| calls.0.contains_key(seq) || calls.1.contains_key(seq);
        let received = done.facts.first().map(|fact| fact.seq);
        if let Some(call) = received.filter(|seq| is_call && is_new(seq)) {
            self.call = call;
        }
        self.facts.extend(done.facts);
        self
    }

    /// Applies a command, which must be admitted.
    #[must_use]
    pub fn commanded(self, command: Command) -> History {
        let observation = admit_at(&self.session, self.now(), command);
        match observation {
            Ok(observation) => self.observed(observation),
            Err(rejection) => self.stop(&format!("the command was refused: {rejection}")),
        }
    }

    /// Makes the call with this wire id the current one: the latest such call, open or ended.
    #[must_use]
    pub fn about(mut self, id: &str) -> History {
        let call = self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => {
                (it.id.as_deref() == Some(id)).then_some(fact.seq)
            }
            Event::Observed(_) | Event::Decided(_) => None,
        });
        self.call = self.expected(call, "no call has this wire id");
        self
    }

    pub(super) fn library_mut(&mut self) -> &mut Library {
        self.session.library_mut()
    }

    pub(super) fn with_call(mut self, call: Seq) -> History {
        self.call = call;
        self
    }

    /// Asserts that a confirmation request about the current call is open.
    #[must_use]
    pub fn asked(self) -> History {
        let _ = self.request();
        self
    }

    /// Asserts that the tool of the current call runs.
    #[must_use]
    pub fn started(self) -> History {
        if !self.current().phase.is_running() {
            self.stop("the call does not run");
        }
        self
    }

    /// The session after these facts.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the transcript: one line per event.
    #[must_use]
    pub fn story(&self) -> Story {
        Story::of(&self.facts)
    }

    /// Returns all facts.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Returns the kinds of all facts.
    #[must_use]
    pub fn kinds(&self) -> Vec<&'static str> {
        self.facts.iter().map(|fact| fact.event.kind()).collect()
    }

    /// Returns the time of the next observation.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the seq of the current call, open or ended.
    #[must_use]
    pub fn call_seq(&self) -> Seq {
        self.call
    }

    /// Returns the current call, which must be open.
    #[must_use]
    pub fn current(&self) -> &Call {
        self.expected(
            self.session.calls.get(&self.call),
            "the current call is not open",
        )
    }

    /// Returns the open request about the current call.
    #[must_use]
    pub fn request(&self) -> Seq {
        if let Phase::AwaitingConfirmation { request, .. } = self.current().phase {
            request
        } else {
            self.stop("no confirmation request about the call is open")
        }
    }

    /// Returns the number of starts of the current call.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.current().attempts
    }

    /// Returns the latest connection, live or not; 0 if there was none.
    #[must_use]
    pub fn epoch(&self) -> Seq {
        let connected = self
            .facts
            .iter()
            .rev()
            .find(|fact| matches!(fact.event, Event::Observed(Observation::Connected(_))));
        connected.map_or(Seq(0), |fact| fact.seq)
    }

    /// Returns the rejection of a command, which must be rejected.
    #[must_use]
    pub fn rejection(&self, command: Command) -> Rejection {
        match admit_at(&self.session, self.now(), command) {
            Err(rejection) => rejection,
            Ok(observation) => self.stop(&format!("the command was taken: {observation:?}")),
        }
    }

    /// Returns the command that answers the open request about the current call.
    #[must_use]
    pub fn answer(&self, confirmed: bool, reason: Option<&str>, by: &str) -> Command {
        answer_to(self.request(), confirmed, reason, by)
    }

    /// Returns the observation that the current call's tool ended.
    #[must_use]
    pub fn tool_returned(&self, failed: bool, response: &Value) -> ToolReturned {
        ToolReturned {
            call: self.call,
            attempt: self.attempt(),
            failed,
            response: Json::of(response),
            error_kind: failed.then(|| "execution_failed".to_owned()),
            scheduling: None,
            ends_session: None,
        }
    }

    fn expected<T>(&self, found: Option<T>, otherwise: &str) -> T {
        match found {
            Some(found) => found,
            None => self.stop(otherwise),
        }
    }

    #[expect(
        clippy::panic,
        reason = "a test that describes an impossible history must stop"
    )]
    fn stop(&self, why: &str) -> ! {
        let call = self.session.calls.get(&self.call);
        let told: Vec<String> = self.facts.iter().map(super::given::line).collect();
        panic!(
            "{why}\ncall {}: {call:?}\nhistory:\n{}",
            self.call,
            told.join("\n")
        );
    }
}
