//! The number of calls per message and of open calls per session is limited. Every call beyond gets
//! a response all the same.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Outcome, Session};
use recount::simulator::Standing;
use recount::testing::ScriptedModel;
use tokio::sync::Notify;

/// A model that makes `calls` calls of a tool in one message.
fn model(calls: usize, tool: &str) -> ScriptedModel {
    let calls: Vec<_> = (0..calls)
        .map(|n| json!({"id": format!("c{n}"), "name": tool}))
        .collect();
    let script = json!({"on": {"text": "go"}, "send": [{"call": calls}]});
    ScriptedModel::parse(&script.to_string()).unwrap()
}

fn look() -> Toolset {
    T::simple("look", "Looks", |_| async { Ok(json!({"seen": true})) })
}

fn settled_as(session: &Session, outcome: Outcome) -> usize {
    let settled = session.settled.values();
    settled.filter(|it| it.outcome == outcome).count()
}

/// Sends "go", and waits until the session has settled this many calls.
async fn settled(live: &LiveHandle, calls: usize) -> Session {
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    loop {
        let session = live.session().await.unwrap();
        let all_sent = session.deliveries.values().all(|it| it.sent);
        if session.settled.len() == calls && all_sent {
            return session;
        }
        updates.next().await.unwrap();
    }
}

#[tokio::test]
async fn each_call_of_a_large_message_is_answered() {
    let model = model(1_000, "look");
    let live = Live::builder().model("m").tools(look());
    let live = live.connect_with(model.clone()).await.unwrap();
    let session = settled(&live, 1_000).await;
    // The default limit.
    assert_eq!(settled_as(&session, Outcome::Returned), 128);
    assert_eq!(settled_as(&session, Outcome::Refused), 872);
    let transcript = model.transcript();
    let answers = transcript.answers();
    let expected = answers.filter(|(_, _, standing)| *standing == Standing::Accepted);
    assert_eq!(expected.count(), 1_000);
    let refusals = transcript.answers();
    let refusals = refusals.filter(|(_, it, _)| format!("{:?}", it.response).contains("128"));
    assert_eq!(refusals.count(), 872);
}

#[tokio::test]
async fn open_calls_beyond_the_limit_are_answered() {
    let model = model(5, "pay");
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let agent = Agent::new()
        .model("m")
        .tools(T::confirm(pay, "Pay?"))
        .strict()
        .open_calls_max(3)
        .connect_to(model.clone());
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let session = settled(&live, 2).await;
    assert_eq!(settled_as(&session, Outcome::Refused), 2);
    assert_eq!(session.calls.len(), 3, "which a person is asked about");
}

#[tokio::test]
async fn shutdown_is_served_within_a_large_message() {
    let model = model(20_000, "look");
    let begun = Arc::new(Notify::new());
    let told = begun.clone();
    let look = T::simple("look", "Looks", move |_| {
        told.notify_one();
        async { Ok(json!({"seen": true})) }
    });
    let agent = Agent::new().model("m").tools(look).connect_to(model);
    let journal = SurvivingJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("a", agent).open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    begun.notified().await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let loaded = Ledger::new(journal).load(live.session_id()).await;
    let session = loaded.unwrap().session;
    let received = session.settled.len() + session.calls.len();
    assert!((128..20_000).contains(&received), "{received} of 20,000");
}
