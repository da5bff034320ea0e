//! What a test says of a whole session, or of a whole journal.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use recount_journal::Journal;

use crate::engine::Engine;
use crate::ledger::Ledger;
use crate::replay;

/// Compares a session's story with a snapshot of [insta](https://insta.rs), which the test's own
/// crate has.
///
/// The session is anything with a `story()`: what came of a [play](crate::fixture::Fixture::play),
/// a [`Told`](super::Told), a [`History`](crate::testing::History). The snapshot is one line an
/// event, with nothing in it that two runs differ in: no times, no hashes, ids numbered as they
/// come up.
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
/// A name may stand before the session, and `@"…"` behind it, as with `insta::assert_snapshot!`.
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

/// Decides every session of a journal again and fails the test where one comes to other decisions.
///
/// It takes an engine, a [`Ledger`], or an `Arc` of a journal. Nothing runs, and it may stand in
/// any test, also in one that has a runtime.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use recount::assert_replays;
/// use recount::prelude::*;
///
/// let engine = Engine::in_memory().agent("support", Agent::new().model("m")).open().await?;
/// let session = engine.session("support").open().await?;
/// session.change_state(recount::session::Actor::embedder("ada"), |state| state.set("plan", "monthly")).await?;
/// assert_replays!(engine);
/// # Ok::<(), recount::engine::Error>(())
/// # }).unwrap();
/// ```
///
/// # Panics
/// Where a session diverges: the message says where, what is on record, and what follows from what
/// stands before it.
#[macro_export]
macro_rules! assert_replays {
    ($journal:expr $(,)?) => {
        if let Err(report) = $crate::testing::replayed(&$journal) {
            ::std::panic!("{report}");
        }
    };
}

/// What holds sessions on record.
pub trait OnRecord {
    /// How it is read.
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

/// Decides every session again; how many there are. This is what
/// [`assert_replays!`](crate::assert_replays) does.
///
/// # Errors
/// The first divergence, or what keeps the journal from being read, in words.
pub fn replayed(journal: &impl OnRecord) -> Result<usize, String> {
    let ledger = journal.ledger();
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(all(&ledger))
    };
    // A runtime may not be begun within another, and a test may have one.
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
                    "session {session} diverges at seq {seq}\n- recorded  {recorded}\n+ derived   {derived}"
                ));
            }
            count += 1;
        }
    }
}
