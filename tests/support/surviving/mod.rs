//! A journal that outlives its engines, in memory or in the database.

pub(crate) mod empty;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount::journal::{
    Append, Asked, BoxFuture, Commit, Error, Hash, Head, Journal, Line, OpenItem, Opening, Sharing,
    Span, Unowned, block_on,
};
use recount::testing;
use recount_postgres::PostgresJournal;
use tokio::runtime::{Handle, Id};
use tokio::sync::watch;
use uuid::Uuid;

use crate::schema::{self, Schema};

/// A journal that outlives its engines, as one in a store does.
///
/// Its reads and appends are ready at once: with the database they block. So a test that runs its
/// engine on one thread has the same course with each store.
pub(crate) struct SurvivingJournal {
    store: Store,
}

enum Store {
    Memory(Arc<testing::SurvivingJournal>),
    Database(Database),
}

/// A journal in the database.
struct Database {
    /// `None` once it was given back.
    schema: Option<Schema>,
    process: Mutex<Process>,
    /// The number of appends.
    appended: watch::Sender<u64>,
}

/// The process that has the journal open. Each runtime stands for one: with the next runtime, a new
/// node takes over from the one that was killed.
#[derive(Default)]
struct Process {
    runtime: Option<Id>,
    journal: Option<Arc<PostgresJournal>>,
}

impl SurvivingJournal {
    /// An empty journal.
    pub(crate) fn new() -> Arc<SurvivingJournal> {
        let store = if schema::is_chosen() {
            Store::Database(Database {
                schema: Some(empty::take()),
                process: Mutex::default(),
                appended: watch::Sender::new(0),
            })
        } else {
            Store::Memory(testing::SurvivingJournal::new())
        };
        Arc::new(SurvivingJournal { store })
    }

    fn journal(&self) -> Arc<dyn Journal> {
        match &self.store {
            Store::Memory(journal) => journal.clone(),
            Store::Database(database) => database.journal(),
        }
    }

    /// Calls the journal. The caller's thread waits for the reply.
    fn call<'j, T: Send + 'j>(
        &'j self,
        call: impl FnOnce(&dyn Journal) -> BoxFuture<'_, Result<T, Error>> + Send + 'j,
    ) -> BoxFuture<'j, Result<T, Error>> {
        Box::pin(async move { block_on(call(&*self.journal())) })
    }

    /// Calls the ownership of the journal, as [`call`](SurvivingJournal::call) does.
    fn share<'j, T: Send + 'j>(
        &'j self,
        call: impl FnOnce(&dyn Sharing) -> BoxFuture<'_, T> + Send + 'j,
    ) -> BoxFuture<'j, T> {
        Box::pin(async move { block_on(call(self.journal().sharing().unwrap())) })
    }
}

impl Database {
    fn journal(&self) -> Arc<PostgresJournal> {
        let current = Handle::try_current().ok().map(|it| it.id());
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_some() && process.runtime.is_some() && process.runtime != current {
            process.journal = None;
        }
        process.runtime = current.or(process.runtime);
        let journal = process
            .journal
            .get_or_insert_with(|| self.schema.as_ref().unwrap().open());
        journal.clone()
    }

    /// Closes the journal. The next call opens it anew.
    fn close(&self) -> Result<(), Error> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.runtime = None;
        let closed = process.journal.take();
        closed.map_or(Ok(()), |it| block_on(it.close()))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let closed = self.close();
        // A test that fails leaves its journal.
        if let (Ok(()), Some(schema), false) =
            (closed, self.schema.take(), std::thread::panicking())
        {
            empty::give_back(schema);
        }
    }
}

impl Journal for SurvivingJournal {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Head, Error>> {
        Box::pin(async move {
            let head = self.call(|it| it.append(append)).await?;
            if let Store::Database(database) = &self.store {
                database.appended.send_modify(|it| *it += 1);
            }
            Ok(head)
        })
    }

    fn read(
        &self,
        session: Uuid,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Line>, Error>> {
        self.call(move |it| it.read(session, from, limit))
    }

    fn read_each(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<Vec<Vec<Line>>, Error>> {
        self.call(|it| it.read_each(spans))
    }

    fn head(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Head>, Error>> {
        self.call(move |it| it.head(session))
    }

    fn sessions(
        &self,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<(Uuid, Head)>, Error>> {
        self.call(move |it| it.sessions(after, limit))
    }

    fn open_work(
        &self,
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.call(move |it| it.open_work(after, limit))
    }

    fn open_work_of_kinds<'j>(
        &'j self,
        kinds: &'j [&'j str],
        after: Option<(Uuid, u64)>,
        limit: usize,
    ) -> BoxFuture<'j, Result<Vec<OpenItem>, Error>> {
        Box::pin(async move { block_on(self.journal().open_work_of_kinds(kinds, after, limit)) })
    }

    fn open_work_of(&self, session: Uuid) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.call(move |it| it.open_work_of(session))
    }

