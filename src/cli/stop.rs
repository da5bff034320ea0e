//! What asks the program to end: Ctrl-C, whoever looks after it, or the end of its terminal.

use super::failure::Failure;
#[cfg(unix)]
use super::prompt;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears that the program is asked to end, from the time it is made, so that nothing is missed between two waits. While it is there,
/// what it hears does not kill the program.
pub(super) struct Stop {
    #[cfg(unix)]
    signals: [Option<Signal>; 3],
}

impl Stop {
    pub(super) fn listen() -> Result<Stop, Failure> {
        #[cfg(unix)]
        {
            let heard = |kind| signal(kind).map_err(|error| Failure::io("hear a signal", &error));
            // Under `nohup` the end of a terminal is nothing to the program, which has no input from it then.
            let hang_up = prompt::is_interactive().then(|| heard(SignalKind::hangup()));
            Ok(Stop {
                signals: [
                    Some(heard(SignalKind::interrupt())?),
                    Some(heard(SignalKind::terminate())?),
                    hang_up.transpose()?,
                ],
            })
        }
        #[cfg(not(unix))]
        Ok(Stop {})
    }

    /// Completes when it is asked to.
    pub(super) async fn asked(&mut self) {
        #[cfg(unix)]
        {
            let heard = self.signals.iter_mut().flatten();
            futures_util::future::select_all(heard.map(|it| Box::pin(it.recv()))).await;
        }
        // Where it cannot be heard, it never comes.
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
