//! The trait of all journals, whatever stores their records.

use std::sync::Arc;

use uuid::Uuid;

use crate::{Append, BoxFuture, Error, Hash, Head, Line, OpenItem, Sharing};

/// The appends that were committed together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Commit {
    /// The position among all commits. Positions grow, and may have gaps.
    pub position: u64,
    /// The records of each append, with their stream, in order.
    pub appends: Vec<(Uuid, Vec<Line>)>,
}

/// A range of consecutive records of one stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// The stream.
    pub session: Uuid,
    /// The seq of the first record; 0 means 1.
    pub from: u64,
    /// The maximum number of records.
    pub limit: usize,
}

impl Span {
    /// The seq of the first record.
    pub(crate) fn first(self) -> u64 {
        self.from.max(1)
    }

    /// The seq after the last record.
    pub(crate) fn end(self) -> u64 {
        self.first().saturating_add(self.limit as u64)
    }
}

/// The free space of the disk of a journal, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Space {
    /// The bytes that are free on the disk.
    pub free: u64,
    /// The bytes that stay free: with fewer, appends are rejected.
    pub floor: u64,
}

/// Stores streams of records. Every read sees all appends that were acknowledged before it.
///
/// Example: a call waits for an answer until a deadline, and is answered.
///
/// ```
/// use recount_journal::{
///     Actor, Append, DiskJournal, Draft, Durability, Error, Hash, Journal, Line, OpenItem,
///     WorkChange, block_on, export, verify,
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
/// // What is open: all of it, in one session, by kind, by deadline, by request id.
/// assert_eq!(block_on(journal.open_work(None, 100))?.len(), 1);
/// assert_eq!(block_on(journal.open_work_of(session))?[0].kind, "confirmation");
/// assert_eq!(block_on(journal.open_work_of_kinds(&["confirmation"], None, 100))?.len(), 1);
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
/// // A late answer still finds its item.
/// assert_eq!(block_on(journal.request(request))?, Some((session, 1)));
///
/// // Pages of records, from a seq on.
/// assert_eq!(block_on(journal.read(session, 2, 100))?[0].record()?.kind, "answered");
///
/// // A second writer with an older head gets a conflict.
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
    /// Appends records, objects and changes of open work to one stream, all or nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the stream has another last seq than the caller expects,
    /// [`Error::BrokenChain`], [`Error::Refused`] and [`Error::TooLarge`] for an append that is
    /// wrong in itself, [`Error::Poisoned`] once the store failed.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>>;

    /// Returns the records of a stream from a seq, at most `limit`.
    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>>;

    /// Returns the records of several spans, in their order, each as [`read`](Journal::read)
    /// returns it.
    ///
    /// A journal may read several spans in one operation. By default they are read one after the
    /// other.
    ///
    /// ```
    /// use recount_journal::{Actor, Append, Draft, Hash, Journal, MemoryJournal, Span, block_on};
    /// use uuid::Uuid;
    ///
    /// let journal = MemoryJournal::new();
    /// for session in [1, 2].map(Uuid::from_u128) {
    ///     let (actor, prev) = (Actor::new("engine"), Hash::ZERO);
    ///     let draft = Draft {
    ///         session, seq: 1, at_us: 0, kind: "greeted", cause: None, actor, body: "{}", prev,
    ///     };
    ///     block_on(journal.append(Append::new(session, 0, vec![draft.line()])))?;
    /// }
    /// let spans = [1, 2, 3].map(|it| Span { session: Uuid::from_u128(it), from: 1, limit: 10 });
    /// let pages = block_on(journal.read_each(spans.to_vec()))?;
    /// assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
    /// # Ok::<(), recount_journal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Journal::read). If one span fails, the whole call fails.
    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        Box::pin(async move {
            let mut pages = Vec::with_capacity(spans.len());
            for span in spans {
                pages.push(self.read(span.session, span.from, span.limit).await?);
            }
            Ok(pages)
        })
    }

    /// Returns the head of a stream.
    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>>;

    /// Returns the streams in the order of their ids, without the system stream.
    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>>;

    /// Returns the open items of all streams, in the order of session and seq.
    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// Returns the open items of these kinds, in the order of session and seq. The cost depends on
    /// them alone.
    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>>;

    /// Returns the open items of one stream.
    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// Returns the items whose deadline is at or before a time, earliest first.
    fn deadlines(&self, until_us: i64, limit: usize)
    -> BoxFuture<'_, Result<Vec<OpenItem>, Error>>;

    /// Returns the session and the item of an external request id.
    ///
    /// A journal never forgets a request id, so that a late answer can be matched with its
    /// decision.
    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>>;

    /// Returns the content of an object.
    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>>;

    /// Returns the first commit after a position, and waits if there is none yet. Position 0
    /// precedes the first commit.
    ///
    /// A commit is returned only after its sync. A follower that continues from
    /// [`Commit::position`] misses nothing, however far behind it is.
    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>>;

    /// Returns the position of the last commit, from which [`Journal::follow`] returns only newer
    /// ones.
    fn position(&self) -> BoxFuture<'_, Result<u64, Error>>;

    /// Returns the last snapshot that [`keep_snapshot`](Journal::keep_snapshot) stored for a
    /// stream. It may be missing at any time. Otherwise it has the stored bytes, or a torn part of
    /// them.
    ///
    /// The default implementation keeps no snapshots and returns `None`.
    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        let _ = session;
        Box::pin(async { Ok(None) })
    }

    /// Stores the folded state of a stream beside the journal, so that the next reader need not
    /// fold it again. It replaces the previous snapshot. It is no part of the journal, is neither
    /// hashed nor copied with it, and may be lost at any time.
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

    /// Checks whether appends are rejected for lack of room on the disk, without an append. A later
    /// append may still find that the room is gone. A journal without a disk has room.
    ///
    /// ```
    /// use recount_journal::{DiskJournal, Error, Journal};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("journal");
    /// let journal = DiskJournal::open(&path)?;
    /// match journal.room() {
    ///     Ok(()) => {}
    ///     Err(Error::NoSpace { free, floor }) => {
    ///         println!("{free} bytes are free, {floor} stay free");
    ///     }
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSpace`]; [`Error::Io`] if the system cannot report the free space.
    fn room(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the free space of the disk, and how much of it stays free. `None` without a disk.
    ///
    /// # Errors
    /// [`Error::Io`] if the system cannot report the free space.
    fn space(&self) -> Result<Option<Space>, Error> {
        Ok(None)
    }

    /// The ownership of streams, if several processes write the journal. By default one does.
    fn sharing(&self) -> Option<&dyn Sharing> {
        None
    }

    /// True if acknowledged appends outlive the process.
    fn is_durable(&self) -> bool;

    /// Commits what is queued and closes. All later calls return [`Error::Closed`].
    fn close(&self) -> BoxFuture<'_, Result<(), Error>>;
}
