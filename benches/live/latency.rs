//! The latency that the engine adds to audio between the socket and the listener. Meanwhile 64
//! tools run and are journaled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use recount::engine::LiveEvent;
use recount::live::{ConnectError, Connection, ConnectionLost, Connector, FrameReceiver};
use recount::prelude::*;
use tokio::sync::mpsc;

use crate::machine;
use crate::service::{SPEAKS, Service, TOOLS};

/// The figures of one session.
pub(crate) struct Heard {
    /// The times from the receipt of a piece at the socket to its receipt by the listener.
    pub(crate) added: Vec<Duration>,
    /// The number of tool results that were recorded meanwhile, per second.
    pub(crate) recorded: f64,
}

/// Listens to so many pieces.
pub(crate) fn measure(pieces: usize) -> Heard {
    let service = Service::start();
    let scratch = machine::scratch();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let arrivals: Arrivals = Arc::default();
        let connector = Stamped {
            endpoint: Endpoint::url(&service.url),
            arrivals: arrivals.clone(),
        };
        let tools = (0..TOOLS).map(|tool| T::streaming(Arc::new(Works(format!("works_{tool}")))));
        let tools = tools.reduce(|all, more| all | more).expect("a tool");
        let live = Live::builder()
            .model(SPEAKS)
            .tools(tools)
            .journal(scratch.path())
            .connect_with(connector)
            .await
            .expect("a connection");
        // The listener has a task of its own, as in an application.
        let listening = listen(live.listen(), arrivals, pieces);
        live.send_text("Speak.").await.expect("a connection");
        let before = live.session().await.expect("a session").head.0;
        let (added, took) = tokio::spawn(listening).await.expect("a listener");
        let after = live.session().await.expect("a session");
        assert_eq!(
            after.running(),
            TOOLS,
            "a bench of idle tools measures nothing"
        );
        // A result makes three records: the result, its response, and the sending of the response.
        let recorded = (after.head.0 - before) as f64 / 3.0 / took.as_secs_f64();
        live.engine()
            .shutdown(Duration::ZERO)
            .await
            .expect("a clean end");
        Heard { added, recorded }
    })
}

/// The times at which the socket received the pieces that are still unheard.
type Arrivals = Arc<Mutex<VecDeque<Instant>>>;

async fn listen(
    mut heard: recount::engine::Listener,
    arrivals: Arrivals,
    pieces: usize,
) -> (Vec<Duration>, Duration) {
    // Pieces received while the tools start are not measured.
    let warm = 200;
    let mut added = Vec::with_capacity(pieces);
    let mut begun = Instant::now();
    for piece in 0..pieces + warm {
        loop {
            match heard.next().await {
                Some(LiveEvent::Audio { .. }) => break,
                Some(LiveEvent::Lagged(_)) | None => unreachable!("a listener that keeps up"),
                Some(_) => {}
            }
        }
        let now = Instant::now();
        let mut waiting = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let arrived = waiting.pop_front().expect("a piece that arrived");
        if piece == warm {
            begun = now;
        }
        if piece >= warm {
            added.push(now.duration_since(arrived));
        }
    }
    (added, begun.elapsed())
}

/// A tool that yields twenty results per second. Each one is on disk before the next.
struct Works(String);

#[async_trait]
impl StreamingTool for Works {
    fn name(&self) -> &str {
        &self.0
    }
    fn description(&self) -> &str {
        "Works"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yield_tx: mpsc::Sender<Value>) -> Result<(), ToolError> {
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        let mut step = 0;
        loop {
            tick.tick().await;
            step += 1;
            let told = yield_tx.send(json!({ "step": step })).await;
            told.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
    }
}

/// A connector that records the receipt time of each piece of audio.
struct Stamped {
    endpoint: Endpoint,
    arrivals: Arrivals,
}

struct Stamping {
    receiver: Box<dyn FrameReceiver>,
    arrivals: Arrivals,
}

#[async_trait]
impl Connector for Stamped {
    fn endpoint(&self) -> String {
        self.endpoint.endpoint()
    }
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let Connection { sender, receiver } = self.endpoint.connect().await?;
        let arrivals = self.arrivals.clone();
        let receiver = Box::new(Stamping { receiver, arrivals });
        Ok(Connection { sender, receiver })
    }
}

#[async_trait]
impl FrameReceiver for Stamping {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        let frame = self.receiver.receive().await?;
        if frame.contains("inlineData") {
            let mut waiting = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push_back(Instant::now());
        }
        Ok(frame)
    }
}
