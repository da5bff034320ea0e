//! What became of a call, as somebody tells on the command line.

use clap::Args;

use crate::failures::Failure;
use crate::files::given_json;
use recount::session::Finding;

/// What was found out about a call whose outcome nobody knew.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Found {
    /// It took effect, and this is its result, a JSON object; @FILE takes it from a file, - from
    /// standard input.
    #[arg(long, value_name = "JSON")]
    done: Option<String>,
    /// It did not take effect, and why; the model is told.
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
