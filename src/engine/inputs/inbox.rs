//! What a session's task is told, by whom, and how it answers.

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::asking::ToTool;
use super::callers::Answer;
use crate::engine::error::Error;
use crate::engine::live_media::input_lines::Place;
use crate::engine::telling::outcomes::Ended;
use crate::engine::telling::story::Story;
use crate::live::{ConnectError, Connection};
use crate::session::{
    Actor, Command, Connected, Hook, HookAnswered, Json, LlmAsked, LlmReplied, RequestId, Seq,
    Session, Timestamp, ToolAsked, ToolEventEmitted, ToolYielded, UnfitAnswer,
};
use crate::tool::{LlmSaid, State, ToolConfirmation};

/// The way back to whoever asked.
pub(in crate::engine) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Where a session's task is told what to do.
///
/// Each input is in a box: a channel keeps room for 32 at once, which is most of what an idle
/// session would hold.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Inbox(mpsc::UnboundedSender<Box<Input>>);

impl Inbox {
    pub(in crate::engine) fn open() -> (Inbox, mpsc::UnboundedReceiver<Box<Input>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Inbox(sender), receiver)
    }

    /// Returns the input where the task has ended.
    pub(in crate::engine) fn send(&self, input: Input) -> Result<(), Box<Input>> {
        self.0.send(Box::new(input)).map_err(|rejected| rejected.0)
    }

    /// Completes when the task has ended.
    pub(in crate::engine) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Something for a session's task to do.
pub(in crate::engine) enum Input {
    /// Open a connection.
    Connect(Reply<()>),
    /// A connection was opened, or could not be.
    Opened(Opened),
    /// End the connection and what runs; what waits stays open.
    Disconnect(Reply<()>),
    /// Start nothing more, and end the task when what runs has ended, or the time is up.
    Drain { until: Timestamp, reply: Reply<()> },
    /// Nothing was said for as long as the agent wants to wait.
    SilenceDue { number: u64 },
    /// Open a connection for what ended while there was none.
    ConnectToTell,
    /// The wait before another try to connect is over.
    ReconnectDue { attempt: u32 },
    /// The time has come to record what the service repeats.
    HeldDue,
    /// The time by which a connection is to be left has come.
    SwitchDue { epoch: Seq },
    /// Say something to the model.
    SendText(Words, Reply<()>),
    /// Answer a confirmation request.
    Answer {
        request: RequestId,
        confirmation: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
        reply: Reply<Seq>,
    },
    /// Anything else that may be refused.
    Command(Command, Reply<Seq>),
    /// Show the session as it is.
    Session(oneshot::Sender<Session>),
    /// Show what its tools share.
    State(oneshot::Sender<State>),
    /// One more handle is in use.
    HandleTaken,
    /// One handle less.
    HandleDropped,
    /// One handle less, which nobody has had.
    HandleReturned,
    /// A tool ended.
    ToolEnded(Ended),
    /// An agent is about to ask its model, and waits until that is on record.
    AgentAsks(Asks, oneshot::Sender<()>),
    /// The model of an agent makes calls.
    AgentCalls(Calls),
    /// An agent ended, as a rule with a reply.
    AgentEnded(Option<LlmReplied>, Ended),
    /// A tool gives one result of several, and waits until it is on record.
    ToolYielded(ToolYielded, oneshot::Sender<()>),
    /// A tool asks a person, and waits where it stands.
    ToolAsks(ToolAsked, ToTool),
    /// A tool tells the embedding program something; the place it takes among those that wait is
    /// free once it is on record.
    ToolEmitted(ToolEventEmitted, OwnedSemaphorePermit),
    /// A program calls a function itself.
    CallFunction {
        name: String,
        args: Json,
        by: Actor,
        caller: Answer,
    },
    /// A hook spoke about calls or responses, and wrote to the state; so did the hook that saw what
    /// it said.
    HookAnswered {
        answers: Vec<HookAnswered>,
        state: State,
        others: State,
    },
    /// A hook wrote to the state.
    HookWrote(Hook, State),
    /// A hook has seen the response that a command supplies, and wrote to the state.
    Shown {
        command: Command,
        state: State,
        reply: Reply<Seq>,
    },
    /// A hook has done its work.
    HookEnded { name: String, state: State },
    /// The provider answered.
    ProviderAnswered {
        by: Actor,
        request: Seq,
        confirmation: ToolConfirmation,
    },
    /// End the session, as a tool asked for.
    CloseAsAsked,
    /// A time that somebody waits for has come.
    TimeCame,
}

/// Words of the user, on their way to the model.
pub(in crate::engine) struct Words {
    pub(in crate::engine) text: String,
    /// The live input before them; without it, all input until the session sees them.
    pub(in crate::engine) place: Option<Place>,
}

/// What came of opening a connection, and what it is to be told.
pub(in crate::engine) struct Opened {
    /// Which opening of the task it was.
    pub(in crate::engine) number: u64,
    pub(in crate::engine) connected: Connected,
    pub(in crate::engine) connection: Result<Connection, ConnectError>,
    pub(in crate::engine) story: Option<Story>,
}

/// What a run puts on record with its next question, or its end.
pub(in crate::engine) struct Asks {
    /// The reply before, where that made no calls.
    pub(in crate::engine) replied: Option<LlmReplied>,
    pub(in crate::engine) asked: LlmAsked,
    /// What the agent wrote.
    pub(in crate::engine) state: State,
}

/// A reply that makes calls.
pub(in crate::engine) struct Calls {
    pub(in crate::engine) replied: LlmReplied,
    pub(in crate::engine) calls: Vec<LlmSaid>,
}
