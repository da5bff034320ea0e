//! The errors of `T::mcp`.

/// The reason why the tools of an MCP server are not available. Its text holds no secret that was
/// sent to the server.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The settings are invalid: a command line, a URL or a header.
    #[error("MCP server {server:?}: {problem}")]
    Address {
        /// The name or the default label of the server.
        server: String,
        /// The mistake.
        problem: String,
    },
    /// The server is unreachable or does not speak the protocol.
    #[error("cannot connect to the MCP server {server:?}: {reason}")]
    Connect {
        /// The server.
        server: String,
        /// The reason, as the operating system, the library or the server reports it.
        reason: String,
    },
    /// The tools cannot be offered to a model.
    #[error("MCP server {server:?}: {}", listed(.mistakes))]
    Tools {
        /// The server.
        server: String,
        /// All mistakes in the tools, in the order of the list.
        mistakes: Vec<McpMistake>,
    },
}

/// A mistake in one tool of a server, or in a policy for its tools.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpMistake {
    /// A model could not call the tool by this name.
    #[error(
        "tool {tool:?}: name: expected 1 to 64 letters, digits and `_ : . -`, the first a letter or `_`, the prefix included"
    )]
    Name {
        /// The name with the prefix.
        tool: String,
    },
    /// A part of the definition violates the protocol or JSON Schema.
    #[error("tool {tool:?}: {field}: {problem}")]
    Field {
        /// The name with the prefix.
        tool: String,
        /// The field of the definition, such as `inputSchema/properties/to/pattern`.
        field: String,
        /// The mistake, and its treatment.
        problem: String,
    },
    /// The server has two tools of this name.
    #[error("tool {tool:?} is listed twice")]
    Twice {
        /// The name with the prefix.
        tool: String,
    },
    /// The schema of the arguments is invalid, or not that of an object.
    #[error("tool {tool:?}: invalid schema of its arguments: {reason}")]
    Schema {
        /// The name with the prefix.
        tool: String,
        /// The mistake in the schema.
        reason: String,
    },
    /// A policy names tools that the server does not have.
    #[error("the policy for {pattern:?} fits no tool; there are {tools}")]
    Pattern {
        /// The name or pattern.
        pattern: String,
        /// The names of the tools.
        tools: String,
    },
}

fn listed(mistakes: &[McpMistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(McpMistake::to_string).collect();
    lines.join("\n  ")
}
