//! Copies of the vendor's messages on their way to the session: in order and bounded.
//!
//! On record, a copy follows the reports that came before it: the words that caused a call, or the
//! declaration of its tool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use recount::live::{ConnectionLost, FrameReceiver};
use tokio::sync::{Mutex, mpsc, watch};

/// The number of copies that wait for a busy session. Then a copy without a call is dropped, and
/// with one the vendor waits.
const COPIES: usize = 256;

/// The number of copies that only messages with calls take. A journal that does not write must not
/// hold up the others.
const KEPT_FOR_CALLS: usize = 32;

/// The maximum size of these copies, in bytes. One more than there is room for is taken, too.
const COPIES_BYTES: usize = 4 << 20;

/// A copy of a message.
struct Copy {
    text: String,
    /// The number of reports before it.
    after: u64,
}

/// The relay's end: it adds copies.
pub(super) struct CopyQueue {
    copies: mpsc::Sender<Box<Copy>>,
    /// The size of the copies that wait, in bytes.
    bytes: Arc<AtomicUsize>,
}

/// The session's end: it receives the copies.
pub(super) struct Copies {
    copies: mpsc::Receiver<Box<Copy>>,
    /// The copy that waits for the reports before it.
    next: Option<Box<Copy>>,
    bytes: Arc<AtomicUsize>,
    /// The number of reports that the session has recorded.
    recorded: watch::Receiver<u64>,
    lost: Arc<OnceLock<ConnectionLost>>,
}

/// The session's end, for one attempt of several to hand it over.
#[derive(Clone)]
pub(super) struct SharedCopies(Arc<Mutex<Copies>>);

impl SharedCopies {
    pub(super) fn new(copies: Copies) -> SharedCopies {
        SharedCopies(Arc::new(Mutex::new(copies)))
    }
}

#[async_trait]
impl FrameReceiver for SharedCopies {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        self.0.lock().await.receive().await
    }
}

/// Makes both ends. `recorded` is the number of recorded reports, and `lost` the end of the
/// connection, to be set before the relay's end is dropped.
pub(super) fn copies(
    recorded: watch::Receiver<u64>,
    lost: Arc<OnceLock<ConnectionLost>>,
) -> (CopyQueue, Copies) {
    let (queue, copies) = mpsc::channel(COPIES);
    let bytes = Arc::<AtomicUsize>::default();
    let received = Copies {
        copies,
        next: None,
        bytes: bytes.clone(),
        recorded,
        lost,
    };
    let queue = CopyQueue {
        copies: queue,
        bytes,
    };
    (queue, received)
}

impl CopyQueue {
    /// Hands a copy to the session, which follows `after` reports. False if the session is gone or
    /// too busy.
    pub(super) fn add(&self, text: &str, after: u64) -> bool {
        // Before the session can take it.
        self.bytes.fetch_add(text.len(), Ordering::Relaxed);
        let copy = Copy {
            text: text.to_owned(),
            after,
        };
        let is_sent = self.copies.try_send(Box::new(copy)).is_ok();
        if !is_sent {
            self.bytes.fetch_sub(text.len(), Ordering::Relaxed);
        }
        is_sent
    }

    /// True if the session takes a copy of a message with calls.
    pub(super) fn has_room(&self) -> bool {
        self.copies.capacity() > 0 && self.bytes.load(Ordering::Relaxed) < COPIES_BYTES
    }

    /// True if it takes a copy of another message. A part of the room is for those with calls.
    pub(super) fn has_room_for_others(&self) -> bool {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.copies.capacity() > KEPT_FOR_CALLS && bytes < COPIES_BYTES / 2
    }
}

#[async_trait]
impl FrameReceiver for Copies {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        if self.next.is_none() {
            self.next = self.copies.recv().await;
        }
        // Kept while it waits, so that no copy is lost with a dropped future.
        if let Some(copy) = &self.next {
            // An error: no more reports are recorded.
            let _ = self.recorded.wait_for(|it| *it >= copy.after).await;
        }
        let ended = || ConnectionLost {
            code: None,
            reason: "the relay ended".to_owned(),
        };
        let copy = self.next.take();
        let copy = copy.ok_or_else(|| self.lost.get().cloned().unwrap_or_else(ended))?;
        self.bytes.fetch_sub(copy.text.len(), Ordering::Relaxed);
        Ok(copy.text)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn copy_waits_for_the_reports_before_it() {
        let (recorded, seen) = watch::channel(0);
        let (queue, mut copies) = copies(seen, Arc::default());
        assert!(queue.add("a", 0) && queue.add("b", 2));
        assert_eq!(copies.receive().await.unwrap(), "a");
        assert!(copies.receive().now_or_never().is_none());
        recorded.send_replace(1);
        assert!(copies.receive().now_or_never().is_none());
        recorded.send_replace(2);
        assert_eq!(copies.receive().await.unwrap(), "b");
        // Without reports to wait for, the rest is received.
        queue.add("c", 7);
        drop(recorded);
        assert_eq!(copies.receive().await.unwrap(), "c");
    }

    #[tokio::test]
    async fn waiting_copies_are_bounded_in_number_and_bytes() {
        let (_recorded, seen) = watch::channel(0);
        for (bytes, most) in [(1, 256), (1 << 20, 4)] {
            let (queue, mut copies) = copies(seen.clone(), Arc::default());
            let text = "x".repeat(bytes);
            let mut added = 0;
            while queue.has_room() {
                assert!(queue.add(&text, 0));
                added += 1;
            }
            assert_eq!(added, most);
            copies.receive().await.unwrap();
            assert!(queue.has_room() && !queue.has_room_for_others());
        }
    }
}
