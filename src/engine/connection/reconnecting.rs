//! Losing a connection and getting the next one.
//!
//! ```text
//! connected ── lost ──────────▶ waits ──▶ opens ─┬─▶ connected
//!     └─ to be left ─ idle, or time is up ─▲     └─ failed ──▶ waits … ──▶ given up
//! ```
//!
//! A loss with a next try cancels nothing. The old socket is closed before the next one is opened:
//! the service takes no handle while the connection that brought it still stands.

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

/// How long a socket may take to say goodbye before it is dropped.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a session needs to come back to its conversation.
#[derive(Default)]
pub(in crate::engine) struct Reconnecting {
    /// The newest handle. Its fingerprint stands in the session.
    pub(in crate::engine) handle: Option<ResumptionHandle>,
    /// The repeated messages that are not on record yet.
    pub(in crate::engine) held: HeldBack,
    /// The messages of the live connection that changed nothing.
    pub(in crate::engine) noise: Noise,
    /// The words and responses of ours that the live connection was given.
    pub(in crate::engine) addressed: bool,
    /// The model has said something since its last turn ended.
    pub(in crate::engine) has_spoken: bool,
    /// How many connections were begun to be opened.
    pub(in crate::engine) openings: u64,
    /// How often it was tried since the last good connection.
    pub(in crate::engine) attempts: u32,
    /// How many connections were begun to tell an outcome since the model last took part, or
    /// somebody last asked for one.
    pub(in crate::engine) dialled: u32,
    /// True if the live connection was opened for nobody, who has not come since.
    pub(in crate::engine) is_nobodys: bool,
    /// How many connections in a row ended for something that we did.
    pub(in crate::engine) at_fault: u32,
    /// How often in a row the service failed on the handle.
    pub(in crate::engine) doubts: u32,
    /// When the live connection was made.
    since: Timestamp,
    /// The wait before the next try, while there is one to come.
    pub(in crate::engine) wait: Option<AbortOnDropHandle<()>>,
    /// The time by which the connection is left, where that is planned.
    pub(in crate::engine) leaving: Option<AbortOnDropHandle<()>>,
    /// The socket of before, while it says goodbye.
    pub(in crate::engine) farewell: Option<JoinHandle<()>>,
    /// Who asked for the connection that is being opened; nobody, where it comes by itself.
    pub(in crate::engine) asked: Option<Reply<()>>,
    /// What is to be said once there is a connection.
    pub(in crate::engine) unsaid: VecDeque<(String, Place, Reply<()>)>,
    /// Live input waits for the next connection as long as this is there.
    pub(in crate::engine) expected: Option<Expected>,
}

impl Reconnecting {
    /// A connection was made.
    pub(in crate::engine) fn connected(&mut self, now: Timestamp) {
        self.since = now;
        self.wait = None;
        self.noise = Noise::default();
        (self.addressed, self.has_spoken) = (false, false);
    }

    /// Notes that the connection ends; one that lived for the longest wait was a good one.
    pub(in crate::engine) fn note_end(&mut self, now: Timestamp, longest_wait: Duration) {
        let lived = u128::try_from(now.0.saturating_sub(self.since.0)).unwrap_or_default();
        if lived >= longest_wait.as_micros() {
            self.is_good();
        }
    }

    /// The model answered a message of ours, or a connection is asked for: one that is opened to
    /// tell an outcome need not wait.
    pub(in crate::engine) fn is_wanted(&mut self) {
        self.dialled = 0;
        self.is_good();
    }

    /// The connection is a good one, or no more of it: the next try is a first one.
    pub(in crate::engine) fn is_good(&mut self) {
        (self.attempts, self.at_fault, self.doubts) = (0, 0, 0);
    }

    /// Ends every wait, and returns whoever waited.
    pub(in crate::engine) fn stop(&mut self) -> Vec<Reply<()>> {
        self.wait = None;
        self.leaving = None;
        self.expected = None;
        self.is_good();
        let unsaid = self.unsaid.drain(..).map(|(.., reply)| reply);
        unsaid.chain(self.asked.take()).collect()
    }

    /// The goodbye of the socket before, to be waited for.
    pub(in crate::engine) fn farewell(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let farewell = self.farewell.take();
        async move {
            let Some(mut farewell) = farewell else {
                return;
            };
            if timeout(FAREWELL, &mut farewell).await.is_err() {
                farewell.abort();
            }
        }
    }
}

/// What follows the loss of a connection.
pub(in crate::engine) enum Again {
    /// A try, after so many milliseconds.
    Wait(u64),
    /// Nothing, as the embedding program wants it.
    Never,
    /// Nothing any more.
    GiveUp,
}

/// A duration as the service writes it, such as `9.500s`.
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
