//! The record of a session, for assertions of tests.

use std::fmt::Write as _;

use serde_json::Value;

use crate::ledger::{self, Ledger};
use crate::session::{Event, Fact, FunctionCallReceived, Observation, Seq, SessionId};
use crate::story::Story;

/// The record of a session, for assertions of tests.
///
/// ```
/// use recount::testing::{Told, history, toolbox};
/// use serde_json::json;
///
/// let history = history().opened("support").attached(&toolbox().plain("refund")).connected();
/// let session = Told::of(history.call("c1", "refund", json!({"order": 17})).facts());
/// session.assert_called("refund", json!({"order": 17}));
/// session.assert_not_called("delete_account");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    facts: Vec<Fact>,
}

/// The number of records in one read.
const PAGE: usize = 1024;

impl Told {
    /// A session with these facts.
    pub fn of(facts: &[Fact]) -> Told {
        let facts = facts.to_vec();
        Told { facts }
    }

    /// Reads a session from a journal.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::testing::Told;
    ///
    /// let engine = Engine::in_memory().agent("support", Agent::new().model("m")).open().await?;
    /// let session = engine.session("support").open().await?;
    /// let told = Told::read(engine.ledger(), session.session_id()).await?;
    /// assert_eq!(told.facts()[0].event.kind(), "session_opened");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of reading the journal.
    pub async fn read(ledger: &Ledger, session: SessionId) -> Result<Told, ledger::Error> {
        let mut facts: Vec<Fact> = Vec::new();
        loop {
            let next = facts.last().map_or(Seq(1), |it| it.seq.next());
            let page = ledger.facts(session, next, PAGE).await?;
            if page.is_empty() {
                return Ok(Told { facts });
            }
            facts.extend(page);
        }
    }

    /// Its facts, in order.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The story of the session, with one line for each event.
    pub fn story(&self) -> Story {
        Story::of(&self.facts)
    }

    /// Fails the test unless the model called the tool with exactly these arguments, once or more.
    /// `5` is not equal to `5.0` here. Calls that were refused, denied or cancelled count, too,
    /// although the tool did not run. The story shows the outcome of each call.
    ///
    /// # Panics
    /// If it was not called so. The message lists all calls.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion of a test")]
    pub fn assert_called(&self, tool: &str, args: Value) {
        if !self
            .calls()
            .any(|it| is_of(it, tool) && args_of(it) == args)
        {
            panic!("{tool} was not called with {args}; {}", self.called());
        }
    }

    /// Fails the test if the model called the tool, with any arguments, even if the tool did not
    /// run.
    ///
    /// # Panics
    /// If it was called. The message lists all calls.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion of a test")]
    pub fn assert_not_called(&self, tool: &str) {
        if self.calls().any(|it| is_of(it, tool)) {
            panic!("{tool} was called; {}", self.called());
        }
    }

    fn calls(&self) -> impl Iterator<Item = &FunctionCallReceived> {
        self.facts.iter().filter_map(|fact| match &fact.event {
            Event::Observed(observation) => received(observation),
            Event::Decided(_) => None,
        })
    }

    /// All calls, in words.
    fn called(&self) -> String {
        let mut told = "what was called:".to_owned();
        for call in self.calls() {
            let name = call.name.as_deref().unwrap_or("a nameless function");
            // Writing to a string cannot fail.
            let _ = write!(told, "\n  {name} {}", args_of(call));
        }
        if self.calls().next().is_none() {
            told.push_str(" nothing");
        }
        told
    }
}

fn received(observation: &Observation) -> Option<&FunctionCallReceived> {
    if let Observation::FunctionCallReceived(call) = observation {
        Some(call)
    } else {
        None
    }
}

fn is_of(call: &FunctionCallReceived, tool: &str) -> bool {
    call.name.as_deref() == Some(tool)
}

fn args_of(call: &FunctionCallReceived) -> Value {
    let args = call.args.as_ref().map(|it| it.to_value());
    args.unwrap_or_else(|| Value::Object(Default::default()))
}
