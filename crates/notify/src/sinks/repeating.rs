//! The notices that a sink's task makes without a commit: reminders, escalations and digests.

use std::time::Duration;

use recount::ledger::{Error, Ledger};
use tokio::time::{Instant, sleep, sleep_until};

use super::reading::{Close, Seen, waits};
use super::starting::{names_of_pending, pending};
use super::task::{QUEUE_MAX, SAVE_AFTER_DELIVERY, SinkTask};
use crate::message::{About, Notice};
use crate::values::Occasion;

/// The maximum time between two readings of the clock while a timer waits.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// True if a message reminds of a request that does not wait any more.
///
/// # Errors
/// The error of the journal itself.
pub(super) async fn is_moot(ledger: &Ledger, notice: &Notice) -> Result<bool, Error> {
    let repeats = match notice.occasion {
        Occasion::Reminder | Occasion::Escalated => true,
        Occasion::Asked
        | Occasion::Decided
        | Occasion::InDoubt
        | Occasion::Settled
        | Occasion::Digest
        | Occasion::Test => false,
    };
    let About::Call {
        session,
        record,
        call: Some(call),
    } = notice.about
    else {
        return Ok(false);
    };
    Ok(repeats && !waits(ledger, session, (record, call)).await?)
}

impl SinkTask {
    /// Counts a record for the digest.
    pub(super) fn count(&mut self, seen: &Seen) {
        if self.daily.is_none() || !self.plan.is_about(&seen.names) {
            return;
        }
        let day = &mut self.state.day;
        day.asked += u64::from(seen.opens.is_some());
        day.in_doubt += u64::from(seen.occasions.contains(&Occasion::InDoubt));
        match seen.closes.map(|(_, close)| close) {
            Some(Close::Approved) => day.approved += 1,
            Some(Close::Denied) => day.denied += 1,
            Some(Close::Expired) => day.expired += 1,
            Some(Close::Other) | None => {}
        }
    }

    /// Queues the reminders and escalations that are due, of requests that still wait.
    pub(super) async fn repeat_due(&mut self) -> Result<(), Error> {
        let room = QUEUE_MAX.saturating_sub(self.outbox.len());
        for due in self.timers.due(room) {
            // The answer may be in a commit that the sink has not read yet.
            if !waits(&self.ledger, due.session, (due.request, due.call)).await? {
                continue;
            }
            let place = (due.request, Some(due.call));
            let (name, occasion) = (&self.sink.name, due.occasion);
            let notice = Notice::of_call(name, occasion, due.at, due.session, place);
            self.outbox.add(notice);
            let repeated = (due.session, due.request, due.occasion);
            self.state.repeated.insert(repeated);
            self.save_within(SAVE_AFTER_DELIVERY);
        }
        Ok(())
    }

    /// Queues the digest, if it is due.
    pub(super) async fn digest_if_due(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        let Some((daily, last)) = &mut self.daily else {
            return Ok(());
        };
        let Some(today) = daily.due(last, now) else {
            return Ok(());
        };
        let mut digest = std::mem::take(&mut self.state.day);
        digest.date = today.to_string();
        for it in pending(&self.ledger).await? {
            digest.open += u64::from(self.plan.is_about(&names_of_pending(it)));
        }
        self.outbox
            .add(Notice::of_day(&self.sink.name, now, digest));
        if let Some((_, last)) = &mut self.daily {
            *last = today;
        }
        self.state.last_digest = Some(today.to_string());
        // Its numbers begin anew, so the queue with the old ones must be durable.
        self.save().await;
        Ok(())
    }

    /// Completes when there may be something to do without a commit.
    pub(super) fn wake(&self, is_idle: bool) -> impl Future<Output = ()> + use<> {
        let retry = self.outbox.next_at(Instant::now()).filter(|_| is_idle);
        let next = [retry, self.save_at].into_iter().flatten().min();
        // A full queue takes no reminder, also if one is due.
        let timer = self.timers.next().filter(|_| self.has_room());
        // A timer that is due at a reading of the clock is found also if the clock is set.
        let looks = !self.timers.is_empty() || self.daily.is_some();
        let reached = timer.map(|it| self.clock.reached(it));
        async move {
            let next = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            let reached = async {
                match reached {
                    Some(reached) => reached.await,
                    None => std::future::pending().await,
                }
            };
            let look = async {
                match looks {
                    true => sleep(CLOCK_CHECK_INTERVAL).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                () = next => {}
                () = reached => {}
                () = look => {}
            }
        }
    }
}
