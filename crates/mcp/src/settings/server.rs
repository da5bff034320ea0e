//! The settings of an MCP server: its address, and the policies for its tools.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use recount_session::secret::{Secret, Unsaid};
use recount_session::{ObjectHash, ToolPolicy};
use recount_tool::implementation::Pinned;
use reqwest::Url;
use serde_json::{Value, json};

use crate::words::{label, secrets};

/// The settings of an MCP server: its address, and the policies for its tools.
///
/// [`T::mcp`](crate::McpTools::mcp) connects to it. A string converts to a server: a URL if it
/// begins with `http://` or `https://`, else a command line with shell quotes.
///
/// ```
/// use recount_mcp::McpServer;
/// use recount_tool::ToolPolicy;
/// use std::time::Duration;
///
/// let wiki = McpServer::http("https://wiki.example/mcp?key=k-123456")
///     .bearer("token-from-the-vault")
///     .prefix("wiki_")
///     .timeout(Duration::from_secs(20))
///     .policy("wiki_delete_*", ToolPolicy::gate("Delete this page?"));
/// assert_eq!(wiki.name(), "wiki.example/mcp");
/// assert!(!format!("{wiki:?}").contains("token") && !format!("{wiki:?}").contains("123456"));
/// let files = McpServer::from("npx -y @modelcontextprotocol/server-filesystem '/srv/my notes'");
/// assert_eq!(files.name(), "npx @modelcontextprotocol/server-filesystem");
/// ```
#[derive(Clone)]
pub struct McpServer {
    pub(crate) endpoint: Endpoint,
    name: Option<String>,
    pub(crate) prefix: String,
    pub(crate) timeout: Option<Duration>,
    pub(crate) connects_within: Duration,
    pub(crate) env: BTreeMap<String, Secret>,
    pub(crate) inherited: Vec<String>,
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) policies: Vec<(String, ToolPolicy)>,
    pub(crate) trusts_hints: bool,
    pub(crate) included: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) is_strict: bool,
}

/// The address of a server.
#[derive(Clone)]
pub(crate) enum Endpoint {
    Stdio {
        program: String,
        args: Vec<String>,
    },
    Http {
        url: String,
    },
    /// An invalid command line.
    Broken {
        problem: String,
    },
}

impl McpServer {
    /// Creates a server that is a program, used over its standard input and output.
    ///
    /// The program is started when its tools are listed, and ended with the engine that has them. A
    /// program without a path is searched in `PATH`. Its standard error is logged. It inherits
    /// `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, `LANG`, `TZ` and `TMPDIR`; see
    /// [`env`](Self::env) and [`inherit_env`](Self::inherit_env).
    #[must_use]
    pub fn stdio<A: Into<String>>(
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::of(Endpoint::Stdio {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
        })
    }

    /// Creates a server at this URL, used over streamable HTTP.
    #[must_use]
    pub fn http(url: impl Into<String>) -> Self {
        Self::of(Endpoint::Http { url: url.into() })
    }

