//! The loss of a connection, and the reconnect.

use tokio_util::task::AbortOnDropHandle;

use crate::engine::connection::close_codes::{self, AfterLoss, Refusal};
use crate::engine::connection::noise;
use crate::engine::connection::reconnecting::{Again, milliseconds};
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::reasons;
use crate::engine::task::parts::Connections;
use crate::engine::task::session_task::SessionTask;
use crate::fixture::Step;
use crate::ledger::Objects;
use crate::live::{ConnectError, ConnectionLost};
use crate::session::{
    ConnectFailed, Disconnected, Observation, ReconnectScheduled, ReconnectsExhausted,
    ResumptionHandle, Route, Seq, SwitchPlanned, Timestamp,
};

/// The time to leave in if a go-away message states none, in milliseconds.
const TIME_LEFT_MS: u64 = 5_000;

impl SessionTask {
    /// Handles a connection that the service or the network ended.
    pub(in crate::engine) async fn lost(
        &mut self,
        epoch: Seq,
        lost: ConnectionLost,
    ) -> Result<(), Error> {
        self.record_held().await?;
        self.connections.await_connection();
        self.connections.close_socket();
        let again = self.again_after(&lost);
        let (code, reason) = (lost.code, lost.reason);
        let disconnected = Disconnected {
            epoch,
            code,
            reason: reason.clone(),
        };
        match again {
            Again::Wait(ms) => self.reconnect(vec![disconnected.into()], ms).await,
            Again::Never => {
                // Callers with queued text would wait for ever.
                self.stop_reconnecting();
                let mut batch = vec![disconnected.into()];
                batch.extend(self.lost_relay());
                self.record(batch).await
            }
            Again::GiveUp => self.give_up(vec![disconnected.into()], reason).await,
        }
    }

    fn again_after(&mut self, lost: &ConnectionLost) -> Again {
        let reconnects = self.agent.reconnects;
        if reconnects.is_never() || self.handles == 0 {
            return Again::Never;
        }
        let now = self.shared.clock.now();
        self.connections
            .reconnecting
            .note_end(now, reconnects.longest_wait());
        match close_codes::after_loss(lost.code) {
            AfterLoss::Again => {}
            AfterLoss::OnceMore if self.connections.reconnecting.at_fault > 0 => {
                return Again::GiveUp;
            }
            AfterLoss::OnceMore => self.connections.reconnecting.at_fault += 1,
        }
        self.next_wait()
    }

    /// Opens a connection to deliver an outcome that was decided without one.
    ///
    /// The first attempt starts at once. Later attempts wait if earlier connections were lost
    /// before the model took part.
    pub(in crate::engine) async fn connect_to_deliver(&mut self) -> Result<(), Error> {
        let comes =
            self.connections.opening.is_some() || self.connections.reconnecting.wait.is_some();
        if self.connections.socket.is_some() || comes {
            return Ok(());
        }
        let before = self.connections.reconnecting.delivery_attempts;
        self.connections.reconnecting.delivery_attempts = before.saturating_add(1);
        // The last connection may have reset `attempts` when it ended, although it delivered
        // nothing.
        self.connections.reconnecting.attempts = self.connections.reconnecting.attempts.max(before);
        if self.connections.reconnecting.attempts == 0 {
            self.connections.reconnecting.attempts = 1;
            return self.connect_by_itself().await;
        }
        match self.next_wait() {
            Again::Wait(ms) => self.reconnect(Vec::new(), ms).await,
            // The outcome is delivered when the session is next resumed.
            Again::GiveUp | Again::Never => Ok(()),
        }
    }

    /// Stops connecting for outcomes that the model did not answer, until a caller next asks for a
    /// connection.
    pub(in crate::engine) fn note_silence(&mut self) {
        let mut untold = self.stream.session.deliveries.values();
        if untold.any(|it| it.connects.is_some()) {
            self.connections.reconnecting.delivery_attempts =
                self.agent.reconnects.made(u32::MAX).max(1);
        }
    }

