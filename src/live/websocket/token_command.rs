//! Tokens from a program, such as the vendor's command line tool.

use std::process::{Command, Stdio};
use std::time::Duration;

use async_trait::async_trait;

use super::token_source::{AccessToken, TokenSource};
use crate::live::TokenError;

/// A token source that runs a program and uses its output as the token.
///
/// ```
/// use recount::live::{Endpoint, TokenCommand};
///
/// let endpoint = Endpoint::vertex("my-project", "global", TokenCommand::gcloud());
/// # let _ = endpoint;
/// ```
#[derive(Clone, Debug)]
pub struct TokenCommand {
    program: String,
    args: Vec<String>,
    lasts: Option<Duration>,
}

impl TokenCommand {
    /// Creates a source from a program and its arguments. No shell is involved.
    pub fn new<A: Into<String>>(
        program: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> TokenCommand {
        TokenCommand {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            lasts: None,
        }
    }

    /// Uses the login of Google's command line tool:
    /// `gcloud auth application-default print-access-token`.
    #[must_use]
    pub fn gcloud() -> TokenCommand {
        TokenCommand::new(
            "gcloud",
            ["auth", "application-default", "print-access-token"],
        )
    }

    /// Sets the lifetime of the tokens. Without it, the program runs for each connection.
    #[must_use]
    pub fn lasting(mut self, lasts: Duration) -> TokenCommand {
        self.lasts = Some(lasts);
        self
    }

    fn run(&self) -> Result<AccessToken, TokenError> {
        let failed = |what: String| TokenError::new(format!("{} {what}", self.program));
        let output = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot be run: {error}")))?;
        // The output may contain a secret, so only the exit status is reported.
        if !output.status.success() {
            return Err(failed(format!("ended with {}", output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.is_empty() || text.contains(char::is_whitespace) {
            return Err(failed("printed something else than one token".to_owned()));
        }
        let token = AccessToken::new(text);
        Ok(match self.lasts {
            Some(lasts) => token.lasting(lasts),
            None => token,
        })
    }
}

#[async_trait]
impl TokenSource for TokenCommand {
    async fn token(&self) -> Result<AccessToken, TokenError> {
        let command = self.clone();
        let run = tokio::task::spawn_blocking(move || command.run()).await;
        run.unwrap_or_else(|error| Err(TokenError::new(error.to_string())))
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    async fn run(script: &str) -> Result<String, String> {
        let command = TokenCommand::new("sh", ["-c", script]);
        let token = command.token().await;
        token
            .map(|it| it.secret().reveal().to_owned())
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn output_is_the_token_and_errors_do_not_reveal_it() {
        assert_eq!(run("echo ya29.t").await.unwrap(), "ya29.t");
        for script in ["echo ya29.t; exit 3", "echo two ya29.t", "true"] {
            let error = run(script).await.unwrap_err();
            assert!(
                error.starts_with("sh ") && !error.contains("ya29"),
                "{error}"
            );
        }
        let absent = TokenCommand::new("no-such-program-anywhere", [""; 0]);
        let error = absent.token().await.unwrap_err().to_string();
        assert!(error.contains("cannot be run"), "{error}");
    }
}