    fn of(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            name: None,
            prefix: String::new(),
            timeout: None,
            connects_within: CONNECTS_WITHIN,
            env: BTreeMap::new(),
            inherited: Vec::new(),
            headers: Vec::new(),
            policies: Vec::new(),
            trusts_hints: false,
            included: Vec::new(),
            excluded: Vec::new(),
            aliases: BTreeMap::new(),
            is_strict: false,
        }
    }

    /// Sets the name in errors, logs and questions. Defaults to its program or host.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a prefix to the name of each tool, so that the names do not collide with other tools.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the time limit of a call, like [`T::timeout`](recount_tool::T::timeout) for each tool.
    /// A call that takes longer is also cancelled at the server.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets the time limit to connect and to list the tools. Defaults to a minute, because a
    /// package runner may first download the program.
    #[must_use]
    pub fn connects_within(mut self, limit: Duration) -> Self {
        self.connects_within = limit;
        self
    }

    /// Sets an environment variable of the program. The value is never shown.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Lets the program also inherit these environment variables, such as `HTTPS_PROXY`.
    #[must_use]
    pub fn inherit_env<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.inherited.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sends this header with every request. The value is never shown.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Secret::new(value)));
        self
    }

    /// Sends this token with every request, as `Authorization: Bearer …`. The token is never shown.
    #[must_use]
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Adds a policy to the tools with this name, prefix included; `*` matches any characters. A
    /// policy without a matching tool is an error.
    #[must_use]
    pub fn policy(mut self, pattern: impl Into<String>, policy: ToolPolicy) -> Self {
        self.policies.push((pattern.into(), policy));
        self
    }

    /// Trusts the server's hints on its tools: after a cut-off, a read-only or idempotent tool is
    /// run again. By default these hints change nothing, because a server may claim anything.
    #[must_use]
    pub fn trusting_hints(mut self) -> Self {
        self.trusts_hints = true;
        self
    }

    /// Offers only the tools with these names, prefix included; `*` matches any characters.
    #[must_use]
    pub fn include<N: Into<String>>(mut self, patterns: impl IntoIterator<Item = N>) -> Self {
        self.included.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Leaves out the tools with these names, prefix included; `*` matches any characters.
    #[must_use]
    pub fn exclude<N: Into<String>>(mut self, patterns: impl IntoIterator<Item = N>) -> Self {
        self.excluded.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Offers the tool with this name, prefix included, under an alias, which policies then use.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.aliases.insert(name.into(), alias.into());
        self
    }

    /// Accepts the tools only if all definitions are valid: warnings become errors.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Returns the name in errors, logs and questions.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        match &self.endpoint {
            Endpoint::Stdio { program, args } => label::of_command(program, args),
            Endpoint::Http { url } => url.parse::<Url>().map_or_else(
                |_| "a URL that is none".to_owned(),
                |url| label::of_url(&url),
            ),
            Endpoint::Broken { .. } => "a command line that is none".to_owned(),
        }
    }

    /// Returns the server's identity that an approval covers. It is the command with the files
    /// named in it, or the URL without secrets and with a digest of its query.
    pub(crate) fn implementation(&self) -> Option<Value> {
        match &self.endpoint {
            Endpoint::Stdio { program, args } => Some(Pinned::default().of(program, args)),
            Endpoint::Http { url } => {
                let url = url.parse::<Url>().ok()?;
                let place = format!("{}://{}", url.scheme(), label::of_url(&url));
                let mut made = json!({ "url": place });
                if let (Some(made), Some(_)) = (made.as_object_mut(), url.query()) {
                    let whole = ObjectHash::of(url.as_str().as_bytes());
                    made.insert("whole".to_owned(), json!(whole));
                }
                Some(made)
            }
            Endpoint::Broken { .. } => None,
        }
    }

    /// Returns the secrets to remove from messages of the server or a library.
    pub(crate) fn unsaid(&self) -> Unsaid {
        let mut unsaid = Unsaid::default();
        let headers = self.headers.iter().map(|(_, value)| value);
        for value in self.env.values().chain(headers) {
            unsaid.add(value);
            // A server may quote a token without `Bearer`, and a key line by line.
            let token = value.reveal().split_once(' ').map(|(_, token)| token);
            for part in value.reveal().lines().chain(token) {
                unsaid.add(&Secret::new(part));
            }
        }
        if let Endpoint::Http { url } = &self.endpoint {
            let parts = url.parse::<Url>().map(|url| secrets::in_url(&url));
            for part in parts.unwrap_or_else(|_| vec![url.clone()]) {
                unsaid.add(&Secret::new(part));
            }
        }
        unsaid
    }
}

impl From<&str> for McpServer {
    fn from(text: &str) -> Self {
        let text = text.trim();
        if text.starts_with("http://") || text.starts_with("https://") {
            return Self::http(text);
        }
        let mut words = match shell_words::split(text) {
            Ok(words) => words.into_iter(),
            Err(error) => {
                let problem = format!("expected a command line or a URL: {error}");
                return Self::of(Endpoint::Broken { problem });
            }
        };
        match words.next() {
            Some(program) => Self::stdio(program, words),
            None => Self::of(Endpoint::Broken {
                problem: "expected a command line or a URL, found nothing".to_owned(),
            }),
        }
    }
}

impl From<String> for McpServer {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// Omits arguments, values and queries, which may be secret.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name())
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

const CONNECTS_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_url_or_a_command_line() {
        let endpoint = |text: &str| match McpServer::from(text).endpoint {
            Endpoint::Stdio { program, args } => format!("{program} {args:?}"),
            Endpoint::Http { url } => url,
            Endpoint::Broken { problem } => problem,
        };
        assert_eq!(endpoint(" https://a/b "), "https://a/b");
        assert_eq!(endpoint("npx -y 'a b'"), "npx [\"-y\", \"a b\"]");
        assert!(endpoint("npx 'a").contains("expected a command line or a URL"));
        assert!(endpoint("  ").contains("found nothing"));
    }

    #[test]
    fn secrets_are_removed_from_messages() {
        let server = McpServer::http("https://user:word@host/mcp?key=k-123456")
            .bearer("tok-abcdef")
            .env("KEY", "env-value")
            .env("PEM", "-----BEGIN\nMIIEvQIBADAN\n-----END");
        let said = "user:word k-123456? key=k-123456 tok-abcdef env-value MIIEvQIBADAN";
        assert_eq!(
            server.unsaid().out_of(said),
            "[hidden] [hidden]? [hidden] [hidden] [hidden] [hidden]"
        );
    }

    #[test]
    fn a_query_is_part_of_what_identifies_a_server() {
        let of = |url: &str| McpServer::http(url).implementation();
        let (test, plain) = (of("http://h/mcp?db=test"), of("http://h/mcp"));
        assert_ne!(test, of("http://h/mcp?db=production"));
        assert_eq!(test, of("http://h/mcp?db=test"));
        assert_eq!(plain, Some(json!({ "url": "http://h/mcp" })));
        let identity = of("http://h/mcp?key=s3cret").map(|it| it.to_string());
        assert!(identity.is_some_and(|it| !it.contains("s3cret")));
    }
}
