//! The inputs of a session's task, with their reply channels.
//!
//! `SessionTask::handle` in `task/session_task.rs` has an arm for every input.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use uuid::Uuid;

use super::asking::ToTool;
use super::callers::{Answer, ProgramCall};
use crate::engine::error::Error;
use crate::engine::inputs::relay::Relay;
use crate::engine::live_media::input_lines::Place;
use crate::engine::telling::history::History;
use crate::engine::telling::outcomes::Ended;
use crate::ledger;
use crate::live::{ConnectError, Connection};
use crate::session::{
    Actor, Command, Connected, Hook, HookAnswered, LlmAsked, LlmReplied, Pause, PauseScope,
    PolicyChanges, PolicySet, RequestId, Seq, Session, Timestamp, ToolAsked, ToolEventEmitted,
    ToolYielded, UnfitAnswer,
};
use crate::tool::{LlmSaid, State, ToolChanges, ToolConfirmation, Toolset};

/// The reply channel to a caller.
pub(in crate::engine) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The sender of a session task's inputs.
///
/// Each input is boxed, because a channel reserves memory for 32 of them, which is most of an idle
/// session's size.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Inbox(mpsc::UnboundedSender<Box<Input>>);

impl Inbox {
    pub(in crate::engine) fn open() -> (Inbox, mpsc::UnboundedReceiver<Box<Input>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Inbox(sender), receiver)
    }

    /// Returns the input if the task has ended.
    pub(in crate::engine) fn send(&self, input: Input) -> Result<(), Box<Input>> {
        self.0.send(Box::new(input)).map_err(|rejected| rejected.0)
    }

    /// True if the task has ended.
    pub(in crate::engine) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Completes when the task has ended.
    pub(in crate::engine) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// An input for a session's task.
pub(in crate::engine) enum Input {
    /// Open a connection.
    Connect(Reply<()>),
    /// Take a connection that another program owns. Returns its record, and the mistakes of tools
    /// that the agent cannot serve.
    ///
    /// A play gives it the policies on record.
    Relay(Relay, Option<PolicySet>, Reply<(Seq, Vec<String>)>),
    /// Take other tools of the client of the relayed connection. Returns such mistakes, too.
    RelayTools(Toolset, Option<PolicySet>, Reply<Vec<String>>),
    /// The client of the relayed connection sent text to the model.
    ClientSaid(String, Reply<()>),
    /// A connection was opened, or opening it failed.
    Opened(Opened),
    /// End the connection and cancel running calls; waiting calls stay open.
    Disconnect(Reply<()>),
    /// Start no new work, and end the task once running work has ended or the time is up.
    Drain { until: Timestamp, reply: Reply<()> },
    /// The connection was silent for the agent's idle time.
    SilenceDue {
        /// The value of `Connections::silences` when the timer was started.
        number: u64,
    },
    /// Open a connection to deliver an outcome that was decided without one.
    ConnectToDeliver,
    /// The wait before the next connection attempt is over.
    ReconnectDue {
        /// The value of `Reconnecting::attempts` when the wait began.
        attempt: u32,
    },
    /// Repeated service messages that were held back are due to be recorded.
    HeldDue,
    /// The latest time to leave a connection that the service will end has come.
    SwitchDue { epoch: Seq },
    /// Send text to the model.
    SendText(UserText, Reply<()>),
    /// Answer a confirmation request.
    Answer {
        request: RequestId,
        confirmation: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
        reply: Reply<Seq>,
    },
    /// Handle this input. The append of its command is the outcome of this request of another
    /// process.
    Requested(Uuid, Box<Input>),
    /// Admit any other command.
    Command(Command, Reply<Seq>),
    /// Observe the pauses of more than one session, and cancel what runs if that is asked.
    ObservePauses {
        cancels: Vec<CancelRunning>,
        reply: Reply<()>,
    },
    /// Return the session as it is.
    Session(oneshot::Sender<Session>),
    /// Return the state that its tools share.
    State(oneshot::Sender<State>),
    /// One more handle is in use.
    HandleTaken,
    /// One handle was dropped.
    HandleDropped,
    /// One handle was released, which ends nothing.
    HandleReturned,
    /// A tool ended.
    ToolEnded(Ended),
    /// An agent is about to call its model, and waits until that is recorded.
    AgentAsks(Asks, oneshot::Sender<()>),
    /// The model of an agent made calls.
    AgentCalls(Calls),
    /// An agent ended, usually with a reply.
    AgentEnded(Option<LlmReplied>, Ended),
    /// A tool yielded a streamed result, and waits until it is recorded.
    ToolYielded(ToolYielded, oneshot::Sender<()>),
    /// A tool asks for confirmation, and waits while it runs.
    ToolAsks(ToolAsked, ToTool),
    /// A tool emitted an event for the embedding program. Its permit is freed once it is recorded.
    ToolEmitted(ToolEventEmitted, OwnedSemaphorePermit),
    /// The embedding program calls a function.
    CallFunction(ProgramCall, Answer),
    /// Change the tools of the session, with the policies of a fixture that is played.
    ChangeTools(ToolChanges, Option<PolicySet>, Reply<Option<Seq>>),
    /// Take other policy files, if the session is of the agent with this name.
    ChangePolicies(Arc<str>, Vec<PolicyChanges>, Reply<Option<Seq>>),
    /// A hook, or the predicate of a gate, answered about calls or responses.
    HookAnswered {
        answers: Vec<HookAnswered>,
        /// The state that `on_tool_call` wrote.
        state: State,
        /// The state that `before_tool_response` wrote.
        response_hook_state: State,
    },
    /// A hook wrote to the state.
    HookWrote(Hook, State),
    /// A hook saw the response that a command supplies, and wrote to the state.
    ResponseHookDone {
        command: Command,
        state: State,
        reply: Reply<Seq>,
    },
    /// An extractor ended.
    ExtractorEnded { name: String, state: State },
    /// The provider answered.
    ProviderAnswered {
        by: Actor,
        request: Seq,
        confirmation: ToolConfirmation,
    },
    /// Close the session at a tool's request.
    CloseIfRequested,
    /// A deadline of the session, or the end of a drain, has come.
    DeadlineReached,
    /// The lease of this process has ended, so an effect of the session did not begin.
    LeaseEnded(ledger::Error),
}

