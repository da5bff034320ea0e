//! A journal that is moved, removed or replaced while a service has it open accepts no more
//! records.
//!
//! So no tool starts, and no caller is told that its command counts.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::testing::ScriptedModel;

/// A change of the directory of a journal, with a name for messages.
type Change = (&'static str, fn(&Path));

const CHANGES: [Change; 5] = [
    ("moved", |path| {
        fs::rename(path, path.with_file_name("moved")).unwrap();
    }),
    ("removed", |path| fs::remove_dir_all(path).unwrap()),
    ("log removed", |path| {
        fs::remove_dir_all(path.join("log")).unwrap();
    }),
    ("log file replaced by a copy", |path| {
        let file = path.join("log/0000000000000001.log");
        let whole = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, whole).unwrap();
    }),
    ("replaced by another journal", |path| {
        fs::rename(path, path.with_file_name("moved")).unwrap();
        drop(recount::journal::DiskJournal::open(path).unwrap());
    }),
];

struct Service {
    place: tempfile::TempDir,
    model: ScriptedModel,
    engine: Engine,
    live: LiveHandle,
    runs: Arc<AtomicUsize>,
}

impl Service {
    /// A service that has run one tool. The model can call `pay` or the gated `refund`.
    async fn begin() -> Service {
        let place = tempfile::tempdir().unwrap();
        let model = ScriptedModel::parse("").unwrap();
        let runs = Arc::<AtomicUsize>::default();
        let tool = |name: &'static str| {
            let runs = runs.clone();
            T::simple(name, "Moves money", move |_| {
                runs.fetch_add(1, Ordering::SeqCst);
                async { Ok(json!({"done": true})) }
            })
        };
        let tools = tool("pay") | T::confirm(tool("refund"), "Refund it?");
        let agent = Agent::new()
            .model("m")
            .tools(tools)
            .connect_to(model.clone());
        let engine = Engine::builder(place.path().join("journal"))
            .without_control()
            .agent("till", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("till").connect().await.unwrap();
        let service = Service {
            place,
            model,
            engine,
            live,
            runs,
        };
        let mut updates = service.live.subscribe();
        service.calls("p0", "pay");
        let sent = updates.wait_for(|event| event.kind() == "responses_sent");
        sent.await.unwrap();
        assert_eq!(service.runs.load(Ordering::SeqCst), 1);
        service
    }

    fn calls(&self, id: &str, name: &str) {
        let call = FunctionCall::new(id, name, json!({}));
        self.model.send(&ServerMessage::tool_call([call]));
    }

    /// The number of responses that the model has received.
    fn responses(&self) -> usize {
        self.model.transcript().answers().count()
    }

    /// Asserts that no tool has run again and that the model has received no more responses.
    async fn has_run_no_more(self, before: usize, what: &str) {
        // The task of the session has ended, and with it all its runs.
        let refused = self.live.call_function("pay", json!({}), by()).await;
        refused.unwrap_err();
        let _ = self.engine.shutdown(Duration::ZERO).await;
        assert_eq!(self.runs.load(Ordering::SeqCst), 1, "{what}");
        assert_eq!(self.responses(), before, "{what}");
    }
}

fn by() -> Actor {
    Actor::embedder("ada")
}

#[tokio::test]
async fn call_after_the_journal_is_gone_starts_no_tool() {
    for (what, change) in CHANGES {
        let service = Service::begin().await;
        let mut updates = service.live.subscribe();
        let before = service.responses();
        change(&service.place.path().join("journal"));
        service.calls("p1", "pay");
        while updates.next().await.is_some() {}
        let told = service.live.send_text("Hello?").await.unwrap_err();
        let told = told.to_string();
        assert!(
            told.contains("moved, replaced or removed"),
            "{what}: {told}"
        );
        service.has_run_no_more(before, what).await;
    }
}

#[tokio::test]
async fn approval_after_the_journal_is_gone_is_an_error() {
    for (what, change) in CHANGES {
        let service = Service::begin().await;
        let mut updates = service.live.subscribe();
        service.calls("r1", "refund");
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        asked.await.unwrap();
        // The model receives the notice that the call waits.
        let told = updates.wait_for(|event| event.kind() == "responses_sent");
        told.await.unwrap();
        let request = service.engine.pending().await.unwrap()[0].id;
        let before = service.responses();
        change(&service.place.path().join("journal"));
        for _ in 0..2 {
            let yes = ToolConfirmation::confirmed();
            let told = service.engine.answer(request, yes, by()).await;
            assert!(told.is_err(), "{what}: {told:?}");
        }
        service.has_run_no_more(before, what).await;
    }
}
