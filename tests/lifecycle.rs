//! How a session begins, ends and is answered by an engine that cannot run it.
#![cfg(feature = "testing")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::Error;
use recount::journal::MemoryJournal;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use recount::prelude::*;
use recount::session::{Rejection, Seq};
use recount::testing::ScriptedModel;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_never_let_go_while_somebody_takes_it() {
    let model = ScriptedModel::parse("").unwrap();
    let agent = Agent::new().model("m").connect_to(model);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    for _ in 0..300 {
        let live = engine.session("a").connect().await.unwrap();
        let facts = engine.ledger().facts(live.session_id(), Seq(1), 10);
        let facts = facts.await.unwrap();
        let kinds: Vec<_> = facts.iter().map(|fact| fact.event.kind()).collect();
        assert_eq!(kinds, ["session_opened", "runner_attached", "connected"]);
    }
}

#[tokio::test]
async fn closing_a_session_ends_its_connection() {
    let model = ScriptedModel::parse("").unwrap();
    let live = Live::builder()
        .model("m")
        .connect_with(model)
        .await
        .unwrap();
    live.close("done", Actor::embedder("ada")).await.unwrap();
    assert_eq!(live.session().await.unwrap().connection, None);
    assert!(matches!(
        live.send_text("Hello?").await,
        Err(Error::NotConnected { .. })
    ));
}

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "r", "name": "refund"}]}]}
"#;

#[tokio::test]
async fn a_session_of_an_unknown_agent_is_answered_once_and_does_not_run() {
    let journal = Arc::new(MemoryJournal::new());
    let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
    let agent = Agent::new()
        .model("m")
        .strict()
        .tools(T::confirm(refund, "Refund?"))
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap());
    let first = Engine::in_memory()
        .journal(journal.clone())
        .agent("support", agent);
    let first = first.open().await.unwrap();
    let live = first.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    live.disconnect().await.unwrap();

    let second = Engine::in_memory().journal(journal).open().await.unwrap();
    let request = second.pending().await.unwrap().first().unwrap().id;
    let answer = |by| second.answer(request, ToolConfirmation::confirmed(), Actor::embedder(by));
    let (one, other) = tokio::join!(answer("ada"), answer("bob"));
    assert!(one.is_ok(), "{one:?}");
    let Err(Error::Refused(Rejection::AlreadyAnswered(counted))) = other else {
        unreachable!("{other:?}")
    };
    assert_eq!(
        (counted.at, counted.by.name.as_str()),
        (one.unwrap(), "ada")
    );
    let open = second.sessions().await.unwrap().remove(0).open;
    assert_eq!(open.get("ready"), Some(&1), "{open:?}");
}

/// Completes the setup and takes nothing after it.
struct Stuck;

struct TakesNothing {
    setup_taken: bool,
}

struct SaysNothing {
    setup_complete: bool,
}

#[async_trait]
impl Connector for Stuck {
    fn endpoint(&self) -> String {
        "stuck".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        Ok(Connection {
            sender: Box::new(TakesNothing { setup_taken: false }),
            receiver: Box::new(SaysNothing {
                setup_complete: false,
            }),
        })
    }
}

#[async_trait]
impl FrameSender for TakesNothing {
    async fn send(&mut self, _frame: String) -> Result<(), ConnectionLost> {
        if self.setup_taken {
            pending::<()>().await;
        }
        self.setup_taken = true;
        Ok(())
    }

    async fn close(&mut self) {
        pending::<()>().await;
    }
}

#[async_trait]
impl FrameReceiver for SaysNothing {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        if self.setup_complete {
            pending::<()>().await;
        }
        self.setup_complete = true;
        Ok(r#"{"setupComplete":{}}"#.to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_is_lost() {
    let live = Live::builder()
        .model("m")
        .connect_with(Stuck)
        .await
        .unwrap();
    let mut updates = live.subscribe();
    live.send_text("Hello?").await.unwrap();
    let lost = updates.wait_for(|event| event.kind() == "disconnected");
    let lost = tokio::time::timeout(Duration::from_secs(3600), lost).await;
    assert!(lost.is_ok(), "the connection is still thought to live");
}

/// Never gets through.
struct Nowhere;

#[async_trait]
impl Connector for Nowhere {
    fn endpoint(&self) -> String {
        "nowhere".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        pending().await
    }
}

#[tokio::test]
async fn a_session_goes_on_while_its_connection_is_being_opened() {
    let agent = Agent::new().model("m").connect_to(Nowhere);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let mut updates = engine.subscribe();
    let connecting = tokio::spawn(engine.session("a").connect());
    let attached = updates
        .wait_for(|event| event.kind() == "runner_attached")
        .await;
    let session = attached.unwrap().session;
    engine
        .close_session(session, "changed my mind", Actor::embedder("ada"))
        .await
        .unwrap();
    connecting.abort();
}

/// Says no at once.
struct Refused;

#[async_trait]
impl Connector for Refused {
    fn endpoint(&self) -> String {
        "refused".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        Err(ConnectError::Unreachable {
            endpoint: self.endpoint(),
            reason: "no".to_owned(),
        })
    }
}

#[tokio::test]
async fn a_session_that_never_connected_does_not_stay_open() {
    let agent = Agent::new().model("m").connect_to(Refused);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    engine.session("a").connect().await.unwrap_err();
    let sessions = engine.sessions().await.unwrap();
    assert!(sessions.iter().all(|session| session.is_closed()) && sessions.len() == 1);
}
