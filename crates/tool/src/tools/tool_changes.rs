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
    redefined: Toolset,
    without: BTreeSet<String>,
    without_if_present: BTreeSet<String>,
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

    /// Removes a tool, if it is there.
    pub fn without_if_present(mut self, name: impl Into<String>) -> ToolChanges {
        self.without_if_present.insert(name.into());
        self
    }

    /// Adds tools that their server defines. In place of a tool of the same name, one takes over
    /// the policies that the program gave that tool.
    ///
    /// ```
    /// use recount_tool::{T, ToolChanges, Toolset};
    ///
    /// let tool = |what: &str| T::simple("pay", what, |args| async { Ok(args) });
    /// let gated: Toolset = T::confirm(tool("Pays"), "Pay?");
    /// let changes = ToolChanges::new().redefining(tool("Pays a bill"));
    /// let changed = changes.applied_to(gated)?;
    /// assert!(changed.tools()[0].requires_confirmation());
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    pub fn redefining(mut self, tools: impl Into<Toolset>) -> ToolChanges {
        self.redefined = self.redefined | tools;
        self
    }

    /// Returns the tools that come with their policies.
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
    /// let changes = ToolChanges::new().with(tool("ship")).without("pay");
    /// let changed = changes.applied_to(tools.clone())?;
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
        let redefined = self.redefined.map_all(|tool| {
            let former = tools.tools().iter().find(|it| it.name() == tool.name());
            former.map_or(tool.clone(), |former| former.clone().redefined_by(tool))
        });
        let coming = self.with.tools().iter().chain(redefined.tools());
        let coming = coming.map(|it| it.name().to_owned());
        let gone = coming.chain(self.without).chain(self.without_if_present);
        let gone: BTreeSet<String> = gone.collect();
        Ok(tools.except(&gone) | redefined | self.with)
    }
}

impl PolicyTool {
    /// Returns the tool as another one defines it, with the policies of this one.
    fn redefined_by(self, other: PolicyTool) -> Self {
        let (body, definition) = (other.body, other.definition);
        Self {
            body,
            definition,
            ..self
        }
    }
}
