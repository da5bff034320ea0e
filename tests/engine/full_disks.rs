//! A full disk stops no session: records wait for room, callers are rejected at once, and the
//! service continues in its process.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use recount::engine::{Clock, Error, SystemClock};
use recount::journal::disk::{Disk, DiskFile, Identity, RealDisk};
use recount::journal::{self, DiskJournal, Journal, verify};
use recount::ledger::{self, Ledger};
use recount::live::wire::{FunctionCall, ServerMessage};
use recount::prelude::*;
use recount::replay;
use recount::session::{Outcome, Seq};
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::{Notify, watch};

/// The free space of a disk with room.
const ROOMY: u64 = 1 << 30;

/// A directory on a disk that can be filled.
#[derive(Clone)]
struct SmallDisk {
    real: RealDisk,
    space: Arc<Space>,
}

struct Space {
    free: AtomicU64,
    /// The thread of the sessions. `looks` counts its checks of the free space.
    sessions: ThreadId,
    looks: watch::Sender<u64>,
}

impl SmallDisk {
    fn at(journal: &Path) -> SmallDisk {
        let space = Space {
            free: AtomicU64::new(ROOMY),
            sessions: thread::current().id(),
            looks: watch::Sender::new(0),
        };
        SmallDisk {
            real: RealDisk::new(journal.join("log")),
            space: Arc::new(space),
        }
    }

    fn set_free(&self, bytes: u64) {
        self.space.free.store(bytes, Ordering::SeqCst);
    }

    /// Waits until sessions have checked the free space this number of times.
    async fn looked_at(&self, times: u64) {
        let mut looks = self.space.looks.subscribe();
        let before = *looks.borrow();
        let seen = looks.wait_for(|looks| *looks >= before + times).await;
        seen.unwrap();
    }
}

impl Disk for SmallDisk {
    fn open(&self, name: &str, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let real = self.real.open(name, create)?;
        let space = self.space.clone();
        Ok(Box::new(SmallFile { real, space }))
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
        if thread::current().id() == self.space.sessions {
            self.space.looks.send_modify(|looks| *looks += 1);
        }
        Ok(self.space.free.load(Ordering::SeqCst))
    }

    fn identity(&self, name: Option<&str>) -> io::Result<Option<Identity>> {
        self.real.identity(name)
    }
}

struct SmallFile {
    real: Box<dyn DiskFile>,
    space: Arc<Space>,
}

impl DiskFile for SmallFile {
    fn length(&mut self) -> io::Result<u64> {
        self.real.length()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.real.read_at(offset, into)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let grows = end.saturating_sub(self.real.length()?);
        let taken = |free: u64| free.checked_sub(grows);
        let free = &self.space.free;
        if free
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, taken)
            .is_err()
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.real.write_at(offset, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.real.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.real.sync()
    }

    fn identity(&mut self) -> io::Result<Option<Identity>> {
        self.real.identity()
    }
}

/// A service over a journal on a small disk, with a tool `pay` and a gated tool `refund`.
struct Service {
    directory: tempfile::TempDir,
    disk: SmallDisk,
    journal: Arc<DiskJournal>,
    model: ScriptedModel,
    engine: Engine,
    live: LiveHandle,
    runs: Arc<AtomicUsize>,
    /// Lets a run of `pay` end.
    paid: Arc<Notify>,
}

const MODEL: &str = r#"
{"on": {"text": "pay"}, "once": false, "send": [{"call": [{"id": "p1", "name": "pay", "args": {}}]}]}
{"on": {"responses_to": ["p1"]}, "send": [{"say": "Paid."}]}
{"on": {"text": "thanks"}, "send": [{"say": "Any time."}]}
"#;

fn at(directory: &Path) -> journal::Options {
    DiskJournal::options(directory.join("journal"))
}

impl Service {
    /// Starts a service whose `pay` returns this number of bytes. The journal keeps `floor` bytes
    /// free.
    async fn begin(floor: u64, bytes: usize) -> Service {
        Service::with_clock(floor, bytes, Arc::new(SystemClock)).await
    }

