//! A gateway on loopback, with a vendor and clients that do what the test says.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use recount::prelude::*;
use recount::session::{Seq, SessionId};
use recount::tool::policy_file;
use recount_gateway::{AnyCredential, Entrance, Gateway, Settings, Upstream};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};

/// The path of Google AI.
pub(crate) const PATH: &str =
    "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// The policies of most tests: refunds and deletions are held.
pub(crate) const POLICIES: &str = r#"{"tools": {
    "refund": {"confirm": "Refund this order?"},
    "wipe": {"confirm": "Delete everything?"}}}"#;

/// The answer of a vendor to a setup.
pub(crate) const SETUP_COMPLETE: &str = r#"{"setupComplete":{}}"#;

/// A gateway with a vendor.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) gateway: Gateway,
    address: String,
    vendors: mpsc::UnboundedReceiver<WebSocketStream<TcpStream>>,
}

/// The agent of most tests, with one hosted tool.
pub(crate) fn agent(policies: &str) -> Agent {
    let time = T::simple("server_time", "Tells the time", |_| async {
        Ok(json!({"time": "12:00"}))
    });
    Agent::new()
        .strict()
        .tools(time)
        .policies(policy_file::parse(policies).unwrap())
        .tools_from_clients()
}

impl Bench {
    pub(crate) async fn start() -> Bench {
        let engine = Engine::in_memory().agent("desk", agent(POLICIES));
        Bench::over(engine.open().await.unwrap()).await
    }

    pub(crate) async fn over(engine: Engine) -> Bench {
        Bench::with(engine, Arc::new(AnyCredential), |it| it).await
    }

