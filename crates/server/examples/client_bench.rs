//! A service for the tests of clients in other languages, with a clock that only a test moves.
//!
//! `client_bench DIRECTORY [ADDRESS]` keeps its journal, its tokens and its time in the directory,
//! so that a killed one continues with the next start. It prints one line of JSON with its URL and,
//! at the first start, its tokens. It then reads commands, one line of JSON each, and answers each
//! with a line: `{"advance_ms":60000}` moves the clock, `{"drain":true}` drains the service. It
//! shuts down at the end of its input.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Clock, SystemClock};
use recount::prelude::{Agent, Engine, InDoubt, T, json};
use recount::session::{SessionId, Timestamp};
use recount_journal::BoxFuture;
use recount_server::{Access, Grant, NewToken, Role, Service, TokenStore};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

/// The time of the first start: 2026-01-01T00:00:00Z, in microseconds since 1970.
const BEGINNING_US: i64 = 1_767_225_600_000_000;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let directory = PathBuf::from(args.next().ok_or("expected a directory")?);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let clock = ManualClock::of(directory.join("now_us"))?;
    let engine = Engine::builder(directory.join("journal"))
        .clock(Arc::new(clock.clone()))
        .agent("shop", shop())
        .agent("billing", shop())
        .open()
        .await?;
    let (store, created) = tokens(&directory.join("tokens.json"), clock.now())?;
    let access = Access::none().with_tokens(Arc::new(store));
    let service = Service::new(engine.clone(), access);
    let listener = tokio::net::TcpListener::bind(&address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    print(&json!({"url": url, "tokens": created}))?;
    let (commands, ended) = (lines(), service.clone());
    let serving = axum::serve(listener, service.router())
        .with_graceful_shutdown(obeyed(commands, clock, ended))
        .into_future();
    serving.await?;
    engine.shutdown(Duration::ZERO).await?;
    Ok(())
}

/// An agent with a tool of each kind that the tests use.
fn shop() -> Agent {
    let order = || {
        json!({
            "type": "object",
            "properties": {"order": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["order"],
        })
    };
    let refund = T::confirm(
        T::client("refund", "Refunds", order()),
        "Refund this order?",
    );
    let pack = T::idempotent(T::client("pack", "Packs an order", order()));
    let print = T::client("print_label", "Prints a label", order());
    let print = T::in_doubt(print, InDoubt::Ask);
    let add = T::simple("add", "Adds", |args| async move {
        let number = |name| args.get(name).and_then(Value::as_i64).unwrap_or(0);
        Ok(json!(number("a") + number("b")))
    });
    let mail = T::simple("mail", "Mails", |_| async { Ok(json!({"sent": true})) });
    let mail = T::may_allow_for_session(T::confirm(mail, "Send this mail?"));
    let payload = json!({"type": "object", "properties": {"days": {"type": "integer"}}});
    let book = T::confirm(T::client("book", "Books", order()), "For how many days?");
    let book = T::confirm_payload(book, payload);
    let ship = T::simple("ship", "Ships", |_| async {
        Ok(json!({"label": "printed"}))
    });
    Agent::new()
        .model("none")
        .tools(refund)
        .tools(pack)
        .tools(print)
        .tools(book)
        .tools(add)
        .tools(mail)
        .tools(T::long_running(ship))
}

/// Opens the tokens, and creates them at the first start: one for each role, and one of a tenant.
fn tokens(path: &Path, now: Timestamp) -> Result<(TokenStore, Value), Failure> {
    let store = TokenStore::open(path)?;
    let mut created = Map::new();
    if store.list()?.is_empty() {
        for role in Role::ALL {
            let new = NewToken::new(role.to_string()).grant(Grant::everywhere(role));
            let (token, _) = store.create(new, now)?;
            created.insert(role.to_string(), token.expose().into());
        }
        let own = Grant::everywhere(Role::Operator).with_label("tenant", "acme");
        let (token, _) = store.create(NewToken::new("acme").grant(own), now)?;
        created.insert("acme".to_owned(), token.expose().into());
    }
    Ok((store, Value::Object(created)))
}

/// Reads the lines of the standard input on a thread of its own.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Carries out the commands, until the input ends.
async fn obeyed(
    mut commands: mpsc::UnboundedReceiver<String>,
    clock: ManualClock,
    service: Service,
) {
    while let Some(line) = commands.recv().await {
        if let Err(error) = obey(&line, &clock, &service).and_then(|reply| print(&reply)) {
            eprintln!("{line}: {error}");
        }
    }
    service.drain();
}

fn obey(line: &str, clock: &ManualClock, service: &Service) -> Result<Value, Failure> {
    let command: Map<String, Value> = serde_json::from_str(line)?;
    if let Some(ms) = command.get("advance_ms").and_then(Value::as_i64) {
        clock.advance(ms)?;
    }
    if command.contains_key("drain") {
        service.drain();
    }
    Ok(json!({"now_us": clock.now()}))
}

fn print(value: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}

/// A clock that stands still unless it is told to advance. A file keeps its time.
#[derive(Clone)]
struct ManualClock {
    now: watch::Sender<i64>,
    file: PathBuf,
}

impl ManualClock {
    fn of(file: PathBuf) -> Result<ManualClock, Failure> {
        let now = match std::fs::read_to_string(&file) {
            Ok(text) => text.trim().parse()?,
            Err(_) => BEGINNING_US,
        };
        let now = watch::Sender::new(now);
        Ok(ManualClock { now, file })
    }

    fn advance(&self, ms: i64) -> Result<(), Failure> {
        let now = self.now().0.saturating_add(ms.saturating_mul(1000));
        std::fs::write(&self.file, now.to_string())?;
        self.now.send_replace(now);
        Ok(())
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(*self.now.borrow())
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The engine has the clock, and with it the sender, as long as it waits.
            let _ = now.wait_for(|now| *now >= due.0).await;
        })
    }

    fn new_session(&self) -> SessionId {
        SystemClock.new_session()
    }
}
