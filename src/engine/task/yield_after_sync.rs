//! The yield of a session task after an append that blocked its thread.
//!
//! tokio runs a task that was just woken on the thread that woke it, up to three in a row. It
//! queues the fourth and wakes another thread for it. A step of a session takes four such polls
//! (connection, session, tool, session). So every step would wake a thread that finds nothing to
//! do, which takes about 10 µs on a virtual machine. A session task that uses up its budget leaves
//! the woken task in the queue of its thread, and no other thread is woken.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::task::coop::{has_budget_remaining, poll_proceed};

/// A flag that makes a session task yield after an append that blocked its thread.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct YieldAfterSync {
    over: Arc<AtomicBool>,
}

impl YieldAfterSync {
    /// Runs the work of a task, and uses up its budget after every poll that blocked the thread.
    /// The work is boxed, because a future reserves space for every place that an owned value is
    /// moved to.
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

    /// Waits for a durable append, and sets the flag if its first poll is ready. Such an append was
    /// written and synced in that poll. Or it went to a journal in memory, where yielding does no
    /// harm.
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

/// Uses up the budget of this task in tokio's cooperative scheduling.
fn use_up() {
    let mut context = Context::from_waker(Waker::noop());
    // A task without a budget always has some left.
    for _ in 0..=u8::MAX {
        if !has_budget_remaining() {
            return;
        }
        match poll_proceed(&mut context) {
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

    /// Polls a task twice. Returns for each poll whether the task has budget left after it.
    async fn has_budget_after_polls<W: Future<Output = ()>>(
        work: impl FnOnce(YieldAfterSync) -> W,
    ) -> [bool; 2] {
        let flag = YieldAfterSync::default();
        let work = work(flag.clone());
        let mut task = pin!(flag.serve(Box::pin(async {
            work.await;
            pending::<()>().await;
        })));
        let mut is_left = [false; 2];
        for is_left in &mut is_left {
            // Starts the poll with a full budget.
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
    async fn only_append_that_blocks_its_thread_uses_up_budget() {
        let kept = has_budget_after_polls(|flag| async move { flag.durable(ready(())).await });
        assert_eq!(kept.await, [false, true]);
        // Committed by another thread.
        let waited = has_budget_after_polls(|flag| async move { flag.durable(yield_now()).await });
        assert_eq!(waited.await, [true, true]);
        let kept_later = has_budget_after_polls(|flag| async move {
            flag.durable(yield_now()).await;
            flag.durable(ready(())).await;
        });
        assert_eq!(kept_later.await, [true, false]);
        assert_eq!(has_budget_after_polls(|_| ready(())).await, [true, true]);
    }

    #[tokio::test]
    async fn task_returns_result_of_its_work() {
        let flag = YieldAfterSync::default();
        let work = flag.clone();
        let work = async move { work.durable(ready(3)).await + work.durable(ready(4)).await };
        assert_eq!(flag.serve(Box::pin(work)).await, 7);
    }
}
