//! Loading sessions from a journal and appending to them.

use std::sync::Arc;

use recount_journal::seal::{KeyStore, SessionKey, is_sealed_object};
use recount_journal::{Append, Durability, Hash, Journal, Line, Object, OpenItem, WorkChange};
use tracing::Instrument;

use super::line::{self, Entry};
use super::{Error, PassedOver, Seal, UnknownKinds};
use crate::session::{
    DecodeError, Event, Fact, Library, ObjectHash, OpenWork, RULES, Seq, Session, SessionId,
    evolve_in_place, open_work,
};

/// How many records are read at a time.
const PAGE: usize = 1024;

/// A journal that holds sessions, and the keys of those that are sealed.
#[derive(Clone)]
pub struct Ledger {
    journal: Arc<dyn Journal>,
    keys: Option<Arc<dyn KeyStore>>,
    unknown: UnknownKinds,
    passed_over: Option<PassedOver>,
}

/// The end of a session's stream: what the next append follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The last record.
    pub seq: Seq,
    /// Its leaf hash.
    pub hash: Hash,
}

impl Tail {
    /// The end of a stream without records.
    pub const EMPTY: Tail = Tail {
        seq: Seq(0),
        hash: Hash::ZERO,
    };
}

/// A session as the journal has it.
#[derive(Debug)]
pub struct Loaded {
    /// The fold of its facts.
    pub session: Session,
    /// The end of its stream.
    pub tail: Tail,
    /// How its records are written.
    pub seal: Seal,
}

/// A fact that is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Whose.
    pub session: SessionId,
    /// What.
    pub fact: Fact,
}

/// The objects that a batch names first.
#[derive(Clone, Debug, Default)]
pub struct Objects(Vec<Object>);

impl Objects {
    pub(super) fn new(objects: Vec<Object>) -> Objects {
        Objects(objects)
    }

    /// These objects and others.
    pub(crate) fn and(mut self, mut more: Objects) -> Objects {
        self.0.append(&mut more.0);
        self
    }
}

impl Ledger {
    /// Sessions in `journal`.
    pub fn new(journal: Arc<dyn Journal>) -> Ledger {
        Ledger {
            journal,
            keys: None,
            unknown: UnknownKinds::default(),
            passed_over: None,
        }
    }

    /// The same sessions over another handle on their journal.
    pub(crate) fn over(self, journal: Arc<dyn Journal>) -> Ledger {
        Ledger { journal, ..self }
    }

    /// With what becomes of records whose kinds a newer program brought; without this, they are
    /// refused.
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

    /// Notes there which records are passed over from now on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use recount::journal::MemoryJournal;
    /// use recount::ledger::{Ledger, PassedOver, UnknownKinds};
    ///
    /// let passed_over = PassedOver::default();
    /// let ledger = Ledger::new(Arc::new(MemoryJournal::new())).unknown_kinds(UnknownKinds::Skip).noting(&passed_over);
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

    /// With the keys of its sealed sessions.
    pub fn with_keys(self, keys: Arc<dyn KeyStore>) -> Ledger {
        Ledger {
            keys: Some(keys),
            ..self
        }
    }

    /// The keys, where a key store is here.
    pub fn keys(&self) -> Option<&Arc<dyn KeyStore>> {
        self.keys.as_ref()
    }

    /// The journal underneath.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// Folds a session.
    ///
    /// # Errors
    /// [`Error::UnknownSession`] where the journal has no record of it; whatever keeps a record
    /// from being read.
    pub async fn load(&self, id: SessionId) -> Result<Loaded, Error> {
        // The journal's own stream has this id and is no session.
        if id.0.is_nil() {
            return Err(Error::UnknownSession { session: id });
        }
        let known = self.snapshot_of(id).await;
        let mut session = known.unwrap_or_else(|| Session::new(id));
        let (known, mut folded) = (session.head, 0);
        let mut next = known.next();
        loop {
            let facts = self.facts(id, next, PAGE).await?;
            let Some(last) = facts.last() else { break };
            next = last.seq.next();
            folded += facts.len() as u64;
            for fact in &facts {
                self.provide(&mut session, fact).await?;
                evolve_in_place(&mut session, fact);
            }
        }
        let head = self
            .journal
            .head(id.0)
            .await?
            .ok_or(Error::UnknownSession { session: id })?;
        // What was passed over at the end is what the next record follows all the same.
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
        // What was passed over here may be known to the next program.
        if known.0 + folded == head.seq {
            self.keep_snapshot(&loaded, folded).await;
        }
        Ok(loaded)
    }

