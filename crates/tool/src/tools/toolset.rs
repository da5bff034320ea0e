//! Sets of tools, combined with `|`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;
use std::time::Duration;

use recount_session::PolicyChanges;
use recount_session::policy::{Background, ToolPolicy};

use super::mistake::{RegistrationError, ToolMistake};
use super::policy_tool::PolicyTool;
use crate::approval::confirmation::ConfirmationProvider;
use crate::kinds::function::ToolFunction;
use crate::kinds::input_streaming_tool::InputStreamingTool;
use crate::kinds::streaming_tool::StreamingTool;
use crate::run::result_formatter::{ResultFormatter, ToolExecutionMode};

/// Tools with their policies, combined with `|`.
///
/// A single tool converts to a set of one, and so does a whole
/// [`ToolDispatcher`](crate::ToolDispatcher):
///
/// ```
/// use recount_tool::{SimpleTool, T, ToolDispatcher, Toolset};
///
/// let one: Toolset = SimpleTool::new("a", "Does a", None, |_| async { Ok(1.into()) }).into();
/// let both = one | T::simple("b", "Does b", |_| async { Ok(2.into()) });
/// assert_eq!(both.tools().len(), 2);
/// let mut dispatcher = ToolDispatcher::new();
/// dispatcher.register(both)?;
/// let all = T::google_search() | dispatcher;
/// assert_eq!(all.tools().len(), 3);
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<PolicyTool>,
    // The settings of dispatchers that were added, apart from their tools.
    timeout: Option<Duration>,
    providers: Vec<Arc<dyn ConfirmationProvider>>,
    strict: bool,
}

impl Toolset {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn from_dispatcher(
        tools: Vec<PolicyTool>,
        timeout: Option<Duration>,
        provider: Option<Arc<dyn ConfirmationProvider>>,
        strict: bool,
    ) -> Self {
        let providers = provider.into_iter().collect();
        Self {
            tools,
            timeout,
            providers,
            strict,
        }
    }

    /// Returns the tools in the order of addition.
    #[must_use]
    pub fn tools(&self) -> &[PolicyTool] {
        &self.tools
    }

    /// Sets the execution modes of tools by name; the last mode for a name counts. Returns the
    /// formatters of background tools, and the names without a tool.
    #[doc(hidden)]
    pub fn execute(
        &mut self,
        modes: Vec<(String, ToolExecutionMode)>,
    ) -> (BTreeMap<String, Arc<dyn ResultFormatter>>, Vec<String>) {
        let (mut formatters, mut unknown) = (BTreeMap::new(), Vec::new());
        let modes: BTreeMap<String, ToolExecutionMode> = modes.into_iter().collect();
        for (name, mode) in modes {
            let mut named = self.tools.iter_mut().filter(|it| it.name() == name);
            let Some(tool) = named.next() else {
                unknown.push(name);
                continue;
            };
            let ToolExecutionMode::Background {
                formatter,
                scheduling,
            } = mode
            else {
                continue;
            };
            let scheduling = scheduling.unwrap_or_default();
            let acknowledgement = formatter.as_ref().map(|it| it.format_awaiting(&name));
            *tool = tool.clone().with_policy(ToolPolicy {
                background: Some(Background { scheduling }),
                acknowledgement,
                ..ToolPolicy::default()
            });
            formatters.extend(formatter.map(|it| (name, it)));
        }
        (formatters, unknown)
    }

    /// Lists the tools in words.
    #[doc(hidden)]
    pub fn in_words(&self) -> String {
        let names: BTreeSet<&str> = self.tools.iter().map(PolicyTool::name).collect();
        if names.is_empty() {
            return "there are no tools".to_owned();
        }
        let names: Vec<&str> = names.into_iter().collect();
        format!("there are {}", names.join(", "))
    }

    /// Changes every tool, except those that came with an agent: their policies were set when the
    /// agent was defined.
    ///
    /// ```
    /// use recount_tool::{LlmAgent, ScriptedLlm, T};
    /// let look = T::simple("look", "Looks", |args| async { Ok(args) });
    /// let clerk = T::agent(
    ///     "clerk",
    ///     "Serves",
    ///     LlmAgent::new("clerk", ScriptedLlm::new([])).tools(look),
    /// );
    /// let gated = T::confirm(clerk, "Ask the clerk?");
    /// let asks: Vec<bool> = gated
    ///     .tools()
    ///     .iter()
    ///     .map(|tool| tool.requires_confirmation())
    ///     .collect();
    /// assert_eq!(asks, [true, false]);
    /// ```
    #[must_use]
    pub fn map(self, mut change: impl FnMut(PolicyTool) -> PolicyTool) -> Self {
        self.map_all(|tool| {
            if tool.came_with_agent {
                tool
            } else {
                change(tool)
            }
        })
    }

    pub(crate) fn map_all(mut self, change: impl FnMut(PolicyTool) -> PolicyTool) -> Self {
        self.tools = self.tools.into_iter().map(change).collect();
        self
    }

