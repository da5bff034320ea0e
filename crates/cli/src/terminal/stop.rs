//! The signals that ask the program to end: Ctrl-C, SIGTERM, and the end of its terminal.

#[cfg(unix)]
use std::io::IsTerminal;

use tokio_util::sync::CancellationToken;

use crate::failures::Failure;

/// A listener for the signals that ask the program to end.
///
/// The first signal cancels `asked`, so the program ends in order. The second one ends it at once.
pub(crate) struct Stop {
    asked: CancellationToken,
}

impl Stop {
    pub(crate) fn listen() -> Result<Stop, Failure> {
        Stop::at(HangUp::Ends)
    }

    /// A listener that leaves SIGHUP to the caller.
    #[cfg(feature = "serve")]
    pub(crate) fn listen_but_for_hang_up() -> Result<Stop, Failure> {
        Stop::at(HangUp::Other)
    }

    fn at(hang_up: HangUp) -> Result<Stop, Failure> {
        let asked = CancellationToken::new();
        let mut signals =
            Signals::listen(hang_up).map_err(|error| Failure::io("listen for signals", &error))?;
        let first = asked.clone();
        // In a task of its own: the main task may block on a terminal that reads nothing.
        tokio::spawn(async move {
            signals.next().await;
            first.cancel();
            signals.next().await;
            std::process::exit(AT_ONCE);
        });
        Ok(Stop { asked })
    }

    /// Completes at the first signal.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    pub(crate) fn was_asked(&self) -> bool {
        self.asked.is_cancelled()
    }
}

/// The meaning of SIGHUP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HangUp {
    /// The end of the terminal, if the program has one.
    Ends,
    /// Something else, to which the caller listens.
    #[cfg(feature = "serve")]
    Other,
}

/// The exit code of a program that Ctrl-C ended, as shells have it.
const AT_ONCE: i32 = 130;

/// True if standard output or error is a terminal. Under `nohup` neither is one, and SIGHUP does
/// not end the program.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}

#[cfg(unix)]
struct Signals([Option<tokio::signal::unix::Signal>; 3]);

#[cfg(unix)]
impl Signals {
    fn listen(hang_up: HangUp) -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let ends = hang_up == HangUp::Ends && has_terminal();
        let hang_up = ends.then(|| signal(SignalKind::hangup()));
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
    fn listen(_: HangUp) -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        // Without a listener the signal never arrives.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
