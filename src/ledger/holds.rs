//! Legal holds: a held session cannot be erased.
//!
//! A hold and its release are records of the journal's own stream. A hold is known by the seq of
//! its record, so two holds on one session are two holds, and the release of one leaves the other
//! in force. The same hold of the same actor for the same reason is recorded once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::{Line, seal};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EraseError, Erasure, Error, Hold, HoldEnd, HoldRefusal, HoldTarget, Ledger};
use crate::session::{Actor, ActorKind, BODY_BYTES_MAX, Seq, SessionId, Timestamp};

/// The kind of the record that places a hold.
pub(crate) const PLACED: &str = "hold_placed";

/// The kind of the record that releases a hold.
pub(crate) const RELEASED: &str = "hold_released";

/// The number of records read at a time.
const PAGE: usize = 1024;

/// The lock under which keys are deleted and holds are placed.
///
/// A deletion checks the holds, records its request and deletes the key, and only the last of these
/// is final. Under the lock, a hold is on record before the check or after the deletion. The lock
/// is of the process, not of a ledger, because a program may have two ledgers over one journal.
///
/// Other processes of a journal do not see the lock. There the own stream decides: a hold is
/// appended behind a record up to which no erasure was requested, and a request behind one up to
/// which no hold was placed.
pub(super) static KEY_DELETIONS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The body of the record that places a hold.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Placed {
    pub(crate) target: HoldTarget,
    pub(crate) reason: String,
    pub(crate) by: Actor,
}

/// The body of the record that releases a hold.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Released {
    pub(crate) hold: Seq,
    pub(crate) reason: String,
    pub(crate) by: Actor,
}

/// The holds of a journal, as far as they were read. All clones of a ledger share them.
#[derive(Debug, Default)]
pub(super) struct HoldBook(Mutex<Holds>);

#[derive(Debug, Default)]
struct Holds {
    by_id: BTreeMap<Seq, Hold>,
    /// The last record that was read.
    read: u64,
}

impl HoldBook {
    fn holds(&self) -> MutexGuard<'_, Holds> {
        // Each record is folded in one step, so a panic elsewhere leaves whole holds.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds the record with this seq, unless another reader has.
    fn fold(&self, seq: u64, line: &Line) {
        let mut holds = self.holds();
        if seq <= holds.read {
            return;
        }
        holds.read = seq;
        // Records that do not parse are skipped here; `verify` reports them.
        let Ok(record) = line.record() else {
            return;
        };
        let (body, id, at) = (record.body.get(), Seq(seq), Timestamp(record.at_us));
        match record.kind {
            PLACED => {
                if let Ok(Placed { target, reason, by }) = serde_json::from_str(body) {
                    let hold = Hold {
                        id,
                        target,
                        reason,
                        by,
                        since: at,
                        released: None,
                    };
                    holds.by_id.insert(id, hold);
                }
            }
            RELEASED => {
                if let Ok(Released { hold, reason, by }) = serde_json::from_str(body)
                    && let Some(hold) = holds.by_id.get_mut(&hold)
                    && hold.is_in_force()
                {
                    hold.released = Some(HoldEnd {
                        record: id,
                        reason,
                        by,
                        at,
                    });
                }
            }
            _ => {}
        }
    }
}

