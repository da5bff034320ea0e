//! The default label of a server: enough to identify it, without possible secrets.

use std::path::Path;

use recount_session::secret::is_like_a_token;
use reqwest::Url;

/// Returns the program and, for a package runner, the package. Other arguments may hold secrets.
pub(crate) fn of_command(program: &str, args: &[String]) -> String {
    let name = Path::new(program)
        .file_stem()
        .map_or(program.into(), |it| it.to_string_lossy());
    let is_runner = RUNNERS.contains(&name.as_ref());
    // The value of any other option may be a secret.
    let mut words = args.iter().skip_while(|it| PLAIN.contains(&it.as_str()));
    let package = words.next().filter(|it| is_runner && !it.starts_with('-'));
    match package {
        Some(package) => format!("{name} {}", of_package(package)),
        None => name.into_owned(),
    }
}

/// Returns the label of a package, which may be named by a URL.
fn of_package(package: &str) -> String {
    if !package.contains("://") {
        return package.to_owned();
    }
    let url = package.parse::<Url>();
    url.map_or_else(|_| "a URL".to_owned(), |url| of_url(&url))
}

/// Returns host and path, without parts that look like a token; user and query may be secret.
pub(crate) fn of_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let segment = |it: &'_ str| match is_like_a_token(it) {
        true => "…".to_owned(),
        false => it.to_owned(),
    };
    let path: Vec<String> = url.path().split('/').map(segment).collect();
    format!("{host}{}{}", port.unwrap_or_default(), path.join("/"))
}

/// Options of these programs without a value.
const PLAIN: [&str; 5] = ["-y", "--yes", "-q", "--quiet", "--silent"];

/// Programs whose first plain argument is the program to run.
const RUNNERS: [&str; 6] = ["npx", "uvx", "pnpx", "bunx", "node", "deno"];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn label_identifies_the_server_without_secrets() {
        let args = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            of_command(
                "/usr/bin/npx",
                &args(&["-y", "@scope/server@1.2", "--key", "k"])
            ),
            "npx @scope/server@1.2"
        );
        assert_eq!(
            of_command("./server", &args(&["postgres://u:p@h"])),
            "server"
        );
        for (package, label) in [
            (
                "git+https://u:p@code.example/a/b?k=v",
                "npx code.example/a/b",
            ),
            (
                "https://code.example/9f86d081884c7d659a2f/b",
                "npx code.example/…/b",
            ),
        ] {
            assert_eq!(of_command("npx", &args(&["-y", package])), label);
        }
        assert_eq!(of_command("npx", &args(&["--key", "k", "server"])), "npx");
        let url: Url = "https://u:p@wiki.example:8443/mcp?token=t".parse().unwrap();
        assert_eq!(of_url(&url), "wiki.example:8443/mcp");
    }
}
