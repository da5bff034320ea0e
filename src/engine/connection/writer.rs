//! The writer of a connection: one future, polled by senders as well as by the connection's task.
//!
//! A message with nothing queued before it is written where it is sent. No other task has to be
//! scheduled first. Any poll registers the waker of the connection's task. Only this task reports
//! what was written, and only it writes live input. It also reads the model's messages, so no live
//! input is sent between a call and the withholding that the call causes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::socket::panicked;
use crate::engine::live_media::input_lines::Place;
use crate::engine::live_media::pieces::{Passed, Pieces};
use crate::live::{ConnectionLost, FrameSender, Told};
use crate::session::{Route, Seq};

/// The maximum time for the peer to accept a message, in seconds. After that the connection counts
/// as lost.
const SEND_SECONDS: u64 = 30;

/// The number of consecutive writes before the peer is read again.
const CONSECUTIVE_WRITES: usize = 16;

/// A message on its way out.
pub(in crate::engine) struct Outgoing {
    pub(in crate::engine) text: String,
    /// The owed effect that is reported when the message is written.
    pub(in crate::engine) carries: Option<Carried>,
    /// The response in it.
    pub(in crate::engine) told: Option<Told>,
    /// The live input that is written before it.
    pub(in crate::engine) after: Option<Place>,
}

/// The owed effect that a message settles.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Carried {
    /// The response of this `response_issued`, by this route.
    Response(Seq, Route),
    /// The instruction of this `phase_entered`.
    Instruction(Seq),
}

/// The sender's half. Once it is dropped, queued messages are still written, and the connection is
/// closed.
pub(in crate::engine) struct Writer(Arc<Shared>);

/// The task's half. Once it is dropped, nothing is written any more.
pub(in crate::engine) struct Writing(Arc<Shared>);

struct Shared {
    outbox: Arc<Mutex<Outbox>>,
    work: Mutex<Work>,
}

/// The messages to be written, and the reports of those written.
#[derive(Default)]
struct Outbox {
    messages: VecDeque<Outgoing>,
    /// True if no more messages can come.
    is_closed: bool,
    /// True if a message that must be reported is being written.
    owes_report: bool,
    /// True if the connection's task polls the writer.
    by_task: bool,
    reports: VecDeque<Carried>,
}

/// The write future, locked while it is polled.
struct Work {
    /// None once it has completed.
    writing: Option<BoxFuture<'static, ()>>,
    /// The waker of the connection's task. None before that task has begun.
    task: Option<Waker>,
}

/// Creates the writer of `sender`. A failure is reported once through `failed`.
pub(in crate::engine) fn writer(
    sender: Box<dyn FrameSender>,
    pieces: Pieces,
    failed: oneshot::Sender<ConnectionLost>,
) -> (Writer, Writing) {
    let outbox = Arc::<Mutex<Outbox>>::default();
    let writing = write(sender, outbox.clone(), pieces);
    // A panic counts as a failed write: the peer is still read, and nothing queued is lost.
    let writing = async {
        let written = AssertUnwindSafe(writing).catch_unwind().await;
        if let Err(lost) = written.unwrap_or_else(|_| Err(panicked())) {
            // If the reader is gone, the session needs no report.
            let _ = failed.send(lost);
        }
    };
    let work = Mutex::new(Work {
        writing: Some(writing.boxed()),
        task: None,
    });
    let shared = Arc::new(Shared { outbox, work });
    (Writer(shared.clone()), Writing(shared))
}

impl Writer {
    /// Writes a message, or leaves it to the connection's task if it cannot be written at once.
    /// After a failure or a close, the message is dropped, because the loss is reported already or
    /// no longer matters.
    pub(in crate::engine) fn send(&self, message: Outgoing) {
        let mut work = lock(&self.0.work);
        if work.writing.is_some() {
            lock(&self.0.outbox).messages.push_back(message);
        }
        let Some(task) = work.task.clone() else {
            // The task writes it when it begins.
            return;
        };
        lock(&self.0.outbox).by_task = false;
        let _ = work.poll(&mut Context::from_waker(&task));
        drop(work);
        // For the report, for live input queued during the write, and if the task found the writer
        // locked.
        task.wake();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.0.outbox).is_closed = true;
        let task = lock(&self.0.work).task.clone();
        // A task that has not begun sees the flag when it does.
        let _ = task.map(Waker::wake);
    }
}

