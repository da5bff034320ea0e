//! The journal as its users see it: one small trait, whatever keeps the records.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use uuid::Uuid;

use crate::{Append, Error, Hash, Head, Line, OpenItem};

/// A future on the heap, so that the trait can be used behind `dyn` and without a runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What was committed together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    /// Where it stands among all commits; positions grow, and may leave gaps.
    pub position: u64,
    /// The records of each append, with their stream, in order.
    pub appends: Vec<(Uuid, Vec<Line>)>,
}

/// Records of one stream that stand one behind the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// The stream.
    pub session: Uuid,
    /// The seq of the first one; 0 stands for 1.
    pub from: u64,
    /// How many at most.
    pub limit: usize,
}

impl Span {
    /// The seq of the first one.
    pub(crate) fn first(self) -> u64 {
        self.from.max(1)
    }

    /// The seq behind the last one.
    pub(crate) fn end(self) -> u64 {
        self.first().saturating_add(self.limit as u64)
    }
}

/// Keeps streams of records. What was appended and acknowledged is seen by every later read.
///
/// A call waits for somebody until a deadline, and is answered:
///
/// ```
/// use recount_journal::{
///     Actor, Append, DiskJournal, Draft, Durability, Error, Hash, Journal, Line, OpenItem, WorkChange,
///     block_on, export, verify,
/// };
/// use uuid::Uuid;
///
/// fn line(session: Uuid, seq: u64, kind: &str, prev: Hash) -> Line {
///     let (body, actor) = (r#"{"amount":7}"#, Actor::new("engine"));
///     Draft { session, seq, at_us: 1_000, kind, cause: None, actor, body, prev }.line()
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("journal");
/// let journal = DiskJournal::options(&path).program("teller 1.0").floor_bytes(1 << 20).open()?;
/// let (session, request) = (Uuid::from_u128(7), Uuid::from_u128(99));
/// let before = block_on(journal.position())?;
///
/// // Durable, with what is open from now on: item 1, known to the outside by its request id.
/// let mut asked = Append::new(session, 0, vec![line(session, 1, "asked", Hash::ZERO)]);
/// asked.open_work = vec![WorkChange::Put(OpenItem {
///     session, item: 1, kind: "confirmation".into(), since_us: 1_000,
///     deadline_us: Some(5_000), request: Some(request), flags: 0,
/// })];
/// let head = block_on(journal.append(asked))?;
///
/// // The live tail has it, since it is synced.
/// let commit = block_on(journal.follow(before))?;
/// assert_eq!(commit.appends[0].1[0].leaf(), head.hash);
///
/// // What is open: all of it, in one session, by deadline, by request id.
/// assert_eq!(block_on(journal.open_work(None, 100))?.len(), 1);
/// assert_eq!(block_on(journal.open_work_of(session))?[0].kind, "confirmation");
/// assert_eq!(block_on(journal.deadlines(4_999, 100))?.len(), 0);
/// assert_eq!(block_on(journal.deadlines(5_000, 100))?[0].item, 1);
/// assert_eq!(block_on(journal.request(request))?, Some((session, 1)));
///
/// // Buffered: queued for the next commit, and seen by the next read all the same.
/// let mut answered = Append::new(session, 1, vec![line(session, 2, "answered", head.hash)]);
/// answered.open_work = vec![WorkChange::Remove { session, item: 1 }];
/// answered.durability = Durability::Buffered;
/// let head = block_on(journal.append(answered))?;
/// assert_eq!(block_on(journal.head(session))?, Some(head));
/// assert_eq!(block_on(journal.sessions(None, 100))?, [(session, head)]);
/// assert_eq!(block_on(journal.open_work(None, 100))?, []);
/// // Whoever answers late still finds what it was about.
/// assert_eq!(block_on(journal.request(request))?, Some((session, 1)));
///
/// // Pages of records, from a seq on.
/// assert_eq!(block_on(journal.read(session, 2, 100))?[0].record()?.kind, "answered");
///
/// // A second writer who believes otherwise is told so.
/// let late = Append::new(session, 1, vec![line(session, 2, "answered", Hash::ZERO)]);
/// assert!(matches!(block_on(journal.append(late)), Err(Error::Conflict { actual: 2, .. })));
///
/// let mut file = Vec::new();
/// block_on(export(&journal, Some(session), &mut file))?;
/// assert!(verify::export(&file[..])?.is_sound());
/// block_on(journal.close())?;
/// assert!(verify::directory(&path)?.is_sound());
/// # Ok(())
/// # }
/// ```
pub trait Journal: Send + Sync + 'static {
    /// Adds records, objects and changes of open work to one stream, all or nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the stream is not where the caller believes,
    /// [`Error::BrokenChain`], [`Error::Refused`] and [`Error::TooLarge`] for an append that is
    /// wrong in itself, [`Error::Poisoned`] once the store failed.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>>;

    /// The records of a stream from a seq, at most so many.
    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>>;

    /// The records of several spans, in their order, each as [`read`](Journal::read) gives it.
    ///
    /// A journal may read them together, which is what this is for; by default they are read one
    /// after the other.
    ///
    /// ```
    /// use recount_journal::{Actor, Append, Draft, Hash, Journal, MemoryJournal, Span, block_on};
    /// use uuid::Uuid;
    ///
    /// let journal = MemoryJournal::new();
    /// for session in [1, 2].map(Uuid::from_u128) {
    ///     let (actor, prev) = (Actor::new("engine"), Hash::ZERO);
    ///     let draft = Draft { session, seq: 1, at_us: 0, kind: "greeted", cause: None, actor, body: "{}", prev };
    ///     block_on(journal.append(Append::new(session, 0, vec![draft.line()])))?;
    /// }
    /// let spans = [1, 2, 3].map(|it| Span { session: Uuid::from_u128(it), from: 1, limit: 10 });
    /// let pages = block_on(journal.read_each(spans.to_vec()))?;
    /// assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Journal::read); what one span fails with, all of them do.
    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        Box::pin(async move {
            let mut pages = Vec::with_capacity(spans.len());
            for span in spans {
                pages.push(self.read(span.session, span.from, span.limit).await?);
            }
            Ok(pages)
        })
    }

    /// The end of a stream.
    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>>;

    /// The streams in the order of their ids, without the system stream.
    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>>;

    /// What is open anywhere, in the order of session and seq.
    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// What is open in one stream.
    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// What runs out up to and including a time, earliest first.
    fn deadlines(&self, until_us: i64, limit: usize)
    -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// The session and the item that the outside knows under this id.
    ///
    /// It is known for ever, so that whoever answers late is told what was decided.
    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>>;

    /// The content of an object.
    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>>;

    /// The first commit behind a position, 0 for the very first; waits for one when there is none
    /// yet.
    ///
    /// A commit is seen here after its sync and never before. Whoever goes on from
    /// [`Commit::position`] misses nothing, however far behind it is.
    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>>;

    /// The position of the last commit, from which [`Journal::follow`] gives only what is new.
    fn position(&self) -> BoxFuture<'_, Result<u64, Error>>;

    /// What was last kept of a stream by [`keep_snapshot`](Journal::keep_snapshot), byte for byte
    /// or torn; often nothing.
    ///
    /// A journal that keeps none, as this one by default, says that there is none.
    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        let _ = session;
        Box::pin(async { Ok(None) })
    }

    /// Keeps what a reader made of a stream beside it, so that the next reader need not make it
    /// again. It takes the place of what was kept before; it is no part of the journal, is neither
    /// hashed nor copied with it, and may be gone at any time.
    ///
    /// ```
    /// use recount_journal::{Journal, MemoryJournal, block_on};
    /// use uuid::Uuid;
    ///
    /// let (journal, session) = (MemoryJournal::new(), Uuid::from_u128(7));
    /// block_on(journal.keep_snapshot(session, b"42 records, folded".to_vec()))?;
    /// assert_eq!(block_on(journal.snapshot(session))?, Some(b"42 records, folded".to_vec()));
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        let _ = (session, bytes);
        Box::pin(async { Ok(()) })
    }

    /// Tells if appends are refused for lack of room on the disk, without an append. An append that
    /// follows may still find that the room is gone. A journal without a disk has room.
    ///
    /// ```
    /// use recount_journal::{DiskJournal, Error, Journal};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("journal");
    /// let journal = DiskJournal::open(&path)?;
    /// match journal.room() {
    ///     Ok(()) => {}
    ///     Err(Error::NoSpace { free, floor }) => println!("{free} bytes are free, {floor} stay free"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSpace`]; [`Error::Io`] where the system does not say what is free.
    fn room(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether what is acknowledged outlives the process.
    fn is_durable(&self) -> bool;

    /// Commits what is queued and closes. Later calls of anything else say [`Error::Closed`].
    fn close(&self) -> BoxFuture<'_, Result<(), Error>>;
}

/// Waits for a future on this thread, for programs without a runtime.
///
/// ```
/// assert_eq!(recount_journal::block_on(async { 2 + 2 }), 4);
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
