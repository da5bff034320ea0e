//! The queue of a sink, and the order of attempts.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::state::Queued;
use crate::message::Notice;
use crate::sending::{Patience, Undelivered};

/// The queue of a sink.
///
/// A failure of the target holds back all messages. A failure on one message holds back that one.
#[derive(Debug)]
pub(super) struct Outbox {
    patience: Patience,
    items: Vec<Item>,
    /// The number of consecutive attempts that did not reach the target.
    unavailable: u32,
    /// The time before which the target gets no message.
    closed_until: Option<Instant>,
}

#[derive(Debug)]
struct Item {
    queued: Queued,
    /// The time of the next attempt. `None`: as soon as possible.
    next_try: Option<Instant>,
}

/// The result of an attempt for its message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The message was delivered.
    Delivered,
    /// The message is tried again.
    Again,
    /// The message is not tried any more.
    Dead(Queued),
}

impl Outbox {
    pub(super) fn new(patience: Patience, queue: Vec<Queued>) -> Outbox {
        let items = queue.into_iter().map(Item::ready);
        Outbox {
            patience,
            items: items.collect(),
            unavailable: 0,
            closed_until: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a notice, unless it is in the queue.
    pub(super) fn add(&mut self, notice: Notice) {
        if !self.items.iter().any(|it| it.queued.notice.id == notice.id) {
            let attempts = 0;
            self.items.push(Item::ready(Queued { notice, attempts }));
        }
    }

    /// The notices in the queue, oldest first.
    pub(super) fn queue(&self) -> Vec<Queued> {
        self.items.iter().map(|it| it.queued.clone()).collect()
    }

    /// The notice to send now. Of several, the one with the fewest attempts, so that a message that
    /// always fails does not hold back the others.
    pub(super) fn next(&self, now: Instant) -> Option<&Notice> {
        if self.closed_until.is_some_and(|it| it > now) {
            return None;
        }
        let ready = self.items.iter();
        let ready = ready.filter(|it| it.next_try.is_none_or(|it| it <= now));
        let next = ready.min_by_key(|it| it.queued.attempts);
        next.map(|it| &it.queued.notice)
    }

    /// The time of the next attempt. `None` if the queue is empty.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        let times = self.items.iter().map(|it| it.next_try.unwrap_or(now));
        let first = times.min()?;
        Some(self.closed_until.map_or(first, |it| it.max(first)))
    }

    /// Takes the result of an attempt.
    pub(super) fn ended(
        &mut self,
        id: Uuid,
        result: &Result<(), Undelivered>,
        now: Instant,
        entropy: u64,
    ) -> Ended {
        let Some(at) = self.items.iter().position(|it| it.queued.notice.id == id) else {
            return Ended::Delivered;
        };
        let (attempts, patience) = (
            self.items.get(at).map_or(0, Item::attempts) + 1,
            self.patience,
        );
        let mut next_try = None;
        match result {
            Ok(()) => {
                self.open();
                self.items.remove(at);
                return Ended::Delivered;
            }
            Err(Undelivered::Refused { .. }) => {
                self.open();
                return Ended::Dead(self.remove(at, attempts));
            }
            Err(Undelivered::Failed { .. }) => {
                self.open();
                next_try = Some(now + patience.wait(attempts, entropy));
            }
            Err(Undelivered::Unavailable { retry_after, .. }) => {
                self.unavailable = self.unavailable.saturating_add(1);
                let wait = patience.wait(self.unavailable, entropy);
                let wait: Duration = retry_after.map_or(wait, |it| it.max(wait));
                self.closed_until = Some(now + wait);
            }
        }
        if attempts >= patience.attempts {
            return Ended::Dead(self.remove(at, attempts));
        }
        if let Some(item) = self.items.get_mut(at) {
            item.queued.attempts = attempts;
            item.next_try = next_try;
        }
        Ended::Again
    }

    /// Removes a notice that need not be sent.
    pub(super) fn drop_notice(&mut self, id: Uuid) {
        self.items.retain(|it| it.queued.notice.id != id);
    }

    /// The target takes messages.
    fn open(&mut self) {
        self.unavailable = 0;
        self.closed_until = None;
    }

    fn remove(&mut self, at: usize, attempts: u32) -> Queued {
        let mut queued = self.items.remove(at).queued;
        queued.attempts = attempts;
        queued
    }
}

impl Item {
    fn ready(queued: Queued) -> Item {
        Item {
            queued,
            next_try: None,
        }
    }

