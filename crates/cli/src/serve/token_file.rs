//! The file of the tokens, for the service and for the commands that change it.

use crate::config::Config;
use crate::failures::{Exit, Failure};
use recount_server::{TokenError, TokenStore};
use recount_telling::one_line;

/// The code of a file that has no tokens, or that others can change.
const TOKEN_FILE: &str = "token-file";

/// Opens the file of the configuration. A missing one has no tokens.
pub(super) fn open(config: &Config) -> Result<TokenStore, Failure> {
    TokenStore::open(config.tokens()).map_err(failed)
}

/// Opens the file for a service. A file with a mistake, such as one that other users can read, is a
/// mistake in the configuration, which a supervisor must not repeat.
pub(super) fn at_start(config: &Config) -> Result<TokenStore, Failure> {
    open(config).map_err(|failure| match failure.code.as_ref() {
        TOKEN_FILE => failure
            .exit(Exit::Usage)
            .advice("`recount check` lists the mistakes of the configuration"),
        _ => failure,
    })
}

/// The failure of an operation on tokens.
pub(super) fn failed(error: TokenError) -> Failure {
    let what = one_line(&error.to_string()).into_owned();
    match error {
        TokenError::UnfitName { .. } | TokenError::NoGrant => {
            Failure::new("bad-request", what).exit(Exit::Usage)
        }
        TokenError::UnknownToken { .. } => Failure::new("unknown-token", what)
            .advice("`recount token list` shows the ids; nothing was changed"),
        TokenError::Io { .. } => Failure::new("io", what),
        // The error is not exhaustive for other crates.
        _ => Failure::new(TOKEN_FILE, what).advice("nothing was changed"),
    }
}