impl Writing {
    /// Completes when nothing is written any more.
    pub(in crate::engine) async fn run(&self) {
        let mut has_begun = false;
        poll_fn(|context| {
            let mut work = match self.0.work.try_lock() {
                Ok(work) => work,
                Err(TryLockError::Poisoned(work)) => work.into_inner(),
                // The holder of the lock wakes this task when it is done.
                Err(TryLockError::WouldBlock) if has_begun => return Poll::Pending,
                // The holder of the lock knows no task yet, and would not wake this one.
                Err(TryLockError::WouldBlock) => lock(&self.0.work),
            };
            has_begun = true;
            match &mut work.task {
                Some(task) => task.clone_from(context.waker()),
                None => work.task = Some(context.waker().clone()),
            }
            lock(&self.0.outbox).by_task = true;
            work.poll(context)
        })
        .await;
    }

    /// Takes the reports up to now, and returns whether one more write is in flight.
    ///
    /// It waits for a sender that is polling the writer, because the peer may already have that
    /// message.
    pub(super) fn take_reports(&self, tell: impl FnMut(Carried)) -> bool {
        let _work = lock(&self.0.work);
        let mut outbox = lock(&self.0.outbox);
        outbox.reports.drain(..).for_each(tell);
        outbox.owes_report
    }

    /// Takes the next report of a write.
    pub(in crate::engine) fn report(&self) -> Option<Carried> {
        lock(&self.0.outbox).reports.pop_front()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // The sender is dropped with its task, not only when the session drops the connection.
        let (writing, task) = {
            let mut work = lock(&self.0.work);
            (work.writing.take(), work.task.take())
        };
        drop((writing, task));
    }
}

impl Work {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(writing) = &mut self.writing else {
            return Poll::Ready(());
        };
        let polled = writing.as_mut().poll(context);
        if polled.is_ready() {
            self.writing = None;
        }
        polled
    }
}

async fn write(
    mut sender: Box<dyn FrameSender>,
    outbox: Arc<Mutex<Outbox>>,
    mut pieces: Pieces,
) -> Result<(), ConnectionLost> {
    let (mut is_closed, mut is_over) = (false, false);
    for in_a_row in 1.. {
        let place = pieces.place();
        let mut live_input = pin!(pieces.next());
        let live_input = poll_fn(|context| {
            if lock(&outbox).by_task {
                live_input.as_mut().poll(context)
            } else {
                Poll::Pending
            }
        });
        let (text, carries, told) = tokio::select! {
            biased;
            message = next(&outbox, place), if !is_closed => match message {
                Some(Outgoing { text, carries, told, .. }) => (text, carries, told),
                None => {
                    is_closed = true;
                    continue;
                }
            },
            // Input sent before the close is written before it.
            passed = live_input, if !is_over => match passed {
                Some(Passed::Message(text)) => (text, None, None),
                Some(Passed::Dropped) => continue,
                None => {
                    is_over = true;
                    continue;
                }
            },
            else => break,
        };
        lock(&outbox).owes_report = carries.is_some();
        // A peer that accepts nothing would block the writer, and everything queued, for ever.
        let sending = async {
            match told {
                Some(told) => sender.respond(text, told).await,
                None => sender.send(text).await,
            }
        };
        let sent = timeout(Duration::from_secs(SEND_SECONDS), sending).await;
        {
            let mut outbox = lock(&outbox);
            outbox.owes_report = false;
            sent.unwrap_or_else(|_| Err(untaken()))?;
            outbox.reports.extend(carries);
        }
        if in_a_row % CONSECUTIVE_WRITES == 0 {
            pause(&outbox).await;
        }
    }
    // Waiters for a place in the live input would wait in vain.
    drop(pieces);
    // The result of the close does not matter.
    let _ = timeout(Duration::from_secs(SEND_SECONDS), sender.close()).await;
    Ok(())
}

/// Returns the next message, once the live input before it is written. None once the sender is
/// dropped. It registers no waker, because a sender polls the writer itself.
fn next(outbox: &Mutex<Outbox>, place: Place) -> impl Future<Output = Option<Outgoing>> {
    poll_fn(move |_| {
        let mut outbox = lock(outbox);
        let waits = |it: &Outgoing| it.after.is_some_and(|after| place < after);
        if outbox.messages.front().is_some_and(waits) {
            return Poll::Pending;
        }
        match outbox.messages.pop_front() {
            Some(message) => Poll::Ready(Some(message)),
            None if outbox.is_closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    })
}

/// Waits until the connection's task has read from the peer, and other tasks have run.
async fn pause(outbox: &Mutex<Outbox>) {
    let mut turn = pin!(yield_now());
    let mut has_begun = false;
    poll_fn(|context| {
        if has_begun && lock(outbox).by_task {
            return Poll::Ready(());
        }
        if !has_begun {
            has_begun = true;
            let _pending = turn.as_mut().poll(context);
        }
        Poll::Pending
    })
    .await;
}

fn untaken() -> ConnectionLost {
    ConnectionLost {
        code: None,
        reason: format!("the peer took nothing for {SEND_SECONDS} s"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The value is consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
#[path = "writer_tests.rs"]
mod tests;
