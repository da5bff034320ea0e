//! A long session is opened from its snapshot, and equals the session folded from its records.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Agent, Engine};
use recount::journal::seal::{KeyStore, MemoryKeyStore};
use recount::journal::{
    Actor, Append, DiskJournal, Draft, Durability, Hash, Journal, MemoryJournal, block_on,
};
use recount::ledger::{Error, Ledger, Loaded, Seal, Tail, UnknownKinds};
use recount::replay::state_at;
use recount::session::{
    Fact, FunctionCallReceived, Json, Observation, RULES, ResponsesSent, Seq, Session, SessionId,
    Timestamp, ToolReturned, TurnCompleted, evolve, open_work, step,
};
use recount::testing::{Toolbox, history, toolbox};
use recount::tool::T;
use serde_json::json;
use uuid::Uuid;

/// An argument of the last call, which waits for approval.
const CARD: &str = "4111-hidden-number";

/// A session with this number of settled calls and one that waits; eight records a call.
struct Long {
    tools: Toolbox,
    start: Session,
    facts: Vec<Fact>,
}

impl Long {
    fn of(calls: usize) -> Long {
        let tools = toolbox().plain("look").gated("pay");
        let begun = history().opened("support").attached(&tools).connected();
        let (mut session, mut facts) = (begun.session().clone(), begun.facts().to_vec());
        let epoch = session.connection.unwrap();
        let mut observe = |session: Session, observation: Observation| {
            let done = step(session, begun.now(), observation).unwrap();
            facts.extend(done.facts);
            done.session
        };
        let called = |n: usize, name: &str| FunctionCallReceived {
            epoch,
            id: Some(format!("c{n}")),
            name: Some(name.to_owned()),
            args: Some(Json::of(&json!({"n": n, "card": CARD}))),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        };
        for n in 0..calls {
            let call = session.head.next();
            session = observe(session, called(n, "look").into());
            let returned = ToolReturned {
                call,
                attempt: 1,
                failed: false,
                response: Json::of(&json!({"found": n})),
                error_kind: None,
                scheduling: None,
                ends_session: None,
            };
            session = observe(session, returned.into());
            let responses = session.deliveries.keys().copied().collect();
            session = observe(session, ResponsesSent { epoch, responses }.into());
            let reason = None;
            session = observe(session, TurnCompleted { epoch, reason }.into());
        }
        observe(session, called(calls, "pay").into());
        let library = begun.session().library().clone();
        // Not the nil id of `history`, which is the stream of the journal itself.
        let start = Session::with_library(SessionId(Uuid::from_u128(7)), library);
        Long {
            tools,
            start,
            facts,
        }
    }

    fn id(&self) -> SessionId {
        self.start.id
    }

    fn folded(&self, records: usize) -> Session {
        self.facts[..records]
            .iter()
            .fold(self.start.clone(), evolve)
    }

    /// Like [`folded`](Long::folded), with the catalogs and policies of the journal.
    fn folded_from(&self, ledger: &Ledger, records: usize) -> Session {
        let library = self.loaded(ledger).session.library().clone();
        let start = Session::with_library(self.id(), library);
        self.facts[..records].iter().fold(start, evolve)
    }

    /// Writes the records after `before` up to `until`.
    fn write(&self, ledger: &Ledger, seal: &Seal, before: usize, until: usize) -> Tail {
        let head = block_on(ledger.journal().head(self.id().0)).unwrap();
        let tail = head.map_or(Tail::EMPTY, |head| Tail {
            seq: Seq(head.seq),
            hash: head.hash,
        });
        assert_eq!(tail.seq, Seq(before as u64));
        let terms = seal.terms(self.id(), self.tools.catalog(), self.tools.policies());
        let (objects, _) = terms.unwrap();
        let (session, open) = (self.folded(until), open_work(&self.folded(before)));
        let append = ledger.append(
            tail,
            seal,
            &session,
            &self.facts[before..until],
            &open,
            objects,
            Durability::Durable,
        );
        block_on(append).unwrap()
    }

    fn in_memory(&self, records: usize) -> (Ledger, Arc<MemoryJournal>) {
        let journal = Arc::new(MemoryJournal::new());
        let ledger = Ledger::new(journal.clone());
        self.write(&ledger, &Seal::default(), 0, records);
        (ledger, journal)
    }

    fn loaded(&self, ledger: &Ledger) -> Loaded {
        block_on(ledger.load(self.id())).unwrap()
    }

