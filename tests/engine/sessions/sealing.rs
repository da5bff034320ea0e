//! A sealed value is nowhere in clear text, and everything else works as without sealing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use recount::engine::Error as EngineError;
use recount::journal::seal::{FileKeyStore, KeyStore, MasterKey};
use recount::journal::{DiskJournal, block_on, export, verify};
use recount::ledger::{Error, Ledger, actor_reference};
use recount::prelude::*;
use recount::replay;
use recount::session::{Decision, Event, Fact, ObjectHash, Observation, Outcome, Seq};
use recount::testing::{Life, ManualClock, ScriptedModel};

/// Long enough that no sealed or hashed bytes contain it by chance.
const CARD: &str = "4111-hidden-number";
const HANDLE: &str = "the-handle-that-resumes-the-conversation";

const SCRIPT: &str = r#"
{"on": "setup", "send": [{"sessionResumptionUpdate": {"newHandle": "the-handle-that-resumes-the-conversation", "resumable": true}}]}
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": 4200, "card": {"number": "4111-hidden-number"}}}]}]}
{"on": {"text": "twice"}, "send": [{"call": [{"id": "c2", "name": "pay", "args": {"cents": 4200, "card": {"number": "4111-hidden-number"}}}, {"id": "c3", "name": "pay", "args": {"cents": 4200, "card": "4111-hidden-number"}}]}]}
{"on": {"text": "wrongly"}, "send": [{"call": [{"id": "c4", "name": "pay", "args": {"cents": "no", "card": {"number": 41114111411141}}}]}]}
{"on": "otherwise", "send": [{"say": "It is noted."}]}
"#;

/// The texts that a session of a sealed agent must not reveal.
const SPOKEN: [&str; 6] = [
    CARD,
    HANDLE,
    "settle my bill",
    "Pay this much?",
    "It is noted.",
    "acme-incorporated",
];

struct Place {
    directory: tempfile::TempDir,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Place {
    fn new() -> Place {
        Place {
            directory: tempfile::tempdir().unwrap(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse(SCRIPT).unwrap(),
            seen: Arc::default(),
        }
    }

    fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    fn keys(&self) -> Arc<dyn KeyStore> {
        let master = MasterKey::from_text(&"a1".repeat(32)).unwrap();
        Arc::new(FileKeyStore::create(self.directory.path().join("keys"), master).unwrap())
    }

    fn agent(&self) -> Agent {
        let seen = self.seen.clone();
        let schema = json!({
            "type": "object",
            "properties": {"cents": {"type": "integer"},
                "card": {"properties": {"number": {"type": "string"}}}},
        });
        let pay = T::simple_with("pay", "Pays by card", schema, move |args| {
            seen.lock().unwrap().push(args);
            async { Ok(json!({"paid": true})) }
        });
        let pay = T::secret(T::confirm(pay, "Pay this much?"), "/card/number");
        Agent::new()
            .model("m")
            .tools(pay)
            .connect_to(self.model.clone())
    }

    fn life(&self, agent: Agent) -> Life {
        let journal = Arc::new(DiskJournal::open(self.journal()).unwrap());
        let engine = Engine::in_memory()
            .journal(journal)
            .clock(self.clock.clone())
            .keys(self.keys());
        Life::of(engine.agent("support", agent))
    }

    /// Starts a session in which the user sends `text`, and waits until `kind` is recorded.
    fn asked(&self, agent: Agent, text: &str, kind: &'static str) -> (Life, LiveHandle) {
        let life = self.life(agent);
        let live = life.run(async {
            let session = life
                .engine()
                .session("support")
                .label("tenant", "acme-incorporated");
            let live = session.connect().await.unwrap();
            says(&live, text, kind, 1).await;
            live
        });
        (life, live)
    }

    /// A read-only ledger over the journal.
    fn ledger(&self) -> Ledger {
        let journal = DiskJournal::options(self.journal()).read_only().open();
        Ledger::new(Arc::new(journal.unwrap()))
    }

    fn facts(&self) -> Vec<Fact> {
        let ledger = self.ledger().with_keys(self.keys());
        let session = block_on(ledger.sessions()).unwrap()[0].id;
        block_on(ledger.facts(session, Seq(1), 10_000)).unwrap()
    }

    /// The bytes of all files in a directory.
    fn bytes(&self, name: &str) -> Vec<u8> {
        let mut folders = vec![self.directory.path().join(name)];
        let mut bytes = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => bytes.extend(fs::read(path).unwrap()),
                }
            }
        }
        bytes
    }
}

