//! The tools of a test: short methods for declarations and policies.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::deciding::rules::rules_needed;
use crate::declared::catalog::{AgentDeclaration, Catalog, ToolDeclaration, ToolKind};
use crate::policies::approvers::Approvers;
use crate::policies::condition::Condition;
use crate::policies::hooks::Hooks;
use crate::policies::on_settled::OnSettled;
use crate::policies::phase::PhaseDeclaration;
use crate::policies::policy::OnExpiry;
use crate::policies::policy::{Background, InDoubt, PolicySet, Retry, ToolPolicy};
use crate::policies::response::ResponseShape;
use crate::record::observation::{Gates, RunnerAttached};
use crate::state::library::Library;
use crate::state::session::Session;
use crate::values::scheduling::FunctionResponseScheduling;

/// A toolbox without tools.
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

/// The tools and policies of a runner.
#[derive(Clone, Debug, PartialEq)]
pub struct Toolbox {
    catalog: Catalog,
    policies: PolicySet,
    gates: Gates,
}

impl Toolbox {
    /// The tools and policies in force in a session.
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

    /// Replaces all policies.
    ///
    /// ```
    /// use recount_session::PolicySet;
    /// use recount_session::testing::toolbox;
    ///
    /// let policies = PolicySet { running_max: Some(1), ..PolicySet::default() };
    /// assert_eq!(toolbox().with_policies(policies.clone()).policies(), &policies);
    /// ```
    #[must_use]
    pub fn with_policies(mut self, policies: PolicySet) -> Toolbox {
        self.policies = policies;
        self
    }

    /// Adds a tool without any policy.
    #[must_use]
    pub fn plain(mut self, name: &str) -> Toolbox {
        self.catalog
            .insert(ToolDeclaration::new(name, format!("Does {name}")));
        self
    }

    /// Adds a tool with a gate.
    #[must_use]
    pub fn gated(self, name: &str) -> Toolbox {
        self.plain(name).policy(name, |policy| {
            policy.confirm = true;
            policy.confirm_message = Some(format!("May it {name}?"));
        })
    }

    /// Lets the program decide a tool's gate for each call.
    #[must_use]
    pub fn gated_by_program(self, name: &str) -> Toolbox {
        self.policy(name, |policy| {
            policy.confirm = true;
            policy.gate_terms.asks_program = true;
        })
    }

    /// Lets an approval of a gated tool allow later calls, too.
    #[must_use]
    pub fn may_allow_for_session(self, name: &str) -> Toolbox {
        self.policy(name, |policy| {
            policy.gate_terms.may_allow_for_session = true;
        })
    }

    /// Adds a tool whose result is supplied later.
    #[must_use]
    pub fn long_running(self, name: &str) -> Toolbox {
        self.plain(name).kind(name, ToolKind::LongRunning)
    }

    /// Adds a tool that clients run.
    #[must_use]
    pub fn at_client(self, name: &str) -> Toolbox {
        self.plain(name).kind(name, ToolKind::Client)
    }

    /// Adds a tool that streams results.
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