    async fn with_clock(floor: u64, bytes: usize, clock: Arc<dyn Clock>) -> Service {
        let directory = tempfile::tempdir().unwrap();
        let disk = SmallDisk::at(&directory.path().join("journal"));
        let options = at(directory.path()).disk(Arc::new(disk.clone()));
        let journal = Arc::new(options.floor_bytes(floor).open().unwrap());
        let model = ScriptedModel::parse(MODEL).unwrap();
        let (runs, paid) = (Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
        let (counted, may_end) = (runs.clone(), paid.clone());
        let pay = T::simple("pay", "Pays", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let may_end = may_end.clone();
            async move {
                may_end.notified().await;
                Ok(json!({"paid": "x".repeat(bytes)}))
            }
        });
        let counted = runs.clone();
        let refund = T::simple("refund", "Refunds", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!({"refunded": true})) }
        });
        let tools = pay | T::confirm(refund, "Refund it?");
        let agent = Agent::new()
            .model("m")
            .tools(tools)
            .connect_to(model.clone());
        let engine = Engine::in_memory()
            .journal(journal.clone())
            .clock(clock)
            .agent("till", agent);
        let engine = engine.open().await.unwrap();
        let live = engine.session("till").connect().await.unwrap();
        Service {
            directory,
            disk,
            journal,
            model,
            engine,
            live,
            runs,
            paid,
        }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Fills the disk; the next append finds no room.
    fn fill(&self) {
        self.disk.set_free(0);
        let told = self.journal.room().unwrap_err();
        assert!(matches!(told, journal::Error::NoSpace { .. }), "{told}");
    }

    fn calls(&self, id: &str, name: &str) {
        let call = FunctionCall::new(id, name, json!({}));
        self.model.send(&ServerMessage::tool_call([call]));
    }

    /// Asserts that every operation of a caller is rejected at once.
    async fn assert_callers_are_refused(&self) {
        let by = || Actor::embedder("ada");
        let live = &self.live;
        let changed = live.change_state(by(), |state| state.set("paid", true));
        for told in [
            live.send_text("thanks").await,
            changed_or(tokio::time::timeout(Duration::ZERO, changed).await),
            live.close("over", by()).await.map(drop),
            live.disconnect().await,
            self.engine
                .close_session(live.session_id(), "over", by())
                .await
                .map(drop),
            self.engine.session("till").open().await.map(drop),
        ] {
            assert_no_space(&told.unwrap_err());
        }
        let called = live.call_function("pay", json!({}), by()).await;
        assert!(
            matches!(&called, Err(ToolError::NotAvailable(told)) if told.contains("no room")),
            "{called:?}"
        );
    }

    /// Ends the service, and asserts that its journal is sound and replays.
    async fn ends_well(self) {
        let session = self.live.session_id();
        drop(self.live);
        self.engine.shutdown(Duration::from_secs(5)).await.unwrap();
        let report = verify::directory(self.directory.path().join("journal")).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        let again = at(self.directory.path()).open().unwrap();
        let ledger = Ledger::new(Arc::new(again));
        let replayed = replay::verify(&ledger, session).await.unwrap();
        assert_eq!(replayed.diverged, None);
        let folded = ledger.load(session).await.unwrap().session;
        let outcomes = folded.settled.values().map(|it| it.outcome);
        assert!(outcomes.into_iter().all(|it| it == Outcome::Returned));
        assert!(folded.calls.is_empty() && folded.head > Seq(5));
    }
}

/// The result of a state change. It may have to wait, because a state is shown only once it is
/// recorded.
fn changed_or(
    changed: Result<Result<Seq, Error>, tokio::time::error::Elapsed>,
) -> Result<(), Error> {
    let no_space = journal::Error::NoSpace { free: 0, floor: 0 };
    changed.unwrap_or(Err(no_space.into())).map(drop)
}

fn assert_no_space(told: &Error) {
    assert!(
        matches!(
            told,
            Error::Ledger(ledger::Error::Journal(journal::Error::NoSpace { .. }))
        ),
        "{told}"
    );
}

/// A run ends while the disk is full. Its result waits for room, then reaches the model.
async fn result_outlasts_full_disk(floor: u64, bytes: usize) {
    let service = Service::begin(floor, bytes).await;
    let mut updates = service.live.subscribe();
    service.live.send_text("Please pay.").await.unwrap();
    let started = updates.wait_for(|event| event.kind() == "call_started");
    started.await.unwrap();
    if floor > 0 {
        service.fill();
    } else {
        service.disk.set_free(0);
    }
    service.paid.notify_one();
    if floor > 0 {
        service.disk.looked_at(4).await;
        service.assert_callers_are_refused().await;
    } else {
        while service.journal.room().is_ok() {
            tokio::task::yield_now().await;
        }
        assert_no_space(&service.live.send_text("thanks").await.unwrap_err());
    }
    assert_eq!(service.model.transcript().answers().count(), 0);
    service.disk.set_free(ROOMY);
    assert_eq!(updates.turn().await.as_deref(), Some("Paid."));
    service.live.send_text("thanks").await.unwrap();
    assert_eq!(updates.turn().await.as_deref(), Some("Any time."));
    assert_eq!(service.runs(), 1);
    service.ends_well().await;
}

