//! Sessions whose model calls a tool again as soon as it has the response.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use recount::engine::EngineBuilder;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use tokio::sync::Notify;

use crate::peer::{Line, Lines, Peer, Reply};
use crate::processor_time::processor_time;

/// The shared state of the models of all sessions.
#[derive(Default)]
struct Calls {
    /// The number of calls that are still to be made.
    left: AtomicU64,
    answered: AtomicU64,
    all_answered: Notify,
    steps: Mutex<Vec<Duration>>,
}

/// An engine with connected sessions.
pub(crate) struct Sessions {
    engine: Engine,
    live: Vec<LiveHandle>,
    lines: Lines,
    calls: Arc<Calls>,
}

/// The figures of so many steps.
pub(crate) struct Took {
    pub(crate) time: Duration,
    pub(crate) worked: Duration,
    /// The times from a call's arrival at the receiver to the sending of its response.
    pub(crate) steps: Vec<Duration>,
}

impl Sessions {
    pub(crate) async fn open(engine: EngineBuilder, sessions: usize) -> Sessions {
        let calls = Arc::new(Calls::default());
        let of_connection = calls.clone();
        let look_up = T::simple("look_up", "Looks an order up", |args| async move {
            Ok(json!({"order": args.get("order"), "status": "shipped"}))
        });
        let peer = Peer::new(move || of_connection.clone().model());
        let lines = peer.lines.clone();
        let agent = Agent::new().model("peer").tools(look_up).connect_to(peer);
        let engine = engine.agent("desk", agent).open().await.expect("an engine");
        let mut live = Vec::new();
        while live.len() < sessions {
            let some = (sessions - live.len()).min(32);
            let some = (0..some).map(|_| engine.session("desk").connect());
            let some = futures_util::future::join_all(some).await;
            live.extend(some.into_iter().map(|it| it.expect("a connection")));
        }
        Sessions {
            engine,
            live,
            lines,
            calls,
        }
    }

    /// Runs so many steps. All sessions run concurrently, and each runs one step after another.
    pub(crate) async fn steps(&self, count: usize) -> Took {
        let sessions = self.live.len();
        let count = count.div_ceil(sessions) * sessions;
        self.calls.answered.store(0, Ordering::SeqCst);
        self.calls
            .left
            .store((count - sessions) as u64, Ordering::SeqCst);
        let (begun, worked) = (Instant::now(), processor_time());
        // The model makes the first call, as in a conversation. Each further call follows a
        // response.
        self.begin();
        while self.calls.answered.load(Ordering::SeqCst) < count as u64 {
            self.calls.all_answered.notified().await;
        }
        let (time, worked) = (begun.elapsed(), processor_time() - worked);
        let mut steps = self
            .calls
            .steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let steps = std::mem::take(&mut *steps);
        assert_eq!(steps.len(), count);
        Took {
            time,
            worked,
            steps,
        }
    }

    fn begin(&self) {
        let lines = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().for_each(|line| Line::deliver(line, "Go."));
    }

    /// Shuts the engine down in good order, so that everything is indexed.
    pub(crate) async fn close(self) {
        drop(self.live);
        self.engine
            .shutdown(Duration::ZERO)
            .await
            .expect("a clean end");
    }
}

impl Calls {
    /// The model of one connection.
    fn model(self: Arc<Self>) -> Reply {
        let mut made = 0_u64;
        Box::new(move |frame, step| {
            if frame.contains("\"setup\"") {
                return Some(ServerMessage::setup_complete().encode());
            }
            if frame.contains("toolResponse") {
                assert!(frame.contains("shipped"), "a bench of failures: {frame}");
                let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
                steps.push(step);
                drop(steps);
                self.answered.fetch_add(1, Ordering::SeqCst);
                let less = |left: u64| left.checked_sub(1);
                let left = &self.left;
                if left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                    .is_err()
                {
                    self.all_answered.notify_one();
                    return None;
                }
            }
            made += 1;
            Some(format!(
                "{{\"toolCall\":{{\"functionCalls\":[{{\"id\":\"function-call-{made}\",\
                 \"name\":\"look_up\",\"args\":{{\"order\":\"A-{made}\"}}}}]}}}}"
            ))
        })
    }
}
