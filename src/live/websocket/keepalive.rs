//! Finding out that a connection on which nothing comes is dead.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::live::ConnectionLost;

/// How a connection on which nothing comes is found to be dead.
///
/// Where the network goes away without a word, a connection stays open on our side for ever. So
/// after each interval in which nothing came, the service is asked for a sign of life, a ping of
/// the WebSocket. Whatever comes is one: a late answer harms nothing, and a service that is busy
/// speaking is not asked. Only several intervals of silence in a row end the connection; it is then
/// lost without a code, and the session comes back as after any other loss.
///
/// ```
/// use std::time::Duration;
/// use recount::live::{Endpoint, Keepalive};
///
/// // Dead after a minute or so, unless something comes.
/// let endpoint = Endpoint::google_ai("an API key").keepalive(Keepalive::every(Duration::from_secs(10)).silent_max(6));
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
    /// A ping after every 20 s of silence; three such intervals end the connection.
    fn default() -> Keepalive {
        Keepalive::every(Duration::from_secs(20))
    }
}

impl Keepalive {
    /// A ping after each interval in which nothing came; three of them end the connection.
    #[must_use]
    pub fn every(interval: Duration) -> Keepalive {
        Keepalive {
            interval: Some(interval.max(Duration::from_millis(1))),
            silent_max: 3,
        }
    }

    /// No pings, and no end of a connection that is merely silent.
    #[must_use]
    pub fn off() -> Keepalive {
        Keepalive {
            interval: None,
            silent_max: 0,
        }
    }

    /// How many intervals of silence in a row end the connection, two at least: one is the time
    /// that the answer to a ping has.
    #[must_use]
    pub fn silent_max(self, intervals: u32) -> Keepalive {
        Keepalive {
            silent_max: intervals.max(2),
            ..self
        }
    }

    pub(super) fn begin(self) -> Option<Pulse> {
        let interval = self.interval?;
        Some(Pulse {
            interval,
            silent_max: self.silent_max,
            timer: Box::pin(sleep(interval)),
            heard: false,
            silent: 0,
        })
    }
}

/// The pulse of one connection: one timer, which what comes does not touch.
pub(super) struct Pulse {
    interval: Duration,
    silent_max: u32,
    timer: Pin<Box<Sleep>>,
    /// Whether something came since the last beat.
    heard: bool,
    /// How many beats before it nothing came.
    silent: u32,
}

/// What is to be done at a beat.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Beat {
    /// Nothing: the service was heard.
    Alive,
    /// Ask it for a sign of life.
    Ask,
    /// It is gone.
    Dead(ConnectionLost),
}

impl Pulse {
    /// Something came.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// The service could not be asked; the beat does not count.
    pub(super) fn not_asked(&mut self) {
        self.silent = self.silent.saturating_sub(1);
    }

    /// Waits for the next beat. A wait that is dropped goes on with the next one.
    pub(super) async fn beat(&mut self) -> Beat {
        self.timer.as_mut().await;
        self.timer.as_mut().reset(Instant::now() + self.interval);
        if std::mem::take(&mut self.heard) {
            self.silent = 0;
            return Beat::Alive;
        }
        self.silent += 1;
        if self.silent < self.silent_max {
            return Beat::Ask;
        }
        let silence = self.interval * self.silent;
        Beat::Dead(ConnectionLost {
            code: None,
            reason: format!("nothing came for {silence:?}, not even the answer to a ping"),
        })
    }
}
