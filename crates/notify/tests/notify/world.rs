//! A world: an engine with gated tools, a clock that the test sets, and notifications.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Clock, SystemClock};
use recount::journal::BoxFuture;
use recount::ledger::PendingConfirmation;
use recount::prelude::{Actor, Agent, Engine, T, ToolConfirmation, json};
use recount::session::{SessionId, Timestamp};
use recount_notify::{Notifier, Occasion, Patience, Route, Settings, Sink, Target};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::receiver::{Receiver, within};

/// The secret of the webhooks.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The start of the clock: 2027-01-15, 08:00 UTC.
const START: Timestamp = Timestamp(1_800_000_000_000_000);

/// A clock that stands still until the test sets it.
pub(crate) struct HandClock(watch::Sender<Timestamp>);

/// An engine with notifications.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) directory: TempDir,
}

impl HandClock {
    pub(crate) fn forward(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.after(by));
    }

    pub(crate) fn back(&self, by: Duration) {
        let us = i64::try_from(by.as_micros()).unwrap();
        self.0.send_modify(|now| now.0 -= us);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            // Without its clock, a sink has no time.
            let _ = now.wait_for(|now| due <= *now).await;
        })
    }

    fn new_session(&self) -> SessionId {
        SystemClock.new_session()
    }
}

impl World {
    pub(crate) async fn new() -> World {
        let clock = Arc::new(HandClock(watch::Sender::new(START)));
        let refund = T::simple("refund", "Refunds", |_| async {
            Ok(json!({"refunded": true}))
        });
        let refund = T::confirm(refund, "Refund this order?");
        let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
        let pay = T::confirm_within(pay, "Pay?", Duration::from_secs(3_600));
        let agent = Agent::new().model("none").strict().tools(refund).tools(pay);
        let engine = Engine::in_memory().clock(clock.clone());
        World {
            engine: engine.agent("support", agent).open().await.unwrap(),
            clock,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.directory.path().join("sinks")
    }

    /// The settings with these sinks and routes.
    pub(crate) fn settings(&self, sinks: Vec<Sink>, routes: Vec<Route>) -> Settings {
        Settings {
            sinks,
            routes,
            links: Some("https://recount.example".to_owned()),
            directory: self.files(),
        }
    }

    /// Starts notifications.
    pub(crate) async fn notify(&self, settings: Settings) -> Notifier {
        let ledger = self.engine.ledger().clone();
        let starting = Notifier::start(ledger, self.clock.clone(), settings);
        within(starting).await.unwrap()
    }

    /// Opens a session, in which a tool waits for an approval.
    pub(crate) async fn ask(&self, tool: &str) -> PendingConfirmation {
        let opening = self.engine.session("support").label("tenant", "acme");
        let handle = opening.open().await.unwrap();
        let mut updates = handle.subscribe();
        let (calling, tool) = (handle.clone(), tool.to_owned());
        tokio::spawn(async move {
            let by = Actor::embedder("pipeline");
            let args = json!({"order": "1001", "note": "<b>\u{202e}"});
            // It waits for the approval.
            let _ = calling.call_function(&tool, args, by).await;
        });
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        assert!(within(asked).await.is_some(), "nothing was asked");
        handle.pending().await.unwrap().remove(0)
    }

    /// Opens a session, in which a tool waits for an approval in many calls.
    pub(crate) async fn ask_often(&self, tool: &str, calls: usize) {
        let handle = self.engine.session("support").open().await.unwrap();
        let mut updates = handle.subscribe();
        for number in 0..calls {
            let (calling, tool) = (handle.clone(), tool.to_owned());
            tokio::spawn(async move {
                let by = Actor::embedder("pipeline");
                let _ = calling
                    .call_function(&tool, json!({"order": number}), by)
                    .await;
            });
            let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
            assert!(within(asked).await.is_some(), "nothing was asked");
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, asked: &PendingConfirmation, answer: ToolConfirmation) {
        let answering = self.engine.answer(asked.id, answer, Actor::embedder("ada"));
        within(answering).await.unwrap();
    }
}

/// A webhook that tries again soon.
pub(crate) fn webhook(name: &str, receiver: &Receiver) -> Sink {
    webhook_at(name, &receiver.url)
}

pub(crate) fn webhook_at(name: &str, url: &str) -> Sink {
    let target = Target::Webhook {
        url: url.parse().unwrap(),
        secret: SECRET.parse().unwrap(),
    };
    let mut sink = Sink::new(name.parse().unwrap(), target);
    sink.patience = Patience {
        attempts: 1_000,
        first: Duration::from_millis(5),
        longest: Duration::from_millis(20),
    };
    sink
}

/// A route of these occasions to a sink.
pub(crate) fn route(to: &str, occasions: &[Occasion]) -> Route {
    Route {
        sinks: vec![to.parse().unwrap()],
        occasions: occasions.iter().copied().collect(),
        ..Route::default()
    }
}