    fn deadlines(
        &self,
        until_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<OpenItem>, Error>> {
        self.call(move |it| it.deadlines(until_us, limit))
    }

    fn request(&self, request: Uuid) -> BoxFuture<'_, Result<Option<(Uuid, u64)>, Error>> {
        self.call(move |it| it.request(request))
    }

    fn object(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Arc<[u8]>>, Error>> {
        self.call(move |it| it.object(hash))
    }

    /// Waits in the runtime of the caller, where the next append is made.
    fn follow(&self, after: u64) -> BoxFuture<'_, Result<Commit, Error>> {
        let database = match &self.store {
            Store::Memory(journal) => return journal.follow(after),
            Store::Database(database) => database,
        };
        Box::pin(async move {
            let mut appended = database.appended.subscribe();
            while self.position().await? <= after {
                // The sender lives as long as `self`.
                let _ = appended.changed().await;
            }
            block_on(self.journal().follow(after))
        })
    }

    fn position(&self) -> BoxFuture<'_, Result<u64, Error>> {
        self.call(|it| it.position())
    }

    fn snapshot(&self, session: Uuid) -> BoxFuture<'_, Result<Option<Vec<u8>>, Error>> {
        self.call(move |it| it.snapshot(session))
    }

    fn keep_snapshot(&self, session: Uuid, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        self.call(move |it| it.keep_snapshot(session, bytes))
    }

    fn room(&self) -> Result<(), Error> {
        self.journal().room()
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        match &self.store {
            Store::Memory(_) => None,
            Store::Database(_) => Some(self),
        }
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            match &self.store {
                Store::Memory(_) => Ok(()),
                Store::Database(database) => database.close(),
            }
        })
    }
}

impl Sharing for SurvivingJournal {
    fn node(&self) -> &str {
        "test"
    }

    fn claim(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>> {
        self.share(|it| it.claim(sessions))
    }

    fn let_go(&self, session: Uuid) -> Option<i64> {
        self.journal().sharing()?.let_go(session)
    }

    fn release(&self, session: Uuid, epoch: i64) -> BoxFuture<'_, ()> {
        self.share(move |it| it.release(session, epoch))
    }

    fn owner(&self, session: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>> {
        self.share(move |it| it.owner(session))
    }

    fn unowned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>> {
        Box::pin(async move { block_on(self.journal().sharing().unwrap().unowned(sought)) })
    }

    fn share(&self, sessions: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Uuid>, Error>> {
        self.share(|it| it.share(sessions))
    }

    fn key_mark(&self, mark: Option<Uuid>) -> BoxFuture<'_, Result<Option<Uuid>, Error>> {
        self.share(move |it| it.key_mark(mark))
    }

    fn owned<'j>(&'j self, sought: Unowned<'j>) -> BoxFuture<'j, Result<Vec<Uuid>, Error>> {
        Box::pin(async move { block_on(self.journal().sharing().unwrap().owned(sought)) })
    }

    /// News of other processes. There are none, but it returns from time to time.
    fn changed(&self, seen: u64) -> BoxFuture<'_, u64> {
        let journal = self.journal();
        Box::pin(async move { journal.sharing().unwrap().changed(seen).await })
    }

    fn applied(&self, seq: u64) -> BoxFuture<'_, Result<(), Error>> {
        self.share(move |it| it.applied(seq))
    }

    fn behind(&self, seq: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        self.share(move |it| it.behind(seq))
    }

    fn ask(
        &self,
        session: Uuid,
        request: String,
        within: Duration,
    ) -> BoxFuture<'_, Result<Uuid, Error>> {
        self.share(move |it| it.ask(session, request, within))
    }

    fn asked(&self) -> BoxFuture<'_, Result<Vec<Asked>, Error>> {
        self.share(|it| it.asked())
    }

    fn reply(
        &self,
        session: Uuid,
        id: Uuid,
        reply: Option<String>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.share(move |it| it.reply(session, id, reply))
    }

    fn replied(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<Option<String>, Error>> {
        self.share(move |it| it.replied(session, id))
    }

    fn withdraw(&self, session: Uuid, id: Uuid) -> BoxFuture<'_, Result<bool, Error>> {
        self.share(move |it| it.withdraw(session, id))
    }

    fn opening(&self, key: [u8; 32], opening: Opening) -> BoxFuture<'_, Result<Opening, Error>> {
        self.share(move |it| it.opening(key, opening))
    }

    fn lease(&self) -> Result<(), Error> {
        self.journal().sharing().unwrap().lease()
    }

    fn takes_appends(&self) -> Result<(), Error> {
        self.journal().sharing().unwrap().takes_appends()
    }

    fn lost(&self) -> BoxFuture<'_, Error> {
        let journal = self.journal();
        Box::pin(async move { journal.sharing().unwrap().lost().await })
    }
}