    /// Replaces policies of the tools, and the default time limit, by those in a file of policies.
    /// Registration checks the result.
    ///
    /// ```
    /// use recount_tool::{T, ToolDispatcher, policy_file};
    /// use std::time::Duration;
    ///
    /// let search = || T::confirm(T::simple("search", "Searches", |_| async { Ok(1.into()) }), "Search?");
    /// let file =
    ///     policy_file::parse(r#"{"tools": {"search": {"confirm": false, "timeout": "5s"}}}"#)?;
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(recount_tool::Toolset::from(search()).with_policies(&file)?)?;
    /// let policy = tools.policies().of("search").clone();
    /// assert_eq!((policy.confirm, policy.timeout), (false, Some(Duration::from_secs(5))));
    ///
    /// let other = policy_file::parse(r#"{"tools": {"serch": {"confirm": true}}}"#)?;
    /// let wrong = recount_tool::Toolset::from(search()).with_policies(&other).unwrap_err();
    /// assert_eq!(
    ///     wrong.to_string(),
    ///     "the policies speak of the tool \"serch\", which is not there; did you mean \"search\"?"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file names tools that are not in this set.
    pub fn with_policies(mut self, changes: &PolicyChanges) -> Result<Self, RegistrationError> {
        let names: BTreeSet<&str> = self.tools.iter().map(PolicyTool::name).collect();
        let mut mistakes = Vec::new();
        for name in changes
            .tools
            .keys()
            .filter(|it| !names.contains(it.as_str()))
        {
            let near = names.iter().filter_map(|it| {
                let distance = strsim::damerau_levenshtein(name, it);
                (distance <= it.len().div_ceil(3)).then_some((distance, *it))
            });
            let hint = match near.min() {
                Some((_, near)) => format!("did you mean {near:?}?"),
                None => self.in_words(),
            };
            let tool = name.clone();
            mistakes.push(ToolMistake::UnknownTool { tool, hint });
        }
        if !mistakes.is_empty() {
            return Err(RegistrationError { mistakes });
        }
        if let Some(timeout) = changes.timeout {
            self.timeout = timeout;
        }
        Ok(self.map_all(|tool| tool.changed_by(changes)))
    }

    /// Returns the set without the tools of these names.
    pub(crate) fn except(mut self, names: &BTreeSet<String>) -> Self {
        self.tools.retain(|it| !names.contains(it.name()));
        self
    }

    /// Returns the same tools without confirmation providers.
    #[doc(hidden)]
    pub fn without_providers(mut self) -> Self {
        self.providers.clear();
        self
    }

    /// Returns the default time limit of added dispatchers.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// True if an added dispatcher always enforces its gates.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the different confirmation providers of added dispatchers.
    pub(crate) fn providers(&self) -> &[Arc<dyn ConfirmationProvider>] {
        &self.providers
    }
}

impl<R: Into<Toolset>> BitOr<R> for Toolset {
    type Output = Self;

    fn bitor(mut self, other: R) -> Self {
        let other = other.into();
        self.tools.extend(other.tools);
        self.strict |= other.strict;
        self.timeout = match (self.timeout, other.timeout) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        for provider in other.providers {
            if !self.providers.iter().any(|it| Arc::ptr_eq(it, &provider)) {
                self.providers.push(provider);
            }
        }
        self
    }
}

impl<R: Into<Toolset>> BitOr<R> for PolicyTool {
    type Output = Toolset;

    fn bitor(self, other: R) -> Toolset {
        Toolset::from(self) | other
    }
}

impl<F: ToolFunction> From<F> for Toolset {
    fn from(tool: F) -> Self {
        let tool: Arc<dyn ToolFunction> = Arc::new(tool);
        PolicyTool::from(tool).into()
    }
}

impl From<PolicyTool> for Toolset {
    fn from(tool: PolicyTool) -> Self {
        Self {
            tools: vec![tool],
            ..Self::default()
        }
    }
}

impl From<Arc<dyn StreamingTool>> for Toolset {
    fn from(tool: Arc<dyn StreamingTool>) -> Self {
        PolicyTool::streaming(tool).into()
    }
}

impl From<Arc<dyn InputStreamingTool>> for Toolset {
    fn from(tool: Arc<dyn InputStreamingTool>) -> Self {
        PolicyTool::input_streaming(tool).into()
    }
}

impl From<Vec<Arc<dyn ToolFunction>>> for Toolset {
    fn from(tools: Vec<Arc<dyn ToolFunction>>) -> Self {
        Self {
            tools: tools.into_iter().map(PolicyTool::from).collect(),
            ..Self::default()
        }
    }
}

impl IntoIterator for Toolset {
    type Item = PolicyTool;
    type IntoIter = std::vec::IntoIter<PolicyTool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.into_iter()
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.tools).finish()
    }
}
