//! Opening and ending the session's connection. The session stays responsive while one is opened.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::agents::fixture::recorded::sent;
use crate::engine::connection::socket::{self, Socket};
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Input, Opened, Reply};
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::history::History;
use crate::fixture::Step;
use crate::ledger::Objects;
use crate::live::{ConnectError, Connection, continuation, outgoing};
use crate::session::{Connected, Disconnected, HistorySent, Observation, Rejection};

impl SessionTask {
    /// Handles a caller's request for a connection.
    ///
    /// A connection that is open or being opened is handed to the caller, unless another caller
    /// asked for it.
    pub(in crate::engine) async fn connect(&mut self, reply: Reply<()>) -> Result<(), Error> {
        if self.connections.socket.is_some()
            && std::mem::take(&mut self.connections.reconnecting.is_unclaimed)
        {
            return self.hand_back(reply, Ok(()));
        }
        if self.connections.socket.is_some() || self.connections.reconnecting.asked.is_some() {
            let connected = Error::AlreadyConnected { session: self.id };
            return self.hand_back(reply, Err(connected));
        }
        self.connections.reconnecting.asked = Some(reply);
        if self.connections.opening.is_some() {
            return Ok(());
        }
        self.connections.reconnecting.wait = None;
        self.connections.reconnecting.is_wanted();
        match self.begin_to_connect().await {
            Ok(()) => Ok(()),
            Err(error) => self.answer_asked(Err(error)),
        }
    }

