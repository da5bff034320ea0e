//! The settings of `[reads]`: the recording of who reads sessions.

use serde_json::{Value, json};

use super::schema::table;
use super::section::{Given, Section};
use recount_reads::OnFailure;

/// The keys of `[reads]`.
pub(super) const READS: [&str; 2] = ["record", "on_failure"];

/// The recording of who reads sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadsSettings {
    /// False if reads are not recorded.
    pub(crate) record: Option<Given<bool>>,
    /// The fate of an answer whose read cannot be recorded.
    pub(crate) on_failure: Option<Given<OnFailure>>,
}

/// Reads `[reads]`.
pub(super) fn reads(section: &Section<'_>) -> ReadsSettings {
    section.only(&READS);
    ReadsSettings {
        record: section.flag("record"),
        on_failure: section.value("on_failure", "\"serve\" or \"refuse\"", |node| {
            let text = node.text()?;
            let mut known = [OnFailure::Serve, OnFailure::Refuse].into_iter();
            known.find(|it| it.as_str() == text)
        }),
    }
}

/// The JSON Schema of `[reads]`.
pub(super) fn schema() -> Value {
    table(
        &[],
        [
            (
                "record",
                json!({"type": "boolean"}),
                "False if reads are not recorded, which itself goes on record; true by default.",
            ),
            (
                "on_failure",
                json!({"enum": ["serve", "refuse"]}),
                "The fate of an answer whose read cannot be recorded: serve, the default, or \
                 refuse. The number of those that were served goes on record later.",
            ),
        ],
    )
}
