//! The start and the end of sessions, and answers for sessions that no agent can run.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use async_trait::async_trait;
use futures_util::FutureExt;
use recount::engine::Error;
use recount::journal::MemoryJournal;
use recount::ledger::Ledger;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use recount::prelude::*;
use recount::session::{Outcome, Rejection, Seq};
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::{Notify, Semaphore};

use crate::nothing_left::{assert_nothing_is_left, settle};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_does_not_detach_while_it_is_taken() {
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
async fn session_of_unknown_agent_is_answered_once_and_does_not_run() {
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

/// A connector whose service completes the setup and reads nothing after it.
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

/// A connector that never connects.
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

/// A connector with a bug that panics.
struct Panics;

#[async_trait]
impl Connector for Panics {
    fn endpoint(&self) -> String {
        "wss://panics".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        panic!("on purpose")
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_connector_is_reported_as_unreachable() {
    let agent = Agent::new().model("m").connect_to(Panics);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let connecting = engine.session("a").connect();
    let connecting = tokio::time::timeout(Duration::from_secs(600), connecting).await;
    let error = connecting.unwrap().err().unwrap();
    assert!(
        matches!(
            &error,
            Error::Connect(ConnectError::Unreachable { endpoint, reason })
                if endpoint == "wss://panics" && reason.contains("panicked")
        ),
        "{error:?}"
    );
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

/// A connector that fails at once.
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

const SHIP: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "s", "name": "ship"}]}]}
{"on": {"text": "more"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

/// An agent with a tool that ends at a notification, and one that ends at once.
fn agent_with(release: &Arc<Notify>, model: &ScriptedModel) -> Agent {
    let release = release.clone();
    let ship = T::simple("ship", "Ships", move |_| {
        let release = release.clone();
        async move {
            release.notified().await;
            Ok(json!({"shipped": true}))
        }
    });
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    Agent::new()
        .model("m")
        .tools(ship | pay)
        .connect_to(model.clone())
}

/// A journal, a clock that stands still, and the parts of an engine over them.
struct Place {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    release: Arc<Notify>,
    model: ScriptedModel,
}

impl Place {
    fn new() -> Place {
        Place {
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            release: Arc::default(),
            model: ScriptedModel::parse(SHIP).unwrap(),
        }
    }

    async fn engine(&self) -> Engine {
        let engine = Engine::in_memory()
            .journal(self.journal.clone())
            .clock(self.clock.clone());
        let agent = agent_with(&self.release, &self.model);
        engine.agent("a", agent).open().await.unwrap()
    }

    /// An engine with a session in which the slow tool runs.
    async fn shipping(&self) -> (Engine, LiveHandle) {
        let engine = self.engine().await;
        let live = engine.session("a").connect().await.unwrap();
        live.send_text("go").await.unwrap();
        settle().await;
        (engine, live)
    }

    async fn settled(&self, session: SessionId) -> Vec<Outcome> {
        let loaded = Ledger::new(self.journal.clone()).load(session).await;
        let settled = loaded.unwrap().session.settled;
        settled.values().map(|it| it.outcome).collect()
    }
}

#[tokio::test]
async fn calls_end_and_none_start_within_shutdown_grace() {
    let place = Place::new();
    let (engine, live) = place.shipping().await;
    let grace = engine.shutdown(Duration::from_secs(20));
    let meanwhile = async {
        settle().await;
        live.send_text("more").await.unwrap();
        settle().await;
        place.release.notify_one();
    };
    let (ended, ()) = tokio::join!(grace, meanwhile);
    ended.unwrap();
    let answers: Vec<String> = place
        .model
        .transcript()
        .answers()
        .map(|(_, response, _)| response.response.as_ref().unwrap().as_str().to_owned())
        .collect();
    assert_eq!(answers, [r#"{"shipped":true}"#]);
    let session = live.session_id();
    assert_eq!(place.settled(session).await, [Outcome::Returned]);

    // The late call starts once, with the next engine.
    let next = place.engine().await;
    settle().await;
    let ended = place.settled(session).await;
    assert_eq!(ended, [Outcome::Returned, Outcome::Returned]);
    next.shutdown(Duration::ZERO).await.unwrap();
    settle().await;
    assert_nothing_is_left();
}

#[tokio::test]
async fn calls_are_cut_off_after_grace_and_next_engine_reports_them() {
    let place = Place::new();
    let (engine, live) = place.shipping().await;
    let grace = engine.shutdown(Duration::from_secs(20));
    let meanwhile = async {
        settle().await;
        place.clock.advance(Duration::from_secs(20));
    };
    let (ended, ()) = tokio::join!(grace, meanwhile);
    ended.unwrap();
    let session = live.session_id();
    assert_eq!(place.settled(session).await, [Outcome::Unknown]);
    drop(live);

    let next = place.engine().await;
    let live = next.resume(session).await.unwrap();
    settle().await;
    let transcript = place.model.transcript();
    let told = transcript.told().filter(|(on, _)| on.0 == 2);
    let told: Vec<String> = told.map(|(_, text)| text).collect();
    assert!(told.last().unwrap().contains("unknown"), "{told:?}");
    drop(live);
    next.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn an_idle_engine_shuts_down_without_waiting_for_its_grace() {
    let place = Place::new();
    let engine = place.engine().await;
    let _live = engine.session("a").connect().await.unwrap();
    // The clock stands still, so a wait would never end.
    engine.shutdown(Duration::from_secs(3_600)).await.unwrap();
}

#[tokio::test]
async fn engine_waits_until_previous_one_releases_journal() {
    let directory = tempfile::tempdir().unwrap();
    let agent = || agent_with(&Arc::default(), &ScriptedModel::parse(SHIP).unwrap());
    let open = |wait| {
        let engine = Engine::builder(directory.path()).wait(wait);
        engine.agent("a", agent()).open()
    };
    let old = open(Duration::ZERO).await.unwrap();
    let in_use = open(Duration::ZERO).await;
    assert!(in_use.is_err(), "two engines over one journal");
    let new = open(Duration::from_secs(600));
    let ended = async {
        settle().await;
        old.shutdown(Duration::ZERO).await.unwrap();
        drop(old);
    };
    let (new, ()) = tokio::join!(new, ended);
    new.unwrap().shutdown(Duration::ZERO).await.unwrap();
}

/// A connector whose connections open one by one, as the test permits.
#[derive(Clone)]
struct OneByOne {
    model: ScriptedModel,
    begun: Arc<AtomicUsize>,
    gates: Arc<[Semaphore; 2]>,
}

#[async_trait]
impl Connector for OneByOne {
    fn endpoint(&self) -> String {
        "one by one".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let gate = self.begun.fetch_add(1, Ordering::SeqCst);
        self.gates[gate].acquire().await.unwrap().forget();
        self.model.connect().await
    }
}

#[tokio::test]
async fn a_connection_that_was_given_up_is_not_taken_for_the_next_one() {
    let service = OneByOne {
        model: ScriptedModel::parse("").unwrap(),
        begun: Arc::default(),
        gates: Arc::new([Semaphore::new(0), Semaphore::new(0)]),
    };
    let agent = Agent::new().model("m").connect_to(service.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = Arc::new(engine.session("a").open().await.unwrap());
    let first = live.clone();
    let first = tokio::spawn(async move { first.connect().await });
    settle().await;
    // The connection opens just as it is given up, so its result arrives after the next request to
    // connect.
    service.gates[0].add_permits(1);
    let next = async { tokio::join!(live.disconnect(), live.connect()) };
    let mut next = Box::pin(next);
    assert!((&mut next).now_or_never().is_none());
    settle().await;
    assert!(matches!(
        first.await.unwrap(),
        Err(Error::NotConnected { .. })
    ));
    assert!((&mut next).now_or_never().is_none(), "on whose connection?");
    assert_eq!(live.session().await.unwrap().connection, None);
    service.gates[1].add_permits(1);
    let (disconnected, connected) = next.await;
    disconnected.unwrap();
    connected.unwrap();
    assert!(live.session().await.unwrap().connection.is_some());
}

#[tokio::test]
async fn program_call_is_answered_despite_due_timer() {
    let busy = T::simple("busy", "Never ends", |_| pending());
    let limited = T::timeout(T::idempotent(busy), Duration::from_secs(1));
    let retried = T::retry(limited, 2, Duration::ZERO);
    let quick = T::simple("quick", "Ends at once", |_| async { Ok(json!({})) });
    let clock = ManualClock::new();
    let engine = Engine::in_memory()
        .clock(clock.clone())
        .agent("a", Agent::new().model("none").tools(retried | quick));
    let live = engine
        .open()
        .await
        .unwrap()
        .session("a")
        .open()
        .await
        .unwrap();
    let live = Arc::new(live);
    let call = |name: &'static str| {
        let live = live.clone();
        async move {
            live.call_function(name, json!({}), Actor::embedder("pipeline"))
                .await
        }
    };
    let busy = tokio::spawn(call("busy"));
    settle().await;
    // The session receives the call before the timer is due.
    let mut quick = Box::pin(call("quick"));
    assert!((&mut quick).now_or_never().is_none());
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert_eq!(quick.now_or_never(), Some(Ok(json!({}))));
    busy.abort();
}

#[tokio::test]
async fn connection_ends_with_the_last_clone_of_its_handle() {
    let model = ScriptedModel::parse("").unwrap();
    let agent = Agent::new().model("m").connect_to(model);
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let first = engine.session("a").on_behalf_of("ada@example.com");
    let first = first.connect().await.unwrap();
    let second = first.clone();
    assert_eq!(second.session_id(), first.session_id());
    drop(first);
    second.send_text("Hello?").await.unwrap();
    assert!(second.session().await.unwrap().connection.is_some());
    let sessions = engine.sessions().await.unwrap();
    let known = sessions.iter().map(|it| it.on_behalf_of.as_deref());
    assert_eq!(known.collect::<Vec<_>>(), [Some("ada@example.com")]);
    let mut updates = second.subscribe();
    drop(second);
    let ended = updates.wait_for(|event| event.kind() == "disconnected");
    assert!(ended.await.is_some());
}
