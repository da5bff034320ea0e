//! Sessions whose connection another program relays: what it is told, and what the record says.

use async_trait::async_trait;
use recount::engine::{Relay, RelayOrder};
use recount::live::{ConnectionLost, FrameReceiver, Platform};
use recount::prelude::*;
use recount::session::{Json, Lease, Seq};
use recount::tool::policy_file;
use tokio::sync::mpsc;

/// The messages of a service, as the relay hands them over.
struct Messages(mpsc::UnboundedReceiver<String>);

#[async_trait]
impl FrameReceiver for Messages {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        self.0.recv().await.ok_or_else(|| ConnectionLost {
            code: Some(1000),
            reason: "the client left".to_owned(),
        })
    }
}

/// A relayed connection, from the side of its relay.
struct Client {
    service: mpsc::UnboundedSender<String>,
    orders: mpsc::UnboundedReceiver<Box<RelayOrder>>,
}

impl Client {
    async fn connect(session: &LiveHandle, claim: &str) -> Client {
        let (service, messages) = mpsc::unbounded_channel();
        let (sender, orders) = mpsc::unbounded_channel();
        let object = || json!({"type": "object"});
        let relay = Relay {
            model: "models/gemini-3.8-live".to_owned(),
            endpoint: "wss://vendor.example".to_owned(),
            platform: Platform::GoogleAi,
            tools: T::client("look", "Looks", object()) | T::client("refund", "Refunds", object()),
            resumed: None,
            client: Actor::token("caller"),
            claim: claim.to_owned(),
            lease: Lease::DEFAULT,
            receiver: Box::new(Messages(messages)),
            orders: sender,
        };
        session.relay(relay).await.unwrap();
        let mut client = Client { service, orders };
        // Only calls that wait come before it.
        loop {
            match client.next().await {
                RelayOrder::Waits { .. } => {}
                RelayOrder::Taken => return client,
                other => panic!("{other:?}"),
            }
        }
    }

    fn call(&self, id: &str, name: &str) {
        let call = json!({"id": id, "name": name, "args": {"n": 1}});
        let message = json!({"toolCall": {"functionCalls": [call]}});
        self.service.send(message.to_string()).unwrap();
    }

    async fn next(&mut self) -> RelayOrder {
        *self.orders.recv().await.unwrap()
    }

    /// The call that the next order delivers.
    async fn delivered(&mut self) -> (Seq, u32) {
        loop {
            match self.next().await {
                RelayOrder::Deliver { call, attempt, .. } => return (call, attempt),
                RelayOrder::Heard { message } => panic!("message {message} delivers nothing"),
                RelayOrder::Received { .. }
                | RelayOrder::Waits { .. }
                | RelayOrder::Taken
                | RelayOrder::Ended { .. } => {}
                RelayOrder::Send { written, .. } => written.send(()).unwrap(),
            }
        }
    }
}

async fn engine() -> Engine {
    let text = r#"{"tools": {"refund": {"confirm": "Refund this order?"}}}"#;
    let agent = Agent::new()
        .strict()
        .policies(policy_file::parse(text).unwrap())
        .tools_from_clients();
    Engine::in_memory()
        .agent("desk", agent)
        .open()
        .await
        .unwrap()
}

#[tokio::test]
async fn call_without_a_policy_is_delivered_with_its_batch() {
    let engine = engine().await;
    let session = engine.session("desk").open().await.unwrap().releasing();
    let mut client = Client::connect(&session, "c1").await;
    client.call("f1", "look");
    let RelayOrder::Received { call, id, tool } = client.next().await else {
        panic!("expected the call");
    };
    assert_eq!((id.as_deref(), tool.as_str()), (Some("f1"), "look"));
    let RelayOrder::Deliver {
        call: delivered,
        args,
        ..
    } = client.next().await
    else {
        panic!("expected its delivery");
    };
    assert_eq!((delivered, args.as_str()), (call, r#"{"n":1}"#));
    assert!(matches!(
        client.next().await,
        RelayOrder::Heard { message: 1 }
    ));
}

#[tokio::test]
async fn held_call_is_delivered_after_its_approval() {
    let engine = engine().await;
    let session = engine.session("desk").open().await.unwrap().releasing();
    let mut client = Client::connect(&session, "c1").await;
    client.call("f1", "refund");
    assert!(matches!(client.next().await, RelayOrder::Received { .. }));
    let pending = session.pending().await.unwrap();
    assert_eq!(pending.len(), 1);
    let yes = ToolConfirmation::confirmed();
    session
        .answer(pending[0].id, yes, Actor::token("ada"))
        .await
        .unwrap();
    let (call, attempt) = loop {
        match client.next().await {
            RelayOrder::Deliver { call, attempt, .. } => break (call, attempt),
            RelayOrder::Send { written, .. } => written.send(()).unwrap(),
            RelayOrder::Received { .. }
            | RelayOrder::Waits { .. }
            | RelayOrder::Taken
            | RelayOrder::Ended { .. }
            | RelayOrder::Heard { .. } => {}
        }
    };
    let key = recount::engine::ClaimKey {
        session: session.session_id(),
        call,
        attempt: Some(attempt),
        claim: "relay/c1".to_owned(),
    };
    let result = Ok(Json::of(&json!({"done": true})));
    engine
        .finish_claim(key, result, Actor::token("caller"))
        .await
        .unwrap();
}

#[tokio::test]
async fn call_of_a_client_that_left_is_in_doubt() {
    let engine = engine().await;
    let session = engine.session("desk").open().await.unwrap().releasing();
    let mut client = Client::connect(&session, "c1").await;
    client.call("f1", "look");
    let (call, _) = client.delivered().await;
    drop(client);
    let mut again = Client::connect(&session, "c2").await;
    again.call("f2", "look");
    let (next, _) = again.delivered().await;
    assert_ne!(call, next);
    let state = session.session().await.unwrap();
    assert!(!state.calls.contains_key(&call), "it ended as unknown");
}