    fn next_wait(&mut self) -> Again {
        self.connections.reconnecting.attempts += 1;
        let (attempt, reconnects) = (
            self.connections.reconnecting.attempts,
            self.agent.reconnects,
        );
        if reconnects.allows(attempt) {
            Again::Wait(reconnects.wait_ms(attempt, self.shared.clock.entropy()))
        } else {
            Again::GiveUp
        }
    }

    /// Records `first` and the scheduled attempt, and sets its timer.
    async fn reconnect(&mut self, first: Vec<Observation>, wait_ms: u64) -> Result<(), Error> {
        let now = self.shared.clock.now();
        let due_us = now.after_ms(wait_ms);
        let attempt = self.connections.reconnecting.attempts;
        self.connections.await_connection();
        let (reached, own) = (self.shared.clock.reached(due_us), self.own.clone());
        self.connections.reconnecting.wait =
            Some(AbortOnDropHandle::new(tokio::spawn(async move {
                reached.await;
                let _ = own.send(Input::ReconnectDue { attempt });
            })));
        let mut batch = first;
        batch.push(
            ReconnectScheduled {
                attempt,
                due_us,
                resumes: self.handle_at(due_us).map(|it| it.fingerprint()),
            }
            .into(),
        );
        self.put_at(now, batch, Objects::default()).await?;
        self.perform().await
    }

    /// Returns the handle with which the conversation can be resumed at a time, if there is one.
    pub(super) fn handle_at(&self, at: Timestamp) -> Option<&ResumptionHandle> {
        let known = self.stream.session.resumption.as_ref()?;
        let handle = self.connections.reconnecting.handle.as_ref()?;
        let is_good = known.expires_at.is_none_or(|end| at < end);
        (is_good && handle.fingerprint() == known.fingerprint).then_some(handle)
    }

    /// Connects after the wait of this attempt.
    pub(in crate::engine) async fn reconnect_due(&mut self, attempt: u32) -> Result<(), Error> {
        if self.connections.reconnecting.wait.is_none()
            || self.connections.reconnecting.attempts != attempt
        {
            return Ok(());
        }
        self.connections.reconnecting.wait = None;
        self.connect_by_itself().await
    }

    /// Handles a connection that could not be opened. `offered` is the fingerprint of the handle in
    /// its setup.
    pub(super) async fn not_opened(
        &mut self,
        error: ConnectError,
        offered: Option<String>,
    ) -> Result<(), Error> {
        let refusal = close_codes::refusal(&error);
        let rejected = offered.filter(|_| self.connections.gives_up_handle(refusal));
        let (code, reason) = close_codes::code_and_reason(&error);
        self.record_step(|| Step::ConnectionRefused(self.refused(code, &reason)));
        let failed = Observation::from(ConnectFailed {
            attempt: self.connections.reconnecting.attempts.max(1),
            code,
            reason: reason.clone(),
            rejected: rejected.clone(),
        });
        if rejected.is_some() {
            // That conversation cannot be resumed. A fresh one gets its history, and there is no
            // reason to wait.
            self.record(vec![failed]).await?;
            self.discard_handle().await;
            return self.connect_by_itself().await;
        }
        if let Some(asked) = self.connections.reconnecting.asked.take() {
            // The caller decides whether to retry.
            self.record(vec![failed]).await?;
            self.stop_reconnecting();
            return self.hand_back(asked, Err(error.into()));
        }
        let again = match refusal {
            Refusal::Lasting => Again::GiveUp,
            Refusal::Passing | Refusal::Doubtful => self.next_wait(),
        };
        match again {
            Again::Wait(ms) => self.reconnect(vec![failed], ms).await,
            Again::GiveUp | Again::Never => self.give_up(vec![failed], reason).await,
        }
    }

