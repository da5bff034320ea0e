//! Why the tools of a server are not to be had.

/// Why the tools of an MCP server are not to be had. What a server is sent in secret is in none of
/// them.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// It cannot be tried at all: a command line or a URL that is none, a header that is not one.
    #[error("MCP server {server:?}: {problem}")]
    Address {
        /// The server, as it was named or as it is reached.
        server: String,
        /// What is wrong.
        problem: String,
    },
    /// It is not there, or does not speak the protocol.
    #[error("cannot connect to the MCP server {server:?}: {reason}")]
    Connect {
        /// The server.
        server: String,
        /// Why, in the words of whoever found out.
        reason: String,
    },
    /// Its tools cannot be offered to a model.
    #[error("MCP server {server:?}: {}", listed(.mistakes))]
    Tools {
        /// The server.
        server: String,
        /// Everything that is wrong with them, in the order of the list.
        mistakes: Vec<McpMistake>,
    },
}

/// What is wrong with one tool of a server, or with what was said of its tools.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum McpMistake {
    /// A model could not call it by this name.
    #[error(
        "tool {tool:?}: name: expected 1 to 64 letters, digits and `_ : . -`, the first a letter or `_`, the prefix included"
    )]
    Name {
        /// The name with the prefix.
        tool: String,
    },
    /// Something that the server says of the tool is not as the protocol or JSON Schema has it.
    #[error("tool {tool:?}: {field}: {problem}")]
    Field {
        /// The name with the prefix.
        tool: String,
        /// The field of its definition, such as `inputSchema/properties/to/pattern`.
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
    /// The schema of its arguments is none, or not that of an object.
    #[error("tool {tool:?}: invalid schema of its arguments: {reason}")]
    Schema {
        /// The name with the prefix.
        tool: String,
        /// What is wrong with the schema.
        reason: String,
    },
    /// A policy speaks of tools that the server does not have.
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