    /// The facts of a session from `from` on, `limit` at most.
    ///
    /// # Errors
    /// Whatever keeps a record from being read.
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
            // No facts are the end of the session, so a page of which all was passed over is none.
            if !facts.is_empty() || lines.is_empty() {
                return Ok(facts);
            }
            from = Seq(from.0.saturating_add(lines.len() as u64));
        }
    }

    /// Whether a record is of a kind that nobody knows, and is passed over.
    pub(crate) fn passes_over(&self, entry: &Entry) -> bool {
        if Event::is_known(entry.kind()) {
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

    /// Whether a record that could not be read is passed over.
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

    /// The fact on a line, opened where it is sealed and the key is here.
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

    /// The records of a session from `from` on, `limit` at most, as they are stored; bodies that
    /// are sealed are opened where the key is here.
    ///
    /// # Errors
    /// Whatever keeps a record from being read.
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

    /// The key of a session, looked up once and only where it is wanted.
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

    /// One fact, if it is there.
    ///
    /// # Errors
    /// Whatever keeps the record from being read.
    pub async fn fact(&self, id: SessionId, seq: Seq) -> Result<Option<Fact>, Error> {
        let found = self.facts(id, seq, 1).await?.pop();
        Ok(found.filter(|it| it.seq == seq))
    }

    /// Hands the objects that `fact` names to `session`, so that it can be folded.
    ///
    /// # Errors
    /// [`Error::MissingObject`] where the journal does not hold one, or holds something else there;
    /// [`Error::NewerRules`] where it was a newer program that decided what follows.
    pub async fn provide(&self, session: &mut Session, fact: &Fact) -> Result<(), Error> {
        let Event::Observed(observation) = &fact.event else {
            return Ok(());
        };
        // By other rules than these the state itself may mean something else.
        if let Some(rules) = observation.rules().filter(|rules| *rules > RULES) {
            return Err(Error::NewerRules {
                session: session.id,
                seq: fact.seq,
                rules,
            });
        }
        let id = session.id;
        self.hand_in(id, &observation.objects(), session.library_mut())
            .await
    }

    /// Adds to `library` the objects of a session that it does not have.
    pub(super) async fn hand_in(
        &self,
        session: SessionId,
        named: &[ObjectHash],
        library: &mut Library,
    ) -> Result<(), Error> {
        for hash in library.missing(named) {
            let missing = Error::MissingObject { session, hash };
            let found = self
                .journal
                .object(Hash::from_bytes(*hash.as_bytes()))
                .await?;
            let Some(bytes) = found else {
                return Err(missing);
            };
            let adopted = if is_sealed_object(&bytes) {
                let key = self.key(session).await?;
                let content = key.ok_or(Error::Sealed { session })?.open_object(&bytes)?;
                library.adopt(hash, &content)
            } else {
                library.adopt(hash, &bytes)
            };
            if !adopted {
                return Err(missing);
            }
        }
        Ok(())
    }

    /// Appends `facts`, which lead from a session with `open_before` to `session`, as one atomic
    /// batch, sealed as `seal` says.
    ///
    /// When it returns, the batch is as durable as `durability` says. What was open is what
    /// [`open_work`] gave, in its order.
    ///
    /// # Errors
    /// Whatever the journal says; a conflict means that somebody else writes to the session, and
    /// that this writer must stop. [`Error::Sealed`] where the session is sealed and its key is not
    /// here.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a part of the one batch, and none follows from another"
    )]
    pub async fn append(
        &self,
        tail: Tail,
        seal: &Seal,
        session: &Session,
        facts: &[Fact],
        open_before: &[(Seq, OpenWork)],
        objects: Objects,
        durability: Durability,
    ) -> Result<Tail, Error> {
        let mut append = Append::new(session.id.0, tail.seq.0, Vec::with_capacity(facts.len()));
        let (mut prev, mut room) = (tail.hash, Vec::with_capacity(512));
        for fact in facts {
            let line = line::line_of(session.id, fact, prev, seal, &mut room)?;
            prev = line.leaf();
            append.lines.push(line);
        }
        append.objects = objects.0;
        drop(room);
        append.open_work = work_changes(session, open_before);
        append.durability = durability;
        let span = tracing::info_span!("append", session = %session.id, expected = tail.seq.0, records = facts.len());
        let head = self.journal.append(append).instrument(span).await?;
        let (session, from) = (session.id, tail.seq.next());
        tracing::debug!(%session, %from, to = head.seq, records = facts.len(), "batch appended");
        for fact in facts {
            // Bodies quote arguments and words, so a kind is all that is said.
            tracing::trace!(%session, seq = %fact.seq, kind = fact.event.kind(), "on record");
        }
        Ok(Tail {
            seq: Seq(head.seq),
            hash: head.hash,
        })
    }
}

