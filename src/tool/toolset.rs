//! Tools put together with `|`.

use std::ops::BitOr;
use std::sync::Arc;

use crate::session::policy::{Background, ToolPolicy};

use super::{RegisteredTool, ToolFunction};

/// Some tools, each with its policy; put together with `|`.
///
/// Any single tool is a toolset of one:
///
/// ```
/// use recount::tool::{SimpleTool, T, Toolset};
///
/// let one: Toolset = SimpleTool::new("a", "Does a", None, |_| async { Ok(1.into()) }).into();
/// let both = one | T::simple("b", "Does b", |_| async { Ok(2.into()) });
/// assert_eq!(both.tools().len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Vec<RegisteredTool>,
}

impl Toolset {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools, in the order they were added.
    #[must_use]
    pub fn tools(&self) -> &[RegisteredTool] {
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
    pub fn map(self, change: impl FnMut(RegisteredTool) -> RegisteredTool) -> Self {
        Self {
            tools: self.tools.into_iter().map(change).collect(),
        }
    }
}

impl<R: Into<Toolset>> BitOr<R> for Toolset {
    type Output = Self;

    fn bitor(mut self, other: R) -> Self {
        self.tools.extend(other.into().tools);
        self
    }
}

impl<F: ToolFunction> From<F> for Toolset {
    fn from(function: F) -> Self {
        RegisteredTool::new(Arc::new(function)).into()
    }
}

impl From<RegisteredTool> for Toolset {
    fn from(tool: RegisteredTool) -> Self {
        Self { tools: vec![tool] }
    }
}

impl From<Vec<Arc<dyn ToolFunction>>> for Toolset {
    fn from(functions: Vec<Arc<dyn ToolFunction>>) -> Self {
        Self {
            tools: functions.into_iter().map(RegisteredTool::new).collect(),
        }
    }
}

impl IntoIterator for Toolset {
    type Item = RegisteredTool;
    type IntoIter = std::vec::IntoIter<RegisteredTool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.into_iter()
    }
}
