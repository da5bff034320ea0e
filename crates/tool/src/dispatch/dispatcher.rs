//! The registry of an agent's tools, which are checked once at registration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use recount_session::Json;
use recount_session::catalog::{Catalog, ToolDeclaration, ToolKind};
use recount_session::policy::{PolicySet, ToolPolicy};
use serde_json::Value;

use super::gate_choice::GateChoice;
use super::pipeline::Pipeline;
use super::registration::{duplicate, mistakes_of};
use crate::approval::confirmation::ConfirmationProvider;
use crate::kinds::function::ToolFunction;
use crate::kinds::input_streaming_tool::InputStreamingTool;
use crate::kinds::streaming_tool::StreamingTool;
use crate::run::services::Services;
use crate::schema::arguments::{ArgumentCheck, check_schema};
use crate::tools::mistake::{RegistrationError, ToolMistake};
use crate::tools::policy_tool::PolicyTool;
use crate::tools::toolset::Toolset;
use crate::typed::digits::{bounds, exact_value};

/// The tools of an agent by name.
///
/// ```
/// use recount_tool::{T, ToolDispatcher};
/// use serde_json::json;
///
/// let mut tools = ToolDispatcher::new();
/// tools.register(T::simple_with(
///     "end",
///     "Ends the conversation",
///     json!({"type": "object", "properties": {"confirmed": {"type": "boolean"}}}),
///     |_args| async { Ok(json!({})) },
/// ))?;
/// assert_eq!(tools.check_arguments("end", &json!({"confirmed": true})), Ok(()));
/// assert_eq!(
///     tools.check_arguments("end", &json!({"confirmed": "false"})),
///     Err("/confirmed: expected boolean, found string \"false\"".to_owned()),
/// );
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolDispatcher {
    entries: BTreeMap<String, Entry>,
    /// The default time limit, if set.
    timeout: Option<Duration>,
    pub(crate) provider: Option<Arc<dyn ConfirmationProvider>>,
    pub(crate) gates: GateChoice,
    /// The services for the tools of calls that the dispatcher runs itself.
    pub(crate) services: Services,
    /// The current declarations and policies, computed at the first call after a change.
    pub(crate) terms: OnceLock<OwnTerms>,
    pub(crate) pipeline: Pipeline,
}

/// The declarations and policies of a dispatcher's own session.
#[derive(Clone)]
pub(crate) struct OwnTerms {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policies: Arc<PolicySet>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<PolicyTool>,
    // Requested once, so that the checked declaration is the declared one.
    declaration: ToolDeclaration,
    arguments: ArgumentCheck,
}

