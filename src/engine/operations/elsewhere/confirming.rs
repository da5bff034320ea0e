//! The wait for the other processes of a journal, until none of them overlooks a pause.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::error::Error;
use crate::ledger::Ledger;
use crate::session::Seq;

/// The time for which a pause waits for the other processes. The lease of one that does not answer
/// ends before, unless it is set longer.
const WITHIN: Duration = Duration::from_secs(30);

/// Waits until no process can start what a pause holds. `at` is its record in the journal's own
/// stream.
///
/// # Errors
/// [`Error::PauseUnconfirmed`].
pub(in crate::engine::operations) async fn expect_applied(
    ledger: &Ledger,
    at: Seq,
) -> Result<(), Error> {
    let Some(sharing) = ledger.journal().sharing() else {
        return Ok(());
    };
    let (until, mut seen) = (Instant::now() + WITHIN, 0);
    loop {
        let behind = sharing.behind(at.0).await;
        let cause = match behind {
            Ok(nodes) if nodes.is_empty() => return Ok(()),
            Ok(nodes) => format!("without a word of: {}", nodes.join(", ")),
            Err(error) => error.to_string(),
        };
        // A notification may be lost, so it looks again after a while in any case.
        match timeout_at(until, sharing.changed(seen)).await {
            Ok(change) => seen = change,
            Err(_) => {
                let within = WITHIN;
                return Err(Error::PauseUnconfirmed { at, within, cause });
            }
        }
    }
}