    /// Records that no attempt follows. Running calls are cancelled and waiting calls stay open.
    ///
    /// A session without handles connected only to deliver an outcome. Its running calls do not
    /// depend on the connection and continue.
    async fn give_up(&mut self, first: Vec<Observation>, reason: String) -> Result<(), Error> {
        let attempts = self
            .agent
            .reconnects
            .made(self.connections.reconnecting.attempts);
        let mut batch = first;
        batch.push(ReconnectsExhausted { attempts, reason }.into());
        // As in `disconnect`.
        let now = self.shared.clock.now();
        self.put_at(now, Vec::new(), Objects::default()).await?;
        let detaches = self.handles > 0;
        let detachment = if detaches {
            self.detachment("no connection could be made any more")
        } else {
            Vec::new()
        };
        let at = if self.stream.session.leaving.is_some() {
            0
        } else {
            batch.len()
        };
        batch.splice(at..at, detachment);
        self.put_at(now, batch, Objects::default()).await?;
        if detaches {
            self.running.attached = None;
        }
        self.stop_reconnecting();
        self.perform().await
    }

    /// Ends the attempts, and rejects every caller that waits for a connection.
    pub(in crate::engine) fn stop_reconnecting(&mut self) {
        for reply in self.connections.reconnecting.stop() {
            let _ = reply.send(Err(Error::NotConnected { session: self.id }));
        }
        self.connections.media.release();
    }

    /// Plans to leave a connection that the service will end: as soon as it is idle, or shortly
    /// before the end.
    fn plan_switch(&mut self, epoch: Seq, time_left: Option<&str>) -> Option<Observation> {
        let planned = self.stream.session.leaving.is_some();
        if planned || self.agent.reconnects.is_never() || self.handles == 0 {
            return None;
        }
        let left_ms = time_left.and_then(milliseconds).unwrap_or(TIME_LEFT_MS);
        // Closing and reconnecting take time, too.
        let margin_ms = (left_ms / 4).min(2_000);
        let due_us = self.shared.clock.now().after_ms(left_ms - margin_ms);
        self.connections.media.leave();
        let (reached, own) = (self.shared.clock.reached(due_us), self.own.clone());
        self.connections.reconnecting.leaving =
            Some(AbortOnDropHandle::new(tokio::spawn(async move {
                reached.await;
                let _ = own.send(Input::SwitchDue { epoch });
            })));
        Some(SwitchPlanned { epoch, due_us }.into())
    }

    /// Applies what a message says about its connection: that it works, or that the service will
    /// end it. Drops the noise of the message.
    pub(in crate::engine) fn note_connection(
        &mut self,
        epoch: Seq,
        observations: &mut Vec<Observation>,
    ) {
        self.drop_noise(epoch, observations);
        let mut planned = None;
        for observation in &*observations {
            if let Observation::GoAwayReceived(it) = observation {
                planned = self.plan_switch(epoch, it.time_left.as_deref());
            } else if matches!(observation, Observation::TurnCompleted(_)) {
                let has_spoken = std::mem::take(&mut self.connections.reconnecting.has_spoken);
                let answers = self.connections.reconnecting.addressed
                    || self.connections.media.was_sent(epoch);
                if answers && (has_spoken || self.connections.media.was_heard(epoch)) {
                    self.connections.reconnecting.is_wanted();
                }
            } else {
                self.connections.reconnecting.has_spoken |= noise::is_of_model(observation);
            }
        }
        observations.extend(planned);
    }

    /// True if text sent now would not reach the model, but would on the next connection.
    pub(super) fn is_between_connections(&self) -> bool {
        let comes =
            self.connections.opening.is_some() || self.connections.reconnecting.wait.is_some();
        self.stream.session.leaving.is_some() || (self.connections.socket.is_none() && comes)
    }

