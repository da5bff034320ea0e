//! The parts of a session's task. A step that concerns one part alone is a method of it, in the
//! file of the step's subject; steps that concern several are the task's.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::patient_journal::RoomWait;
use super::timer::Timer;
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
use crate::engine::inputs::callers::Caller;
use crate::engine::inputs::registry::Registry;
use crate::engine::live_media::media::Media;
use crate::engine::notify::publisher::Publisher;
use crate::ledger::{Ledger, Recorded, Seal, Tail};
use crate::session::{Seq, Session};
use crate::tool::{Temporary, Watchers};

/// The session's stream in the journal: how far it was written, and what it folds to.
pub(in crate::engine) struct Stream {
    pub(in crate::engine) ledger: Ledger,
    pub(in crate::engine) room: RoomWait,
    pub(in crate::engine) session: Session,
    pub(in crate::engine) tail: Tail,
    /// How far it had come when this task, or whoever opens it next, last folded it.
    pub(in crate::engine) folded: Seq,
    pub(in crate::engine) seal: Seal,
    /// The records of the last batch, until it is performed.
    pub(in crate::engine) latest: Vec<Arc<Recorded>>,
}

/// The session's connection, and what is kept of it until the next.
pub(in crate::engine) struct Connections {
    pub(in crate::engine) socket: Option<Socket>,
    pub(in crate::engine) sockets: u64,
    /// The connection that is being opened, while there is one.
    pub(in crate::engine) opening: Option<AbortOnDropHandle<()>>,
    /// What it takes to come back after a loss.
    pub(in crate::engine) reconnecting: Reconnecting,
    pub(in crate::engine) incoming: mpsc::Receiver<Incoming>,
    pub(in crate::engine) incoming_sender: mpsc::Sender<Incoming>,
    /// The rest of a message that brought more calls than it may.
    pub(in crate::engine) rest: Rest,
    /// Words of ours that wait until the model takes live input again, with their connection.
    pub(in crate::engine) kept: Vec<(Seq, Outgoing)>,
    /// Where audio and video pass by.
    pub(in crate::engine) media: Arc<Media>,
    /// How long nothing was said on a connection that nobody holds.
    pub(in crate::engine) silence: Option<AbortOnDropHandle<()>>,
    pub(in crate::engine) silences: u64,
}

/// The work under way, and what waits for its outcome.
pub(in crate::engine) struct Running {
    pub(in crate::engine) performer: Performer,
    /// Tells when the first of the session's times has come.
    pub(in crate::engine) timer: Option<Timer>,
    /// The runner that this task attached.
    pub(in crate::engine) attached: Option<Seq>,
    /// The programs that wait for their own calls.
    pub(in crate::engine) callers: BTreeMap<Seq, Caller>,
    /// The tools that wait for an answer where they stand, by call.
    pub(in crate::engine) asking: BTreeMap<Seq, Waiting>,
    /// What was said since the last turn ended, and the hooks that read the one before.
    pub(in crate::engine) turn: Turn,
    pub(in crate::engine) extracting: Vec<AbortOnDropHandle<()>>,
    /// The `temp:` values, and who watches the state.
    pub(in crate::engine) temporary: Temporary,
    pub(in crate::engine) watchers: Arc<Watchers>,
}

/// The parts of the engine that its sessions' tasks share.
pub(in crate::engine) struct Shared {
    /// Held while somebody else writes to a session, whose agent was not here.
    pub(in crate::engine) desk_turns: Arc<Mutex<()>>,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    pub(in crate::engine) publisher: Publisher,
    pub(in crate::engine) registry: Arc<Registry>,
    /// The places of the engine for running tools.
    pub(in crate::engine) slots: Slots,
    /// Who wakes the session at a time, once it has no task.
    pub(in crate::engine) alarm: Arc<Alarm>,
}
