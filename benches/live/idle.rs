//! The cost of a connected, idle session: its heap, with a socket and without.

use std::fs;
use std::future::pending;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use async_trait::async_trait;
use recount::live::wire::ServerMessage;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use recount::prelude::*;

use crate::machine;
use crate::service::{IDLE, Service};

/// The heap per session, in bytes: the allocations of the thread that serves the sessions, minus
/// what was freed.
pub(crate) fn heap(sessions: usize, with_socket: bool) -> f64 {
    let service = with_socket.then(Service::start);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let agent = agent();
    let agent = match &service {
        Some(service) => agent.connect_to(Endpoint::url(&service.url)),
        None => agent.connect_to(IdleConnector),
    };
    let scratch = machine::scratch();
    let engine = Engine::builder(scratch.path()).agent("idle", agent);
    let engine = runtime.block_on(engine.open()).expect("an engine");
    // The first sessions also allocate shared data, such as the tables of the runtime.
    let first = runtime.block_on(connect(&engine, 100));
    let mut more = Vec::with_capacity(sessions);
    let allocated = measure(|| more = runtime.block_on(connect(&engine, sessions)));
    let heap = allocated.bytes_current as f64 / sessions as f64;
    assert_eq!(first.len() + more.len(), 100 + sessions);
    drop((first, more));
    runtime
        .block_on(engine.shutdown(Duration::ZERO))
        .expect("a clean end");
    heap
}

/// The figures of a process with two threads that serves sessions over sockets.
pub(crate) struct Crowd {
    /// The growth of resident memory per session, in bytes. It includes the fragmentation of the
    /// heap.
    pub(crate) resident: f64,
    pub(crate) connecting: Duration,
    /// The time for all sessions to complete one turn, at the same time.
    pub(crate) conversing: Duration,
}

/// Connects so many sessions, and lets all of them have a turn at the same time.
pub(crate) fn crowd(sessions: usize) -> Crowd {
    let service = Service::start();
    let scratch = machine::scratch();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let agent = agent().connect_to(Endpoint::url(&service.url));
        let engine = Engine::builder(scratch.path()).agent("idle", agent);
        let engine = engine.open().await.expect("an engine");
        let first = connect(&engine, 20).await;
        let (before, begun) = (resident(), Instant::now());
        let handles = connect(&engine, sessions).await;
        let connecting = begun.elapsed();
        let resident = (resident() - before) / sessions as f64;
        let begun = Instant::now();
        let turns = handles.into_iter().map(|live| {
            tokio::spawn(async move {
                let mut heard = live.listen();
                live.send_text("Are you there?")
                    .await
                    .expect("a connection");
                loop {
                    match heard.next().await {
                        Some(recount::engine::LiveEvent::TurnComplete) => break live,
                        Some(_) => {}
                        None => unreachable!("a session that goes on"),
                    }
                }
            })
        });
        let turns: Vec<_> = turns.collect();
        let mut live = Vec::new();
        for turn in turns {
            live.push(turn.await.expect("a turn"));
        }
        let conversing = begun.elapsed();
        drop((first, live));
        engine.shutdown(Duration::ZERO).await.expect("a clean end");
        Crowd {
            resident,
            connecting,
            conversing,
        }
    })
}

/// An agent with a few tools.
fn agent() -> Agent {
    let tool = |name: &str| T::simple(name, "Does something", |_| async { Ok(json!({})) });
    Agent::new()
        .model(IDLE)
        .instruction("You are the support desk.")
        .tools(
            tool("look_up") | T::confirm(tool("refund"), "Refund?") | T::background(tool("search")),
        )
}

/// Connects sessions, up to 32 at a time.
async fn connect(engine: &Engine, sessions: usize) -> Vec<LiveHandle> {
    let mut handles = Vec::with_capacity(sessions);
    while handles.len() < sessions {
        let some = (sessions - handles.len()).min(32);
        let some = (0..some).map(|_| engine.session("idle").connect());
        for live in futures_util::future::join_all(some).await {
            handles.push(live.expect("a connection"));
        }
    }
    handles
}

/// The anonymous memory of this process, in bytes.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells of memory");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|it| it.trim().strip_suffix(" kB"));
    let kib: f64 = kib.expect("a size").trim().parse().expect("a number");
    kib * 1024.0
}

/// A connection without a socket.
struct IdleConnector;

struct IdleReceiver(bool);

struct IdleSender;

#[async_trait]
impl Connector for IdleConnector {
    fn endpoint(&self) -> String {
        "silence".to_owned()
    }
    async fn connect(&self) -> Result<Connection, ConnectError> {
        Ok(Connection {
            sender: Box::new(IdleSender),
            receiver: Box::new(IdleReceiver(false)),
        })
    }
}

#[async_trait]
impl FrameReceiver for IdleReceiver {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        if std::mem::replace(&mut self.0, true) {
            pending::<()>().await;
        }
        Ok(ServerMessage::setup_complete().encode())
    }
}

#[async_trait]
impl FrameSender for IdleSender {
    async fn send(&mut self, _: String) -> Result<(), ConnectionLost> {
        Ok(())
    }
    async fn close(&mut self) {}
}
