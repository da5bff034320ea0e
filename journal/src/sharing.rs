//! Journals that several processes write, each its own streams.

use std::time::Duration;

use uuid::Uuid;

use crate::{BoxFuture, Error};

/// The streams for which [`Sharing::unowned`] and [`Sharing::owned`] look.
#[derive(Clone, Copy, Debug)]
pub struct Unowned<'a> {
    /// The kinds of open items that need a process.
    pub kinds: &'a [&'a str],
    /// The flags of open items that need one, too.
    pub flags: u32,
    /// The time at which a deadline has passed, in microseconds since 1970.
    pub due_us: i64,
    /// The stream behind which to look.
    pub after: Option<Uuid>,
    /// The maximum number of streams.
    pub limit: usize,
}

/// A request to the owner of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// The stream.
    pub session: Uuid,
    /// The id of the request.
    pub id: Uuid,
    /// The request, as its sender wrote it.
    pub request: String,
    /// The time of the request, in microseconds since 1970.
    pub at_us: i64,
    /// The seq of its outcome, if a process that is gone has carried it out, as
    /// [`Append::carries_out`](crate::Append::carries_out) says. Without it, it was not carried
    /// out, and never will be by that process.
    pub carried_out: Option<u64>,
}

/// The stream that a request with a key opens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Opening {
    /// The id of the stream. It need not have a record yet.
    pub session: Uuid,
    /// The hash of the request.
    pub request: [u8; 32],
}

/// Ownership of the streams of a journal that several processes write.
///
/// A stream has one owner at a time, and only its owner appends to it. The journal's own stream,
/// whose id is nil, has none.
pub trait Sharing: Send + Sync {
    /// The name of this process among the nodes of the journal.
    fn node(&self) -> &str;

    /// Claims streams whose owner has released them, or whose owner's lease has ended. Returns
    /// those that this process owns now. A claim is the proof that the former owner is gone, so it
    /// comes before the read of what that owner left.
    ///
    /// A stream that something else in the store holds is left out after a short wait.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::Poisoned`] once the lease of this process has ended.
    fn claim(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>>;

    /// Notes that this process appends to a stream no more, until it claims it again. Returns the
    /// epoch of its ownership, for [`release`](Sharing::release).
    fn let_go(&self, session: Uuid) -> Option<i64>;

    /// Releases a stream, so that any process can claim it. Nothing happens if it was claimed
    /// since. A failure is logged; the stream is then this process's own, which may claim it again,
    /// and free for others when the lease ends.
    fn release(&self, session: Uuid, epoch: i64) -> BoxFuture<'_, ()>;

    /// Returns the name of the process that owns a stream with a valid lease.
    fn owner(&self, session: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>>;

    /// Returns streams that need a process and have none, in the order of their ids.
    fn unowned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>>;

    /// Returns those of some streams without a process that this one should claim first, so that
    /// they spread over the processes by what each owns. The others are woken for the rest.
    ///
    /// It is advice: any process may claim any of them, and should after a moment.
    fn share(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>>;

    /// Notes the id under which the key store of all processes has a key, if none is noted, and
    /// returns the noted one. With `None` it is only read.
    ///
    /// A process whose key store has no key of that id has another key store than the others.
    fn key_mark(&self, mark: Option<Uuid>) -> BoxFuture<'_, Result<Option<Uuid>, Error>>;

    /// Returns streams that need a process and belong to this one, in the order of their ids. Some
    /// of them this process may not know as its own: the reply to a claim was lost.
    fn owned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>>;

    /// Waits until another process may have released a stream, sent a request or a reply, or
    /// written to the journal's own stream or applied it. It returns after a while in any case,
    /// since news can be lost.
    ///
    /// `seen` is what the last call returned, at first 0: nothing between two calls is missed.
    fn changed(&self, seen: u64) -> BoxFuture<'_, u64>;

    /// Notes that nothing which this process starts from now on overlooks a record of the journal's
    /// own stream up to this seq. The first note makes it one of those that [`behind`] names.
    ///
    /// A process that starts anything makes the first note, with 0, before it reads that stream.
    ///
    /// [`behind`]: Sharing::behind
    fn applied(&self, seq: u64) -> BoxFuture<'_, Result<(), Error>>;

    /// Returns the names of the other processes that have not applied the journal's own stream up
    /// to this seq, and whose lease has not ended. Without a name, nothing that starts from now on
    /// overlooks a record up to there.
    fn behind(&self, seq: u64) -> BoxFuture<'_, Result<Vec<String>, Error>>;

    /// Sends a request to the owner of a stream, and returns its id. No process takes it after this
    /// time.
    fn ask(
        &self,
        session: Uuid,
        request: String,
        within: Duration,
    ) -> BoxFuture<'_, Result<Uuid, Error>>;

    /// Takes the requests to streams of this process that no living process has taken.
    fn asked(&self) -> BoxFuture<'_, Result<Vec<Asked>, Error>>;

    /// Replies to a request, or puts it back without a reply if this process is no longer the
    /// owner.
    fn reply(
        &self,
        session: Uuid,
        id: Uuid,
        reply: Option<String>,
    ) -> BoxFuture<'_, Result<(), Error>>;

    /// Returns the reply to a request, if it has one, and removes both.
    fn replied(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>>;

    /// Withdraws a request. Returns false if a process has taken it.
    fn withdraw(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<bool, Error>>;

    /// Notes which stream a request with this key opens, and returns the first such note: any
    /// process that repeats the request opens the same stream. A note is removed after some days.
    fn opening(&self, key: [u8; 32], opening: Opening) -> BoxFuture<'_, Result<Opening, Error>>;

    /// Checks that the lease of this process is valid. After its end nothing may start.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    fn lease(&self) -> Result<(), Error>;

    /// Checks that the last append of this process was not refused. It is for reports of health:
    /// the next append may succeed.
    ///
    /// # Errors
    /// The error of that append. Errors that are about the append itself do not count.
    fn takes_appends(&self) -> Result<(), Error>;

    /// Waits until the lease of this process has ended, and returns why. The process must begin
    /// anew to serve the journal again. Without a lease it waits for ever.
    fn lost(&self) -> BoxFuture<'_, Error>;
}
