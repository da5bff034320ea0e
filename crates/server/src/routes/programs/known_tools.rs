//! The tools that a claim names, compared with the client-run tools of the agents in its scope.
//!
//! Without this comparison, a misspelt tool would look like a tool without a ready call.

use recount::engine::ClaimRequest;

use crate::problems::{Code, Problem};
use crate::routes::caller::Caller;

/// The maximum number of tools that a problem names.
const NAMED_MAX: usize = 3;

/// The result of the comparison.
pub(super) struct KnownTools {
    /// The first tools that the request names, if no agent in its scope has any of them.
    unknown: Option<String>,
}

impl KnownTools {
    /// Compares the tools of a request, which `narrowed` has within the grants of the caller.
    ///
    /// Tools that only some sessions have count, too, once a session has them.
    pub(super) fn of(
        caller: &Caller,
        request: &ClaimRequest,
        narrowed: &[ClaimRequest],
    ) -> KnownTools {
        let engine = &caller.service.engine;
        let has_one = |it: &ClaimRequest| {
            let mut tools = it.tools.iter();
            tools.any(|tool| engine.has_client_tool(tool, &it.agents))
        };
        let is_known = request.tools.is_empty() || narrowed.iter().any(has_one);
        let names = request.tools.iter().take(NAMED_MAX);
        let names: Vec<String> = names.map(|it| format!("{it:?}")).collect();
        KnownTools {
            unknown: (!is_known).then(|| names.join(", ")),
        }
    }

    /// Rejects a request none of whose tools is known, once no call of them is ready.
    pub(super) fn expect_any(&self) -> Result<(), Problem> {
        let Some(names) = &self.unknown else {
            return Ok(());
        };
        let detail = format!("no agent within the grants has a client-run tool named {names}");
        Err(Problem::new(Code::UnknownTool, detail))
    }
}
