//! How a server is reached, and what holds for its tools.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use recount_session::secret::{Secret, Unsaid};
use recount_session::{ObjectHash, ToolPolicy};
use recount_tool::implementation::Pinned;
use reqwest::Url;
use serde_json::{Value, json};

use crate::words::{label, secrets};

/// How an MCP server is reached, and what holds for its tools; [`T::mcp`](crate::McpTools::mcp)
/// connects to it.
///
/// A text is a server, too: a URL if it begins with `http://` or `https://`, else a command line,
/// with quotes as in a shell.
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
    pub(crate) way: Way,
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

/// The way to a server.
#[derive(Clone)]
pub(crate) enum Way {
    Stdio {
        program: String,
        args: Vec<String>,
    },
    Http {
        url: String,
    },
    /// A command line that is none.
    Broken {
        problem: String,
    },
}

impl McpServer {
    /// A program that speaks on its standard input and output. It is started when the tools are
    /// wanted, looked for in `PATH` unless it is a path, and ended with the engine that has its
    /// tools. What it says on its standard error is logged.
    ///
    /// Of the environment it gets `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, `LANG`, `TZ`
    /// and `TMPDIR`; see [`env`](Self::env) and [`inherit_env`](Self::inherit_env).
    #[must_use]
    pub fn stdio<A: Into<String>>(
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::of(Way::Stdio {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
        })
    }

    /// A server at this URL, by streamable HTTP.
    #[must_use]
    pub fn http(url: impl Into<String>) -> Self {
        Self::of(Way::Http { url: url.into() })
    }

    fn of(way: Way) -> Self {
        Self {
            way,
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

    /// What it is called in errors, logs and questions; without it, by its program or host.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Puts this before the name of each of its tools, so that they do not meet those of another
    /// server.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long a call may take, as [`T::timeout`](recount_tool::T::timeout) for each of its tools.
    /// A call that takes longer is cancelled at the server, too.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// How long it may take to connect and to list the tools: a minute unless set, because a
    /// program may have to be fetched first.
    #[must_use]
    pub fn connects_within(mut self, limit: Duration) -> Self {
        self.connects_within = limit;
        self
    }

    /// Sets a variable in the environment of its program. The value is shown nowhere.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Secret::new(value));
        self
    }

    /// Lets its program have these variables of our environment, too, such as `HTTPS_PROXY`.
    #[must_use]
    pub fn inherit_env<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.inherited.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sends this header with every request. The value is shown nowhere.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Secret::new(value)));
        self
    }

    /// Sends this token with every request, as `Authorization: Bearer …`. It is shown nowhere.
    #[must_use]
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Adds a policy to the tools of this name, prefix included; `*` stands for any letters. One
    /// that fits no tool is an error when the tools are listed.
    #[must_use]
    pub fn policy(mut self, pattern: impl Into<String>, policy: ToolPolicy) -> Self {
        self.policies.push((pattern.into(), policy));
        self
    }

    /// Believes what the server says of its tools: one that only reads, or is idempotent, is run
    /// again where a call was cut off. Without it these hints change nothing, because a server can
    /// say of its tools what it likes.
    #[must_use]
    pub fn trusting_hints(mut self) -> Self {
        self.trusts_hints = true;
        self
    }

    /// Offers only the tools of these names, prefix included; `*` stands for any letters.
    #[must_use]
    pub fn include<N: Into<String>>(mut self, patterns: impl IntoIterator<Item = N>) -> Self {
        self.included.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Leaves out the tools of these names, prefix included; `*` stands for any letters.
    #[must_use]
    pub fn exclude<N: Into<String>>(mut self, patterns: impl IntoIterator<Item = N>) -> Self {
        self.excluded.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Offers the tool of this name, prefix included, under another one, which policies then speak
    /// of.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>, alias: impl Into<String>) -> Self {
        self.aliases.insert(name.into(), alias.into());
        self
    }

    /// Takes all of its tools as they are defined, or none: what else is only a warning is an
    /// error.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// What it is called in errors, logs and questions.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        match &self.way {
            Way::Stdio { program, args } => label::of_command(program, args),
            Way::Http { url } => url.parse::<Url>().map_or_else(
                |_| "a URL that is none".to_owned(),
                |url| label::of_url(&url),
            ),
            Way::Broken { .. } => "a command line that is none".to_owned(),
        }
    }

    /// By what it is known again in what a person approves: the command with the files named in it,
    /// or the URL without what may be secret in it, and with a digest of it where it has a query.
    pub(crate) fn implementation(&self) -> Option<Value> {
        match &self.way {
            Way::Stdio { program, args } => Some(Pinned::default().of(program, args)),
            Way::Http { url } => {
                let url = url.parse::<Url>().ok()?;
                let place = format!("{}://{}", url.scheme(), label::of_url(&url));
                let mut made = json!({ "url": place });
                if let (Some(made), Some(_)) = (made.as_object_mut(), url.query()) {
                    let whole = ObjectHash::of(url.as_str().as_bytes());
                    made.insert("whole".to_owned(), json!(whole));
                }
                Some(made)
            }
            Way::Broken { .. } => None,
        }
    }

    /// What must stand in nothing that the server or a library says.
    pub(crate) fn unsaid(&self) -> Unsaid {
        let mut unsaid = Unsaid::default();
        let headers = self.headers.iter().map(|(_, value)| value);
        for value in self.env.values().chain(headers) {
            unsaid.add(value);
            // A server may repeat a token without the word before it, and a key line by line.
            let token = value.reveal().split_once(' ').map(|(_, token)| token);
            for part in value.reveal().lines().chain(token) {
                unsaid.add(&Secret::new(part));
            }
        }
        if let Way::Http { url } = &self.way {
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
                return Self::of(Way::Broken { problem });
            }
        };
        match words.next() {
            Some(program) => Self::stdio(program, words),
            None => Self::of(Way::Broken {
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

/// Without arguments, values and queries, any of which may be secret.
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
        let way = |text: &str| match McpServer::from(text).way {
            Way::Stdio { program, args } => format!("{program} {args:?}"),
            Way::Http { url } => url,
            Way::Broken { problem } => problem,
        };
        assert_eq!(way(" https://a/b "), "https://a/b");
        assert_eq!(way("npx -y 'a b'"), "npx [\"-y\", \"a b\"]");
        assert!(way("npx 'a").contains("expected a command line or a URL"));
        assert!(way("  ").contains("found nothing"));
    }

    #[test]
    fn what_is_secret_is_taken_out_of_what_others_say() {
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
        let told = of("http://h/mcp?key=s3cret").map(|it| it.to_string());
        assert!(told.is_some_and(|it| !it.contains("s3cret")));
    }
}