#[tokio::test(start_paused = true)]
async fn result_below_the_floor_reaches_the_model_once_there_is_room() {
    result_outlasts_full_disk(1 << 20, 8).await;
}

/// Without a floor the log reaches the end of the disk, because the result needs more than the
/// prepared room.
#[tokio::test(start_paused = true)]
async fn result_for_which_a_write_failed_reaches_the_model_too() {
    result_outlasts_full_disk(0, 1_500_000).await;
}

#[tokio::test(start_paused = true)]
async fn call_on_full_disk_starts_no_tool_before_there_is_room() {
    let service = Service::begin(1 << 20, 8).await;
    let mut updates = service.live.subscribe();
    service.paid.notify_one();
    service.fill();
    service.calls("p1", "pay");
    service.disk.looked_at(4).await;
    assert_eq!(service.runs(), 0, "nothing of it is on record");
    assert_eq!(service.model.transcript().answers().count(), 0);
    service.disk.set_free(ROOMY);
    let sent = updates.wait_for(|event| event.kind() == "responses_sent");
    sent.await.unwrap();
    assert_eq!(service.runs(), 1);
    assert_eq!(service.model.transcript().answers().count(), 1);
    service.ends_well().await;
}

/// It would run in vain: its caller is told at once that the time is up.
#[tokio::test(start_paused = true)]
async fn call_whose_time_passed_on_full_disk_starts_no_tool() {
    let clock = ManualClock::new();
    let service = Service::with_clock(1 << 20, 8, clock.clone()).await;
    let mut updates = service.live.subscribe();
    service.paid.notify_one();
    service.fill();
    service.calls("p1", "pay");
    service.disk.looked_at(4).await;
    clock.advance(Duration::from_secs(3600));
    service.disk.set_free(ROOMY);
    let sent = updates.wait_for(|event| event.kind() == "responses_sent");
    sent.await.unwrap();
    assert_eq!(service.runs(), 0);
    let folded = service.live.session().await.unwrap();
    let outcomes: Vec<_> = folded.settled.values().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::TimedOut]);
    service.engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn approval_on_full_disk_is_refused_and_counts_for_nothing() {
    let service = Service::begin(1 << 20, 8).await;
    let mut updates = service.live.subscribe();
    service.calls("r1", "refund");
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    asked.await.unwrap();
    let request = service.engine.pending().await.unwrap()[0].id;
    let head = service.live.session().await.unwrap().head;
    service.fill();
    let approved = || {
        let by = Actor::embedder("ada");
        service
            .engine
            .answer(request, ToolConfirmation::confirmed(), by)
    };
    assert_no_space(&approved().await.unwrap_err());
    assert_eq!(service.live.session().await.unwrap().head, head);
    assert_eq!(service.engine.pending().await.unwrap().len(), 1);
    service.disk.set_free(ROOMY);
    let before = service.model.transcript().answers().count();
    approved().await.unwrap();
    let ended = updates.wait_for(|event| event.kind() == "tool_returned");
    ended.await.unwrap();
    let sent = updates.wait_for(|event| event.kind() == "responses_sent");
    sent.await.unwrap();
    assert_eq!(service.model.transcript().answers().count(), before + 1);
    assert_eq!(service.runs(), 1);
    service.ends_well().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_room() {
    let service = Service::begin(1 << 20, 8).await;
    service.fill();
    service.calls("p1", "pay");
    service.disk.looked_at(4).await;
    // A service that ends does not wait for room.
    let ended = service.engine.shutdown(Duration::ZERO).await;
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(service.runs(), 0);
    drop((service.live, service.engine, service.journal));
    service.disk.set_free(ROOMY);
    let path = service.directory.path().join("journal");
    assert!(verify::directory(&path).unwrap().is_sound());
    DiskJournal::open(&path).unwrap();
}
