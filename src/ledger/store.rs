//! Loading of sessions from a journal.

use std::sync::Arc;

use recount_journal::seal::{KeyStore, SessionKey, is_sealed_object};
use recount_journal::{Hash, Head, Journal, Line, Object};

use super::chain::Chain;
use super::holds::HoldBook;
use super::line::{self, Entry};
use super::pauses::PauseBook;
use super::{Error, PassedOver, Seal, UnknownKinds, terms_on_record};
use crate::session::{
    DecodeError, Event, Fact, Library, ObjectHash, Seq, Session, SessionId, evolve_in_place,
};

/// The number of records read at a time.
const PAGE: usize = 1024;

/// A journal of sessions, and the keys of the sealed ones.
#[derive(Clone)]
pub struct Ledger {
    journal: Arc<dyn Journal>,
    keys: Option<Arc<dyn KeyStore>>,
    unknown: UnknownKinds,
    passed_over: Option<PassedOver>,
    /// The pauses of more than one session, shared between clones.
    pub(super) pauses: Arc<PauseBook>,
    /// The holds, shared between clones.
    pub(super) hold_book: Arc<HoldBook>,
}

/// The end of a session's stream, to which the next append is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The seq of the last record.
    pub seq: Seq,
    /// Its leaf hash.
    pub hash: Hash,
}

impl Tail {
    /// The end of an empty stream.
    pub const EMPTY: Tail = Tail {
        seq: Seq(0),
        hash: Hash::ZERO,
    };
}

/// A session loaded from a journal.
#[derive(Debug)]
pub struct Loaded {
    /// The folded session.
    pub session: Session,
    /// The end of its stream.
    pub tail: Tail,
    /// The way in which its records are written.
    pub seal: Seal,
}

/// A recorded fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The session.
    pub session: SessionId,
    /// The fact.
    pub fact: Fact,
}

/// The objects that a batch is the first to name.
#[derive(Clone, Debug, Default)]
pub struct Objects(pub(super) Vec<Object>);

impl Objects {
    pub(super) fn new(objects: Vec<Object>) -> Objects {
        Objects(objects)
    }

    /// Adds further objects.
    pub(crate) fn and(mut self, mut more: Objects) -> Objects {
        self.0.append(&mut more.0);
        self
    }
}

impl Ledger {
    /// Creates a ledger over `journal`.
    pub fn new(journal: Arc<dyn Journal>) -> Ledger {
        Ledger {
            journal,
            keys: None,
            unknown: UnknownKinds::default(),
            passed_over: None,
            pauses: Arc::default(),
            hold_book: Arc::default(),
        }
    }

    /// Replaces the handle to the journal.
    pub(crate) fn over(self, journal: Arc<dyn Journal>) -> Ledger {
        Ledger { journal, ..self }
    }

