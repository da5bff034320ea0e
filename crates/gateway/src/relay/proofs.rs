//! Proofs that the vendor has read a message of the session: a ping behind it, and its pong.
//!
//! A message that was only written may be lost with the connection, while a resumption handle that
//! comes right behind it seems to cover it.

use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

/// The time after which a message counts as read by a vendor that answers no pings.
const WITHIN: Duration = Duration::from_secs(2);

/// The messages that are written, and perhaps not read.
#[derive(Default)]
pub(super) struct Proofs {
    asked: u64,
    waiting: VecDeque<Proof>,
}

struct Proof {
    number: u64,
    until: Instant,
    written: oneshot::Sender<()>,
}

impl Proofs {
    /// Returns the ping that goes out behind a message. `written` tells the session that the vendor
    /// has read it.
    pub(super) fn ask(&mut self, written: oneshot::Sender<()>) -> Message {
        self.asked += 1;
        let (number, until) = (self.asked, Instant::now() + WITHIN);
        self.waiting.push_back(Proof {
            number,
            until,
            written,
        });
        Message::Ping(number.to_be_bytes().to_vec().into())
    }

    /// Takes a pong. It answers the pings before it, too: a peer may answer the last one alone.
    pub(super) fn pong(&mut self, payload: &[u8]) {
        let Ok(number) = <[u8; 8]>::try_from(payload).map(u64::from_be_bytes) else {
            return;
        };
        self.tell(|it| it.number <= number);
    }

    /// Waits until a message has waited long enough.
    pub(super) async fn overdue(&self) {
        match self.waiting.front() {
            Some(first) => sleep_until(first.until).await,
            None => pending().await,
        }
    }

    /// Counts the messages as read that have waited long enough.
    pub(super) fn give_up(&mut self) {
        let now = Instant::now();
        self.tell(|it| it.until <= now);
    }

    fn tell(&mut self, is_read: impl Fn(&Proof) -> bool) {
        while let Some(proof) = self.waiting.pop_front_if(|it| is_read(it)) {
            // The session may be gone.
            let _ = proof.written.send(());
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use super::*;

    fn payload(ping: &Message) -> Vec<u8> {
        match ping {
            Message::Ping(payload) => payload.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pong_proves_what_was_written_before_its_ping() {
        let mut proofs = Proofs::default();
        let mut told = Vec::new();
        let mut pings = Vec::new();
        for _ in 0..3 {
            let (written, is_written) = oneshot::channel();
            pings.push(payload(&proofs.ask(written)));
            told.push(is_written);
        }
        let proven = |told: &mut Vec<oneshot::Receiver<()>>| {
            let proven = told.iter_mut().map(|it| it.try_recv().is_ok());
            proven.collect::<Vec<_>>()
        };
        proofs.pong(b"another");
        assert_eq!(proven(&mut told), [false, false, false]);
        proofs.pong(&pings[1]);
        assert_eq!(proven(&mut told), [true, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn vendor_without_pongs_is_believed_after_a_while() {
        let mut proofs = Proofs::default();
        let (written, mut is_written) = oneshot::channel();
        proofs.ask(written);
        let begun = Instant::now();
        proofs.give_up();
        assert!(is_written.try_recv().is_err());
        proofs.overdue().await;
        proofs.give_up();
        assert!(is_written.try_recv().is_ok());
        assert!(begun.elapsed() >= WITHIN);
    }
}
