//! The tools of a test: declarations and policies, each in a word.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::deciding::rules::RULES;
use crate::declared::catalog::{AgentDeclaration, Catalog, ToolDeclaration, ToolKind};
use crate::policies::condition::Condition;
use crate::policies::hooks::Hooks;
use crate::policies::on_settled::OnSettled;
use crate::policies::phase::PhaseDeclaration;
use crate::policies::policy::{Background, InDoubt, PolicySet, Retry, ToolPolicy};
use crate::policies::response::ResponseShape;
use crate::record::observation::{Gates, RunnerAttached};
use crate::state::library::Library;
use crate::state::session::Session;
use crate::values::scheduling::FunctionResponseScheduling;

/// No tools yet.
///
/// ```
/// use recount_session::testing::toolbox;
///
/// let tools = toolbox().plain("look_up").gated("pay").timeout_ms("pay", 5_000);
/// assert!(tools.policies().of("pay").confirm);
/// ```
#[must_use]
pub fn toolbox() -> Toolbox {
    Toolbox {
        catalog: Catalog::default(),
        policies: PolicySet::default(),
        gates: Gates::enforced(),
    }
}

/// The tools and policies that a runner brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Toolbox {
    catalog: Catalog,
    policies: PolicySet,
    gates: Gates,
}

impl Toolbox {
    /// The tools and policies that are in force in a session.
    ///
    /// ```
    /// use recount_session::testing::{Toolbox, history, toolbox};
    ///
    /// let tools = toolbox().plain("look");
    /// let attached = history().opened("support").attached(&tools);
    /// assert_eq!(Toolbox::in_force(attached.session()), tools);
    /// ```
    #[must_use]
    pub fn in_force(session: &Session) -> Toolbox {
        Toolbox {
            catalog: session.terms.catalog.as_ref().clone(),
            policies: session.terms.policies.as_ref().clone(),
            gates: session.terms.gates.clone(),
        }
    }

    /// Adds a tool without any policy.
    #[must_use]
    pub fn plain(mut self, name: &str) -> Toolbox {
        self.catalog
            .insert(ToolDeclaration::new(name, format!("Does {name}")));
        self
    }

    /// Adds a tool about whose calls a person is asked.
    #[must_use]
    pub fn gated(self, name: &str) -> Toolbox {
        self.plain(name).policy(name, |policy| {
            policy.confirm = true;
            policy.confirm_message = Some(format!("May it {name}?"));
        })
    }

    /// Lets the program decide a tool's gate, call by call.
    #[must_use]
    pub fn gated_by_program(self, name: &str) -> Toolbox {
        self.policy(name, |policy| {
            policy.confirm = true;
            policy.gate_terms.asks_program = true;
        })
    }

    /// Adds a tool whose result is supplied later.
    #[must_use]
    pub fn long_running(self, name: &str) -> Toolbox {
        self.plain(name).kind(name, ToolKind::LongRunning)
    }

    /// Adds a tool that gives one result after another.
    #[must_use]
    pub fn streaming(self, name: &str) -> Toolbox {
        self.plain(name).kind(name, ToolKind::Streaming)
    }

