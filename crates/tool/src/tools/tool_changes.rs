//! Changes of a session's tools while it lives.

use std::collections::BTreeSet;

use super::mistake::{RegistrationError, ToolMistake};
use super::policy_tool::PolicyTool;
use super::toolset::Toolset;

/// Tools that come and tools that go, as a client or a server reports them.
///
/// A tool that comes replaces the tool of the same name, with its policies. Policy files of the
/// agent apply to it by name. A change applies as a whole or not at all.
///
/// ```
/// use recount_tool::{T, ToolChanges};
///
/// let open = T::simple("open_page", "Opens a page in the client", |args| async { Ok(args) });
/// let changes = ToolChanges::new().with(open).without("close_page");
/// assert_eq!(changes.tools().tools().len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ToolChanges {
    with: Toolset,
    without: BTreeSet<String>,
}

impl ToolChanges {
    /// Creates a change of nothing.
    pub fn new() -> ToolChanges {
        ToolChanges::default()
    }

    /// Adds tools, which replace those of the same names.
    pub fn with(mut self, tools: impl Into<Toolset>) -> ToolChanges {
        self.with = self.with | tools;
        self
    }

    /// Removes a tool. Removing a tool that is not there is a mistake.
    pub fn without(mut self, name: impl Into<String>) -> ToolChanges {
        self.without.insert(name.into());
        self
    }

    /// Returns the tools that come.
    #[must_use]
    pub fn tools(&self) -> &Toolset {
        &self.with
    }

    /// Returns the tools after this change.
    ///
    /// ```
    /// use recount_tool::{T, ToolChanges, Toolset};
    ///
    /// let tool = |name: &str| T::simple(name, "Works", |args| async { Ok(args) });
    /// let tools = tool("look") | tool("pay");
    /// let changed = ToolChanges::new().with(tool("ship")).without("pay").applied_to(tools.clone())?;
    /// let names: Vec<&str> = changed.tools().iter().map(|it| it.name()).collect();
    /// assert_eq!(names, ["look", "ship"]);
    /// let wrong = ToolChanges::new().without("paid").applied_to(tools).unwrap_err();
    /// assert_eq!(
    ///     wrong.to_string(),
    ///     "no tool is named \"paid\", so it cannot be removed; there are look, pay"
    /// );
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    ///
    /// # Errors
    /// If a tool that is to be removed is not there.
    pub fn applied_to(self, tools: Toolset) -> Result<Toolset, RegistrationError> {
        let there: BTreeSet<&str> = tools.tools().iter().map(PolicyTool::name).collect();
        let missing = self
            .without
            .iter()
            .filter(|it| !there.contains(it.as_str()));
        let mistakes: Vec<ToolMistake> = missing
            .map(|tool| ToolMistake::NothingToRemove {
                tool: tool.clone(),
                hint: tools.in_words(),
            })
            .collect();
        if !mistakes.is_empty() {
            return Err(RegistrationError { mistakes });
        }
        let coming = self.with.tools().iter().map(|it| it.name().to_owned());
        let gone: BTreeSet<String> = coming.chain(self.without).collect();
        Ok(tools.except(&gone) | self.with)
    }
}
