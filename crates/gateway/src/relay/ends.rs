//! The ends of a relay, and how both sides hear of them.

use std::future::poll_fn;
use std::pin::Pin;

use futures_util::SinkExt;
use recount::live::ConnectionLost;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::line::Line;
use super::task::Halves;

/// The size of the buffer for bytes that are discarded.
const DISCARDED: usize = 16 << 10;

/// The reason that tungstenite puts in place of that of a close with a code it does not know.
const UNKNOWN_CODE: &str = "Protocol violation";

/// The end of a relay.
pub(super) enum End {
    /// The client ended it, with its close frame.
    Client(Option<CloseFrame>),
    /// The vendor ended it, with its close frame.
    Vendor(Option<CloseFrame>),
    /// The connection of the client broke.
    ClientLost(String),
    /// The connection of the vendor broke.
    VendorLost(String),
    /// The gateway ends it.
    Own(CloseCode, &'static str),
    /// The gateway cannot read what the client sends.
    ClientUnreadable(CloseCode, &'static str),
    /// The gateway cannot read what the vendor sends.
    VendorUnreadable(CloseCode, &'static str),
}

/// The last words for one side.
pub(super) enum Last {
    /// The connection is dropped, as the other side was.
    Dropped,
    /// A close frame, perhaps without a code.
    Close(Option<CloseFrame>),
    /// A close frame for a side that still sends a message which is not read. Its bytes are
    /// discarded, because unread ones would reset the connection before the frame arrives.
    Discard(CloseFrame),
}

impl End {
    /// The end by an error in reading the client.
    pub(super) fn of_client(error: &Error) -> End {
        match unreadable(error) {
            Some((code, reason)) => End::ClientUnreadable(code, reason),
            None => End::ClientLost(error.to_string()),
        }
    }

    /// The end by an error in reading the vendor.
    pub(super) fn of_vendor(error: &Error) -> End {
        match unreadable(error) {
            Some((code, reason)) => End::VendorUnreadable(code, reason),
            None => End::VendorLost(error.to_string()),
        }
    }

    /// The end as the session records it.
    pub(super) fn lost(&self) -> ConnectionLost {
        let of = |code: Option<u16>, reason: String| ConnectionLost { code, reason };
        let of_frame = |who: &str, frame: &Option<CloseFrame>| {
            let code = frame.as_ref().map(|it| it.code.into());
            of(code, format!("the {who} closed the connection"))
        };
        match self {
            End::Client(frame) => of_frame("client", frame),
            End::Vendor(frame) => of_frame("vendor", frame),
            End::ClientLost(problem) => of(None, format!("the client was lost: {problem}")),
            End::VendorLost(problem) => of(None, format!("the vendor was lost: {problem}")),
            End::Own(code, reason) => of(Some((*code).into()), (*reason).to_owned()),
            End::ClientUnreadable(code, reason) => {
                of(Some((*code).into()), format!("of the client: {reason}"))
            }
            End::VendorUnreadable(code, reason) => {
                of(Some((*code).into()), format!("of the vendor: {reason}"))
            }
        }
    }

    /// The last words for the client and for the vendor.
    pub(super) fn last(self) -> (Last, Last) {
        let of = |code, reason: &'static str| CloseFrame {
            code,
            reason: reason.into(),
        };
        let close = |code, reason| Last::Close(Some(of(code, reason)));
        match self {
            End::Client(frame) | End::Vendor(frame) => (
                Last::Close(frame.clone().map(passing)),
                Last::Close(frame.map(passing)),
            ),
            End::ClientLost(_) => (Last::Dropped, close(CloseCode::Away, "the client is gone")),
            End::VendorLost(_) => (Last::Dropped, Last::Dropped),
            End::Own(code, reason) => (close(code, reason), close(CloseCode::Normal, "")),
            End::ClientUnreadable(code, reason) => (
                Last::Discard(of(code, reason)),
                close(CloseCode::Away, "the client is gone"),
            ),
            End::VendorUnreadable(code, reason) => (
                close(CloseCode::Error, "the vendor sent what cannot be read"),
                Last::Discard(of(code, reason)),
            ),
        }
    }
}

/// The close frame as it passes to the other side.
///
/// tungstenite reads a code that it does not know, such as 1014, as a violation of the protocol.
/// The other side is not to blame for one, so it gets an error.
fn passing(frame: CloseFrame) -> CloseFrame {
    let is_known = frame.code != CloseCode::Protocol || frame.reason.as_str() != UNKNOWN_CODE;
    match is_known {
        true => frame,
        false => CloseFrame {
            code: CloseCode::Error,
            reason: "closed with a code that cannot be passed on".into(),
        },
    }
}

/// The close code for a message that cannot be read. `None`: the connection is lost.
fn unreadable(error: &Error) -> Option<(CloseCode, &'static str)> {
    match error {
        Error::Capacity(_) => Some((CloseCode::Size, "expected messages of at most 16 MiB")),
        Error::Utf8(_) => Some((CloseCode::Invalid, "expected text in UTF-8")),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
        Error::Protocol(_) => Some((CloseCode::Protocol, "expected frames as negotiated")),
        _ => None,
    }
}

/// Writes what waits and the last words. The caller limits the time.
pub(super) async fn close<S>(socket: Halves<WebSocketStream<S>>, line: &mut Line, last: Last)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sink, stream) = socket;
    let (frame, discards) = match last {
        Last::Dropped => return,
        Last::Close(frame) => (frame, false),
        Last::Discard(frame) => (Some(frame), true),
    };
    if poll_fn(|it| line.poll_write(Pin::new(&mut sink), it))
        .await
        .is_err()
    {
        return;
    }
    let sent = sink.send(Message::Close(frame)).await;
    if sent.is_ok()
        && discards
        && let Ok(mut socket) = stream.reunite(sink)
    {
        let mut bytes = vec![0; DISCARDED];
        let stream = socket.get_mut();
        while stream.read(&mut bytes).await.is_ok_and(|it| it > 0) {}
    }
}
