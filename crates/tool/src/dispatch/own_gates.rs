//! The gates of the calls that a dispatcher runs itself.

use std::sync::OnceLock;

use recount_session::Gates;

use super::dispatcher::ToolDispatcher;
use super::gate_choice::GateChoice;

impl ToolDispatcher {
    /// Makes gated calls fail if the dispatcher has no provider to ask.
    ///
    /// In an engine such calls wait for an approver instead, unless the agent sets
    /// `Agent::unenforced_confirmations`.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount_tool::{T, ToolDispatcher};
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    /// let mut tools = ToolDispatcher::new().strict();
    /// tools.register(T::confirm(pay, "Pay?"))?;
    /// assert!(tools.call_function("pay", json!({})).await.is_err());
    /// assert!(tools.unenforced_confirmations().call_function("pay", json!({})).await.is_ok());
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.gates = GateChoice::Strict;
        self.terms = OnceLock::new();
        self
    }

    /// Makes gated calls that this dispatcher runs itself run without asking, even if it has a
    /// provider. Each call's record says so. In an engine the agent's own choice applies instead.
    #[must_use]
    pub fn unenforced_confirmations(mut self) -> Self {
        self.gates = GateChoice::Unenforced;
        self.terms = OnceLock::new();
        self
    }

    #[doc(hidden)]
    pub fn is_strict(&self) -> bool {
        match self.gates {
            GateChoice::Strict => true,
            GateChoice::WhereAnswerable | GateChoice::Unenforced => false,
        }
    }

    /// Returns whether the gates of its own calls are enforced, with the reason if not.
    pub(crate) fn own_gates(&self) -> Gates {
        match self.gates {
            GateChoice::Strict => Gates::enforced(),
            GateChoice::Unenforced => {
                Gates::waived("the embedding program chose unenforced confirmations")
            }
            GateChoice::WhereAnswerable if self.provider.is_some() => Gates::enforced(),
            GateChoice::WhereAnswerable => {
                Gates::waived("a dispatcher of its own without a confirmation provider")
            }
        }
    }
}