    /// Starts opening a connection. The result returns as `Input::Opened`.
    pub(super) async fn begin_to_connect(&mut self) -> Result<(), Error> {
        if self.connections.socket.is_some() || self.connections.opening.is_some() {
            return Err(Error::AlreadyConnected { session: self.id });
        }
        if self.stream.session.closed {
            return Err(Error::Refused(Rejection::SessionClosed));
        }
        if self.shared.slots.is_shut() {
            return Err(Error::ShutDown);
        }
        let agent = self.agent.clone();
        let Some(connector) = agent.connector.clone() else {
            let agent = agent.name.clone();
            return Err(ConnectError::NoEndpoint { agent }.into());
        };
        if self.running.attached.is_none() {
            self.attach(Vec::new()).await?;
        }
        self.recall_handle().await;
        let handle = self.handle_at(self.shared.clock.now()).cloned();
        let history = self.history_for(handle.is_some()).await?;
        let model = connector.model_name(&agent.model);
        let message = outgoing::message(
            &model,
            self.instruction().as_deref(),
            &agent.catalog,
            agent.capabilities,
            &agent.manner,
        );
        let capabilities = Some(agent.capabilities);
        let announced = history.as_ref().is_some_and(History::is_announced);
        let message = continuation::setup(message, handle.as_ref(), announced);
        let connected = Connected {
            model,
            endpoint: connector.endpoint(),
            phase: self.stream.session.phase.as_ref().map(|stay| stay.entered),
            capabilities,
            non_blocking: agent.non_blocking.to_vec(),
            resumed: handle.map(|it| it.fingerprint()),
        };
        self.record_step(|| sent(&message));
        self.connections.await_connection();
        self.connections.reconnecting.openings += 1;
        let number = self.connections.reconnecting.openings;
        let (own, closing_socket) = (
            self.own.clone(),
            self.connections.reconnecting.closing_socket(),
        );
        let (limit, guard) = (agent.setup_timeout, self.start_guard());
        self.connections.opening = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            closing_socket.await;
            if !guard.may_begin() {
                return;
            }
            // A connector or token source that panics must not leave the caller without an answer.
            let opening = async { socket::open(connector.as_ref(), message, limit).await };
            let opening = AssertUnwindSafe(opening).catch_unwind();
            let connection = opening.await.unwrap_or_else(|_| {
                Err(ConnectError::Unreachable {
                    endpoint: connected.endpoint.clone(),
                    reason: "the connector panicked".to_owned(),
                })
            });
            let opened = Opened {
                number,
                connected,
                connection,
                history,
            };
            let _ = own.send(Input::Opened(opened));
        })));
        Ok(())
    }

    /// Handles the result of opening a connection.
    pub(in crate::engine) async fn opened(&mut self, opened: Opened) -> Result<(), Error> {
        let Opened {
            number,
            connected,
            connection,
            history,
        } = opened;
        // This attempt was given up, and another may be in flight.
        if number != self.connections.reconnecting.openings
            || self.connections.opening.take().is_none()
        {
            return Ok(());
        }
        match connection {
            Ok(_) if self.stream.session.closed => {
                self.answer_asked(Err(Error::Refused(Rejection::SessionClosed)))
            }
            Ok(connection) => {
                self.connected(connected, connection, history).await?;
                self.answer_asked(Ok(()))
            }
            Err(error) => self.not_opened(error, connected.resumed).await,
        }
    }

    /// Opens a connection as [`begin_to_connect`](SessionTask::begin_to_connect) does, without a
    /// new caller. A caller that already waits gets the error.
    pub(super) async fn connect_by_itself(&mut self) -> Result<(), Error> {
        match self.begin_to_connect().await {
            Ok(()) => Ok(()),
            Err(error @ Error::Ledger(_)) => Err(error),
            // A connection is already open, or the session has ended: there is nothing to
            // reconnect.
            Err(error) => self.answer_asked(Err(error)),
        }
    }

    /// Replies to the caller that asked for a connection, if there is one.
    fn answer_asked(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        match self.connections.reconnecting.asked.take() {
            Some(asked) => self.hand_back(asked, outcome),
            None => Ok(()),
        }
    }

    pub(super) async fn connected(
        &mut self,
        connected: Connected,
        connection: Connection,
        history: Option<History>,
    ) -> Result<(), Error> {
        self.record_step(|| match &self.connections.relay {
            Some(relay) => Step::ClientConnected(relay.as_step(&connected)),
            None => Step::ConnectionOpened,
        });
        self.put(vec![connected.into()], Objects::default()).await?;
        let epoch = self
            .stream
            .session
            .connection
            .unwrap_or(self.stream.session.head);
        self.connections
            .reconnecting
            .connected(self.shared.clock.now());
        self.connections.reconnecting.is_unclaimed = self.handles == 0;
        self.connections.sockets += 1;
        let incoming = self.connections.incoming_sender.clone();
        let media = (self.connections.media.clone(), self.json_depth_max());
        let socket = Socket::start(self.connections.sockets, epoch, connection, incoming, media)
            .recorded(self.recorder());
        if let Some(history) = history {
            // Pending responses refer to the history, so the history is sent first.
            let told = HistorySent {
                epoch,
                after: history.after,
                through: history.through,
                turns: history.turns,
                left_out: history.left_out,
                answer_wanted: history.answer_wanted,
                form: history.form,
            };
            self.put(vec![told.into()], Objects::default()).await?;
            for frame in history.frames {
                socket.send(frame, None);
            }
        }
        self.connections.socket = Some(socket);
        self.perform().await?;
        self.send_queued_text().await
    }

    /// Ends the connection and cancels running calls. Calls that wait for an approver or a response
    /// stay open.
    pub(in crate::engine) async fn disconnect(&mut self, reason: &str) -> Result<(), Error> {
        self.connections.opening = None;
        self.stop_reconnecting();
        self.record_held().await?;
        let mut observations: Vec<Observation> = Vec::new();
        if let Some(epoch) = self.connections.socket.as_ref().map(|socket| socket.epoch) {
            observations.push(
                Disconnected {
                    epoch,
                    code: None,
                    reason: reason.to_owned(),
                }
                .into(),
            );
        }
        // Overdue deadlines are recorded first. A call that starts because of one has not begun, so
        // the detachment lists it.
        let now = self.shared.clock.now();
        self.put_at(now, Vec::new(), Objects::default()).await?;
        let detachment = self.detachment(reason);
        // Calls held back during a planned switch must not start between the end of the connection
        // and the detachment.
        let at = if self.stream.session.leaving.is_some() {
            0
        } else {
            observations.len()
        };
        observations.splice(at..at, detachment);
        self.connections.close_socket();
        // Its client holds no call any more, and the program that relays it sees the end.
        observations.extend(self.lost_relay());
        if !observations.is_empty() {
            self.put_at(now, observations, Objects::default()).await?;
            self.running.attached = None;
        }
        self.perform().await
    }
}