impl Ledger {
    /// Returns every hold in force, oldest first.
    ///
    /// ```
    /// # async fn example(
    /// #     ledger: recount::ledger::Ledger,
    /// # ) -> Result<(), recount::ledger::Error> {
    /// for hold in ledger.holds().await? {
    ///     println!("{} is held by {}", hold.target, hold.by);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn holds(&self) -> Result<Vec<Hold>, Error> {
        let mut holds = self.holds_on_record().await?;
        holds.retain(Hold::is_in_force);
        Ok(holds)
    }

    /// Returns every hold on record, oldest first, also the released ones.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn holds_on_record(&self) -> Result<Vec<Hold>, Error> {
        self.read_holds().await?;
        Ok(self.hold_book.holds().by_id.values().cloned().collect())
    }

    /// Reads what the journal's own stream says about holds since the last call.
    async fn read_holds(&self) -> Result<(), Error> {
        loop {
            let next = self.hold_book.holds().read + 1;
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                return Ok(());
            }
            for (line, seq) in lines.iter().zip(next..) {
                self.hold_book.fold(seq, line);
            }
        }
    }

    /// Places a hold, and returns it. Returns the hold in force that has the same target, reason
    /// and actor, if there is one.
    pub(crate) async fn place_hold(
        &self,
        target: HoldTarget,
        reason: String,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Hold, HoldRefusal>, Error> {
        let placed = Placed { target, reason, by };
        if let Err(refusal) = placed.check() {
            return Ok(Err(refusal));
        }
        let _no_deletion = KEY_DELETIONS.lock().await;
        let about = SessionId(Uuid::nil());
        loop {
            // The decision is about the stream up to here. If another process appends meanwhile,
            // such as the request of an erasure, it is taken anew.
            let head = self.own_head().await?;
            if let Some(session) = placed.target.session()
                && let Some(refusal) = self.erased_before(session).await?
            {
                return Ok(Err(refusal));
            }
            let is_same = |it: &&Hold| {
                it.target == placed.target && it.reason == placed.reason && it.by == placed.by
            };
            if let Some(hold) = self.holds().await?.iter().find(is_same) {
                return Ok(Ok(hold.clone()));
            }
            let about = (about, ActorKind::Person);
            if let Some(seq) = self.append_own(head, about, (PLACED, &placed), now).await? {
                self.read_holds().await?;
                let hold = self.hold_book.holds().by_id.get(&seq).cloned();
                return Ok(hold.ok_or(HoldRefusal::UnknownHold { hold: seq }));
            }
        }
    }

    /// Releases a hold, and returns it. Other holds on the same sessions stay in force.
    pub(crate) async fn release_hold(
        &self,
        hold: Seq,
        reason: String,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Hold, HoldRefusal>, Error> {
        let released = Released { hold, reason, by };
        if let Err(refusal) = released.check() {
            return Ok(Err(refusal));
        }
        let about = (SessionId(Uuid::nil()), ActorKind::Person);
        loop {
            let head = self.own_head().await?;
            self.read_holds().await?;
            let known = self.hold_book.holds().by_id.get(&hold).cloned();
            match known {
                None => return Ok(Err(HoldRefusal::UnknownHold { hold })),
                Some(Hold {
                    released: Some(end),
                    ..
                }) => {
                    let end = Box::new(end);
                    return Ok(Err(HoldRefusal::HoldReleased { hold, end }));
                }
                Some(Hold { released: None, .. }) => {}
            }
            let body = (RELEASED, &released);
            if self.append_own(head, about, body, now).await?.is_some() {
                self.read_holds().await?;
                let hold_of = |id| self.hold_book.holds().by_id.get(&id).cloned();
                return Ok(hold_of(hold).ok_or(HoldRefusal::UnknownHold { hold }));
            }
        }
    }

    /// Returns the refusal of a hold on a session that was erased, or is being erased by another
    /// process.
    async fn erased_before(&self, session: SessionId) -> Result<Option<HoldRefusal>, Error> {
        if session.0.is_nil() || self.journal().head(session.0).await?.is_none() {
            return Err(Error::UnknownSession { session });
        }
        // A restored key store has the key again.
        let has_key = self.has_key(session).await?;
        let is_shared = self.journal().sharing().is_some();
        if has_key && !is_shared {
            return Ok(None);
        }
        let Some(erasure) = self.erasures().await?.remove(&session) else {
            return Ok(None);
        };
        Ok(match (erasure.erased, erasure.erased_at_us) {
            (Some(at), Some(at_us)) => (!has_key).then(|| HoldRefusal::SessionErased {
                session,
                at,
                at_us,
                by: Box::new(erasure.by),
                reason: erasure.reason,
            }),
            // In a journal with one writer no erasure is under way, because of the lock.
            (None, _) | (_, None) => is_shared.then(|| requested_before(session, erasure)),
        })
    }

    /// Returns the word that a hold by label comes too late for a session: another process may
    /// delete its key, because it recorded the request before.
    pub(crate) async fn late_hold(&self, hold: Seq) -> Result<Option<HoldRefusal>, Error> {
        if self.journal().sharing().is_none() {
            return Ok(None);
        }
        let known = self.hold_book.holds().by_id.get(&hold).cloned();
        let Some(Hold { id, target, .. }) = known else {
            return Ok(None);
        };
        for (session, erasure) in self.erasures().await? {
            if erasure.erased.is_some() || erasure.requested > id {
                continue;
            }
            let labels = self.labels_of(session).await?;
            // A session whose labels cannot be read may have the label.
            if labels.is_none_or(|it| target.covers(session, &it)) {
                return Ok(Some(requested_before(session, erasure)));
            }
        }
        Ok(None)
    }

    /// Returns the labels of a session. `None` if they cannot be read.
    async fn labels_of(
        &self,
        session: SessionId,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        match self.opened(session).await {
            Ok(opened) => Ok(opened.map(|(_, opened)| opened.labels)),
            Err(Error::Sealed { .. }) => Ok(None),
            // A key that opens nothing is deleted, too.
            Err(Error::Seal(seal::Error::DoesNotOpen { .. } | seal::Error::Malformed { .. })) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns an error if a hold in force covers the session, or may cover it.
    pub(super) async fn expect_not_held(&self, session: SessionId) -> Result<(), EraseError> {
        let holds = self.holds().await?;
        if holds.is_empty() {
            return Ok(());
        }
        let labels = self.labels_of(session).await?;
        let mut unread = None;
        for hold in holds {
            let is_certain = match (&hold.target, &labels) {
                (HoldTarget::Session(held), _) => *held == session,
                (HoldTarget::Label { .. }, Some(labels)) => hold.target.covers(session, labels),
                (HoldTarget::Label { .. }, None) => {
                    unread.get_or_insert(hold);
                    continue;
                }
            };
            if is_certain {
                let hold = Box::new(hold);
                return Err(EraseError::Held { session, hold });
            }
        }
        match unread {
            None => Ok(()),
            Some(hold) => {
                let hold = Box::new(hold);
                Err(EraseError::LabelsUnreadable { session, hold })
            }
        }
    }
}

impl Placed {
    fn check(&self) -> Result<(), HoldRefusal> {
        if let HoldTarget::Label { key, .. } = &self.target
            && key.is_empty()
        {
            return Err(HoldRefusal::NoLabel);
        }
        fits(&self.reason, self)
    }
}

impl Released {
    fn check(&self) -> Result<(), HoldRefusal> {
        fits(&self.reason, self)
    }
}

fn requested_before(session: SessionId, erasure: Erasure) -> HoldRefusal {
    HoldRefusal::ErasureRequested {
        session,
        at: erasure.requested,
        at_us: erasure.requested_at_us,
        by: Box::new(erasure.by),
        reason: erasure.reason,
    }
}

fn fits(reason: &str, body: &impl Serialize) -> Result<(), HoldRefusal> {
    if reason.trim().is_empty() {
        return Err(HoldRefusal::NoReason);
    }
    // A body that cannot be serialized fails at the append.
    let bytes = serde_json::to_string(body).map_or(0, |it| it.len());
    match bytes > BODY_BYTES_MAX {
        true => {
            let max = BODY_BYTES_MAX;
            Err(HoldRefusal::TooLarge { bytes, max })
        }
        false => Ok(()),
    }
}

#[cfg(test)]
#[path = "holds_tests.rs"]
mod tests;