/// Sends a text, and waits for this number of durable events of this kind.
async fn says(live: &LiveHandle, text: &str, kind: &'static str, count: usize) {
    let mut updates = live.subscribe();
    live.send_text(text).await.unwrap();
    for _ in 0..count {
        let recorded = updates.wait_for(|event| event.kind() == kind);
        recorded.await.unwrap();
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

fn approve(life: &Life) -> Vec<RequestId> {
    let engine = life.engine();
    let pending = life.run(engine.pending()).unwrap();
    let ids: Vec<RequestId> = pending.iter().map(|it| it.id).collect();
    for id in &ids {
        let yes = ToolConfirmation::confirmed();
        let mut updates = engine.subscribe();
        let answered = engine.answer(*id, yes, Actor::embedder("ada-of-acme"));
        life.run(answered).unwrap();
        let ran = updates.wait_for(|event| event.kind() == "tool_returned");
        life.run(ran).unwrap();
    }
    ids
}

#[test]
fn sealed_session_survives_kill_approval_and_replay_unrevealed() {
    let place = Place::new();
    let (life, live) = place.asked(
        place.agent().sealed(),
        "Please settle my bill.",
        "confirmation_requested",
    );
    let session = live.session_id();
    drop(live);
    life.crash();

    let life = place.life(place.agent().sealed());
    assert_eq!(approve(&life).len(), 1);
    let heard = json!({"cents": 4200, "card": {"number": CARD}});
    assert_eq!(*place.seen.lock().unwrap(), [heard]);
    life.end();

    for name in ["journal", "keys"] {
        let bytes = place.bytes(name);
        for text in SPOKEN {
            assert!(!holds(&bytes, text), "{text:?} stands in the {name}");
        }
    }
    // A reader without the key can verify everything, and gets an error where content is needed.
    let ledger = place.ledger();
    let summary = &block_on(ledger.sessions()).unwrap()[0];
    assert!(summary.sealed && summary.agent.is_empty() && summary.labels.is_empty());
    let refused = block_on(replay::verify(&ledger, session));
    assert!(matches!(refused, Err(Error::Sealed { session: it }) if it == session));
    let mut out = Vec::new();
    let trailer = block_on(export(ledger.journal().as_ref(), Some(session.0), &mut out)).unwrap();
    assert!(
        trailer.objects >= 2,
        "the catalog and the policies go along"
    );
    assert!(verify::export(&out[..]).unwrap().is_sound());
    let file = place.directory.path().join("export.jsonl");
    fs::write(&file, &out).unwrap();
    verified_by_the_script(&file);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(r#""body":{"$sealed":"v1."#) && !text.contains(r#""body":{"agent""#));
    let guessed = actor_reference(session, &Actor::embedder("ada-of-acme"));
    assert!(text.contains(r#""ref":""#) && !text.contains(&guessed));
    block_on(ledger.journal().close()).unwrap();
    assert!(verify::directory(place.journal()).unwrap().is_sound());

    // With the key it is an ordinary session.
    let ledger = place.ledger().with_keys(place.keys());
    let report = block_on(replay::verify(&ledger, session)).unwrap();
    assert_eq!(report.diverged, None);
    assert!(report.decisions >= 5, "{report:?}");
    let folded = block_on(ledger.load(session)).unwrap().session;
    let settled: Vec<Outcome> = folded.settled.values().map(|it| it.outcome).collect();
    assert_eq!(settled, [Outcome::Returned]);
    assert!(!block_on(ledger.sessions()).unwrap()[0].sealed);
}

fn verified_by_the_script(export: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify_export.py");
    let Ok(said) = Command::new("python3").arg(script).arg(export).output() else {
        // Python is optional on a developer's machine; CI has it.
        return;
    };
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn sealed_request_is_listed_without_key_and_answered_with_it() {
    let place = Place::new();
    let (life, live) = place.asked(
        place.agent().sealed(),
        "Please settle my bill.",
        "confirmation_requested",
    );
    let with_key = life.run(life.engine().pending()).unwrap();
    drop(live);
    life.crash();
    let without = block_on(place.ledger().pending()).unwrap();
    assert_eq!(without.len(), 1);
    let (listed, known) = (&without[0], &with_key[0]);
    assert!(listed.sealed && listed.tool.is_empty() && !known.sealed);
    assert_eq!((listed.id, listed.request), (known.id, known.request));
    assert!(listed.args.as_str().starts_with(r#"{"$sealed":"v1."#));

    // An engine without the keys opens, runs no call of the session, and reports why.
    let journal = Arc::new(DiskJournal::open(place.journal()).unwrap());
    let agent = Agent::new()
        .model("m")
        .tools(T::simple("look", "Looks", |_| async { Ok(json!({})) }));
    let life = Life::begin(&journal, &place.clock, [("support", agent)]);
    let yes = ToolConfirmation::confirmed();
    let refused = life.run(life.engine().answer(known.id, yes, Actor::embedder("eve")));
    assert!(
        matches!(refused, Err(EngineError::Ledger(Error::Sealed { .. }))),
        "{refused:?}"
    );
    life.end();
    assert!(place.seen.lock().unwrap().is_empty());
}

#[test]
fn secret_argument_is_sealed_in_place_and_hashes_cover_seal() {
    let place = Place::new();
    let (life, live) = place.asked(
        place.agent(),
        "Please settle my bill.",
        "confirmation_requested",
    );
    let asked = life.run(life.engine().pending()).unwrap().remove(0);
    assert_eq!(asked.sealed_args, ["/card/number"]);
    assert!(
        asked
            .args
            .as_str()
            .starts_with(r#"{"cents":4200,"card":{"number":{"$sealed":"v1."#)
    );
    life.run(says(&live, "And twice more.", "confirmation_requested", 2));
    assert_eq!(approve(&life).len(), 3);
    let whole = json!({"cents": 4200, "card": {"number": CARD}});
    assert_eq!(
        *place.seen.lock().unwrap(),
        [whole.clone(), whole, json!({"cents": 4200, "card": CARD})]
    );
    drop(live);
    life.end();

    let facts = place.facts();
    let calls: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => Some(it),
            _other => None,
        })
        .collect();
    // The same secret at the same path gives the same bytes; another path is sealed separately.
    assert_eq!(calls[0].args, calls[1].args);
    assert_eq!(calls[2].sealed_args, ["/card"]);
    let asked_about = facts.iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::ConfirmationRequested(it)) => Some(it.args_sha256),
        _other => None,
    });
    let stored = calls[0].args.as_ref().unwrap().as_str();
    assert_eq!(asked_about, Some(ObjectHash::of(stored.as_bytes())));

    let bytes = place.bytes("journal");
    assert!(holds(&bytes, "settle my bill") && !holds(&bytes, CARD) && !holds(&bytes, HANDLE));
    // Decisions about sealed bytes replay without a key.
    let ledger = place.ledger();
    let session = block_on(ledger.sessions()).unwrap()[0].id;
    assert_eq!(
        block_on(replay::verify(&ledger, session)).unwrap().diverged,
        None
    );
}

#[test]
fn error_of_call_does_not_contain_its_secret() {
    let place = Place::new();
    let (life, live) = place.asked(place.agent(), "Do it wrongly.", "response_issued");
    drop(live);
    life.end();
    let refused = place.facts().into_iter().find_map(|fact| match fact.event {
        Event::Observed(Observation::FunctionCallReceived(it)) => it.invalid_args,
        _other => None,
    });
    let refused = refused.unwrap();
    assert!(refused.contains("/cents: expected integer"), "{refused}");
    assert!(!refused.contains("4111"), "{refused}");
    assert!(!holds(&place.bytes("journal"), "41114111411141"));
}

#[test]
fn resumption_handle_survives_restart_and_ends_with_session() {
    let place = Place::new();
    let (life, live) = place.asked(place.agent(), "Hello.", "turn_completed");
    let session = live.session_id();
    drop(live);
    life.crash();

    let life = place.life(place.agent());
    let kept = life.run(life.engine().ledger().resumption_handle(session));
    let kept = kept.unwrap().unwrap();
    assert_eq!(kept.reveal(), HANDLE);
    assert!(!format!("{kept:?}").contains(HANDLE));
    let on_record = block_on(life.engine().ledger().facts(session, Seq(1), 100)).unwrap();
    let received = on_record.iter().find_map(|fact| match &fact.event {
        Event::Observed(Observation::ResumptionHandleReceived(it)) => Some((fact.at, it)),
        _other => None,
    });
    let (at, received) = received.unwrap();
    assert_eq!(received.fingerprint, Some(kept.fingerprint()));
    assert_eq!(received.expires_at_us, Some(at.after_ms(7_200_000)));
    assert!(!format!("{on_record:?}").contains(HANDLE));
    for name in ["journal", "keys"] {
        assert!(!holds(&place.bytes(name), HANDLE), "{name}");
    }
    let closed = life
        .engine()
        .close_session(session, "done", Actor::embedder("ada"));
    life.run(closed).unwrap();
    life.settle();
    let gone = life.run(life.engine().ledger().resumption_handle(session));
    assert_eq!(gone.unwrap(), None);
    life.end();
}

#[test]
fn an_agent_that_seals_takes_a_key_store() {
    let place = Place::new();
    for (agent, what) in [
        (place.agent(), "tool \"pay\" has secret arguments"),
        (Agent::new().model("m").sealed(), "is sealed"),
    ] {
        let refused = block_on(Engine::in_memory().agent("support", agent).open());
        let Err(EngineError::Configuration { mistakes }) = refused else {
            panic!("it opened")
        };
        assert!(
            mistakes[0].contains(what) && mistakes[0].contains(".keys("),
            "{mistakes:?}"
        );
    }
}
