//! Opening and ending the session's connection. The session goes on while one is being opened.

use tokio_util::task::AbortOnDropHandle;

use super::error::Error;
use super::inbox::{Input, Opened, Reply};
use super::socket::{self, Socket};
use super::task::SessionTask;
use crate::ledger::Objects;
use crate::live::{ConnectError, Connection, setup};
use crate::session::{Connected, Disconnected, Rejection, RunnerDetached};

impl SessionTask {
    /// Begins to open a connection; what comes of it returns as `Input::Opened`.
    pub(super) async fn connect(&mut self, reply: Reply<()>) -> Result<(), Error> {
        match self.begin_to_connect().await {
            Ok(opening) => {
                let own = self.own.clone();
                self.opening = Some(AbortOnDropHandle::new(tokio::spawn(async move {
                    let (connected, connection) = opening.await;
                    let opened = Opened {
                        connected,
                        connection,
                        reply,
                    };
                    let _ = own.send(Input::Opened(Box::new(opened)));
                })));
                Ok(())
            }
            Err(error) => self.answer(reply, Err(error)),
        }
    }

    async fn begin_to_connect(
        &mut self,
    ) -> Result<
        impl Future<Output = (Connected, Result<Connection, ConnectError>)> + Send + 'static,
        Error,
    > {
        if self.socket.is_some() || self.opening.is_some() {
            return Err(Error::AlreadyConnected { session: self.id });
        }
        if self.session.closed {
            return Err(Error::Refused(Rejection::SessionClosed));
        }
        let agent = self.agent.clone();
        let Some(connector) = agent.connector.clone() else {
            let agent = agent.name.clone();
            return Err(ConnectError::NoEndpoint { agent }.into());
        };
        if self.attached.is_none() {
            self.attach(Vec::new()).await?;
        }
        let model = connector.model_name(&agent.model);
        let message = setup::message(
            &model,
            self.instruction().as_deref(),
            &agent.catalog,
            agent.capabilities,
            &agent.manner,
        );
        let non_blocking = setup::non_blocking(&agent.catalog, agent.capabilities);
        let capabilities = Some(agent.capabilities);
        let endpoint = connector.endpoint();
        let phase = self.session.phase.as_ref().map(|stay| stay.entered);
        Ok(async move {
            let connection = socket::open(connector.as_ref(), message).await;
            let connected = Connected {
                model,
                endpoint,
                phase,
                capabilities,
                non_blocking,
            };
            (connected, connection)
        })
    }

    /// The connection is there, or it could not be opened.
    pub(super) async fn opened(&mut self, opened: Opened) -> Result<(), Error> {
        self.opening = None;
        let outcome = match opened.connection {
            Ok(_) if self.session.closed => Err(Error::Refused(Rejection::SessionClosed)),
            Ok(connection) => self.connected(opened.connected, connection).await,
            Err(error) => Err(error.into()),
        };
        self.answer(opened.reply, outcome)
    }

    async fn connected(
        &mut self,
        connected: Connected,
        connection: Connection,
    ) -> Result<(), Error> {
        self.put(vec![connected.into()], Objects::default()).await?;
        let epoch = self.session.connection.unwrap_or(self.session.head);
        self.sockets += 1;
        let (incoming, inbox) = (self.incoming_sender.clone(), self.own.clone());
        self.socket = Some(Socket::start(
            self.sockets,
            epoch,
            connection,
            incoming,
            inbox,
            self.media.clone(),
        ));
        self.perform().await
    }

    /// Ends the connection and what runs. What waits for a person or a response stays open.
    pub(super) async fn disconnect(&mut self, reason: &str) -> Result<(), Error> {
        self.opening = None;
        let mut observations = Vec::new();
        if let Some(socket) = self.socket.take() {
            let (epoch, reason) = (socket.epoch, reason.to_owned());
            observations.push(
                Disconnected {
                    epoch,
                    code: None,
                    reason,
                }
                .into(),
            );
        }
        if self.attached.is_some() {
            observations.push(
                RunnerDetached {
                    reason: reason.to_owned(),
                }
                .into(),
            );
        }
        if !observations.is_empty() {
            self.put(observations, Objects::default()).await?;
            self.attached = None;
        }
        self.perform().await
    }
}