    fn attempts(&self) -> u32 {
        self.queued.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recount::session::Timestamp;

    const PATIENCE: Patience = Patience {
        attempts: 3,
        first: Duration::from_secs(1),
        longest: Duration::from_secs(60),
    };

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn outbox(numbers: std::ops::Range<u128>) -> Outbox {
        let mut outbox = Outbox::new(PATIENCE, Vec::new());
        numbers.for_each(|it| outbox.add(Notice::test(id(it), Timestamp(0))));
        outbox
    }

    fn next(outbox: &Outbox, now: Instant) -> Option<Uuid> {
        outbox.next(now).map(|it| it.id)
    }

    fn failed() -> Result<(), Undelivered> {
        let what = "500".to_owned();
        Err(Undelivered::Failed { what })
    }

    fn unavailable(seconds: Option<u64>) -> Result<(), Undelivered> {
        Err(Undelivered::Unavailable {
            what: "503".to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        })
    }

    #[test]
    fn failing_message_does_not_hold_back_others() {
        let (mut outbox, now) = (outbox(1..3), Instant::now());
        assert_eq!(next(&outbox, now), Some(id(1)));
        assert_eq!(outbox.ended(id(1), &failed(), now, 0), Ended::Again);
        assert_eq!(next(&outbox, now), Some(id(2)));
        assert_eq!(outbox.ended(id(2), &Ok(()), now, 0), Ended::Delivered);
        assert_eq!(next(&outbox, now), None);
        let due = outbox.next_at(now).unwrap();
        assert_eq!(next(&outbox, due), Some(id(1)));
    }

    #[test]
    fn unavailable_target_gets_nothing_for_a_while() {
        let (mut outbox, now) = (outbox(1..3), Instant::now());
        outbox.ended(id(1), &unavailable(Some(30)), now, 0);
        assert_eq!(next(&outbox, now + Duration::from_secs(29)), None);
        assert_eq!(outbox.next_at(now), Some(now + Duration::from_secs(30)));
        // Another message is tried next: the first one may be the fault.
        assert_eq!(next(&outbox, now + Duration::from_secs(30)), Some(id(2)));
        outbox.ended(id(2), &Ok(()), now, 0);
        assert_eq!(next(&outbox, now), Some(id(1)), "the target is back");
    }

    #[test]
    fn message_dies_after_its_last_attempt_or_a_refusal() {
        let (mut outbox, now) = (outbox(1..3), Instant::now());
        for _ in 1..PATIENCE.attempts {
            assert_eq!(
                outbox.ended(id(1), &unavailable(None), now, 0),
                Ended::Again
            );
        }
        let last = outbox.ended(id(1), &failed(), now, 0);
        assert!(matches!(last, Ended::Dead(it) if it.attempts == 3));
        let what = "410 Gone".to_owned();
        let refused = Err(Undelivered::Refused { what });
        let gone = outbox.ended(id(2), &refused, now, 0);
        assert!(matches!(gone, Ended::Dead(it) if it.attempts == 1));
        assert_eq!(outbox.len(), 0);
    }

    #[test]
    fn notice_is_queued_once() {
        let mut outbox = outbox(1..3);
        outbox.add(Notice::test(id(1), Timestamp(0)));
        assert_eq!(outbox.queue().len(), 2);
    }
}
