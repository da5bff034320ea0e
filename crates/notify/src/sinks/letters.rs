//! The dead letters of a sink, and the requests of operators about them.

use tokio::sync::oneshot;
use uuid::Uuid;

use super::state::Dead;
use super::task::SinkTask;

/// The maximum number of dead letters. The oldest one is dropped for another.
const DEAD_MAX: usize = 1_000;

/// The request of an operator.
#[derive(Debug)]
pub(crate) enum Command {
    /// Puts a dead letter into the queue.
    Retry(Uuid, oneshot::Sender<Result<(), Unknown>>),
    /// Puts every dead letter into the queue. The answer is their number.
    RetryAll(oneshot::Sender<u64>),
    /// Removes a dead letter.
    Discard(Uuid, oneshot::Sender<Result<(), Unknown>>),
}

/// There is no dead letter with the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

impl SinkTask {
    /// Keeps a message that is not tried any more.
    pub(super) fn keep_dead(&mut self, dead: Dead) {
        self.state.dead.push(dead);
        if self.state.dead.len() > DEAD_MAX {
            let oldest = self.state.dead.remove(0);
            self.state.dropped += 1;
            let (sink, id, dropped) = (&self.sink.name, oldest.notice.id, self.state.dropped);
            tracing::error!(%sink, %id, dropped, "the oldest dead letter is dropped");
        }
    }

    /// Does what an operator asks for. It is durable before the answer.
    pub(super) async fn obey(&mut self, command: Command) {
        // The operator may have gone before the answer.
        match command {
            Command::Retry(id, reply) => {
                let dead = self.take_dead(id);
                let is_known = dead.is_some();
                if let Some(dead) = dead {
                    self.outbox.add(dead.notice);
                    self.save_and_publish().await;
                }
                let _ = reply.send(is_known.then_some(()).ok_or(Unknown));
            }
            Command::RetryAll(reply) => {
                let all = std::mem::take(&mut self.state.dead);
                let number = all.len() as u64;
                all.into_iter().for_each(|it| self.outbox.add(it.notice));
                self.save_and_publish().await;
                let _ = reply.send(number);
            }
            Command::Discard(id, reply) => {
                let is_known = self.take_dead(id).is_some();
                if is_known {
                    self.save_and_publish().await;
                }
                let _ = reply.send(is_known.then_some(()).ok_or(Unknown));
            }
        }
    }

    fn take_dead(&mut self, id: Uuid) -> Option<Dead> {
        let found = self.state.dead.iter().position(|it| it.notice.id == id);
        found.map(|at| self.state.dead.remove(at))
    }

    async fn save_and_publish(&mut self) {
        self.save().await;
        self.publish();
    }
}
