//! Detection of dead connections.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::live::ConnectionLost;

/// The detection of dead connections.
///
/// If the network fails silently, a connection stays open on our side forever. So the client sends
/// a WebSocket ping after each interval without a frame. Any frame counts as a sign of life, so a
/// late pong does no harm, and a speaking service gets no pings. Several silent intervals in a row
/// end the connection. It is then lost without a close code, and the session reconnects as after
/// any other loss.
///
/// ```
/// use std::time::Duration;
/// use recount::live::{Endpoint, Keepalive};
///
/// // Dead after a minute or so, unless something comes.
/// let endpoint = Endpoint::google_ai("an API key")
///     .keepalive(Keepalive::every(Duration::from_secs(10)).silent_max(6));
/// // Behind a gateway that looks after its connections.
/// let gateway = Endpoint::url("wss://gateway.example/live").keepalive(Keepalive::off());
/// # let _ = (endpoint, gateway);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Keepalive {
    interval: Option<Duration>,
    silent_max: u32,
}

impl Default for Keepalive {
    /// Sends a ping after 20 s of silence. Three silent intervals end the connection.
    fn default() -> Keepalive {
        Keepalive::every(Duration::from_secs(20))
    }
}

impl Keepalive {
    /// Sends a ping after each silent interval. Three silent intervals end the connection.
    #[must_use]
    pub fn every(interval: Duration) -> Keepalive {
        Keepalive {
            interval: Some(interval.max(Duration::from_millis(1))),
            silent_max: 3,
        }
    }

    /// Sends no pings and never ends a silent connection.
    #[must_use]
    pub fn off() -> Keepalive {
        Keepalive {
            interval: None,
            silent_max: 0,
        }
    }

    /// Sets the number of silent intervals in a row that end the connection. The minimum is 2,
    /// because a ping has one interval for its pong.
    #[must_use]
    pub fn silent_max(self, intervals: u32) -> Keepalive {
        Keepalive {
            silent_max: intervals.max(2),
            ..self
        }
    }

    pub(super) fn begin(self) -> Option<KeepaliveTimer> {
        let interval = self.interval?;
        Some(KeepaliveTimer {
            interval,
            silent_max: self.silent_max,
            timer: Box::pin(sleep(interval)),
            active: false,
            silent: 0,
        })
    }
}

/// The keepalive timer of one connection. Frames do not reset the timer.
pub(super) struct KeepaliveTimer {
    interval: Duration,
    silent_max: u32,
    timer: Pin<Box<Sleep>>,
    /// True if a frame came since the last tick.
    active: bool,
    /// The number of silent intervals before it.
    silent: u32,
}

/// The action at a tick.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Tick {
    /// No action: a frame came.
    Alive,
    /// Send a ping.
    Ping,
    /// The connection is dead.
    Dead(ConnectionLost),
}

impl KeepaliveTimer {
    /// Notes that a frame came.
    pub(super) fn active(&mut self) {
        self.active = true;
    }

    /// Notes that the ping could not be sent, so the interval does not count.
    pub(super) fn ping_not_sent(&mut self) {
        self.silent = self.silent.saturating_sub(1);
    }

    /// Waits for the next tick. Cancel safe.
    pub(super) async fn tick(&mut self) -> Tick {
        self.timer.as_mut().await;
        self.timer.as_mut().reset(Instant::now() + self.interval);
        if std::mem::take(&mut self.active) {
            self.silent = 0;
            return Tick::Alive;
        }
        self.silent += 1;
        if self.silent < self.silent_max {
            return Tick::Ping;
        }
        let silence = self.interval * self.silent;
        Tick::Dead(ConnectionLost {
            code: None,
            reason: format!("nothing came for {silence:?}, not even the answer to a ping"),
        })
    }
}
