//! The writer of a connection: one future, which whoever sends polls as well as the connection's
//! task.
//!
//! So a message leaves where it is sent, if nothing is in its way, and no other task has to come to
//! its turn first. Whoever polls, it is the connection's task that is woken to go on; it alone
//! reports what was written, and it alone writes live input: what is read of the model is read by
//! it, too, so no piece leaves between the call that withholds it and the bar.

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
use crate::live::{ConnectionLost, FrameSender};
use crate::session::{Route, Seq};

/// How long the peer may leave a message untaken before the connection counts as lost.
const SEND_SECONDS: u64 = 30;

/// How many messages are written in a row before the peer is listened to.
const WRITTEN_IN_A_ROW: usize = 16;

/// A message on its way out.
pub(in crate::engine) struct Outgoing {
    pub(in crate::engine) text: String,
    /// What it carries that is to be reported when it is written.
    pub(in crate::engine) carries: Option<Carried>,
    /// The live input that leaves before it.
    pub(in crate::engine) after: Option<Place>,
}

/// A debt that a message settles.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Carried {
    /// The response of this `response_issued`, by this way.
    Response(Seq, Route),
    /// The instruction of this `phase_entered`.
    Instruction(Seq),
}

/// The end of whoever sends. Once it is dropped, what waits is still written, and the connection is
/// closed.
pub(in crate::engine) struct Writer(Arc<Shared>);

/// The end of the connection's task. Once it is dropped, nothing is written any more.
pub(in crate::engine) struct Writing(Arc<Shared>);

struct Shared {
    outbox: Arc<Mutex<Outbox>>,
    work: Mutex<Work>,
}

/// What waits to be written, and what was.
#[derive(Default)]
struct Outbox {
    messages: VecDeque<Outgoing>,
    /// No message comes any more.
    is_closed: bool,
    /// A message is on its way out that is to be reported.
    owes_report: bool,
    /// It is the connection's task that polls the writer.
    by_task: bool,
    reports: VecDeque<Carried>,
}

/// The writing itself, held by whoever polls it.
struct Work {
    /// None once it has come to its end.
    writing: Option<BoxFuture<'static, ()>>,
    /// Wakes the connection's task; none before that has begun.
    task: Option<Waker>,
}

/// Begins to write by `sender`; why that cannot go on is told once.
pub(in crate::engine) fn writer(
    sender: Box<dyn FrameSender>,
    pieces: Pieces,
    failed: oneshot::Sender<ConnectionLost>,
) -> (Writer, Writing) {
    let outbox = Arc::<Mutex<Outbox>>::default();
    let writing = write(sender, outbox.clone(), pieces);
    // A writer that panics has failed as any other: the peer is still heard out, and nothing that
    // waits is lost.
    let writing = async {
        let written = AssertUnwindSafe(writing).catch_unwind().await;
        if let Err(lost) = written.unwrap_or_else(|_| Err(panicked())) {
            // Of a reader that is gone, the session hears all it is to hear.
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
    /// Writes a message, or leaves it to the connection's task where something is in its way. Where
    /// nothing is written any more, it is dropped: the loss has been told, or nobody wants to know.
    pub(in crate::engine) fn send(&self, message: Outgoing) {
        let mut work = lock(&self.0.work);
        if work.writing.is_some() {
            lock(&self.0.outbox).messages.push_back(message);
        }
        let Some(task) = work.task.clone() else {
            // The task comes to it when it begins.
            return;
        };
        lock(&self.0.outbox).by_task = false;
        let _ = work.poll(&mut Context::from_waker(&task));
        drop(work);
        // For the report, for live input that came while the message was on its way, and where it
        // found the writer taken.
        task.wake();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.0.outbox).is_closed = true;
        let task = lock(&self.0.work).task.clone();
        // One that has not begun sees it when it does.
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
                // Whoever has it wakes this task when it is done.
                Err(TryLockError::WouldBlock) if has_begun => return Poll::Pending,
                // Whoever has it knows of no task yet, and does nothing with it.
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

    /// Tells what was written until now and is to be reported, and returns whether one more report
    /// is under way. Who is just polling the writer is waited for: the peer may have the message
    /// already.
    pub(super) fn take_stock(&self, tell: impl FnMut(Carried)) -> bool {
        let _work = lock(&self.0.work);
        let mut outbox = lock(&self.0.outbox);
        outbox.reports.drain(..).for_each(tell);
        outbox.owes_report
    }

    /// The next of what was written that is to be reported.
    pub(in crate::engine) fn report(&self) -> Option<Carried> {
        lock(&self.0.outbox).reports.pop_front()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // The sender goes with its task, and not only when the session lets go of the connection.
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
        let (text, carries) = tokio::select! {
            biased;
            message = next(&outbox, place), if !is_closed => match message {
                Some(Outgoing { text, carries, .. }) => (text, carries),
                None => {
                    is_closed = true;
                    continue;
                }
            },
            // What was sent before the connection was to be closed leaves before it is.
            passed = live_input, if !is_over => match passed {
                Some(Passed::Message(text)) => (text, None),
                Some(Passed::Dropped) => continue,
                None => {
                    is_over = true;
                    continue;
                }
            },
            else => break,
        };
        lock(&outbox).owes_report = carries.is_some();
        // A peer that takes nothing would hold the writer, and whatever waits behind the message,
        // for ever.
        let sent = timeout(Duration::from_secs(SEND_SECONDS), sender.send(text)).await;
        {
            let mut outbox = lock(&outbox);
            outbox.owes_report = false;
            sent.unwrap_or_else(|_| Err(untaken()))?;
            outbox.reports.extend(carries);
        }
        if in_a_row % WRITTEN_IN_A_ROW == 0 {
            pause(&outbox).await;
        }
    }
    // Whoever waits for a place in them waits in vain.
    drop(pieces);
    // Whether the peer takes the farewell is its own affair.
    let _ = timeout(Duration::from_secs(SEND_SECONDS), sender.close()).await;
    Ok(())
}

/// The next message, once live input has come to its place; none once no sender is left.
/// It asks for no wake: who sends polls the writer.
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

/// Waits until the connection's task has listened to the peer, and everybody else had a turn.
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
    // What is behind it is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
#[path = "writer_tests.rs"]
mod tests;