/// What has to change in the journal's index of open work.
pub(super) fn work_changes(session: &Session, before: &[(Seq, OpenWork)]) -> Vec<WorkChange> {
    changes(session.id, before, &open_work(session))
}

fn changes(
    session: SessionId,
    before: &[(Seq, OpenWork)],
    after: &[(Seq, OpenWork)],
) -> Vec<WorkChange> {
    let gone = before.iter().filter(|(seq, _)| find(after, *seq).is_none());
    let removed = gone.map(|(seq, _)| WorkChange::Remove {
        session: session.0,
        item: seq.0,
    });
    let changed = after
        .iter()
        .filter(|(seq, item)| find(before, *seq) != Some(item));
    let put = changed.map(|(seq, item)| WorkChange::Put(open_item(session, *seq, item)));
    removed.chain(put).collect()
}

fn find(open: &[(Seq, OpenWork)], seq: Seq) -> Option<&OpenWork> {
    let place = open.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
    open.get(place).map(|(_, item)| item)
}

/// The flag of an item whose call the model took back.
pub(super) const MODEL_LOST_INTEREST: u32 = 1;

/// The flag of a call that waits where its tool runs: whoever serves the session next has to look
/// after it.
pub(crate) const IN_PLACE: u32 = 2;

fn open_item(session: SessionId, seq: Seq, item: &OpenWork) -> OpenItem {
    OpenItem {
        session: session.0,
        item: seq.0,
        kind: item.kind.as_str().to_owned(),
        since_us: item.since.0,
        deadline_us: item.deadline.map(|at| at.0),
        request: item.request.map(|request| session.request_id(request).0),
        flags: [
            (item.model_lost_interest, MODEL_LOST_INTEREST),
            (item.in_place, IN_PLACE),
        ]
        .into_iter()
        .fold(0, |flags, (set, flag)| flags | if set { flag } else { 0 }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::session::{OpenKind, Timestamp};

    fn listed() -> impl Strategy<Value = Vec<(Seq, OpenWork)>> {
        let item = |(since, model_lost_interest)| OpenWork {
            kind: OpenKind::Ready,
            since: Timestamp(since),
            request: None,
            deadline: None,
            model_lost_interest,
            in_place: false,
        };
        let items = prop::collection::btree_map(1..12_u64, (0..2_i64, any::<bool>()), 0..8);
        items.prop_map(move |all| {
            let all = all.into_iter();
            all.map(|(seq, it)| (Seq(seq), item(it))).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_listed_and_the_changes_are_what_is_listed(before in listed(), after in listed()) {
            let id = SessionId(uuid::Uuid::from_u128(7));
            let rows = |all: &[(Seq, OpenWork)]| -> BTreeMap<u64, OpenItem> {
                all.iter().map(|(seq, it)| (seq.0, open_item(id, *seq, it))).collect()
            };
            let mut index = rows(&before);
            let changes = changes(id, &before, &after);
            let new = after.iter().filter(|it| !before.contains(it));
            let gone = before.iter().filter(|it| after.iter().all(|now| now.0 != it.0));
            prop_assert_eq!(changes.len(), new.count() + gone.count());
            for change in changes {
                match change {
                    WorkChange::Put(item) => _ = index.insert(item.item, item),
                    WorkChange::Remove { item, .. } => _ = index.remove(&item),
                }
            }
            prop_assert_eq!(index, rows(&after));
        }
    }
}
