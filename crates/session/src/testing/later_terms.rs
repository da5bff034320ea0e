//! Changed catalogs, and calls of programs with idempotency keys, for histories.

use serde_json::Value;

use super::history::History;
use super::toolbox::Toolbox;
use super::world_words::called_by_program;
use crate::deciding::rules::RULES_OF_KEYS;
use crate::record::observation::{CatalogChanged, FunctionCallReceived, RunnerAttached};
use crate::state::library::Library;

impl Toolbox {
    /// Returns the observation that the attached runner has these tools now. Its objects are added
    /// to `library`.
    pub fn taken_over(&self, library: &mut Library) -> CatalogChanged {
        let RunnerAttached {
            catalog,
            policies,
            rules,
            ..
        } = self.attached("", library);
        CatalogChanged {
            catalog,
            policies,
            rules: rules.max(2),
        }
    }
}

impl History {
    /// Changes the catalog to these tools. The runner stays.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let support = history().opened("support").attached(&toolbox().plain("look"));
    /// let changed = support.tools_changed(&toolbox().plain("pay"));
    /// let paid = changed.program_call("pay", json!({})).started();
    /// assert_eq!(paid.current().name, "pay");
    /// ```
    #[must_use]
    pub fn tools_changed(mut self, tools: &Toolbox) -> History {
        let changed = tools.taken_over(self.library_mut());
        self.observed(changed)
    }

    /// Raises the rules number to that of idempotency keys: the runner renews its attachment.
    #[must_use]
    pub fn keys_allowed(mut self) -> History {
        if self.session().rules >= RULES_OF_KEYS {
            return self;
        }
        let tools = Toolbox::in_force(self.session());
        let agent = self.session().agent.clone().unwrap_or_default();
        let attached = tools.attached(&agent, self.library_mut());
        self.observed(RunnerAttached {
            goes_on: true,
            rules: RULES_OF_KEYS,
            ..attached
        })
    }

    /// Records a call that the embedding program makes itself, with an idempotency key.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let support = history().opened("support").attached(&toolbox().plain("look"));
    /// let called = support.keyed_call("order-7", "look", json!({})).started();
    /// let (session, call) = (called.session().clone(), called.call_seq());
    /// let again = called.keyed_call("order-7", "look", json!({}));
    /// assert_eq!(again.call_seq(), call);
    /// assert_eq!(again.session().calls, session.calls);
    /// ```
    #[must_use]
    pub fn keyed_call(self, key: &str, name: &str, args: Value) -> History {
        self.keys_allowed().observed(FunctionCallReceived {
            key: Some(key.to_owned()),
            ..called_by_program(name, &args)
        })
    }
}