    pub(crate) async fn with(
        engine: Engine,
        entrance: Arc<dyn Entrance>,
        settings: impl FnOnce(Settings) -> Settings,
    ) -> Bench {
        let vendor = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = format!("ws://{}", vendor.local_addr().unwrap());
        let (accepted, vendors) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = vendor.accept().await {
                if let Ok(socket) = accept_async(stream).await {
                    let _ = accepted.send(socket);
                }
            }
        });
        let settings = settings(Settings {
            upstream: Upstream::Url(upstream),
            ..Settings::of_agent("desk")
        });
        let gateway = Gateway::start(engine.clone(), settings, entrance)
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = gateway.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Bench {
            engine,
            gateway,
            address,
            vendors,
        }
    }

    pub(crate) fn url(&self, rest: &str) -> String {
        format!("ws://{}{PATH}{rest}", self.address)
    }

    /// Connects a client with this key, and completes its setup with the vendor.
    pub(crate) async fn connected(&mut self, key: &str) -> (Side, Side) {
        self.connected_with(key, &[], json!({})).await
    }

    /// As [`connected`](Bench::connected), with headers and more members of the setup.
    pub(crate) async fn connected_with(
        &mut self,
        key: &str,
        headers: &[(&'static str, &str)],
        more: Value,
    ) -> (Side, Side) {
        let (mut client, mut vendor) = self.opened(key, headers).await;
        let mut setup = json!({"model": "models/gemini-3.8-live", "tools": [declared()]});
        let members = more.as_object().unwrap().clone();
        setup.as_object_mut().unwrap().extend(members);
        client.text(&json!({"setup": setup}).to_string()).await;
        let sent = vendor.next_json().await;
        assert!(sent["setup"].is_object(), "{sent}");
        vendor.binary(SETUP_COMPLETE).await;
        assert_eq!(client.next_text().await, SETUP_COMPLETE);
        (client, vendor)
    }

    /// Connects a client, before its setup.
    pub(crate) async fn opened(
        &mut self,
        key: &str,
        headers: &[(&'static str, &str)],
    ) -> (Side, Side) {
        let mut request = self.url("").into_client_request().unwrap();
        request
            .headers_mut()
            .insert("x-goog-api-key", key.parse().unwrap());
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (client, _) = connect_async(request).await.unwrap();
        let vendor = self.vendors.recv().await.unwrap();
        (
            Side::Client(Box::new(client)),
            Side::Vendor(Box::new(vendor)),
        )
    }

    /// The sessions of the journal, oldest first.
    pub(crate) async fn sessions(&self) -> Vec<recount::ledger::SessionSummary> {
        self.engine.sessions().await.unwrap()
    }

    /// The session of the only connection, once it is recorded.
    pub(crate) async fn session_of_connection(&self) -> SessionId {
        let mut updates = self.engine.subscribe();
        while self.count("connected").await == 0 {
            updates.next().await;
        }
        self.sessions().await[0].id
    }

    /// The kinds of the records of a session, in order.
    pub(crate) async fn kinds(&self, session: SessionId) -> Vec<&'static str> {
        let facts = self.engine.ledger().facts(session, Seq(1), 100_000);
        let facts = facts.await.unwrap();
        facts.iter().map(|it| it.event.kind()).collect()
    }

    /// The number of records of this kind in all sessions.
    pub(crate) async fn count(&self, kind: &str) -> usize {
        let mut count = 0;
        for session in self.sessions().await {
            let facts = self.engine.ledger().facts(session.id, Seq(1), 100_000);
            let facts = facts.await.unwrap();
            count += facts.iter().filter(|it| it.event.kind() == kind).count();
        }
        count
    }

    /// The vendor's end of the connection that a client has just opened.
    pub(crate) async fn vendor(&mut self) -> Side {
        Side::Vendor(Box::new(self.vendors.recv().await.unwrap()))
    }

    /// Waits for a request and answers it.
    pub(crate) async fn answer(&self, tool: &str, confirmation: ToolConfirmation) {
        let mut updates = self.engine.subscribe();
        loop {
            let pending = self.engine.pending().await.unwrap();
            if let Some(waiting) = pending.iter().find(|it| it.tool == tool) {
                let ada = Actor::token("ada");
                let answered = self.engine.answer(waiting.id, confirmation, ada);
                answered.await.unwrap();
                return;
            }
            updates.next().await;
        }
    }

    /// Waits until a record of this kind follows.
    pub(crate) async fn recorded(&self, mut updates: recount::engine::Updates, kind: &str) {
        updates.wait_for(|it| it.kind() == kind).await.unwrap();
    }
}

pub(crate) fn declared() -> Value {
    let function = |name: &str| json!({"name": name, "description": name, "behavior": "BLOCKING"});
    json!({"functionDeclarations": [function("look_up"), function("refund"), function("wipe")]})
}

/// One call as a vendor writes it, with spaces that a careless relay would remove.
pub(crate) fn call(id: &str, name: &str) -> String {
    format!(r#"{{"id": "{id}",  "name": "{name}", "args": {{"n": 1.50}}}}"#)
}

/// A message of the vendor with these calls.
pub(crate) fn calls(calls: &[String]) -> String {
    format!(
        r#"{{"toolCall": {{"functionCalls": [{}]}}}}"#,
        calls.join(", ")
    )
}

/// The message that a gateway sends for one call alone.
pub(crate) fn alone(call: &str) -> String {
    format!(r#"{{"toolCall":{{"functionCalls":[{call}]}}}}"#)
}

/// The answer of a client, as Python's SDK spells it.
pub(crate) fn answer(id: &str, name: &str) -> String {
    let response = format!(r#"{{"id": "{id}", "name": "{name}", "response": {{"ok": true}}}}"#);
    format!(r#"{{"tool_response": {{"functionResponses": [{response}]}}}}"#)
}

/// One end of a relayed connection, in the hands of the test.
pub(crate) enum Side {
    Client(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Vendor(Box<WebSocketStream<TcpStream>>),
}

impl Side {
    pub(crate) async fn send(&mut self, message: Message) {
        match self {
            Side::Client(it) => it.send(message).await.unwrap(),
            Side::Vendor(it) => it.send(message).await.unwrap(),
        }
    }

    /// Sends a message that the other side may not take to its end.
    pub(crate) async fn try_send(&mut self, message: Message) -> Result<(), Error> {
        match self {
            Side::Client(it) => it.send(message).await,
            Side::Vendor(it) => it.send(message).await,
        }
    }

    pub(crate) async fn text(&mut self, text: &str) {
        self.send(Message::text(text)).await;
    }

    pub(crate) async fn binary(&mut self, text: &str) {
        self.send(Message::binary(text.to_owned())).await;
    }

    /// The next message, also a ping or pong. `None`: the connection broke.
    pub(crate) async fn next_frame(&mut self) -> Option<Message> {
        let message = match self {
            Side::Client(it) => it.next().await,
            Side::Vendor(it) => it.next().await,
        };
        message.and_then(Result::ok)
    }

    /// The next message but pings. `None`: the connection broke.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let message = match self {
                Side::Client(it) => it.next().await,
                Side::Vendor(it) => it.next().await,
            };
            match message {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn next_text(&mut self) -> String {
        let message = self.next().await.unwrap();
        message.into_text().unwrap().to_string()
    }

    pub(crate) async fn next_json(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await).unwrap()
    }

    /// The close frame that ends the connection.
    pub(crate) async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match self.next().await {
                Some(Message::Close(frame)) => return frame,
                Some(_) => {}
                None => return None,
            }
        }
    }

    /// Ends the connection without a close frame.
    pub(crate) fn drop_connection(self) {
        drop(self);
    }
}

/// The longest time for a test that would hang.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
