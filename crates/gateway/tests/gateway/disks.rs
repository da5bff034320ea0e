//! A full disk: what is declared, said and answered on it is recorded once there is room.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recount::journal::DiskJournal;
use recount::journal::disk::{Disk, DiskFile, Identity, RealDisk};
use recount::prelude::*;
use recount_gateway::{AnyCredential, Settings};
use serde_json::json;
use tokio::sync::watch;

use crate::bench::{Bench, POLICIES, Side, agent, alone, answer, call, calls};

const USAGE: &str = r#"{"usageMetadata":{}}"#;

/// The time after which a session without a client is closed.
const KEEP: Duration = Duration::from_secs(60);

/// The free space of a disk with room.
const ROOMY: u64 = 1 << 30;

/// The directory of a journal on a disk that can be filled.
struct SmallDisk {
    real: RealDisk,
    space: Arc<Space>,
}

struct Space {
    free: AtomicU64,
    /// The number of checks of the free space.
    looks: watch::Sender<u64>,
}

impl Space {
    fn set_free(&self, bytes: u64) {
        self.free.store(bytes, Ordering::SeqCst);
    }

    async fn looked_at(&self) {
        let mut looks = self.looks.subscribe();
        looks.changed().await.unwrap();
    }
}

impl Disk for SmallDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        self.real.open(name, create)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.real.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.real.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.real.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.real.sync_names()
    }

    fn free_space(&self) -> io::Result<u64> {
        self.space.looks.send_modify(|it| *it += 1);
        Ok(self.space.free.load(Ordering::SeqCst))
    }

    fn identity(&self, name: Option<&str>) -> io::Result<Option<Identity>> {
        self.real.identity(name)
    }
}

/// A bench over a journal on disk, and the free space of the disk.
async fn on_disk(directory: &Path) -> (Bench, Arc<Space>) {
    on_disk_with(directory, false).await
}

async fn on_disk_with(directory: &Path, pass_observed: bool) -> (Bench, Arc<Space>) {
    let space = Arc::new(Space {
        free: AtomicU64::new(ROOMY),
        looks: watch::Sender::new(0),
    });
    let disk = SmallDisk {
        real: RealDisk::new(directory.join("journal").join("log")),
        space: space.clone(),
    };
    let options = DiskJournal::options(directory.join("journal")).disk(Arc::new(disk));
    let journal = Arc::new(options.floor_bytes(1 << 20).open().unwrap());
    let engine = Engine::in_memory().journal(journal);
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let settings = |it| Settings {
        keep: KEEP,
        pass_observed,
        ..it
    };
    let bench = Bench::with(engine, Arc::new(AnyCredential), settings);
    (bench.await, space)
}

async fn audio_passes(client: &mut Side, vendor: &mut Side) {
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
}

#[tokio::test]
async fn tools_declared_on_a_full_disk_count_once_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let (mut bench, space) = on_disk(directory.path()).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let session = bench.session_of_connection().await;
    space.set_free(0);
    let tools = json!([{"functionDeclarations": [{"name": "brand_new"}]}]);
    let update = json!({"contextUpdate": {"tools": {"tools": tools}}});
    client.text(&update.to_string()).await;
    vendor.next_json().await;
    let new = calls(&[call("f1", "brand_new")]);
    vendor.binary(&new).await;
    audio_passes(&mut client, &mut vendor).await;
    space.set_free(ROOMY);
    assert_eq!(client.next_text().await, new);
    let kinds = bench.kinds(session).await;
    assert!(kinds.contains(&"catalog_changed"), "{kinds:?}");
}

#[tokio::test]
async fn words_and_answers_on_a_full_disk_are_recorded_later() {
    let directory = tempfile::tempdir().unwrap();
    let (mut bench, space) = on_disk(directory.path()).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
    space.set_free(0);
    let words = r#"{"realtimeInput":{"text":"and now?"}}"#;
    client.text(&answer("f1", "refund")).await;
    client.text(words).await;
    assert_eq!(vendor.next_text().await, words);
    audio_passes(&mut client, &mut vendor).await;
    let updates = bench.engine.subscribe();
    space.set_free(ROOMY);
    let told = vendor.next_text().await;
    assert!(
        told.contains("[tool outcome]") && told.contains("ok"),
        "{told}"
    );
    bench.recorded(updates, "user_text_sent").await;
}

#[tokio::test]
async fn failed_close_of_a_left_session_is_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let (mut bench, space) = on_disk(directory.path()).await;
    let updates = bench.engine.subscribe();
    let (client, _vendor) = bench.connected("k").await;
    client.drop_connection();
    bench.recorded(updates, "disconnected").await;
    space.set_free(0);
    let updates = bench.engine.subscribe();
    // The clock advances to the next look at left sessions, whose close is rejected.
    tokio::time::pause();
    space.looked_at().await;
    space.set_free(ROOMY);
    bench.recorded(updates, "session_closed").await;
}

#[tokio::test]
async fn session_opened_on_a_full_disk_records_once_there_is_room() {
    for pass_observed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (mut bench, space) = on_disk_with(directory.path(), pass_observed).await;
        space.set_free(0);
        let (mut client, mut vendor) = bench.connected("k").await;
        let first = calls(&[call("f1", "look_up")]);
        vendor.binary(&first).await;
        audio_passes(&mut client, &mut vendor).await;
        if pass_observed {
            // The session does not open, and the call passes all the same.
            assert_eq!(client.next_text().await, first);
        }
        space.set_free(ROOMY);
        if !pass_observed {
            assert_eq!(client.next_text().await, first);
        }
        client.text(&answer("f1", "look_up")).await;
        assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
        // Later calls are recorded, and held by policy.
        let later = calls(&[call("f2", "look_up")]);
        vendor.binary(&later).await;
        assert_eq!(client.next_text().await, later);
        vendor.binary(&calls(&[call("f3", "refund")])).await;
        bench.answer("refund", ToolConfirmation::confirmed()).await;
        assert_eq!(client.next_text().await, alone(&call("f3", "refund")));
        assert_eq!(bench.count("function_call_received").await, 3);
        bench.gateway.ended(Duration::ZERO).await;
        let gaps = bench.engine.ledger().passed_calls().await.unwrap();
        let expected = if pass_observed { vec![1] } else { vec![] };
        assert_eq!(gaps.iter().map(|it| it.calls).collect::<Vec<_>>(), expected);
    }
}