impl ToolDispatcher {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time limit of calls whose tool has none of its own, 30 seconds by default.
    ///
    /// It applies to calls that the model waits for. Background, streaming and long-running calls
    /// have only their own limit.
    ///
    /// ```
    /// use recount_tool::ToolDispatcher;
    /// use std::time::Duration;
    ///
    /// assert_eq!(ToolDispatcher::new().policies().timeout, Some(Duration::from_secs(30)));
    /// let tools = ToolDispatcher::new().with_timeout(Duration::from_secs(10));
    /// assert_eq!(tools.policies().timeout, Some(Duration::from_secs(10)));
    /// ```
    #[must_use]
    pub fn with_timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self.terms = OnceLock::new();
        self
    }

    /// Sets the provider that answers confirmation requests; an agent's own provider takes
    /// precedence.
    ///
    /// ```
    /// use recount_tool::{ConfirmationRequest, ToolConfirmation, ToolDispatcher};
    /// use std::sync::Arc;
    ///
    /// let provider = |request: ConfirmationRequest| async move {
    ///     if request.tool_name == "refund" {
    ///         ToolConfirmation::denied("not today")
    ///     } else {
    ///         ToolConfirmation::confirmed()
    ///     }
    /// };
    /// let tools = ToolDispatcher::new().with_confirmation_provider(Arc::new(provider));
    /// assert!(tools.has_confirmation_provider());
    /// ```
    #[must_use]
    pub fn with_confirmation_provider(mut self, provider: Arc<dyn ConfirmationProvider>) -> Self {
        self.set_confirmation_provider(provider);
        self
    }

    /// Sets the provider like [`with_confirmation_provider`](Self::with_confirmation_provider).
    pub fn set_confirmation_provider(&mut self, provider: Arc<dyn ConfirmationProvider>) {
        self.provider = Some(provider);
        self.terms = OnceLock::new();
    }

    /// Adds a service, such as a client, a pool or settings, for tools that this dispatcher runs
    /// itself.
    ///
    /// Tools get it by its type from their [`ToolContext`](crate::ToolContext). In an engine, the
    /// agent's own `Agent::service` applies instead.
    ///
    /// ```
    /// use recount_tool::ToolDispatcher;
    ///
    /// struct Bank;
    /// let tools = ToolDispatcher::new().with_service(Bank);
    /// # let _ = tools;
    /// ```
    #[must_use]
    pub fn with_service<S: std::any::Any + Send + Sync>(mut self, service: S) -> Self {
        self.services = self.services.with(service);
        self
    }

    /// True if a provider in this process answers confirmation requests.
    #[must_use]
    pub fn has_confirmation_provider(&self) -> bool {
        self.provider.is_some()
    }

    #[doc(hidden)]
    pub fn confirmation_provider(&self) -> Option<&Arc<dyn ConfirmationProvider>> {
        self.provider.as_ref()
    }

    /// Adds tools: all of them or none.
    ///
    /// From another dispatcher, the shorter of the two time limits applies. Its confirmation
    /// provider and its strictness apply unless this dispatcher has its own.
    ///
    /// # Errors
    /// A name is taken or invalid, or a schema or a policy is invalid or meaningless for its tool.
    /// All mistakes are reported at once.
    pub fn register(&mut self, tools: impl Into<Toolset>) -> Result<(), RegistrationError> {
        self.add(tools.into(), false)
    }

    /// Adds tools like [`register`](Self::register), but a tool whose name is taken replaces the
    /// existing tool.
    ///
    /// ```
    /// use recount_tool::{T, ToolDispatcher};
    ///
    /// let search = || T::simple("search", "Searches", |_| async { Ok(1.into()) });
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(search())?;
    /// assert!(tools.register(search()).is_err());
    /// tools.register_or_replace(search())?;
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`register`](Self::register); two of the given tools may not share a name
    /// either.
    pub fn register_or_replace(
        &mut self,
        tools: impl Into<Toolset>,
    ) -> Result<(), RegistrationError> {
        self.add(tools.into(), true)
    }

    /// Adds one tool of your own type.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register).
    pub fn register_function(
        &mut self,
        function: Arc<dyn ToolFunction>,
    ) -> Result<(), RegistrationError> {
        self.register(function)
    }

    /// Adds one streaming tool.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register).
    pub fn register_streaming(
        &mut self,
        tool: Arc<dyn StreamingTool>,
    ) -> Result<(), RegistrationError> {
        self.register(tool)
    }

    /// Adds one tool that receives the user's input while it runs.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register).
    pub fn register_input_streaming(
        &mut self,
        tool: Arc<dyn InputStreamingTool>,
    ) -> Result<(), RegistrationError> {
        self.register(tool)
    }

    fn add(&mut self, tools: Toolset, replaces: bool) -> Result<(), RegistrationError> {
        let mut mistakes = Vec::new();
        let mut added: BTreeMap<String, Entry> = BTreeMap::new();
        let timeout = match (self.timeout, tools.timeout()) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        if timeout == Some(Duration::ZERO) {
            mistakes.push(ToolMistake::ZeroDefaultTimeout);
        }
        let (provider, more) = (tools.providers().first().cloned(), tools.providers().get(1));
        if more.is_some() {
            mistakes.push(ToolMistake::TwoProviders);
        }
        let strict = tools.is_strict();
        for tool in tools {
            mistakes.append(&mut mistakes_of(&tool));
            let declaration = tool.declaration();
            let name = declaration.name.clone();
            let taken = self.entries.get(&name).filter(|_| !replaces);
            if let Some(other) = taken.or_else(|| added.get(&name)) {
                // Two identical declarations of a server-side tool are one tool.
                if tool.kind() == ToolKind::ServerSide && declaration == other.declaration {
                    continue;
                }
                mistakes.push(duplicate(&declaration, &other.declaration));
            }
            let payload = tool.policy().gate_terms.payload.as_ref();
            if let Some(Err(reason)) = payload.map(check_schema) {
                mistakes.push(ToolMistake::PayloadSchema {
                    tool: name.clone(),
                    reason,
                });
            }
            match ArgumentCheck::new(declaration.parameters.as_ref()) {
                Ok(arguments) => drop(added.insert(
                    name,
                    Entry {
                        tool: Arc::new(tool),
                        declaration,
                        arguments,
                    },
                )),
                Err(reason) => mistakes.push(ToolMistake::Schema { tool: name, reason }),
            }
        }
        if !mistakes.is_empty() {
            return Err(RegistrationError { mistakes });
        }
        self.entries.append(&mut added);
        self.timeout = timeout;
        self.provider = self.provider.take().or(provider);
        self.gates = self.gates.beside(strict);
        self.terms = OnceLock::new();
        Ok(())
    }

    pub(crate) fn terms(&self) -> &OwnTerms {
        self.terms.get_or_init(|| OwnTerms {
            catalog: Arc::new(self.catalog()),
            policies: Arc::new(self.policies().as_stored()),
        })
    }

    pub(crate) fn into_toolset(self) -> Toolset {
        let strict = self.is_strict();
        let tools = self.entries.into_values();
        let tools = tools
            .map(|entry| Arc::unwrap_or_clone(entry.tool))
            .collect();
        Toolset::from_dispatcher(tools, self.timeout, self.provider, strict)
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&PolicyTool> {
        self.entries.get(name).map(|entry| &*entry.tool)
    }

    /// Returns a shared reference to the tool with this name, for a run that outlives the borrow.
    #[doc(hidden)]
    pub fn shared(&self, name: &str) -> Option<Arc<PolicyTool>> {
        self.entries.get(name).map(|entry| Arc::clone(&entry.tool))
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the tools of a category, sorted by name.
    ///
    /// ```
    /// use recount_tool::{T, ToolDispatcher};
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(
    ///     T::category(T::simple("end", "Ends the session", |_| async { Ok(1.into()) }), "action")
    ///         | T::simple("look", "Looks", |_| async { Ok(1.into()) }),
    /// )?;
    /// assert_eq!(
    ///     tools
    ///         .by_category("action")
    ///         .map(|tool| tool.name())
    ///         .collect::<Vec<_>>(),
    ///     ["end"]
    /// );
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    pub fn by_category(&self, category: &str) -> impl Iterator<Item = &PolicyTool> {
        let listed = move |entry: &&Entry| entry.declaration.category.as_deref() == Some(category);
        self.entries
            .values()
            .filter(listed)
            .map(|entry| &*entry.tool)
    }

    /// Returns the declarations for the model, sorted by name.
    #[must_use]
    pub fn declarations(&self) -> Vec<ToolDeclaration> {
        let declared = self.entries.values().map(|entry| entry.declaration.clone());
        declared.collect()
    }

    /// Returns the declarations for the model as they are recorded.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        let declared = self
            .entries
            .iter()
            .map(|(name, entry)| (name.clone(), entry.declaration.clone()));
        Catalog {
            tools: declared.collect(),
        }
    }

    /// Returns the default policy and the policies of single tools. Tools without a policy of their
    /// own are omitted.
    #[must_use]
    pub fn policies(&self) -> PolicySet {
        let policies = self
            .entries
            .iter()
            .map(|(name, entry)| (name, entry.tool.policy()));
        let particular = policies.filter(|(_, policy)| **policy != ToolPolicy::default());
        PolicySet {
            tools: particular
                .map(|(name, policy)| (name.clone(), policy.clone()))
                .collect(),
            timeout: Some(self.timeout.unwrap_or(TIMEOUT)),
            ..PolicySet::default()
        }
    }

    /// Checks the arguments of a call against the tool's schema. Without a schema any JSON object
    /// is valid.
    ///
    /// # Errors
    /// A text that a model can act on: the place, the expected and the found value.
    pub fn check_arguments(&self, name: &str, args: &Value) -> Result<(), String> {
        let entry = self.named(name)?;
        entry.arguments.check(args, &entry.declaration.secret)
    }

    /// Checks arguments in their received text, some of them `sealed`, and returns them parsed.
    ///
    /// A tool that takes a parsed value gets one that is equal to the text, or the call is
    /// rejected. A tool that reads the text itself may also get a value whose numbers lack digits.
    #[doc(hidden)]
    pub fn check_text(&self, name: &str, args: &Json, sealed: &[String]) -> Result<Value, String> {
        let entry = self.named(name)?;
        let secret = [entry.declaration.secret.as_slice(), sealed].concat();
        let inexact = match exact_value(args, &secret) {
            Ok(value) => {
                entry.arguments.check(&value, &secret)?;
                return Ok(value);
            }
            Err(problem) => problem,
        };
        if !entry.tool.reads_text() {
            return Err(inexact);
        }
        if entry.declaration.parameters.is_some() {
            // The checker cannot hold the number itself, only the floats next to it.
            for bound in &bounds(args).ok_or(inexact)? {
                entry.arguments.check(bound, &secret)?;
            }
        }
        Ok(args.to_value())
    }

    fn named(&self, name: &str) -> Result<&Entry, String> {
        let entry = self.entries.get(name);
        entry.ok_or_else(|| format!("no tool is named {name:?}"))
    }

    /// Returns the parameter schema of a tool.
    pub(crate) fn parameters(&self, name: &str) -> Option<&Value> {
        self.entries.get(name)?.declaration.parameters.as_ref()
    }

    /// Returns the JSON Pointers of a tool's secret arguments.
    #[doc(hidden)]
    pub fn secret_arguments(&self, name: &str) -> &[String] {
        let entry = self.entries.get(name);
        entry.map_or(&[], |entry| &entry.declaration.secret)
    }

    /// Returns the names of the tools with secret arguments.
    #[doc(hidden)]
    pub fn names_with_secrets(&self) -> impl Iterator<Item = &str> {
        let secret = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.declaration.secret.is_empty());
        secret.map(|(name, _)| name.as_str())
    }
}

impl From<ToolDispatcher> for Toolset {
    /// Keeps the dispatcher's default time limit and confirmation provider.
    fn from(dispatcher: ToolDispatcher) -> Self {
        dispatcher.into_toolset()
    }
}

impl fmt::Debug for ToolDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.entries.values().map(|entry| &entry.tool))
            .finish()
    }
}

/// The default time limit of a call that the model waits for.
const TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "dispatcher_tests.rs"]
mod tests;
