//! The file of the tokens, for the service and for the commands that change it.

use crate::config::Config;
use crate::failures::{Exit, Failure};
use recount_server::{TokenError, TokenStore};
use recount_telling::one_line;

/// Opens the file of the configuration. A missing one has no tokens.
pub(super) fn open(config: &Config) -> Result<TokenStore, Failure> {
    TokenStore::open(config.tokens()).map_err(failed)
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
        _ => Failure::new("token-file", what).advice("nothing was changed"),
    }
}
