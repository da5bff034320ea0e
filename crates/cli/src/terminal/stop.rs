//! What asks the program to end: Ctrl-C, whoever looks after it, or the end of its terminal.

#[cfg(unix)]
use std::io::IsTerminal;

use tokio_util::sync::CancellationToken;

use crate::failures::Failure;

/// Hears that the program is asked to end, from the time it is made: whoever asks once is obeyed in
/// order, and who asks again, at once.
pub(crate) struct Stop {
    asked: CancellationToken,
}

impl Stop {
    pub(crate) fn listen() -> Result<Stop, Failure> {
        let asked = CancellationToken::new();
        let mut signals =
            Signals::listen().map_err(|error| Failure::io("hear a signal", &error))?;
        let first = asked.clone();
        // Elsewhere, since whoever writes to a terminal that takes nothing hears nothing.
        tokio::spawn(async move {
            signals.next().await;
            first.cancel();
            signals.next().await;
            std::process::exit(AT_ONCE);
        });
        Ok(Stop { asked })
    }

    /// Completes when it is asked to.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    pub(crate) fn was_asked(&self) -> bool {
        self.asked.is_cancelled()
    }
}

/// As a shell tells of a program that Ctrl-C ended.
const AT_ONCE: i32 = 130;

/// Under `nohup`, neither is a terminal, and the end of one is nothing to the program.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}

#[cfg(unix)]
struct Signals([Option<tokio::signal::unix::Signal>; 3]);

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = has_terminal().then(|| signal(SignalKind::hangup()));
        Ok(Signals([
            Some(signal(SignalKind::interrupt())?),
            Some(signal(SignalKind::terminate())?),
            hang_up.transpose()?,
        ]))
    }

    async fn next(&mut self) {
        let heard = self.0.iter_mut().flatten();
        futures_util::future::select_all(heard.map(|it| Box::pin(it.recv()))).await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        // Where it cannot be heard, it never comes.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
