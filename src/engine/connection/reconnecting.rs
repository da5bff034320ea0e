//! The loss of a connection and the way to the next one.
//!
//! ```text
//! connected ── lost ──────────▶ waits ──▶ opens ─┬─▶ connected
//!     └─ to be left ─ idle, or time is up ─▲     └─ failed ──▶ waits … ──▶ given up
//! ```
//!
//! A loss with a next attempt cancels nothing. The old socket is closed before the next one is
//! opened, because the service rejects a handle while the connection that issued it is open.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::held_back::HeldBack;
use super::noise::Noise;
use crate::engine::inputs::inbox::Reply;
use crate::engine::live_media::input_lines::{Expected, Place};
use crate::session::{ResumptionHandle, Timestamp};

/// The maximum time for a socket to close, before it is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state for returning to a conversation after a loss.
#[derive(Default)]
pub(in crate::engine) struct Reconnecting {
    /// The newest handle. The session has its fingerprint.
    pub(in crate::engine) handle: Option<ResumptionHandle>,
    /// The repeated messages that are not recorded yet.
    pub(in crate::engine) held: HeldBack,
    /// The messages of the live connection that changed nothing.
    pub(in crate::engine) noise: Noise,
    /// True if the live connection was sent text or a response of ours.
    pub(in crate::engine) addressed: bool,
    /// True if the model sent content since its last turn ended.
    pub(in crate::engine) has_spoken: bool,
    /// The number of connection attempts started.
    pub(in crate::engine) openings: u64,
    /// The number of attempts since the last good connection.
    pub(in crate::engine) attempts: u32,
    /// The number of connections opened to deliver an outcome.
    ///
    /// Reset when the model takes part or a caller asks for a connection.
    pub(in crate::engine) delivery_attempts: u32,
    /// True if the live connection was opened without a caller, and no caller has taken it since.
    pub(in crate::engine) is_unclaimed: bool,
    /// The number of consecutive connections that ended for something that we sent.
    pub(in crate::engine) at_fault: u32,
    /// The number of consecutive service failures on the handle.
    pub(in crate::engine) doubts: u32,
    /// The start time of the live connection.
    since: Timestamp,
    /// The wait before the next attempt, while one is scheduled.
    pub(in crate::engine) wait: Option<AbortOnDropHandle<()>>,
    /// The timer for leaving the connection, if that is planned.
    pub(in crate::engine) leaving: Option<AbortOnDropHandle<()>>,
    /// The previous socket, while it closes.
    pub(in crate::engine) closing_socket: Option<JoinHandle<()>>,
    /// The caller that asked for the connection in flight. None if the engine reconnects by itself.
    pub(in crate::engine) asked: Option<Reply<()>>,
    /// The user's text that waits for a connection.
    pub(in crate::engine) queued_text: VecDeque<(String, Place, Reply<()>)>,
    /// Live input waits for the next connection while this is set.
    pub(in crate::engine) expected: Option<Expected>,
}

impl Reconnecting {
    /// Resets the state for a new connection.
    pub(in crate::engine) fn connected(&mut self, now: Timestamp) {
        self.since = now;
        self.wait = None;
        self.noise = Noise::default();
        (self.addressed, self.has_spoken) = (false, false);
    }

    /// Notes the end of a connection. One that lasted for the longest wait was a good one.
    pub(in crate::engine) fn note_end(&mut self, now: Timestamp, longest_wait: Duration) {
        let lived = u128::try_from(now.0.saturating_sub(self.since.0)).unwrap_or_default();
        if lived >= longest_wait.as_micros() {
            self.is_good();
        }
    }

    /// Resets all counts, because the model answered or a caller asked for a connection. A
    /// connection opened to deliver an outcome need not wait.
    pub(in crate::engine) fn is_wanted(&mut self) {
        self.delivery_attempts = 0;
        self.is_good();
    }

    /// Resets the counts of failures, so that the next attempt is a first one.
    pub(in crate::engine) fn is_good(&mut self) {
        (self.attempts, self.at_fault, self.doubts) = (0, 0, 0);
    }

    /// Ends every wait, and returns the callers that waited.
    pub(in crate::engine) fn stop(&mut self) -> Vec<Reply<()>> {
        self.wait = None;
        self.leaving = None;
        self.expected = None;
        self.is_good();
        let queued_text = self.queued_text.drain(..).map(|(.., reply)| reply);
        queued_text.chain(self.asked.take()).collect()
    }

    /// Returns a future that completes when the previous socket has closed.
    pub(in crate::engine) fn closing_socket(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let closing_socket = self.closing_socket.take();
        async move {
            let Some(mut closing_socket) = closing_socket else {
                return;
            };
            if timeout(CLOSE_TIMEOUT, &mut closing_socket).await.is_err() {
                closing_socket.abort();
            }
        }
    }
}

/// The action after the loss of a connection.
pub(in crate::engine) enum Again {
    /// Retry after this many milliseconds.
    Wait(u64),
    /// Never reconnect, as configured.
    Never,
    /// Give up.
    GiveUp,
}

/// Parses a duration as the service writes it, such as `9.500s`, into milliseconds.
pub(in crate::engine) fn milliseconds(duration: &str) -> Option<u64> {
    let seconds: f64 = duration.strip_suffix('s')?.parse().ok()?;
    let left = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(left.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn durations_are_read_as_the_service_writes_them() {
        assert_eq!(milliseconds("9.500s"), Some(9_500));
        assert_eq!(milliseconds("50s"), Some(50_000));
        for other in ["", "s", "50", "-1s", "soon", "NaNs", "infs"] {
            assert_eq!(milliseconds(other), None, "{other}");
        }
    }
}