    /// Sets the treatment of records whose kinds only a newer version of Recount knows. Defaults to
    /// [`UnknownKinds::Refuse`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::{Ledger, UnknownKinds};
    ///
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new())).unknown_kinds(UnknownKinds::Skip);
    /// ```
    #[must_use]
    pub fn unknown_kinds(self, unknown: UnknownKinds) -> Ledger {
        Ledger { unknown, ..self }
    }

    /// Collects skipped records in `passed_over` from now on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::{Ledger, PassedOver, UnknownKinds};
    ///
    /// let passed_over = PassedOver::default();
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new()))
    ///     .unknown_kinds(UnknownKinds::Skip)
    ///     .noting(&passed_over);
    /// assert!(passed_over.records().is_empty());
    /// # let _ = ledger;
    /// ```
    #[must_use]
    pub fn noting(self, passed_over: &PassedOver) -> Ledger {
        Ledger {
            passed_over: Some(passed_over.clone()),
            ..self
        }
    }

    /// Sets the store of the sealed sessions' keys.
    pub fn with_keys(self, keys: Arc<dyn KeyStore>) -> Ledger {
        Ledger {
            keys: Some(keys),
            ..self
        }
    }

    /// The key store, if one is configured.
    pub fn keys(&self) -> Option<&Arc<dyn KeyStore>> {
        self.keys.as_ref()
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Loads and folds a session.
    ///
    /// # Errors
    /// [`Error::UnknownSession`] if the journal has no record of it, or the error of a record that
    /// cannot be read.
    pub async fn load(&self, id: SessionId) -> Result<Loaded, Error> {
        // The journal's own stream has the nil id and is not a session.
        if id.0.is_nil() {
            return Err(Error::UnknownSession { session: id });
        }
        let known = self.snapshot_of(id).await;
        let mut session = known.unwrap_or_else(|| Session::new(id));
        let known = session.head;
        let head = self.journal.head(id.0).await?;
        let head = head.ok_or(Error::UnknownSession { session: id })?;
        let folded = self.fold_up_to(&head, &mut session).await?;
        // Skipped records at the end still precede the next append.
        session.head = Seq(head.seq);
        let first = self.entries(id, Seq(1), 1).await?;
        let seal = Seal {
            key: self.key(id).await?,
            bodies: first.first().is_some_and(Entry::is_sealed),
        };
        let loaded = Loaded {
            seal,
            session,
            tail: Tail {
                seq: Seq(head.seq),
                hash: head.hash,
            },
        };
        // No snapshot if records were skipped, because the next program version may know their
        // kinds.
        if known.0 + folded == head.seq {
            self.keep_snapshot(&loaded, folded).await;
        }
        Ok(loaded)
    }

    /// Folds the records up to the head. Returns the number of those that were not skipped.
    async fn fold_up_to(&self, head: &Head, session: &mut Session) -> Result<u64, Error> {
        let (id, mut key, mut folded) = (session.id, None, 0);
        let is_shared = self.journal.sharing().is_some();
        let mut chain = Chain::behind(id, session.head, is_shared);
        let mut next = session.head.next();
        while next.0 <= head.seq {
            let left = usize::try_from(head.seq - next.0).unwrap_or(PAGE);
            let limit = left.saturating_add(1).min(PAGE);
            let lines = self.journal.read(id.0, next.0, limit).await?;
            if lines.is_empty() {
                return Err(chain.missing(next));
            }
            for line in &lines {
                chain.take(next, line)?;
                match self.fact_on(id, next, line, &mut key).await {
                    Ok(fact) => {
                        self.provide(session, &fact).await?;
                        evolve_in_place(session, &fact);
                        folded += 1;
                    }
                    Err(error) if self.skips(&error) => {}
                    Err(error) => return Err(error),
                }
                next = next.next();
            }
        }
        chain.ends_at(head)?;
        Ok(folded)
    }

    /// Returns at most `limit` facts of a session, starting at `from`.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn facts(&self, id: SessionId, from: Seq, limit: usize) -> Result<Vec<Fact>, Error> {
        let (mut from, mut key) = (from, None);
        loop {
            let lines = self.journal.read(id.0, from.0, limit).await?;
            let mut facts = Vec::with_capacity(lines.len());
            for (line, seq) in lines.iter().zip((from.0..).map(Seq)) {
                match self.fact_on(id, seq, line, &mut key).await {
                    Ok(fact) => facts.push(fact),
                    Err(error) if self.skips(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            // An empty result means the end of the session, so the loop continues after a page of
            // skipped records.
            if !facts.is_empty() || lines.is_empty() {
                return Ok(facts);
            }
            from = Seq(from.0.saturating_add(lines.len() as u64));
        }
    }

    /// True if the record is of an unknown kind and is skipped. A record that newer rules decided
    /// is never skipped.
    pub(crate) fn passes_over(&self, entry: &Entry) -> bool {
        if Event::is_known(entry.kind()) || !entry.is_of_rules_known_here() {
            return false;
        }
        match self.unknown {
            UnknownKinds::Refuse => false,
            UnknownKinds::Skip => {
                self.pass_over(entry.session, entry.seq, entry.kind());
                true
            }
        }
    }

    /// True if the record with this error is skipped.
    fn skips(&self, error: &Error) -> bool {
        let Error::Unreadable {
            session,
            seq,
            source: DecodeError::UnknownKind(kind),
        } = error
        else {
            return false;
        };
        match self.unknown {
            UnknownKinds::Refuse => false,
            UnknownKinds::Skip => {
                self.pass_over(*session, *seq, kind);
                true
            }
        }
    }

    fn pass_over(&self, session: SessionId, seq: Seq, kind: &str) {
        tracing::warn!(%session, %seq, kind, "a record of an unknown kind was passed over");
        if let Some(passed_over) = &self.passed_over {
            passed_over.note(session, seq, kind);
        }
    }

    /// Parses the fact on a line, and decrypts it if it is sealed and the key is available.
    pub(super) async fn fact_on(
        &self,
        id: SessionId,
        seq: Seq,
        line: &Line,
        key: &mut Option<Option<SessionKey>>,
    ) -> Result<Fact, Error> {
        match line::fact_of(id, seq, line.bytes()) {
            Err(Error::Sealed { .. }) => {
                let key = self.look_up(id, key).await?;
                Entry::read(id, seq, line.clone(), key)?.fact()
            }
            fact => fact,
        }
    }

    /// Returns at most `limit` stored records of a session, starting at `from`. Sealed bodies are
    /// decrypted if the key is available.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn entries(
        &self,
        id: SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        let lines = self.journal.read(id.0, from.0, limit).await?;
        let mut entries = Vec::with_capacity(lines.len());
        let mut key = None;
        for (line, seq) in lines.into_iter().zip((from.0..).map(Seq)) {
            let entry = Entry::read(id, seq, line, None)?;
            entries.push(if entry.is_sealed() {
                let key = self.look_up(id, &mut key).await?;
                Entry::read(id, seq, entry.line, key)?
            } else {
                entry
            });
        }
        Ok(entries)
    }

    /// Returns the key of a session, with a single lookup on first use.
    async fn look_up<'k>(
        &self,
        id: SessionId,
        known: &'k mut Option<Option<SessionKey>>,
    ) -> Result<Option<&'k SessionKey>, Error> {
        if known.is_none() {
            *known = Some(self.key(id).await?);
        }
        Ok(known.as_ref().and_then(Option::as_ref))
    }

    /// Returns one fact, if it exists.
    ///
    /// # Errors
    /// The error of a record that cannot be read.
    pub async fn fact(&self, id: SessionId, seq: Seq) -> Result<Option<Fact>, Error> {
        let found = self.facts(id, seq, 1).await?.pop();
        Ok(found.filter(|it| it.seq == seq))
    }

    /// Loads the objects that `fact` names into `session`, so that the fact can be folded.
    ///
    /// # Errors
    /// [`Error::MissingObject`] if the journal does not hold an object, or holds another content
    /// under its hash; [`Error::NewerRules`] if a newer version of Recount decided what follows;
    /// [`Error::UnknownField`] if an object has a field that this program does not know, from rules
    /// 2 on.
    pub async fn provide(&self, session: &mut Session, fact: &Fact) -> Result<(), Error> {
        let Event::Observed(observation) = &fact.event else {
            return Ok(());
        };
        terms_on_record::not_of_newer_rules(session.id, fact.seq, observation)?;
        self.know_fields(session, fact.seq, observation).await?;
        let id = session.id;
        self.hand_in(id, &observation.objects(), session.library_mut())
            .await
    }

    /// Loads the named objects of a session into `library`, unless it has them.
    pub(super) async fn hand_in(
        &self,
        session: SessionId,
        named: &[ObjectHash],
        library: &mut Library,
    ) -> Result<(), Error> {
        for hash in library.missing(named) {
            let adopt = |content: &[u8]| library.adopt(hash, content);
            if !self.with_object(session, hash, adopt).await? {
                return Err(Error::MissingObject { session, hash });
            }
        }
        Ok(())
    }

    /// Passes the content of an object that a session names to `read`, decrypted if it is sealed.
    pub(super) async fn with_object<R>(
        &self,
        session: SessionId,
        hash: ObjectHash,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let found = self
            .journal
            .object(Hash::from_bytes(*hash.as_bytes()))
            .await?;
        let bytes = found.ok_or(Error::MissingObject { session, hash })?;
        if !is_sealed_object(&bytes) {
            return Ok(read(&bytes));
        }
        let key = self.key(session).await?;
        let content = key.ok_or(Error::Sealed { session })?.open_object(&bytes)?;
        Ok(read(&content))
    }
}
