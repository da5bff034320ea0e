//! What a server is called where nobody named it: enough to know it again, and nothing that may be secret.

use std::path::Path;

use http::Uri;

/// The program, and of one that runs packages the package; other arguments may hold secrets.
pub(super) fn of_command(program: &str, args: &[String]) -> String {
    let name = Path::new(program)
        .file_stem()
        .map_or(program.into(), |it| it.to_string_lossy());
    let package = RUNNERS
        .contains(&name.as_ref())
        .then(|| args.iter().find(|it| !it.starts_with('-')))
        .flatten();
    match package {
        Some(package) => format!("{name} {package}"),
        None => name.into_owned(),
    }
}

/// Host and path; user and query may be secret.
pub(super) fn of_url(url: &Uri) -> String {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().map(|port| format!(":{port}"));
    format!("{host}{}{}", port.unwrap_or_default(), url.path())
}

/// Programs whose first plain argument is the program that they run.
const RUNNERS: [&str; 6] = ["npx", "uvx", "pnpx", "bunx", "node", "deno"];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_which_server_and_no_secret() {
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
        let url: Uri = "https://u:p@wiki.example:8443/mcp?token=t".parse().unwrap();
        assert_eq!(of_url(&url), "wiki.example:8443/mcp");
    }
}