/// The cancellation of the running calls of a pause.
#[derive(Clone)]
pub(in crate::engine) struct CancelRunning {
    pub(in crate::engine) scope: PauseScope,
    pub(in crate::engine) reason: Option<String>,
    pub(in crate::engine) by: Actor,
    /// The record of the pause in the journal's own stream, if it holds more than one session.
    pub(in crate::engine) journal_record: Option<Seq>,
}

impl From<Pause> for CancelRunning {
    fn from(pause: Pause) -> CancelRunning {
        CancelRunning {
            scope: pause.scope,
            reason: pause.reason,
            by: pause.by,
            journal_record: pause.journal_record,
        }
    }
}

impl CancelRunning {
    /// The calls of this session to cancel: those in the scope whose tool runs, here or at a
    /// client.
    pub(in crate::engine) fn calls_of(&self, session: &Session) -> Vec<Seq> {
        let is_of = |agent: &String| session.agent.as_ref() == Some(agent);
        if matches!(&self.scope, PauseScope::Agent(agent) if !is_of(agent)) {
            return Vec::new();
        }
        // A call that runs after the end of the pause is none of its calls.
        let in_force = |it: &Pause| it.journal_record == self.journal_record;
        if self.journal_record.is_some() && !session.pauses.of(&self.scope).is_some_and(in_force) {
            return Vec::new();
        }
        let calls = session.calls.iter();
        let runs = calls.filter(|(_, it)| it.runs() && session.is_covered(&self.scope, it));
        runs.map(|(call, _)| *call).collect()
    }
}

/// Text of the user for the model.
pub(in crate::engine) struct UserText {
    pub(in crate::engine) text: String,
    /// The position among the live input. `None`: the position when the session handles the text.
    pub(in crate::engine) place: Option<Place>,
}

/// The result of opening a connection, and the history to send on it.
pub(in crate::engine) struct Opened {
    /// The value of `Reconnecting::openings` when the attempt began.
    pub(in crate::engine) number: u64,
    pub(in crate::engine) connected: Connected,
    pub(in crate::engine) connection: Result<Connection, ConnectError>,
    pub(in crate::engine) history: Option<History>,
}

/// The records to write before an agent's next model request.
pub(in crate::engine) struct Asks {
    /// The previous reply, if it made no calls.
    pub(in crate::engine) replied: Option<LlmReplied>,
    pub(in crate::engine) asked: LlmAsked,
    /// The state that the agent wrote.
    pub(in crate::engine) state: State,
}

/// A reply with calls.
pub(in crate::engine) struct Calls {
    pub(in crate::engine) replied: LlmReplied,
    pub(in crate::engine) calls: Vec<LlmSaid>,
}
