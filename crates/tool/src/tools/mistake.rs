//! The mistakes in tools that registration reports.

/// An error with all mistakes of the tools that were not registered.
///
/// ```
/// use recount_tool::{T, ToolDispatcher};
///
/// let tools =
///     T::confirm(T::google_search(), "Search?") | T::limit_per_minute(T::url_context(), 0);
/// let error = ToolDispatcher::new().register(tools).unwrap_err();
/// let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
/// assert_eq!(lines, [
///     "tool \"google_search\": confirm makes no sense: \
///      the service runs the tool and asks no person",
///     "tool \"url_context\": limit_per_minute makes no sense: \
///      the service runs the tool and asks no person",
///     "tool \"url_context\": limit_per_minute: expected at least 1, found 0",
/// ]);
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", listed(.mistakes))]
#[non_exhaustive]
pub struct RegistrationError {
    /// The mistakes, in the order of the tools.
    pub mistakes: Vec<ToolMistake>,
}

/// A mistake in one tool or in all of them.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolMistake {
    /// The name is taken.
    #[error("tool {tool:?} is registered twice")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// The name is taken, and one of the two tools belongs to an MCP server, for which a prefix
    /// helps.
    #[error(
        "tool {tool:?} is registered twice, by the MCP server {server:?} and by something else; a prefix tells them apart: \
         McpServer::prefix, or --mcp-prefix"
    )]
    DuplicateOfServer {
        /// The name.
        tool: String,
        /// The server.
        server: String,
    },
    /// The service does not accept this name.
    #[error(
        "tool {tool:?}: expected a name of 1 to {NAME_MAX} letters, digits and `_ : . -` that begins with a letter or `_`"
    )]
    Name {
        /// The name.
        tool: String,
    },
    /// The parameter schema is invalid.
    #[error("tool {tool:?}: invalid parameter schema: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// The mistake in the schema.
        reason: String,
    },
    /// The schema of an approval's payload is invalid.
    #[error("tool {tool:?}: invalid payload schema: {reason}")]
    PayloadSchema {
        /// The tool's name.
        tool: String,
        /// The mistake in the schema.
        reason: String,
    },
    /// A policy or another form has a value that could never hold.
    #[error("tool {tool:?}: {form}: expected {expected}, found {found}")]
    Form {
        /// The tool's name.
        tool: String,
        /// The form, as [`T`](crate::T) names it.
        form: &'static str,
        /// The expected value.
        expected: &'static str,
        /// The found value.
        found: String,
    },
    /// A policy or another form has no meaning for this tool, so it would not do what the author
    /// expects.
    #[error("tool {tool:?}: {form} makes no sense: {reason}")]
    Senseless {
        /// The tool's name.
        tool: String,
        /// The form, as [`T`](crate::T) names it.
        form: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A file of policies names a tool that does not exist.
    #[error("the policies speak of the tool {tool:?}, which is not there; {hint}")]
    UnknownTool {
        /// The name.
        tool: String,
        /// The most similar name, or the existing names.
        hint: String,
    },
    /// A tool that is to be removed does not exist.
    #[error("no tool is named {tool:?}, so it cannot be removed; {hint}")]
    NothingToRemove {
        /// The name.
        tool: String,
        /// The existing names.
        hint: String,
    },
    /// A default time limit of zero would fail every call.
    #[error("with_timeout: expected a default timeout of at least 1 ms, found 0")]
    ZeroDefaultTimeout,
    /// Dispatchers with different confirmation providers were combined.
    #[error("expected one confirmation provider, found two")]
    TwoProviders,
}

/// True if the service accepts a function with this name. An invalid name makes the service reject
/// the whole setup.
///
/// The service's documents differ (64 or 128 characters, any first character or a letter or `_`),
/// so this is what all of them allow. Registration checks every tool's name with it.
#[doc(hidden)]
pub fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
    begins && name.len() <= NAME_MAX && name.chars().all(allowed)
}

fn listed(mistakes: &[ToolMistake]) -> String {
    mistakes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The maximum length of a name.
const NAME_MAX: usize = 64;
