//! Tools put together with `|`.

use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;
use std::time::Duration;

use super::{
    ConfirmationProvider, InputStreamingTool, PolicyTool, StreamingTool, ToolDispatcher,
    ToolFunction,
};
use crate::session::policy::{Background, ToolPolicy};

/// Some tools, each with its policy; put together with `|`.
///
/// Any single tool is a toolset of one, and a whole [`ToolDispatcher`] is one, too:
///
/// ```
/// use recount::tool::{SimpleTool, T, ToolDispatcher, Toolset};
///
/// let one: Toolset = SimpleTool::new("a", "Does a", None, |_| async { Ok(1.into()) }).into();
/// let both = one | T::simple("b", "Does b", |_| async { Ok(2.into()) });
/// assert_eq!(both.tools().len(), 2);
/// let mut dispatcher = ToolDispatcher::new();
/// dispatcher.register(both)?;
/// let all = T::google_search() | dispatcher;
/// assert_eq!(all.tools().len(), 3);
/// # Ok::<(), recount::tool::RegistrationError>(())
/// ```
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<PolicyTool>,
    // What a dispatcher that became a part of this has beside its tools.
    timeout: Option<Duration>,
    providers: Vec<Arc<dyn ConfirmationProvider>>,
}

impl Toolset {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn from_dispatcher(
        tools: Vec<PolicyTool>,
        timeout: Option<Duration>,
        provider: Option<Arc<dyn ConfirmationProvider>>,
    ) -> Self {
        let providers = provider.into_iter().collect();
        Self {
            tools,
            timeout,
            providers,
        }
    }

    /// The tools, in the order they were added.
    #[must_use]
    pub fn tools(&self) -> &[PolicyTool] {
        &self.tools
    }

    /// Runs the tool `name` in the background; otherwise says which tools there are.
    pub(crate) fn in_background(
        &mut self,
        name: &str,
        background: Background,
    ) -> Result<(), String> {
        let policy = ToolPolicy {
            background: Some(background),
            ..ToolPolicy::default()
        };
        let (mut found, mut names) = (false, Vec::new());
        for tool in &mut self.tools {
            let own = tool.declaration().name;
            if own == name {
                found = true;
                *tool = tool.clone().with_policy(policy.clone());
            }
            names.push(own);
        }
        if found { Ok(()) } else { Err(names.join(", ")) }
    }

    /// Changes every tool.
    #[must_use]
    pub fn map(mut self, change: impl FnMut(PolicyTool) -> PolicyTool) -> Self {
        self.tools = self.tools.into_iter().map(change).collect();
        self
    }

    /// The default time limit that came with it.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The different confirmation providers that came with it.
    pub(super) fn providers(&self) -> &[Arc<dyn ConfirmationProvider>] {
        &self.providers
    }
}

impl<R: Into<Toolset>> BitOr<R> for Toolset {
    type Output = Self;

    fn bitor(mut self, other: R) -> Self {
        let other = other.into();
        self.tools.extend(other.tools);
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

impl From<ToolDispatcher> for Toolset {
    /// Keeps the default time limit and the confirmation provider that were set on it.
    fn from(dispatcher: ToolDispatcher) -> Self {
        dispatcher.into_toolset()
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
