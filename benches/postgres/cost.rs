//! The cost of a run: time, CPU time on both sides, write-ahead log.

use std::time::{Duration, Instant};

use crate::processor_time::processor_time;
use crate::server::Server;

/// The cost of a number of equal pieces of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) pieces: usize,
    pub(crate) time: Duration,
    /// The CPU time of this process.
    pub(crate) client: Duration,
    /// The CPU time of all processes of the server.
    pub(crate) server: Duration,
    /// The growth of the write-ahead log, in bytes.
    pub(crate) wal: f64,
}

/// Measures a run. What it returns is dropped afterwards.
pub(crate) fn measured<T>(server: &Server, pieces: usize, run: impl FnOnce() -> T) -> Cost {
    let wal = server.wal();
    let (served, worked, begun) = (server.processor_time(), processor_time(), Instant::now());
    let made = run();
    let (time, client) = (begun.elapsed(), processor_time() - worked);
    let served = server.processor_time().saturating_sub(served);
    let cost = Cost {
        pieces,
        time,
        client,
        server: served,
        wal: server.wal() - wal,
    };
    drop(made);
    cost
}

impl Cost {
    /// The pieces a second.
    pub(crate) fn rate(&self) -> f64 {
        self.pieces as f64 / self.time.as_secs_f64()
    }

    /// The CPU time of a piece on the side of the client and of the server, in microseconds.
    pub(crate) fn worked(&self) -> (f64, f64) {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / self.pieces as f64;
        (each(self.client), each(self.server))
    }

    /// The same, and the sum, for people.
    pub(crate) fn worked_text(&self) -> String {
        let (client, server) = self.worked();
        format!("{:.1}: {client:.1} + {server:.1}", client + server)
    }
}