    /// Reserves the tool for agents.
    #[must_use]
    pub fn inner(mut self, name: &str) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.inner = true;
        }
        self
    }

    /// Sets the kind of a tool.
    #[must_use]
    pub fn kind(mut self, name: &str, kind: ToolKind) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.kind = kind;
        }
        self
    }

    /// Sets another schema of a tool, which changes its contract.
    #[must_use]
    pub fn parameters(mut self, name: &str, schema: Value) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.parameters = Some(schema);
        }
        self
    }

    /// Changes the contract of a tool: its schema requires one more field.
    #[must_use]
    pub fn changed(self, name: &str) -> Toolbox {
        self.parameters(name, json!({"type": "object", "required": ["more"]}))
    }

    /// Changes the description of a tool, which keeps its contract.
    #[must_use]
    pub fn reworded(mut self, name: &str) -> Toolbox {
        if let Some(tool) = self.catalog.tools.get_mut(name) {
            tool.description.push_str(", as ever");
        }
        self
    }

    /// Removes a tool from the catalog. Its policy stays.
    #[must_use]
    pub fn without(mut self, name: &str) -> Toolbox {
        self.catalog.tools.remove(name);
        self
    }

    /// Sets the expiry of a confirmation request about a gated tool.
    #[must_use]
    pub fn expires_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.confirm = true;
            policy.gate_terms.expires_after = Some(Duration::from_millis(ms));
        })
    }

    /// Lets a call of a gated tool run if its confirmation request expires without an answer.
    #[must_use]
    pub fn runs_unanswered(self, name: &str) -> Toolbox {
        self.policy(name, |policy| {
            policy.gate_terms.on_expiry = Some(OnExpiry::Allow);
        })
    }

    /// Sets the time limit of one run of a tool.
    #[must_use]
    pub fn timeout_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.timeout = Some(Duration::from_millis(ms));
        })
    }

    /// Sets the time limit of inline tools that set none.
    #[must_use]
    pub fn inline_timeout_ms(mut self, ms: u64) -> Toolbox {
        self.policies.timeout = Some(Duration::from_millis(ms));
        self
    }

    /// Sets the rule for a call of a tool that was cut off.
    #[must_use]
    pub fn in_doubt(self, name: &str, rule: InDoubt) -> Toolbox {
        self.policy(name, |policy| policy.in_doubt = rule)
    }

    /// Lets a cancellation by the model withdraw a confirmation request about a tool.
    #[must_use]
    pub fn withdraw_on_cancel(self, name: &str) -> Toolbox {
        self.policy(name, |policy| policy.withdraw_on_cancel = true)
    }

    /// Lets a tool be retried with the same idempotency key. `backoff_ms` is the wait before the
    /// second run.
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

    /// Lets a call of a tool reuse the result of an equal one.
    #[must_use]
    pub fn cached(self, name: &str) -> Toolbox {
        self.policy(name, |policy| policy.cache = true)
    }

    /// Lets a call of a tool reuse the result of an equal one up to this age.
    #[must_use]
    pub fn cached_for_ms(self, name: &str, ms: u64) -> Toolbox {
        self.policy(name, |policy| {
            policy.cache = true;
            policy.cache_max_age = Some(Duration::from_millis(ms));
        })
    }

    /// Limits the calls of a tool in the session.
    #[must_use]
    pub fn per_session(self, name: &str, calls: u32) -> Toolbox {
        self.policy(name, |policy| policy.limits.per_session = Some(calls))
    }

    /// Limits the calls of a tool in a minute.
    #[must_use]
    pub fn per_minute(self, name: &str, calls: u32) -> Toolbox {
        self.policy(name, |policy| policy.limits.per_minute = Some(calls))
    }

    /// Lets the model continue while a tool runs, and use its result at the time `scheduling`.
    #[must_use]
    pub fn background(self, name: &str, scheduling: FunctionResponseScheduling) -> Toolbox {
        self.policy(name, |policy| {
            policy.background = Some(Background { scheduling });
        })
    }

    /// Sets the condition on the state under which a tool may be called.
    #[must_use]
    pub fn when(self, name: &str, condition: Condition) -> Toolbox {
        self.policy(name, |policy| policy.when = Some(condition))
    }

    /// Sets the phases in which a tool may be called.
    #[must_use]
    pub fn only_in<'p>(self, name: &str, phases: impl IntoIterator<Item = &'p str>) -> Toolbox {
        let phases = phases.into_iter().map(str::to_owned).collect();
        self.policy(name, |policy| policy.phases = Some(phases))
    }

    /// Sets the phases of the conversation, starting with the first.
    ///
    /// ```
    /// use recount_session::{PhaseDeclaration, S, Transition};
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let to_inform = Transition { to: "inform".into(), when: S::is_true("verified") };
    /// let tools = toolbox().phases([
    ///     PhaseDeclaration {
    ///         name: "verify".into(),
    ///         transitions: vec![to_inform],
    ///         ..Default::default()
    ///     },
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

    /// Sets the shape of responses.
    #[must_use]
    pub fn response(mut self, shape: ResponseShape) -> Toolbox {
        self.policies.response = shape;
        self
    }

    /// Acknowledges calls that wait for approval.
    #[must_use]
    pub fn acknowledges(mut self) -> Toolbox {
        self.policies.acknowledges = true;
        self
    }

    /// Acknowledges calls that wait for approval, and not before they have waited for this time.
    #[must_use]
    pub fn acknowledges_after_ms(mut self, ms: u64) -> Toolbox {
        self.policies.acknowledge_after = Some(Duration::from_millis(ms));
        self.acknowledges()
    }

    /// Sets the delivery of outcomes while there is no connection.
    #[must_use]
    pub fn on_settled(mut self, choice: OnSettled) -> Toolbox {
        self.policies.on_settled = choice;
        self
    }

    /// Enables hooks for calls, responses, or both.
    #[must_use]
    pub fn hooks(mut self, hooks: Hooks) -> Toolbox {
        self.policies.hooks = hooks;
        self
    }

    /// Lets only these people answer the requests about a gated tool.
    #[must_use]
    pub fn approvers(self, name: &str, approvers: Approvers) -> Toolbox {
        self.policy(name, |policy| {
            policy.gate_terms.approvers.insert(approvers);
        })
    }

    /// Bars the requester of a call from approving it.
    #[must_use]
    pub fn not_requester(self, name: &str) -> Toolbox {
        self.policy(name, |policy| policy.gate_terms.not_requester = true)
    }

    /// Requires approvals by this number of persons for a gated tool. 0 sets none.
    #[must_use]
    pub fn quorum(self, name: &str, persons: u32) -> Toolbox {
        self.policy(name, |policy| {
            policy.gate_terms.quorum = Some(persons).filter(|it| *it > 0);
        })
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

    /// Limits how many confirmation requests of a session are open at the same time.
    #[must_use]
    pub fn max_open_requests(mut self, requests: u32) -> Toolbox {
        self.policies.max_open_requests = Some(requests);
        self
    }

    /// Limits how many approvals one person may give in a minute.
    #[must_use]
    pub fn answers_per_minute(mut self, answers: u32) -> Toolbox {
        self.policies.answers_per_minute = Some(answers);
        self
    }

    /// Disables the gates, with a reason.
    #[must_use]
    pub fn gates_waived(mut self, reason: &str) -> Toolbox {
        self.gates = Gates::waived(reason);
        self
    }

    /// Returns the declarations.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the policies.
    #[must_use]
    pub fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// Returns the observation that a runner with these tools attached. Its objects are added to
    /// `library`.
    pub fn attached(&self, agent: &str, library: &mut Library) -> RunnerAttached {
        let (catalog, policies) = (self.catalog.hash(), self.policies.hash());
        library.add_catalog(catalog, Arc::new(self.catalog.clone()));
        library.add_policies(policies, Arc::new(self.policies.clone()));
        RunnerAttached {
            agent: agent.to_owned(),
            catalog,
            policies,
            rules: rules_needed(&self.catalog, &self.policies),
            program: PROGRAM.to_owned(),
            gates: self.gates.clone(),
            goes_on: false,
        }
    }
}

/// The program name in the records of tests.
pub(super) const PROGRAM: &str = "test";
