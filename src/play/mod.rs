//! Playing fixtures back: the engine runs for real, against the recorded model, in virtual time and
//! without a socket.
//!
//! Nothing in `play` decides anything; what it does not know is how a fixture came about.

mod acts;
mod clock;
mod driver;
mod error;
mod journal;
mod model;
mod performing;
mod played;
mod processes;
mod serving;
mod told;
mod tools;

pub use error::Error;
pub use played::Played;
pub use told::Told;

use std::panic::resume_unwind;
use std::thread;

use driver::Driver;
use processes::Cast;

use crate::engine::Agent;
use crate::fixture::Fixture;

impl Fixture {
    /// Plays the conversation with an agent: its policies, phases, hooks and instruction; what its
    /// tools do is on record, unless they are to [run for real](Fixture::with_real_tools).
    ///
    /// The play has as many processes as the recorded session, over the same records, each with
    /// this agent. One that was killed is dropped where its record ended, and the next takes over.
    ///
    /// Each step comes at its time, and not before what went before it has led to all it leads to
    /// by itself. A runtime of its own is used, on a thread of its own, whose time moves on when
    /// nothing else happens; so it takes no time, may be called in any test, and comes to the same
    /// in every run. What a real tool waits for outside the process does not stop that time.
    ///
    /// ```
    /// use recount::fixture::Fixture;
    /// use recount::prelude::*;
    ///
    /// let refund = T::confirm(T::simple("refund", "Refunds an order", |_| async { Ok(json!({"refunded": true})) }), "Refund this order?");
    /// let agent = Agent::new().model("gemini-live-2.5-flash").tools(refund);
    /// let session = Fixture::load("fixtures/conversations/refund")?.play(&agent)?;
    /// session.assert_called("refund", json!({"order": 17, "card": "[redacted]"}));
    /// session.assert_as_recorded();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the agent is not configured right, or the machinery fails. What comes of the
    /// conversation is no error.
    ///
    /// # Panics
    /// Where code of the agent panics that the engine does not catch.
    pub fn play(&self, agent: &Agent) -> Result<Played, Error> {
        self.played(Cast::Given(Box::new(agent.clone())))
    }

    /// Plays the conversation with the tools and policies on record, and no code at all.
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
    /// [`Error::NeedsProgram`] where code took part whose answers a fixture does not hold, and as
    /// [`play`](Fixture::play).
    pub fn play_by_itself(&self) -> Result<Played, Error> {
        if let Some(what) = self.all_policies().find_map(needs_program) {
            return Err(Error::NeedsProgram { what });
        }
        let mut fixture = self.clone();
        fixture.real_tools = false;
        fixture.played(Cast::OnRecord).map(Played::without_setup)
    }

    fn played(&self, cast: Cast) -> Result<Played, Error> {
        let play = || Driver::new(self, cast).play();
        // A runtime may not be begun within another, and a test may have one.
        thread::scope(|scope| match scope.spawn(play).join() {
            Ok(played) => played,
            Err(panic) => resume_unwind(panic),
        })
    }
}

/// What of these policies only a program can answer.
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