    /// Leaves a connection that the service will end, if it is idle.
    pub(in crate::engine) async fn switch_if_idle(&mut self) -> Result<(), Error> {
        match self.connections.socket.as_ref().map(|socket| socket.epoch) {
            Some(epoch) if self.stream.session.leaving.is_some() && !self.is_under_way(epoch) => {
                Box::pin(self.switch(epoch)).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Leaves the connection for the next one.
    pub(in crate::engine) async fn switch(&mut self, epoch: Seq) -> Result<(), Error> {
        if self
            .connections
            .socket
            .as_ref()
            .is_none_or(|it| it.epoch != epoch)
        {
            return Ok(());
        }
        self.record_held().await?;
        self.connections.await_connection();
        self.connections.close_socket();
        let (now, reconnects) = (self.shared.clock.now(), self.agent.reconnects);
        self.connections
            .reconnecting
            .note_end(now, reconnects.longest_wait());
        let reason = reasons::LEFT_IN_TIME.to_owned();
        let left = Disconnected {
            epoch,
            code: None,
            reason: reason.clone(),
        };
        // Leaving a working connection is no loss. But if the service ends each one at once, the
        // waits limit the rate of attempts.
        if self.connections.reconnecting.attempts == 0 {
            self.connections.reconnecting.attempts = 1;
            return self.reconnect(vec![left.into()], 0).await;
        }
        match self.next_wait() {
            Again::Wait(ms) => self.reconnect(vec![left.into()], ms).await,
            Again::GiveUp | Again::Never => self.give_up(vec![left.into()], reason).await,
        }
    }

    /// True if the connection is in use, or the handle is older than the conversation.
    ///
    /// In use means: a turn is open, a call of it runs, a response is queued, or arguments are
    /// streaming.
    fn is_under_way(&self, epoch: Seq) -> bool {
        let session = &self.stream.session;
        let mut calls = session.calls.values();
        // Queued text waits neither for a tool, whose outcome goes out as conversation, nor for a
        // handle, which comes at the end of a turn.
        let runs = calls.any(|call| {
            let here = call.phase.is_running() && call.held_claim().is_none();
            call.epoch == epoch && here
        });
        let may_wait = self.connections.reconnecting.queued_text.is_empty();
        let waits = may_wait && (runs || !session.resumes_whole());
        let goes = session.deliveries.values().any(|it| match it.route {
            Route::ToolResponse { epoch: by } | Route::Conversation { epoch: by } => by == epoch,
            Route::Parked | Route::Connect | Route::Notify | Route::Caller | Route::Parent => false,
        });
        let socket = self.connections.socket.as_ref();
        let streams = may_wait && socket.is_some_and(|it| it.streamed.is_open());
        session.turn_open || self.connections.media.is_turn_open(epoch) || waits || goes || streams
    }
}

impl Connections {
    /// True if a refused setup makes the resumption handle unusable.
    ///
    /// A lasting refusal does at once. A doubtful one does the second time, or the first time if a
    /// caller waits.
    fn gives_up_handle(&mut self, refusal: Refusal) -> bool {
        match refusal {
            Refusal::Lasting => true,
            Refusal::Doubtful => {
                self.reconnecting.doubts += 1;
                self.reconnecting.doubts > 1 || self.reconnecting.asked.is_some()
            }
            Refusal::Passing => false,
        }
    }

    /// Closes the socket. Its task sends the close frame by itself.
    pub(in crate::engine) fn close_socket(&mut self) {
        self.reconnecting.leaving = None;
        if let Some(socket) = self.socket.take() {
            self.reconnecting.closing_socket = socket.close();
        }
    }

    /// Queues live input until the next connection.
    pub(super) fn await_connection(&mut self) {
        if self.reconnecting.expected.is_none() {
            self.reconnecting.expected = Some(self.media.expect());
        }
    }

    /// Rejects live input if no connection is coming.
    pub(in crate::engine) fn note_awaited(&mut self) {
        let comes = self.opening.is_some() || self.reconnecting.wait.is_some();
        if !comes {
            self.reconnecting.expected = None;
        }
    }
}
