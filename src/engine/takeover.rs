//! What a process left behind that is gone without a word.
//!
//! The journal is locked by one process, so whoever can read a session knows that the process that served it before
//! is dead. Nothing may be recorded on top of what it left as if it still lived; a session that is only read gets no
//! event.

use crate::session::{Disconnected, Observation, RunnerDetached, Session};

/// The connection that died with its process.
pub(crate) fn lost_connection(session: &Session) -> Option<Observation> {
    let epoch = session.connection?;
    let reason = "the process that held the connection is gone".to_owned();
    Some(
        Disconnected {
            epoch,
            code: None,
            reason,
        }
        .into(),
    )
}

/// The connection and the runner that died with their process.
pub(crate) fn observations(session: &Session) -> Vec<Observation> {
    let detached = session.runner.map(|_| {
        let reason = "the process that could run tools is gone".to_owned();
        Observation::from(RunnerDetached { reason })
    });
    lost_connection(session)
        .into_iter()
        .chain(detached)
        .collect()
}