    fn kept(&self, journal: &dyn Journal) -> Option<Vec<u8>> {
        block_on(journal.snapshot(self.id().0)).unwrap()
    }

    fn keep(&self, journal: &dyn Journal, bytes: Vec<u8>) {
        block_on(journal.keep_snapshot(self.id().0, bytes)).unwrap();
    }
}

/// The snapshot with one text replaced, and the hash that fits the result.
fn forged(kept: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = str::from_utf8(&kept[32..]).unwrap();
    assert!(text.contains(from), "no {from} in {}", &text[..300]);
    let text = text.replacen(from, to, 1);
    let hash = Hash::of_object(text.as_bytes());
    [hash.as_bytes().as_slice(), text.as_bytes()].concat()
}

/// A snapshot that names another agent, which shows that a snapshot was used.
fn telling(kept: &[u8]) -> Vec<u8> {
    forged(kept, r#""agent":"support""#, r#""agent":"snapshot""#)
}

fn agent(loaded: &Loaded) -> &str {
    loaded.session.agent.as_deref().unwrap()
}

#[test]
fn long_session_opens_from_snapshot_and_later_records() {
    let long = Long::of(700);
    let cut = 5_000;
    let (ledger, journal) = long.in_memory(cut);
    assert_eq!(long.kept(&*journal), None);
    let first = long.loaded(&ledger);
    assert_eq!(first.session, long.folded_from(&ledger, cut));
    let kept = long.kept(&*journal).unwrap();

    let again = long.loaded(&ledger);
    assert_eq!((&again.session, again.tail), (&first.session, first.tail));
    long.keep(&*journal, telling(&kept));
    assert_eq!(agent(&long.loaded(&ledger)), "snapshot");
    // A displayed state is folded from the records, without any snapshot.
    let shown = block_on(state_at(&ledger, long.id(), None)).unwrap();
    assert_eq!(shown, long.folded_from(&ledger, cut));

    long.keep(&*journal, kept);
    let all = long.facts.len();
    long.write(&ledger, &Seal::default(), cut, all);
    assert!(all > cut + 300, "{all}");
    assert_eq!(long.loaded(&ledger).session, long.folded_from(&ledger, all));
}

#[test]
fn a_snapshot_is_written_only_where_it_pays() {
    let long = Long::of(1_200);
    let (ledger, journal) = long.in_memory(4_095);
    long.loaded(&ledger);
    assert_eq!(long.kept(&*journal), None);
    long.write(&ledger, &Seal::default(), 4_095, 4_096);
    long.loaded(&ledger);
    let first = long.kept(&*journal).unwrap();
    long.write(&ledger, &Seal::default(), 4_096, 8_191);
    long.loaded(&ledger);
    assert_eq!(long.kept(&*journal), Some(first.clone()));
    long.write(&ledger, &Seal::default(), 8_191, 8_192);
    assert_eq!(
        long.loaded(&ledger).session,
        long.folded_from(&ledger, 8_192)
    );
    let second = long.kept(&*journal).unwrap();
    assert_ne!(second, first);
    assert_eq!(
        long.loaded(&ledger).session,
        long.folded_from(&ledger, 8_192)
    );
}

#[test]
fn damaged_or_foreign_snapshot_is_ignored() {
    let long = Long::of(600);
    let (ledger, journal) = long.in_memory(long.facts.len());
    let session = long.loaded(&ledger).session;
    let kept = telling(&long.kept(&*journal).unwrap());
    let opened = |bytes: Vec<u8>| {
        long.keep(&*journal, bytes);
        let loaded = long.loaded(&ledger);
        (agent(&loaded) == "support").then(|| assert_eq!(loaded.session, session));
        agent(&loaded).to_owned()
    };
    assert_eq!(opened(kept.clone()), "snapshot");
    let (program, last) = (env!("CARGO_PKG_VERSION"), long.facts.len());
    let others = [
        (r#""format":5"#.to_owned(), r#""format":1"#),
        (format!(r#""program":"{program}""#), r#""program":"0.0.1""#),
        (format!(r#""rules":{RULES}"#), r#""rules":1"#),
        (
            format!(r#""session":"{}""#, long.id()),
            r#""session":"00000000-0000-0000-0000-00000000000f""#,
        ),
        (format!(r#""seq":{last}"#), r#""seq":17"#),
        (r#""hash":""#.to_owned(), r#""hash":"00"#),
        // The state itself: of another session, of another record, of another shape, without its
        // catalog.
        (
            format!(r#""session":{{"id":"{}""#, long.id()),
            r#""session":{"id":"00000000-0000-0000-0000-00000000000f""#,
        ),
        (format!(r#""head":{last}"#), r#""head":17"#),
        (r#""closed":false"#.to_owned(), r#""closed":0"#),
        (r#""objects":[""#.to_owned(), r#""objects":["00"#),
        (r#""catalog":""#.to_owned(), r#""catalog":"00"#),
    ];
    for (from, to) in others {
        assert_eq!(opened(forged(&kept, &from, to)), "support", "{from}");
    }
    for length in [0, 1, 31, 32, 33, 200, kept.len() / 2, kept.len() - 1] {
        assert_eq!(opened(kept[..length].to_vec()), "support", "{length} bytes");
    }
    for place in (0..kept.len()).step_by(kept.len() / 60) {
        let mut bytes = kept.clone();
        bytes[place] ^= 1;
        assert_eq!(opened(bytes), "support", "byte {place}");
    }
}

#[test]
fn snapshot_of_missing_or_other_records_is_ignored() {
    let long = Long::of(600);
    let cut = 4_500;
    let (whole, journal) = long.in_memory(cut);
    long.loaded(&whole);
    let kept = telling(&long.kept(&*journal).unwrap());

    // A journal that a repair has shortened.
    let (shorter, journal) = long.in_memory(cut - 1);
    long.keep(&*journal, kept.clone());
    assert_eq!(
        long.loaded(&shorter).session,
        long.folded_from(&shorter, cut - 1)
    );
    // The journal has other records since: one with the same number, at another time.
    let mut other = Long::of(600);
    other.facts[cut - 1].at = other.facts[cut - 1].at.after_ms(1);
    other.write(&shorter, &Seal::default(), cut - 1, cut);
    long.keep(&*journal, kept.clone());
    let loaded = long.loaded(&shorter);
    assert_eq!(
        (agent(&loaded), &loaded.session),
        ("support", &other.folded_from(&shorter, cut))
    );
    // An earlier record differs, and the last one differs only in the hash that it names.
    let mut other = Long::of(600);
    for fact in &mut other.facts[..2_000] {
        fact.at = Timestamp(fact.at.0 - 1);
    }
    let (ledger, journal) = other.in_memory(cut);
    long.keep(&*journal, kept);
    assert_eq!(agent(&long.loaded(&ledger)), "support");
}

#[test]
fn snapshot_file_may_be_deleted_and_reader_writes_none() {
    let long = Long::of(600);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let open = || Ledger::new(Arc::new(DiskJournal::open(&path).unwrap()));
    let look = || {
        let looked = DiskJournal::options(&path).read_only().open().unwrap();
        Ledger::new(Arc::new(looked))
    };
    let all = long.facts.len();
    let file = path.join("snapshots").join(long.id().to_string());
    let ledger = open();
    long.write(&ledger, &Seal::default(), 0, all);
    block_on(ledger.journal().close()).unwrap();
    let looked = look();
    assert_eq!(long.loaded(&looked).session, long.folded_from(&looked, all));
    drop(looked);
    assert!(!file.exists());

    let ledger = open();
    assert_eq!(long.loaded(&ledger).session, long.folded_from(&ledger, all));
    block_on(ledger.journal().close()).unwrap();
    let kept = fs::read(&file).unwrap();
    fs::write(&file, telling(&kept)).unwrap();
    assert_eq!(agent(&long.loaded(&look())), "snapshot");
    fs::write(&file, &kept[..kept.len() / 3]).unwrap();
    let looked = look();
    assert_eq!(long.loaded(&looked).session, long.folded_from(&looked, all));
    drop(looked);
    // The directory is optional, and a file in its place does not keep the journal from opening.
    fs::remove_dir_all(path.join("snapshots")).unwrap();
    fs::write(path.join("snapshots"), "a file").unwrap();
    let ledger = open();
    assert_eq!(long.loaded(&ledger).session, long.folded_from(&ledger, all));
    block_on(ledger.journal().close()).unwrap();
    assert!(
        recount::journal::verify::directory(&path)
            .unwrap()
            .is_sound()
    );
}

#[test]
fn snapshot_of_sealed_session_is_sealed_and_needs_key() {
    let long = Long::of(600);
    let keys: Arc<dyn KeyStore> = Arc::new(MemoryKeyStore::default());
    let journal = Arc::new(MemoryJournal::new());
    let ledger = Ledger::new(journal.clone()).with_keys(keys.clone());
    let seal = Seal {
        key: Some(block_on(ledger.create_key(long.id())).unwrap()),
        bodies: true,
    };
    // Records name catalog and policies by their sealed forms.
    let mut sealed = Long::of(600);
    let terms = seal.terms(long.id(), long.tools.catalog(), long.tools.policies());
    let (objects, addresses) = terms.unwrap();
    for fact in &mut sealed.facts {
        if let recount::session::Event::Observed(Observation::RunnerAttached(it)) = &mut fact.event
        {
            [it.catalog, it.policies] = addresses;
        }
    }
    let all = sealed.facts.len();
    let (session, open) = (long.folded(all), Vec::new());
    let append = ledger.append(
        Tail::EMPTY,
        &seal,
        &session,
        &sealed.facts,
        &open,
        objects,
        Durability::Durable,
    );
    block_on(append).unwrap();
    let first = long.loaded(&ledger);
    let kept = long.kept(&*journal).unwrap();
    for said in [CARD, "support", "look", "\"seq\""] {
        let found = kept.windows(said.len()).any(|it| it == said.as_bytes());
        assert!(!found, "{said} stands in the snapshot");
    }
    let again = long.loaded(&ledger);
    assert_eq!((&again.session, again.seal.bodies), (&first.session, true));
    // An unsealed snapshot was made without the key, so it proves nothing about the session.
    let key = block_on(ledger.key(long.id())).unwrap().unwrap();
    let clear = key.open_object(&kept[32..]).unwrap().to_vec();
    let clear = String::from_utf8(clear).unwrap();
    assert!(clear.contains("support"), "{clear}");
    let forged = clear.replace("support", "sapport").into_bytes();
    let hash = recount::journal::Hash::of_object(&forged);
    let forged = [hash.as_bytes().as_slice(), &forged].concat();
    block_on(journal.keep_snapshot(long.id().0, forged)).unwrap();
    assert_eq!(long.loaded(&ledger).session, first.session);
    let without = Ledger::new(journal);
    let told = block_on(without.load(long.id())).unwrap_err();
    assert!(matches!(told, Error::Sealed { .. }), "{told}");
}

#[test]
fn session_with_skipped_records_has_no_snapshot() {
    let long = Long::of(600);
    let (ledger, journal) = long.in_memory(long.facts.len());
    let head = block_on(journal.head(long.id().0)).unwrap().unwrap();
    let draft = Draft {
        session: long.id().0,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: "model_pondered",
        cause: None,
        actor: Actor::new("model"),
        body: "{}",
        prev: head.hash,
    };
    let append = Append::new(long.id().0, head.seq, vec![draft.line()]);
    block_on(journal.append(append)).unwrap();
    let ledger = ledger.unknown_kinds(UnknownKinds::Skip);
    assert_eq!(long.loaded(&ledger).session.head, Seq(head.seq + 1));
    assert_eq!(long.kept(&*journal), None);
}

#[tokio::test]
async fn detached_long_session_is_opened_from_snapshot() {
    let journal = Arc::new(MemoryJournal::new());
    let tools = T::simple("look", "Looks", |_| async { Ok(json!({"found": 1})) });
    let engine = Engine::in_memory()
        .journal(journal.clone())
        .agent("support", Agent::new().model("m").tools(tools));
    let engine = engine.open().await.unwrap();
    let session = engine.session("support").open().await.unwrap();
    let id = session.session_id();
    for n in 0..1_000 {
        let called = session.call_function(
            "look",
            json!({"n": n}),
            recount::session::Actor::embedder("test"),
        );
        called.await.unwrap();
    }
    assert_eq!(journal.snapshot(id.0).await.unwrap(), None);
    drop(session);
    let kept = async {
        loop {
            if let Some(kept) = journal.snapshot(id.0).await.unwrap() {
                break kept;
            }
            tokio::task::yield_now().await;
        }
    };
    let never = Duration::from_secs(60);
    let kept = tokio::time::timeout(never, kept).await.unwrap();
    journal.keep_snapshot(id.0, telling(&kept)).await.unwrap();
    let loaded = engine.ledger().load(id).await.unwrap();
    assert_eq!(agent(&loaded), "snapshot");
}
