//! The parts of a session's task.
//!
//! A step that concerns one part is a method of that part, in the file of its subject. A step that
//! concerns several is a method of the task.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::retrying_journal::SpaceWait;
use super::timer::Timer;
use crate::engine::agents::changed::ChangedAgents;
use crate::engine::agents::extractors::Turn;
use crate::engine::clock::Clock;
use crate::engine::connection::incoming::Incoming;
use crate::engine::connection::message_limit::Rest;
use crate::engine::connection::reconnecting::Reconnecting;
use crate::engine::connection::socket::Socket;
use crate::engine::connection::writer::Outgoing;
use crate::engine::effects::performer::Performer;
use crate::engine::effects::slots::Slots;
use crate::engine::inputs::alarm::Alarm;
use crate::engine::inputs::asking::Waiting;
use crate::engine::inputs::back_off::BackOff;
use crate::engine::inputs::callers::Caller;
use crate::engine::inputs::left_open::LeftOpen;
use crate::engine::inputs::registry::Registry;
use crate::engine::inputs::relay::Relayed;
use crate::engine::live_media::media::Media;
use crate::engine::notify::publisher::Publisher;
use crate::ledger::{Ledger, Owned, Recorded, Seal, Tail};
use crate::session::{Seq, Session};
use crate::tool::{Temporary, Watchers};

/// The session's stream in the journal: its tail and its folded state.
pub(in crate::engine) struct Stream {
    pub(in crate::engine) ledger: Ledger,
    pub(in crate::engine) room: SpaceWait,
    pub(in crate::engine) session: Session,
    pub(in crate::engine) tail: Tail,
    /// The watermark of the last snapshot, when this task or the next one loads the session.
    pub(in crate::engine) folded: Seq,
    pub(in crate::engine) seal: Seal,
    /// The records of the last batch, until its effects are performed.
    pub(in crate::engine) latest: Vec<Arc<Recorded>>,
    /// The version of the journal's pauses that this session has observed.
    pub(in crate::engine) pauses_known: u64,
    /// The proof that the process before is gone. `None` for a new session, which had none.
    pub(in crate::engine) owned: Option<Owned>,
    /// The request of another process whose outcome the next batch is.
    pub(in crate::engine) requested: Option<Uuid>,
}

/// The session's connection, and the state kept until the next one.
pub(in crate::engine) struct Connections {
    pub(in crate::engine) socket: Option<Socket>,
    pub(in crate::engine) sockets: u64,
    /// The relay of the socket, if another program owns the connection.
    pub(in crate::engine) relay: Option<Relayed>,
    /// The number of the last message that the session handled.
    pub(in crate::engine) heard: u64,
    /// The connection attempt in flight, if there is one.
    pub(in crate::engine) opening: Option<AbortOnDropHandle<()>>,
    /// The state for reconnecting after a loss.
    pub(in crate::engine) reconnecting: Reconnecting,
    pub(in crate::engine) incoming: mpsc::Receiver<Incoming>,
    pub(in crate::engine) incoming_sender: mpsc::Sender<Incoming>,
    /// The rest of a message with more calls than its limit.
    pub(in crate::engine) rest: Rest,
    /// Text of the engine that waits until the model accepts live input, with its connection.
    pub(in crate::engine) kept: Vec<(Seq, Outgoing)>,
    /// The path of audio and video.
    pub(in crate::engine) media: Arc<Media>,
    /// The timer for silence on a connection without a handle.
    pub(in crate::engine) silence: Option<AbortOnDropHandle<()>>,
    /// The number of silence timers started.
    pub(in crate::engine) silences: u64,
}

/// The effects in flight, and the callers and tools that wait for their results.
pub(in crate::engine) struct Running {
    pub(in crate::engine) performer: Performer,
    /// The timer for the session's next deadline.
    pub(in crate::engine) timer: Option<Timer>,
    /// The runner that this task attached.
    pub(in crate::engine) attached: Option<Seq>,
    /// The programs that wait for calls of their own; several for a call with a key.
    pub(in crate::engine) callers: BTreeMap<Seq, Vec<Caller>>,
    /// The tools that wait for an answer while they run, by call.
    pub(in crate::engine) asking: BTreeMap<Seq, Waiting>,
    /// The text since the last turn ended, and the extractors that read the turn before.
    pub(in crate::engine) turn: Turn,
    pub(in crate::engine) extracting: Vec<AbortOnDropHandle<()>>,
    /// The `temp:` values, and the watchers of the state.
    pub(in crate::engine) temporary: Temporary,
    pub(in crate::engine) watchers: Arc<Watchers>,
}

/// The parts of the engine shared by its sessions' tasks.
pub(in crate::engine) struct Shared {
    /// Locked while the desk appends to a session that has no running task.
    pub(in crate::engine) desk_turns: Arc<Mutex<()>>,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    /// The agents of sessions whose tools were changed.
    pub(in crate::engine) changed_agents: Arc<ChangedAgents>,
    pub(in crate::engine) publisher: Publisher,
    pub(in crate::engine) registry: Arc<Registry>,
    /// The engine's slots for running tools.
    pub(in crate::engine) slots: Slots,
    /// The alarm that wakes the session after its task has ended.
    pub(in crate::engine) alarm: Arc<Alarm>,
    /// The work that ended tasks could not do.
    pub(in crate::engine) left_open: Arc<LeftOpen>,
    /// The sessions whose task failed.
    pub(in crate::engine) back_off: Arc<BackOff>,
}
