//! The options with the real outcome of a call.

use clap::Args;

use crate::failures::Failure;
use crate::files::given_json;
use recount::session::Finding;

/// The real outcome of a call whose outcome was unknown.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Found {
    /// The call took effect, with this result: a JSON object; @FILE reads it from a file, - from
    /// standard input.
    #[arg(long, value_name = "JSON")]
    done: Option<String>,
    /// The call did not take effect, for this reason; the model gets the reason.
    #[arg(long, value_name = "REASON")]
    failed: Option<String>,
}

impl Found {
    pub(crate) fn finding(self) -> Result<Finding, Failure> {
        match (self.done, self.failed) {
            (Some(done), _) => Ok(Finding::Done(given_json("the result", &done)?)),
            (None, reason) => Ok(Finding::Failed(reason.unwrap_or_default())),
        }
    }
}
