//! The reasons why a node should get no new work, although its lease is valid.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount_journal::Error;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;

use super::clock;
use crate::error::{error_text, failed_for};

/// The classes of errors that another append would get, too: no connection may write, or the server
/// lacks rights, a table or resources. Other classes are about the values of one append.
const OF_EVERY_APPEND: [&str; 7] = ["25", "42", "53", "55", "57", "58", "XX"];

/// The time after which a missing answer to an append is a fault. One that commits takes
/// milliseconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The state of a node besides its lease.
#[derive(Default)]
pub(crate) struct Health {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The refusal of the last append and its time, if none has succeeded since.
    refused: Option<(String, Duration)>,
    /// The rights to its tables that this node lacks.
    missing_rights: Option<String>,
    /// The number of appends that the database has not answered for long.
    unanswered: usize,
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

    /// Waits for the database to commit a batch. If that takes long, the log says so, and this node
    /// takes no new work meanwhile.
    pub(crate) async fn watched<T>(&self, commit: impl Future<Output = T>) -> T {
        let mut commit = pin!(commit);
        tokio::select! {
            committed = &mut commit => return committed,
            () = sleep(ANSWER_WITHIN) => {}
        }
        let _unanswered = Unanswered::new(self);
        tracing::warn!(
            "the database has not answered an append for {} s: something else may have locked its \
             tables or rows, as pg_stat_activity shows",
            ANSWER_WITHIN.as_secs()
        );
        commit.await
    }

    /// True if the database refused the last append, at least this long ago.
    pub(crate) fn refused_before(&self, time: Duration) -> bool {
        let refused = self.state().refused.as_ref().map(|(_, at)| *at);
        refused.is_some_and(|at| time <= clock::elapsed().saturating_sub(at))
    }

    /// Notes the rights to its tables that this node lacks. Returns true if they are others than
    /// before.
    pub(crate) fn note_missing_rights(&self, missing: Option<String>) -> bool {
        let mut state = self.state();
        let is_new = state.missing_rights != missing;
        state.missing_rights = missing;
        is_new
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

    /// Checks that the last append was not refused, that none waits for long, and that this node
    /// has the rights to its tables.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn check_appends(&self) -> Result<(), Error> {
        let state = self.state();
        let fault = match (&state.refused, &state.missing_rights) {
            (Some((refused, _)), _) => refused.clone(),
            (None, Some(missing)) => format!("rights are missing: {missing}"),
            (None, None) if state.unanswered > 0 => "an append has no answer yet".to_owned(),
            (None, None) => return Ok(()),
        };
        Err(failed_for("append", fault))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An append without an answer, for as long as this lives.
struct Unanswered<'h>(&'h Health);

impl<'h> Unanswered<'h> {
    fn new(health: &'h Health) -> Self {
        health.state().unanswered += 1;
        Self(health)
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.unanswered = state.unanswered.saturating_sub(1);
    }
}
