//! A journal of recorded histories, and the page about it.

use std::sync::Arc;

use recount::engine::Desk;
use recount::ledger::{Ledger, Seal, Tail};
use recount::session::{Actor, Session, SessionId, Timestamp, evolve, open_work};
use recount::testing::{History, ManualClock, Toolbox, history};
use recount_evidence::{CHECKPOINT_SIGNED, Checkpoint, Leaves, Note, PrivateKey, SignedCheckpoint};
use recount_journal::seal::{KeyStore, MemoryKeyStore};
use recount_journal::{Durability, Journal, MemoryJournal, block_on, own_append};
use uuid::Uuid;

use crate::contents::Contents;
use crate::disclosure::Disclose;
use crate::request::{Request, WrittenBy};
use crate::scope::Scope;

/// A journal in memory.
pub(super) struct Kept {
    pub(super) journal: Arc<MemoryJournal>,
    pub(super) keys: Arc<MemoryKeyStore>,
    sessions: u128,
}

impl Kept {
    pub(super) fn new() -> Kept {
        Kept {
            journal: Arc::new(MemoryJournal::new()),
            keys: Arc::new(MemoryKeyStore::default()),
            sessions: 0,
        }
    }

    pub(super) fn ledger(&self) -> Ledger {
        Ledger::new(self.journal.clone()).with_keys(self.keys.clone())
    }

    pub(super) fn desk(&self) -> Desk {
        Desk::new(self.ledger(), ManualClock::new())
    }

    /// Records a history as a session of its own. `tools` are those of its runner.
    pub(super) fn keep(&mut self, told: &History, tools: &Toolbox) -> SessionId {
        self.keep_as(told, tools, &Seal::default())
    }

    /// Records a history as a sealed session.
    pub(super) fn seal(&mut self, told: &History, tools: &Toolbox) -> SessionId {
        let next = Uuid::from_u128(self.sessions + 1);
        let key = block_on(self.keys.create_key(next)).unwrap();
        let seal = Seal {
            key: Some(key),
            bodies: true,
        };
        self.keep_as(told, tools, &seal)
    }

    fn keep_as(&mut self, told: &History, tools: &Toolbox, seal: &Seal) -> SessionId {
        self.sessions += 1;
        let id = SessionId(Uuid::from_u128(self.sessions));
        let library = told.session().library().clone();
        let session = told
            .facts()
            .iter()
            .fold(Session::with_library(id, library), evolve);
        let ledger = self.ledger();
        let open = open_work(&Session::new(id));
        let (objects, _) = seal.terms(id, tools.catalog(), tools.policies()).unwrap();
        let durable = Durability::Durable;
        let facts = told.facts();
        let append = ledger.append(Tail::EMPTY, seal, &session, facts, &open, objects, durable);
        block_on(append).unwrap();
        id
    }

    /// Appends a record of the journal about itself.
    pub(super) fn note(&self, kind: &str, body: &serde_json::Value) {
        let head = block_on(self.journal.head(Uuid::nil())).unwrap();
        let actor = recount_journal::Actor::new("engine");
        let append = own_append(head.as_ref(), 7_000_000, actor, kind, &body.to_string());
        block_on(self.journal.append(append)).unwrap();
    }

    /// Puts a signed checkpoint of all records on record.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        let leaves = self.leaves();
        let size = leaves.size();
        let root = leaves.root_at(size).unwrap();
        let checkpoint = Checkpoint::new("example.com/journal", size, root).unwrap();
        let mut note = Note::new(checkpoint.to_string()).unwrap();
        note.sign(&PrivateKey::generate("example.com/journal").unwrap())
            .unwrap();
        let note = note.to_string();
        let body = serde_json::to_value(SignedCheckpoint { size, note }).unwrap();
        self.note(CHECKPOINT_SIGNED, &body);
        checkpoint
    }

    pub(super) fn leaves(&self) -> Leaves {
        block_on(Leaves::of(&*self.journal)).unwrap()
    }

    /// The contents of a bundle about the whole journal that discloses so much.
    pub(super) fn contents(&self, disclose: Disclose) -> Contents {
        read(&self.ledger(), &self.leaves(), disclose)
    }

    /// The page about the whole journal, with all content.
    pub(super) fn page(&self) -> String {
        crate::report::html(&self.contents(Disclose::All))
    }
}

/// Reads the contents of a bundle about a whole journal.
pub(super) fn read(ledger: &Ledger, leaves: &Leaves, disclose: Disclose) -> Contents {
    let request = Request {
        scope: Scope::default(),
        disclose,
        sample: None,
        redacted: Vec::new(),
        public_keys: Vec::new(),
        written_by: WrittenBy {
            program: "recount 0.0.0".to_owned(),
            sha256: None,
        },
        written_at: Timestamp(1_767_225_600_000_000),
    };
    block_on(Contents::read(ledger, request, leaves, |_, _| ())).unwrap()
}

/// A session whose runner has these tools.
pub(super) fn begun(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

/// The actor who denies, pauses and holds.
pub(super) fn bob() -> Actor {
    Actor::os_user("bob").as_person()
}

/// The text of a page without its tags, with single spaces.
pub(super) fn text(page: &str) -> String {
    let body = page.split_once("<body>").map_or(page, |(_, body)| body);
    let mut out = String::new();
    for part in body.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("span", part));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        if !["bdi", "code", "strong", "span", "time", "a"].contains(&name) {
            out.push(' ');
        }
        out.push_str(text);
    }
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    let out = plain
        .iter()
        .fold(out, |out, (from, to)| out.replace(from, to));
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The part of a page with this id, without tags.
pub(super) fn section(page: &str, id: &str) -> String {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap();
    let rest = &page[start..];
    text(&rest[..rest.find("</section>").unwrap()])
}
