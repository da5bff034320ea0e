//! The MCP servers of `recount run --mcp`.

use clap::Args;

use crate::failures::{Exit, Failure};
#[cfg(feature = "mcp")]
use crate::terminal::Wait;
use recount::session::secret::is_like_a_token;
use recount::tool::Toolset;
#[cfg(feature = "mcp")]
use recount_telling::one_line;
use recount_telling::quoted;

/// The options for MCP servers.
#[derive(Args)]
pub(super) struct Servers {
    /// An MCP server whose tools the model can use: a command line such as "npx -y PACKAGE DIR", or
    /// a URL; may be given several times.
    #[arg(long, value_name = "COMMAND|URL")]
    pub(super) mcp: Vec<String>,
    /// The prefix of the names of a server's tools; the first one is for the first --mcp, and so
    /// on.
    #[arg(long, value_name = "PREFIX", requires = "mcp")]
    mcp_prefix: Vec<String>,
    /// An environment variable that the servers' programs get, in addition to PATH, HOME and the
    /// like; may be given several times.
    #[arg(long, value_name = "VARIABLE", requires = "mcp")]
    mcp_env: Vec<String>,
    /// The environment variable with the token for the server at a URL; only with exactly one such
    /// server.
    #[arg(long, value_name = "VARIABLE", requires = "mcp")]
    mcp_token: Option<String>,
    /// Offers only the tools with these names, prefix included; `*` matches any letters. For all
    /// servers.
    #[arg(long, value_name = "PATTERN", requires = "mcp")]
    mcp_include: Vec<String>,
    /// Leaves out the tools with these names, prefix included; `*` matches any letters.
    #[arg(long, value_name = "PATTERN", requires = "mcp")]
    mcp_exclude: Vec<String>,
    /// Offers the tool NAME, prefix included, under another name.
    #[arg(long, value_name = "NAME=ALIAS", requires = "mcp", value_parser = is_alias)]
    mcp_alias: Vec<String>,
    /// Refuses a server with an incorrectly defined tool, in place of a warning.
    #[arg(long, requires = "mcp")]
    mcp_strict: bool,
}

/// Checks that an alias has two names.
fn is_alias(text: &str) -> Result<String, String> {
    match text.rsplit_once('=') {
        Some((name, alias)) if !name.is_empty() && !alias.is_empty() => Ok(text.to_owned()),
        Some(_) | None => Err("expected NAME=ALIAS".to_owned()),
    }
}

impl Servers {
    /// Connects to the servers and returns their tools.
    #[cfg(feature = "mcp")]
    pub(super) async fn tools(&self) -> Result<Toolset, Failure> {
        let mut tools = Toolset::new();
        for server in self.servers()? {
            let name = server.name();
            let name = one_line(&name);
            let _wait = Wait::on(&format!("connecting to the MCP server {name}"));
            let found = <recount::tool::T as recount::mcp::McpTools>::mcp(server).await;
            tools = tools | found.map_err(|error| refused(&error))?;
        }
        Ok(tools)
    }

    #[cfg(not(feature = "mcp"))]
    pub(super) async fn tools(&self) -> Result<Toolset, Failure> {
        if self.mcp.is_empty() {
            return Ok(Toolset::new());
        }
        let what = "this recount was built without the feature `mcp`, so it cannot use MCP servers";
        Err(Failure::new("no-mcp", what)
            .exit(Exit::Usage)
            .advice("build it with the feature: `cargo install recount --features mcp`"))
    }

    #[cfg(feature = "mcp")]
    fn servers(&self) -> Result<Vec<recount::mcp::McpServer>, Failure> {
        use recount::mcp::McpServer;

        if self.mcp_prefix.len() > self.mcp.len() {
            let (prefixes, servers) = (self.mcp_prefix.len(), self.mcp.len());
            let what = format!(
                "expected at most {servers} --mcp-prefix, one for each --mcp, found {prefixes}"
            );
            return Err(Failure::new("mcp-server", what).exit(Exit::Usage));
        }
        let token = self.token()?;
        let none = String::new();
        let prefixes = self.mcp_prefix.iter().chain(std::iter::repeat(&none));
        let servers = self.mcp.iter().zip(prefixes).map(|(text, prefix)| {
            let mut server = McpServer::from(text.as_str())
                .prefix(prefix)
                .include(&self.mcp_include)
                .exclude(&self.mcp_exclude);
            for (name, alias) in self.mcp_alias.iter().filter_map(|it| it.rsplit_once('=')) {
                server = server.alias(name, alias);
            }
            if self.mcp_strict {
                server = server.strict();
            }
            match &token {
                Some(token) if is_url(text) => server.bearer(token),
                Some(_) | None => server.inherit_env(&self.mcp_env),
            }
        });
        Ok(servers.collect())
    }

