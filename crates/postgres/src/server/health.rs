//! The reasons why a node should get no new work, although its lease is valid.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount_journal::Error;
use tokio_postgres::error::SqlState;

use super::clock;
use crate::error::error_text;

/// The classes of errors that another append would get, too: no connection may write, or the server
/// lacks rights, a table or resources. Other classes are about the values of one append.
const OF_EVERY_APPEND: [&str; 7] = ["25", "42", "53", "55", "57", "58", "XX"];

/// The state of a node besides its lease.
#[derive(Default)]
pub(crate) struct Health {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The refusal of the last append and its time, if none has succeeded since.
    refused: Option<(String, Duration)>,
    /// The settings that may lose appends and are not allowed.
    lossy: Vec<String>,
}

impl Health {
    /// Notes an error with which the database refused an append.
    pub(crate) fn refused(&self, error: &tokio_postgres::Error) {
        let class = |code: &SqlState| code.code().get(..2).map(str::to_owned);
        let class = error.code().and_then(class);
        if class.is_some_and(|it| OF_EVERY_APPEND.contains(&it.as_str())) {
            self.state().refused = Some((error_text(error), clock::elapsed()));
        }
    }

    /// Notes that the database takes appends.
    pub(crate) fn accepted(&self) {
        self.state().refused = None;
    }

    /// True if the database refused the last append, at least this long ago.
    pub(crate) fn refused_before(&self, time: Duration) -> bool {
        let refused = self.state().refused.as_ref().map(|(_, at)| *at);
        refused.is_some_and(|at| time <= clock::elapsed().saturating_sub(at))
    }

    /// Notes the settings that may lose appends and are not allowed. Returns true if they are
    /// others than before.
    pub(crate) fn note_lossy(&self, lossy: &[String]) -> bool {
        let mut state = self.state();
        let is_new = state.lossy != lossy;
        if is_new {
            state.lossy = lossy.to_vec();
        }
        is_new
    }

    /// Checks that no setting may lose what is acknowledged.
    ///
    /// # Errors
    /// [`Error::Lossy`].
    pub(crate) fn check_settings(&self) -> Result<(), Error> {
        let settings = self.state().lossy.clone();
        if settings.is_empty() {
            return Ok(());
        }
        Err(Error::Lossy { settings })
    }

    /// Checks that the last append was not refused.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn check_appends(&self) -> Result<(), Error> {
        match &self.state().refused {
            None => Ok(()),
            Some((refused, _)) => Err(Error::Io {
                doing: "append in the database".to_owned(),
                source: io::Error::other(refused.clone()),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
