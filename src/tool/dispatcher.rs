//! The registry: which tools an agent has, checked once when they are registered.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::arguments::ArgumentCheck;
use super::{RegisteredTool, ToolFunction, Toolset};
use crate::session::catalog::{Catalog, ToolDeclaration};
use crate::session::policy::{PolicySet, ToolPolicy};

/// The tools of an agent by name.
///
/// ```
/// use recount::tool::{T, ToolDispatcher};
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
/// # Ok::<(), recount::tool::RegistrationError>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolDispatcher {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone)]
struct Entry {
    tool: RegisteredTool,
    // Asked for once, so that what is checked is what was declared.
    declaration: ToolDeclaration,
    arguments: ArgumentCheck,
}

impl ToolDispatcher {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools: all of them, or none.
    ///
    /// # Errors
    /// A name is taken or not a name, a schema or a policy is invalid; all mistakes are reported at once.
    pub fn register(&mut self, tools: impl Into<Toolset>) -> Result<(), RegistrationError> {
        let mut mistakes = Vec::new();
        let mut added: BTreeMap<String, Entry> = BTreeMap::new();
        for tool in tools.into() {
            let declaration = tool.declaration();
            let name = declaration.name.clone();
            if !is_name(&name) {
                mistakes.push(ToolMistake::Name { tool: name.clone() });
            }
            let mut secret = declaration.secret.iter();
            if let Some(path) = secret.find(|path| !path.starts_with('/')) {
                let (tool, path) = (name.clone(), path.clone());
                mistakes.push(ToolMistake::SecretPath { tool, path });
            }
            if tool.policy().timeout == Some(Duration::ZERO) {
                mistakes.push(ToolMistake::ZeroTimeout { tool: name.clone() });
            }
            if self.entries.contains_key(&name) || added.contains_key(&name) {
                mistakes.push(ToolMistake::Duplicate { tool: name.clone() });
            }
            match ArgumentCheck::new(declaration.parameters.as_ref()) {
                Ok(arguments) => drop(added.insert(
                    name,
                    Entry {
                        tool,
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
        Ok(())
    }

    /// Adds one tool of a type of yours.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_function(
        &mut self,
        function: std::sync::Arc<dyn ToolFunction>,
    ) -> Result<(), RegistrationError> {
        self.register(function)
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.entries.get(name).map(|entry| &entry.tool)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the model is told about each tool.
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

    /// What holds for each tool; those for which nothing particular holds are left out.
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
            ..PolicySet::default()
        }
    }

    /// Checks the arguments of a call against the tool's schema; without a schema any JSON object is good.
    ///
    /// # Errors
    /// A text that a model can act on: where, what was expected, what was found.
    pub fn check_arguments(&self, name: &str, args: &Value) -> Result<(), String> {
        self.check_opened(name, args, &[])
    }

    /// As [`check_arguments`](Self::check_arguments), of arguments of which some were sealed on record.
    pub(crate) fn check_opened(
        &self,
        name: &str,
        args: &Value,
        sealed: &[String],
    ) -> Result<(), String> {
        match self.entries.get(name) {
            Some(entry) => {
                let secret = [entry.declaration.secret.as_slice(), sealed].concat();
                entry.arguments.check(args, &secret)
            }
            None => Err(format!("no tool is named {name:?}")),
        }
    }

    /// The JSON Pointers of the arguments of a tool that are secret.
    pub(crate) fn secret_arguments(&self, name: &str) -> &[String] {
        let entry = self.entries.get(name);
        entry.map_or(&[], |entry| &entry.declaration.secret)
    }

    /// The tools that have secret arguments.
    pub(crate) fn names_with_secrets(&self) -> impl Iterator<Item = &str> {
        let secret = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.declaration.secret.is_empty());
        secret.map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for ToolDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.entries.values().map(|entry| &entry.tool))
            .finish()
    }
}

/// Tools were not registered; says everything that is wrong with them.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", listed(.mistakes))]
#[non_exhaustive]
pub struct RegistrationError {
    /// The mistakes, in the order of the tools.
    pub mistakes: Vec<ToolMistake>,
}

/// What is wrong with one tool.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolMistake {
    /// The name is taken.
    #[error("tool {tool:?} is registered twice")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// The model could not call it by this name.
    #[error("tool {tool:?}: expected a name of 1 to {NAME_MAX} letters, digits and `_ : . -`")]
    Name {
        /// The name.
        tool: String,
    },
    /// The parameter schema is not one.
    #[error("tool {tool:?}: invalid parameter schema: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong with the schema.
        reason: String,
    },
    /// A secret argument is not named by a JSON Pointer.
    #[error(
        "tool {tool:?}: expected a secret argument as a JSON Pointer such as \"/card/number\", found {path:?}"
    )]
    SecretPath {
        /// The tool's name.
        tool: String,
        /// What came.
        path: String,
    },
    /// A time limit of zero would fail every call.
    #[error("tool {tool:?}: expected a timeout of at least 1 ms, found 0")]
    ZeroTimeout {
        /// The tool's name.
        tool: String,
    },
}

fn listed(mistakes: &[ToolMistake]) -> String {
    mistakes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(allowed)
}

/// The longest name the service takes.
const NAME_MAX: usize = 64;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "dispatcher_tests.rs"]
mod tests;