    /// The token for the only server at a URL. It must not be sent to another server.
    #[cfg(feature = "mcp")]
    fn token(&self) -> Result<Option<String>, Failure> {
        let Some(variable) = &self.mcp_token else {
            return Ok(None);
        };
        let urls = self.mcp.iter().filter(|it| is_url(it)).count();
        let what = match (urls, std::env::var(variable)) {
            (1, Ok(token)) => return Ok(Some(token)),
            (1, Err(_)) => {
                format!("--mcp-token: expected a token in the variable {variable:?}, found none")
            }
            (count, _) => format!("--mcp-token: expected one --mcp with a URL, found {count}"),
        };
        Err(Failure::new("mcp-server", what).exit(Exit::Usage))
    }

    /// The options as text, for the command to continue. URLs have no user, password and query.
    pub(super) fn again(&self) -> String {
        let quoted = |text: &String| quoted(std::path::Path::new(text)).to_string();
        let shown = |text: &String| match is_url(text) {
            true => quoted(&plain(text)),
            false => quoted(text),
        };
        let mut words = String::new();
        for server in &self.mcp {
            words.push_str(&format!(" --mcp {}", shown(server)));
        }
        let rest = [
            ("--mcp-prefix", &self.mcp_prefix),
            ("--mcp-env", &self.mcp_env),
            ("--mcp-include", &self.mcp_include),
            ("--mcp-exclude", &self.mcp_exclude),
            ("--mcp-alias", &self.mcp_alias),
        ];
        for (option, values) in rest {
            for value in values {
                words.push_str(&format!(" {option} {}", quoted(value)));
            }
        }
        if let Some(variable) = &self.mcp_token {
            words.push_str(&format!(" --mcp-token {}", quoted(variable)));
        }
        if self.mcp_strict {
            words.push_str(" --mcp-strict");
        }
        words
    }
}

fn is_url(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("http://") || text.starts_with("https://")
}

/// The host and path of a URL, without parts of the path that look like a token.
fn plain(url: &str) -> String {
    let Some((scheme, rest)) = url.trim().split_once("://") else {
        return String::new();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let segment = |it: &'_ str| match is_like_a_token(it) {
        true => "…".to_owned(),
        false => it.to_owned(),
    };
    let path: Vec<String> = path.split(['/', '\\']).map(segment).collect();
    format!("{scheme}://{host}{}", path.join("/"))
}

#[cfg(feature = "mcp")]
fn refused(error: &recount::mcp::McpError) -> Failure {
    use recount::mcp::McpError;

    let what = one_line(&error.to_string()).into_owned();
    let failure = Failure::new("mcp-server", what);
    match error {
        McpError::Address { .. } => failure
            .exit(Exit::Usage)
            .advice("for example --mcp \"npx -y @modelcontextprotocol/server-filesystem DIR\""),
        McpError::Connect { .. } => {
            failure.advice("RECOUNT_LOG=info shows the error output of the server")
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn url_is_shown_without_user_password_and_query() {
        for (url, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            (
                "https://u:p@a.example:8443/mcp?k=v#f",
                "https://a.example:8443/mcp",
            ),
            ("https://u:p@w@a.example", "https://a.example"),
            ("https://a.example/@ada/mcp", "https://a.example/@ada/mcp"),
            ("http://u:p@a.example?k=v", "http://a.example"),
            (
                " https://a.example/9f86d081884c7d659a2f/mcp ",
                "https://a.example/…/mcp",
            ),
        ] {
            assert_eq!(plain(url), shown);
        }
    }
}
