//! A connection to the model's service that another program owns and relays.

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use crate::live::{ConnectionLost, FrameReceiver, FrameSender, Platform, Told};
use crate::session::{Actor, Json, Lease, ResumptionHandle, Seq};
use crate::tool::Toolset;

/// A client's connection to the model's service, as the program that relays it describes it.
///
/// The session records the connection and hears its messages, but sends no setup, no history and
/// no instruction, and opens no other connection. Calls of the client's tools are claimed for the
/// client in the batch in which they may start.
pub struct Relay {
    /// The model, as the client's setup names it.
    pub model: String,
    /// The address of the service, without credentials.
    pub endpoint: String,
    /// The platform of the service.
    pub platform: Platform,
    /// The tools that the client declared, made with [`T::client`](crate::tool::T::client). They
    /// replace those of its earlier connections.
    pub tools: Toolset,
    /// The handle by which the client resumes an earlier conversation.
    pub resumed: Option<ResumptionHandle>,
    /// The client, as the holder of its calls.
    pub client: Actor,
    /// The id of the connection's claims, unique among the connections of the session.
    pub claim: String,
    /// The time for which the client holds a call.
    pub lease: Lease,
    /// The messages of the service that the session is to hear.
    pub receiver: Box<dyn FrameReceiver>,
    /// The orders of the session. Each is boxed, because a channel reserves memory for 32 of them.
    pub orders: mpsc::UnboundedSender<Box<RelayOrder>>,
}

/// An order of the session to the program that relays its connection. All of them come after the
/// records that they follow from are durable.
#[derive(Debug)]
pub enum RelayOrder {
    /// A call of the model is on record. Calls of one message come in their order.
    Received {
        /// The record of the call.
        call: Seq,
        /// The id that the model gave the call.
        id: Option<String>,
        /// The tool.
        tool: String,
    },
    /// A call that the model made on an earlier connection waits, or runs. No client has it.
    Waits {
        /// The record of the call.
        call: Seq,
        /// The id that the model gave the call.
        id: Option<String>,
        /// The tool.
        tool: String,
    },
    /// The session has taken the connection. Every call that waits from an earlier one was named
    /// before.
    Taken,
    /// The client is to get the call. It holds the claim.
    Deliver {
        /// The record of the call.
        call: Seq,
        /// The number of the start.
        attempt: u32,
        /// The id that the model gave the call.
        id: Option<String>,
        /// The tool.
        tool: String,
        /// The arguments with which to run it, as recorded or as an approver changed them. Sealed
        /// values are in clear.
        args: Json,
    },
    /// The call has ended. The client does not get it any more, or need not answer it.
    Ended {
        /// The record of the call.
        call: Seq,
    },
    /// The service is to get a message.
    Send {
        /// The message, which is JSON.
        message: String,
        /// The response in the message. `None` if the message has none.
        told: Option<Told>,
        /// The report that the message was written.
        written: oneshot::Sender<()>,
    },
    /// Everything in a message of the service is on record.
    Heard {
        /// The number of the message, from 1, among those that the relay handed to the session.
        message: u64,
    },
}

/// The relay of the session's current connection.
pub(in crate::engine) struct Relayed {
    pub(in crate::engine) claim: String,
    pub(in crate::engine) client: Actor,
    pub(in crate::engine) lease: Lease,
    pub(in crate::engine) orders: mpsc::UnboundedSender<Box<RelayOrder>>,
}

impl Relayed {
    /// Gives an order. A relay that is gone needs none.
    pub(in crate::engine) fn order(&self, order: RelayOrder) {
        let _ = self.orders.send(Box::new(order));
    }
}

/// Sends the session's messages as orders.
pub(in crate::engine) struct OrderingSender(
    pub(in crate::engine) mpsc::UnboundedSender<Box<RelayOrder>>,
);

impl OrderingSender {
    async fn order(&mut self, message: String, told: Option<Told>) -> Result<(), ConnectionLost> {
        let (written, is_written) = oneshot::channel();
        let order = RelayOrder::Send {
            message,
            told,
            written,
        };
        let gone = || ConnectionLost {
            code: None,
            reason: "the relay is gone".to_owned(),
        };
        self.0.send(Box::new(order)).map_err(|_| gone())?;
        is_written.await.map_err(|_| gone())
    }
}

#[async_trait]
impl FrameSender for OrderingSender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        self.order(frame, None).await
    }

    async fn respond(&mut self, frame: String, told: Told) -> Result<(), ConnectionLost> {
        self.order(frame, Some(told)).await
    }

    async fn close(&mut self) {}
}
