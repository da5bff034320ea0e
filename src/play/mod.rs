//! Plays of fixtures: the real engine runs against the recorded model, in virtual time and without
//! a socket.
//!
//! This module decides nothing, and does not depend on how a fixture was made.

mod accepted;
mod acts;
mod changes;
mod clients;
mod clock;
mod driver;
mod error;
mod journal;
mod model;
mod performing;
mod played;
mod processes;
mod questions;
mod relayed;
mod serving;
mod terms;
mod told;
mod tools;

pub use accepted::DroppedStep;
pub use error::Error;
pub use played::Played;
pub use told::Told;

use std::panic::resume_unwind;
use std::thread;

use driver::Driver;
use processes::AgentSource;

use crate::engine::Agent;
use crate::fixture::Fixture;

impl Fixture {
    /// Plays the conversation with an agent: its policies, phases, hooks and instruction. Its tools
    /// return their recorded results, unless they are to [run for real](Fixture::with_real_tools).
    ///
    /// The play has as many processes as the recorded session, over the same records, each with
    /// this agent. A process that was killed is dropped at the end of its record, and the next one
    /// takes over.
    ///
    /// Each step is performed at its recorded time, after all effects of the steps before it. The
    /// play runs in a tokio runtime of its own, on a thread of its own. The time of that runtime
    /// advances when all tasks are idle. Therefore a play takes almost no time, may be called in
    /// any test, and has the same result in every run. A real tool that waits for something outside
    /// the process does not stop that time.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    /// use recount::prelude::*;
    ///
    /// let refund = T::simple("refund", "Refunds an order", |_| async {
    ///     Ok(json!({"refunded": true}))
    /// });
    /// let refund = T::confirm(refund, "Refund this order?");
    /// let agent = Agent::new().model("gemini-live-2.5-flash").tools(refund);
    /// let session = Fixture::load("fixtures/conversations/refund")?.play(&agent)?;
    /// session.assert_called("refund", json!({"order": 17, "card": "[redacted]"}));
    /// session.assert_as_recorded();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An error if the agent is misconfigured, or the play itself fails. A different outcome of the
    /// conversation is no error.
    ///
    /// # Panics
    /// If code of the agent panics and the engine does not catch it.
    pub fn play(&self, agent: &Agent) -> Result<Played, Error> {
        self.played(AgentSource::Given(Box::new(agent.clone())))
    }

    /// Plays the conversation with the recorded tools and policies, without any code of the
    /// program.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    ///
    /// let session = Fixture::load("fixtures/conversations/refund")?.play_by_itself()?;
    /// session.assert_as_recorded();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NeedsProgram`] if the conversation depends on code whose answers a fixture does not
    /// hold. The errors of [`play`](Fixture::play).
    pub fn play_by_itself(&self) -> Result<Played, Error> {
        if let Some(what) = self.all_policies().find_map(needs_program) {
            return Err(Error::NeedsProgram { what });
        }
        let mut fixture = self.clone();
        fixture.real_tools = false;
        fixture
            .played(AgentSource::OnRecord)
            .map(Played::without_setup)
    }

    fn played(&self, agents: AgentSource) -> Result<Played, Error> {
        let play = || Driver::new(self, agents).play();
        // A tokio runtime cannot be started within another, and a test may have one.
        thread::scope(|scope| match scope.spawn(play).join() {
            Ok(played) => played,
            Err(panic) => resume_unwind(panic),
        })
    }
}

/// The part of these policies that only code of the program can answer.
fn needs_program(policies: &crate::session::PolicySet) -> Option<String> {
    if policies.hooks.on_tool_call {
        return Some("on_tool_call".to_owned());
    }
    if policies.hooks.before_tool_response {
        return Some("before_tool_response".to_owned());
    }
    let mut tools = policies.tools.iter();
    let asks = tools.find(|(_, policy)| policy.gate_terms.asks_program);
    asks.map(|(tool, _)| format!("the gate of {tool}"))
}