    /// Adds an agent whose model may call these tools.
    #[must_use]
    pub fn agent<'n>(mut self, name: &str, tools: impl IntoIterator<Item = &'n str>) -> Toolbox {
        let tools = tools.into_iter().map(str::to_owned).collect();
        self = self.plain(name).kind(name, ToolKind::Agent);
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.agent = Some(AgentDeclaration { tools });
        }
        self
    }

    /// The tool is for agents only.
    #[must_use]
    pub fn inner(mut self, name: &str) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.inner = true;
        }
        self
    }

    /// Says of what kind a tool is.
    #[must_use]
    pub fn kind(mut self, name: &str, kind: ToolKind) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.kind = kind;
        }
        self
    }

    /// Gives a tool another schema, which is another contract.
    #[must_use]
    pub fn parameters(mut self, name: &str, schema: Value) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.parameters = Some(schema);
        }
        self
    }

    /// Gives a tool another contract: it demands one field more.
    #[must_use]
    pub fn changed(self, name: &str) -> Toolbox {
        self.parameters(name, json!({"type": "object", "required": ["more"]}))
    }

    /// Says the same of a tool in other words, which leaves its contract alone.
    #[must_use]
    pub fn reworded(mut self, name: &str) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.description.push_str(", as ever");
        }
        self
    }

    /// Takes a tool out of the catalog; its policy stays.
    #[must_use]
    pub fn without(mut self, name: &str) -> Toolbox {
        self.catalog.tools.remove(name);
        self
    }

    /// Lets an unanswered question about a gated tool expire.
    #[must_use]
    pub fn expires_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.confirm = true;
            policy.gate_terms.expires_after = Some(Duration::from_millis(ms));
        })
    }

    /// Limits one run of a tool.
    #[must_use]
    pub fn timeout_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.timeout = Some(Duration::from_millis(ms));
        })
    }

    /// Limits one run of every inline tool that names no limit itself.
    #[must_use]
    pub fn inline_timeout_ms(mut self, ms: u64) -> Toolbox {
        self.policies.timeout = Some(Duration::from_millis(ms));
        self
    }

    /// Declares what becomes of a call that was cut off.
    #[must_use]
    pub fn in_doubt(self, name: &str, rule: InDoubt) -> Toolbox {
        self.policy(name, |policy| policy.in_doubt = rule)
    }

    /// Lets the model withdraw a question about a tool by taking the call back.
    #[must_use]
    pub fn withdraw_on_cancel(self, name: &str) -> Toolbox {
        self.policy(name, |policy| policy.withdraw_on_cancel = true)
    }

    /// Lets a tool run again with the same idempotency key: at most so often, waiting so long
    /// before the second run.
    #[must_use]
    pub fn retried(self, name: &str, attempts_max: u32, backoff_ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.in_doubt = InDoubt::Retry;
            policy.retry = Some(Retry {
                attempts_max,
                backoff_ms,
            });
        })
    }

    /// Lets a call of a tool use the result of an equal one.
    #[must_use]
    pub fn cached(self, name: &str) -> Toolbox {
        self.policy(name, |policy| policy.cache = true)
    }

    /// Lets a call of a tool use the result of an equal one that is not older.
    #[must_use]
    pub fn cached_for_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.cache = true;
            policy.cache_max_age = Some(Duration::from_millis(ms));
        })
    }

    /// Limits how often a tool may be called in the session.
    #[must_use]
    pub fn per_session(self, name: &str, calls: u32) -> Toolbox {
        self.policy(name, |policy| policy.limits.per_session = Some(calls))
    }

    /// Limits how often a tool may be called in a minute.
    #[must_use]
    pub fn per_minute(self, name: &str, calls: u32) -> Toolbox {
        self.policy(name, |policy| policy.limits.per_minute = Some(calls))
    }

    /// Lets the model go on while a tool runs, and take its result up as `scheduling` says.
    #[must_use]
    pub fn background(self, name: &str, scheduling: FunctionResponseScheduling) -> Toolbox {
        self.policy(name, |policy| {
            policy.background = Some(Background { scheduling });
        })
    }

    /// Says what must hold of the state for a tool to be called.
    #[must_use]
    pub fn when(self, name: &str, condition: Condition) -> Toolbox {
        self.policy(name, |policy| policy.when = Some(condition))
    }

    /// Names the phases in which a tool may be called.
    #[must_use]
    pub fn only_in<'p>(self, name: &str, phases: impl IntoIterator<Item = &'p str>) -> Toolbox {
        let phases = phases.into_iter().map(str::to_owned).collect();
        self.policy(name, |policy| policy.phases = Some(phases))
    }

    /// Declares the phases of the conversation; the first is where it begins.
    ///
    /// ```
    /// use recount_session::{PhaseDeclaration, S, Transition};
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let to_inform = Transition { to: "inform".into(), when: S::is_true("verified") };
    /// let tools = toolbox().phases([
    ///     PhaseDeclaration { name: "verify".into(), transitions: vec![to_inform], ..Default::default() },
    ///     PhaseDeclaration { name: "inform".into(), ..Default::default() },
    /// ]);
    /// let begun = history().opened("support").attached(&tools);
    /// assert_eq!(begun.phase(), Some("verify"));
    /// assert_eq!(begun.state("verified", json!(true)).phase(), Some("inform"));
    /// ```
    #[must_use]
    pub fn phases(mut self, phases: impl IntoIterator<Item = PhaseDeclaration>) -> Toolbox {
        self.policies.phases = phases.into_iter().collect();
        self
    }

    /// Shapes what the model is answered.
    #[must_use]
    pub fn response(mut self, shape: ResponseShape) -> Toolbox {
        self.policies.response = shape;
        self
    }

    /// Acknowledges calls that wait for a person.
    #[must_use]
    pub fn acknowledges(mut self) -> Toolbox {
        self.policies.acknowledges = true;
        self
    }

    /// Says what becomes of an outcome while there is no connection.
    #[must_use]
    pub fn on_settled(mut self, choice: OnSettled) -> Toolbox {
        self.policies.on_settled = choice;
        self
    }

    /// Shows calls, responses, or both to the embedding program.
    #[must_use]
    pub fn hooks(mut self, hooks: Hooks) -> Toolbox {
        self.policies.hooks = hooks;
        self
    }

    /// Changes a tool's policy.
    #[must_use]
    pub fn policy(mut self, name: &str, change: impl FnOnce(&mut ToolPolicy)) -> Toolbox {
        change(self.policies.tools.entry(name.to_owned()).or_default());
        self
    }

    /// Limits how many calls run at the same time.
    #[must_use]
    pub fn running_max(mut self, calls: u32) -> Toolbox {
        self.policies.running_max = Some(calls);
        self
    }

    /// Limits how many calls of a session are open at the same time.
    #[must_use]
    pub fn open_calls_max(mut self, calls: u32) -> Toolbox {
        self.policies.open_calls_max = Some(calls);
        self
    }

    /// Lets the gates not hold, and says why.
    #[must_use]
    pub fn gates_waived(mut self, reason: &str) -> Toolbox {
        self.gates = Gates::waived(reason);
        self
    }

    /// The declarations.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The policies.
    #[must_use]
    pub fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// The observation that a runner with these tools attached; its objects go into `library`.
    pub fn attached(&self, agent: &str, library: &mut Library) -> RunnerAttached {
        let (catalog, policies) = (self.catalog.hash(), self.policies.hash());
        library.add_catalog(catalog, Arc::new(self.catalog.clone()));
        library.add_policies(policies, Arc::new(self.policies.clone()));
        RunnerAttached {
            agent: agent.to_owned(),
            catalog,
            policies,
            rules: RULES,
            program: PROGRAM.to_owned(),
            gates: self.gates.clone(),
            goes_on: false,
        }
    }
}

/// The program that a test's records name.
pub(super) const PROGRAM: &str = "test";
