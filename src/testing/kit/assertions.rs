//! Assertions about a whole session, or a whole journal.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use recount_journal::Journal;

use crate::engine::Engine;
use crate::ledger::Ledger;
use crate::replay;

/// Compares a session's story with a snapshot of [insta](https://insta.rs), which the crate of the
/// test must depend on.
///
/// The session is any value with a `story()`: a played [`Fixture`](crate::fixture::Fixture::play),
/// a [`Told`](super::Told), a [`History`](crate::testing::History). The snapshot has one line for
/// each event. It contains nothing that differs between runs: no times, no hashes, and ids are
/// numbered by first appearance.
///
/// ```no_run
/// use recount::assert_session_snapshot;
/// use recount::testing::{history, toolbox};
///
/// let session = history().opened("support").attached(&toolbox().plain("ping")).connected();
/// assert_session_snapshot!(session);
/// assert_session_snapshot!("before the first call", session);
/// ```
///
/// A name may precede the session, and `@"…"` may follow it, as with `insta::assert_snapshot!`.
#[macro_export]
macro_rules! assert_session_snapshot {
    ($session:expr $(,)?) => {
        ::insta::assert_snapshot!($session.story().to_string())
    };
    ($session:expr, @$lines:literal $(,)?) => {
        ::insta::assert_snapshot!($session.story().to_string(), @$lines)
    };
    ($name:expr, $session:expr $(,)?) => {
        ::insta::assert_snapshot!($name, $session.story().to_string())
    };
}

/// Decides each session of a journal again, and fails the test if one has other decisions.
///
/// It accepts an engine, a [`Ledger`], or an `Arc` of a journal. Nothing runs. The test may be
/// inside a tokio runtime.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use recount::assert_replays;
/// use recount::prelude::*;
///
/// let engine = Engine::in_memory().agent("support", Agent::new().model("m")).open().await?;
/// let session = engine.session("support").open().await?;
/// let ada = recount::session::Actor::embedder("ada");
/// session.change_state(ada, |state| state.set("plan", "monthly")).await?;
/// assert_replays!(engine);
/// # Ok::<(), recount::engine::Error>(())
/// # }).unwrap();
/// ```
///
/// # Panics
/// If a session diverges. The message contains the place, the recorded event, and the derived
/// decision.
#[macro_export]
macro_rules! assert_replays {
    ($journal:expr $(,)?) => {
        if let Err(report) = $crate::testing::replayed(&$journal) {
            ::std::panic!("{report}");
        }
    };
}

/// A store of recorded sessions.
pub trait OnRecord {
    /// The ledger that reads the sessions.
    fn ledger(&self) -> Ledger;
}

impl OnRecord for Ledger {
    fn ledger(&self) -> Ledger {
        self.clone()
    }
}

impl OnRecord for Engine {
    fn ledger(&self) -> Ledger {
        Engine::ledger(self).clone()
    }
}

impl<R: OnRecord> OnRecord for &R {
    fn ledger(&self) -> Ledger {
        (*self).ledger()
    }
}

impl<J: Journal> OnRecord for Arc<J> {
    fn ledger(&self) -> Ledger {
        Ledger::new(self.clone())
    }
}

/// Decides each session again and returns their number. The macro
/// [`assert_replays!`](crate::assert_replays) calls it.
///
/// # Errors
/// The first divergence, or an error of the journal, in words.
pub fn replayed(journal: &impl OnRecord) -> Result<usize, String> {
    let ledger = journal.ledger();
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(all(&ledger))
    };
    // A tokio runtime cannot be started within another, and a test may have one.
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(replayed) => replayed,
        Err(panic) => resume_unwind(panic),
    })
}

async fn all(ledger: &Ledger) -> Result<usize, String> {
    let (mut pages, mut count) = (ledger.session_pages(), 0);
    loop {
        let page = pages.next().await;
        let page = page.map_err(|error| format!("the sessions cannot be listed: {error}"))?;
        let Some(page) = page else {
            return Ok(count);
        };
        for (session, _) in page {
            let report = replay::verify(ledger, session).await;
            let report =
                report.map_err(|error| format!("session {session} cannot be read: {error}"))?;
            if let Some(it) = report.diverged {
                let said = |said: &Option<replay::Said>| match said {
                    Some(said) => format!("{} {}", said.kind, said.body),
                    None => "nothing".to_owned(),
                };
                let (recorded, derived) = (said(&it.recorded), said(&it.derived));
                let seq = it.seq;
                return Err(format!(
                    "session {session} diverges at seq {seq}\n\
                     - recorded  {recorded}\n\
                     + derived   {derived}"
                ));
            }
            count += 1;
        }
    }
}
