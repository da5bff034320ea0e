//! Appends of records to a session, with the changes of its open work.

use recount_journal::{Append, CarriedOut, Durability, OpenItem, WorkChange};
use tracing::Instrument;

use super::store::{Ledger, Objects, Tail};
use super::{Error, Seal, line};
use crate::session::{Fact, OpenWork, Seq, Session, SessionId, open_work};

/// The records of one append, with what is committed with them.
#[derive(Clone)]
pub(crate) struct Batch<'b> {
    /// The session after the records.
    pub(crate) session: &'b Session,
    pub(crate) facts: &'b [Fact],
    /// The open work before the records.
    pub(crate) open_before: &'b [(Seq, OpenWork)],
    pub(crate) objects: Objects,
    pub(crate) durability: Durability,
    pub(crate) carries_out: Option<CarriedOut>,
}

impl Ledger {
    /// Appends `facts` as one atomic batch, sealed as `seal` defines.
    ///
    /// `session` is the state after the facts, and `open_before` is the result of [`open_work`]
    /// before them. When this function returns, the batch is as durable as `durability` requires.
    ///
    /// # Errors
    /// The error of the journal. A conflict means that another writer appends to the session, and
    /// that this writer must stop. [`Error::Sealed`] if the session is sealed and its key is not
    /// available.
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
        let batch = Batch {
            session,
            facts,
            open_before,
            objects,
            durability,
            carries_out: None,
        };
        self.append_batch(tail, seal, batch).await
    }

    /// Works as [`append`](Ledger::append), also for a request of another process.
    ///
    /// # Errors
    /// As [`append`](Ledger::append).
    pub(crate) async fn append_batch(
        &self,
        tail: Tail,
        seal: &Seal,
        batch: Batch<'_>,
    ) -> Result<Tail, Error> {
        let Batch {
            session,
            facts,
            open_before,
            objects,
            durability,
            carries_out,
        } = batch;
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
        append.carries_out = carries_out;
        let span = tracing::info_span!(
            "append",
            session = %session.id,
            expected = tail.seq.0,
            records = facts.len()
        );
        let head = self.journal().append(append).instrument(span).await?;
        let (session, from) = (session.id, tail.seq.next());
        tracing::debug!(%session, %from, to = head.seq, records = facts.len(), "batch appended");
        for fact in facts {
            // Bodies contain arguments and texts, so only the kind is logged.
            tracing::trace!(%session, seq = %fact.seq, kind = fact.event.kind(), "on record");
        }
        Ok(Tail {
            seq: Seq(head.seq),
            hash: head.hash,
        })
    }
}

/// Returns the changes for the journal's index of open work.
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

/// The flag of an item whose call the model has cancelled.
pub(super) const MODEL_LOST_INTEREST: u32 = 1;

/// The flag of a call that waits while its tool still runs. The next runner must check on it.
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
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn changes_turn_old_rows_into_new_ones(before in listed(), after in listed()) {
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
