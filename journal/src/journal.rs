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

/// Keeps streams of records. What was appended and acknowledged is seen by every later read.
pub trait Journal: Send + Sync + 'static {
    /// Adds records, objects and changes of open work to one stream, all or nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the stream is not where the caller believes, [`Error::BrokenChain`], [`Error::Refused`]
    /// and [`Error::TooLarge`] for an append that is wrong in itself, [`Error::Poisoned`] once the store failed.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>>;

    /// The records of a stream from a seq, at most so many.
    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>>;

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

    /// The first commit behind a position, 0 for the very first; waits for one when there is none yet.
    ///
    /// A commit is seen here after its sync and never before. Whoever goes on from [`Commit::position`] misses nothing,
    /// however far behind it is.
    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>>;

    /// The position of the last commit, from which [`Journal::follow`] gives only what is new.
    fn position(&self) -> BoxFuture<'_, Result<u64, Error>>;

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
