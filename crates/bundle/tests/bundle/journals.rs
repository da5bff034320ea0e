//! A journal with the sessions of many fixtures, and checkpoints in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use recount::ledger::{Ledger, objects_named, read_export};
use recount::session::{SessionId, Timestamp};
use recount::testing::ManualClock;
use recount_bundle::{Contents, Disclose, Request, Scope, WrittenBy, write};
use recount_evidence::{Checkpoints, Following, Leaves, Note, PrivateKey, Signer};
use recount_journal::{Append, Draft, Hash, Journal, Line, MemoryJournal, Object, block_on};
use uuid::Uuid;

/// The number of sessions between two checkpoints.
const BETWEEN: usize = 3;

pub(crate) const ORIGIN: &str = "example.com/journal";

pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) key: PrivateKey,
    /// The checkpoints on record, oldest first.
    pub(crate) notes: Vec<Note>,
}

/// The exports that are in the repository, in the order of their names.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals");
    let folders = ["rules-1", "rules-2"].map(|it| root.join(it));
    let entries = folders.iter().flat_map(|it| fs::read_dir(it).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

pub(crate) fn key() -> PrivateKey {
    PrivateKey::generate(ORIGIN).unwrap()
}

pub(crate) fn session(number: usize) -> SessionId {
    SessionId(Uuid::from_u128(
        0x019b_76da_a800_7000_8000_0000_0000_0001 + number as u128,
    ))
}

impl Bench {
    /// A journal with the first `sessions` fixtures as sessions of their own.
    pub(crate) async fn with(sessions: usize) -> Bench {
        Bench::signed(sessions, key()).await
    }

    pub(crate) async fn signed(sessions: usize, key: PrivateKey) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        // The tree is kept in a folder of the journal.
        fs::create_dir(folder.path().join("journal")).unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let mut bench = Bench {
            folder,
            journal,
            key,
            notes: Vec::new(),
        };
        for (number, file) in fixtures().iter().take(sessions).enumerate() {
            bench.play(number, file).await;
            if (number + 1) % BETWEEN == 0 {
                bench.checkpoint().await;
            }
        }
        bench.checkpoint().await;
        bench
    }

    /// Appends the session of an export under another id, in two parts.
    async fn play(&self, number: usize, file: &Path) {
        let export = fs::read(file).unwrap();
        let read = read_export(&export[..], None).unwrap().ledger;
        let original = read.sessions().await.unwrap()[0].id;
        let lines = read.journal().read(original.0, 1, 10_000).await.unwrap();
        let (id, mut prev, mut seq) = (session(number).0, Hash::ZERO, 0);
        for part in lines.chunks(lines.len() / 2 + 1) {
            let mut append = Append::new(id, seq, Vec::new());
            for line in part {
                let line = moved(line, id, prev);
                (prev, seq) = (line.leaf(), seq + 1);
                for hash in objects_named(&line.record().unwrap()) {
                    let bytes = read.journal().object(hash).await.unwrap().unwrap();
                    append.objects.push(Object::new(bytes.to_vec()));
                }
                append.lines.push(line);
            }
            self.journal.append(append).await.unwrap();
        }
    }

    pub(crate) async fn checkpoint(&mut self) {
        let settings = Checkpoints {
            origin: ORIGIN.to_owned(),
            signers: vec![Signer::Key(self.key.to_secret_text().parse().unwrap())],
            every_records: u64::MAX,
            every: Duration::MAX,
        };
        let (path, clock) = (self.folder.path().join("journal"), ManualClock::new());
        let journal = Arc::clone(&self.journal);
        let following = Following::open(settings, &path, journal, clock).await;
        self.notes
            .extend(following.unwrap().finish().await.unwrap());
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let journal = Arc::clone(&self.journal);
        Ledger::new(journal)
    }

    /// The number of records.
    pub(crate) fn size(&self) -> u64 {
        let mut size = 0;
        let end = block_on(self.journal.position()).unwrap();
        let mut position = 0;
        while position < end {
            let commit = block_on(self.journal.follow(position)).unwrap();
            position = commit.position;
            size += commit
                .appends
                .iter()
                .map(|(_, lines)| lines.len() as u64)
                .sum::<u64>();
        }
        size
    }

    pub(crate) fn request(&self, disclose: Disclose, scope: Scope) -> Request {
        Request {
            scope,
            disclose,
            sample: None,
            redacted: Vec::new(),
            public_keys: vec![self.key.public()],
            written_by: WrittenBy {
                program: "recount test".to_owned(),
                sha256: None,
            },
            written_at: Timestamp(1_800_000_000_000_000),
        }
    }

    /// Writes a bundle under this name, and returns its path.
    pub(crate) async fn write(&self, name: &str, request: Request) -> PathBuf {
        let path = self.folder.path().join(name);
        let (ledger, journal) = (self.ledger(), &*self.journal);
        let leaves = Leaves::of(journal).await.unwrap();
        let read = Contents::read(&ledger, request, &leaves, |_, _| ()).await;
        let written = write(&ledger, &read.unwrap(), &leaves, &path, |_, _| ()).await;
        written.unwrap();
        path
    }
}

/// The record in another session, behind another one.
pub(crate) fn moved(line: &Line, session: Uuid, prev: Hash) -> Line {
    let record = line.record().unwrap();
    let draft = Draft {
        session,
        seq: record.seq,
        at_us: record.at_us,
        kind: record.kind,
        cause: record.cause,
        actor: record.actor.clone(),
        body: record.body.get(),
        prev,
    };
    draft.line()
}
