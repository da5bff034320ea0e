//! How long a session's task works before the others of its thread have their turn.
//!
//! tokio runs a task that was just woken at once on the thread that woke it, up to three in a row;
//! the next one it queues, and wakes another thread to look for it. A step of a session takes four
//! such turns (connection, session, tool, session), so every step would wake a thread that finds
//! nothing to do, which takes about 10 µs on a virtual machine. What a task woke last, whose share
//! of its thread is used up, follows from the queue, and no thread is woken for it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::task::coop::{has_budget_remaining, poll_proceed};

/// Whether a task has kept its thread waiting for the disk since it was last polled.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Stint {
    over: Arc<AtomicBool>,
}

impl Stint {
    /// Does the work of a task, whose turn is over behind every poll that has kept the thread
    /// waiting. It comes in a box, because a future keeps room for every place that an owned value
    /// is moved to.
    pub(in crate::engine) async fn serve<T>(
        self,
        mut work: Pin<Box<impl Future<Output = T>>>,
    ) -> T {
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if self.over.swap(false, Ordering::Relaxed) {
                use_up();
            }
            polled
        })
        .await
    }

    /// Waits for an append that is durable. One that is there when it is first asked for was
    /// written and synced meanwhile, or went to a journal in memory, where it does no harm to be
    /// followed from the queue.
    pub(in crate::engine) async fn durable<T>(&self, append: impl Future<Output = T>) -> T {
        let (mut append, mut asked) = (pin!(append), false);
        poll_fn(|context| {
            let polled = append.as_mut().poll(context);
            if polled.is_ready() && !asked {
                self.over.store(true, Ordering::Relaxed);
            }
            asked = true;
            polled
        })
        .await
    }
}

/// Uses up what is left to this task of its thread.
fn use_up() {
    let mut nobody = Context::from_waker(Waker::noop());
    // What runs without a budget has always some left.
    for _ in 0..=u8::MAX {
        if !has_budget_remaining() {
            return;
        }
        match poll_proceed(&mut nobody) {
            Poll::Ready(step) => step.made_progress(),
            Poll::Pending => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::task::yield_now;

    use super::*;

    /// Polls a task twice, and says behind each time whether anything is left to it of its thread.
    async fn is_left_to<W: Future<Output = ()>>(work: impl FnOnce(Stint) -> W) -> [bool; 2] {
        let stint = Stint::default();
        let work = work(stint.clone());
        let mut task = pin!(stint.serve(Box::pin(async {
            work.await;
            pending::<()>().await;
        })));
        let mut is_left = [false; 2];
        for is_left in &mut is_left {
            // With all that a thread has for a task.
            yield_now().await;
            poll_fn(|context| {
                assert!(has_budget_remaining());
                assert!(task.as_mut().poll(context).is_pending());
                *is_left = has_budget_remaining();
                Poll::Ready(())
            })
            .await;
        }
        is_left
    }

    #[tokio::test]
    async fn a_turn_is_over_behind_an_append_that_kept_its_thread_and_behind_no_other() {
        let kept = is_left_to(|stint| async move { stint.durable(ready(())).await });
        assert_eq!(kept.await, [false, true]);
        // Committed by another thread.
        let waited = is_left_to(|stint| async move { stint.durable(yield_now()).await });
        assert_eq!(waited.await, [true, true]);
        let kept_later = is_left_to(|stint| async move {
            stint.durable(yield_now()).await;
            stint.durable(ready(())).await;
        });
        assert_eq!(kept_later.await, [true, false]);
        assert_eq!(is_left_to(|_| ready(())).await, [true, true]);
    }

    #[tokio::test]
    async fn a_task_ends_with_what_its_work_came_to() {
        let stint = Stint::default();
        let work = stint.clone();
        let work = async move { work.durable(ready(3)).await + work.durable(ready(4)).await };
        assert_eq!(stint.serve(Box::pin(work)).await, 7);
    }
}
