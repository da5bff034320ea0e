//! Policy files: read, or refused with a list of all mistakes.

use std::path::Path;

use crate::failures::{Exit, Failure};
use recount::session::PolicyChanges;
use recount::tool::policy_file::{self, PolicyMistake};
use recount_telling::{count, one_line};
use recount_text::files::given_file;

/// The maximum length of a policy file, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The maximum number of mistakes in a message; `--json` lists all.
const LISTED_MAX: usize = 100;

/// Reads the changes in a policy file.
pub(crate) fn read(file: &Path) -> Result<PolicyChanges, Failure> {
    policy_file::parse(&text_of(file)?).map_err(|error| wrong(file, &error.mistakes))
}

/// Reads the text of a policy file.
pub(crate) fn text_of(file: &Path) -> Result<String, Failure> {
    let name = file.display().to_string();
    given_file::text(file, FILE_BYTES_MAX)
        .map_err(|error| Failure::io(format!("read the policies in {}", one_line(&name)), &error))
}

/// The failure of a file with mistakes.
pub(crate) fn wrong(file: &Path, mistakes: &[PolicyMistake]) -> Failure {
    let name = file.display().to_string();
    let mut listed: String = mistakes
        .iter()
        .take(LISTED_MAX)
        .map(|it| format!("\n  - {}", one_line(&it.to_string())))
        .collect();
    if mistakes.len() > LISTED_MAX {
        let more = mistakes.len() - LISTED_MAX;
        listed.push_str(&format!("\n  and {more} more"));
    }
    let mistakes = count(mistakes.len(), "mistake");
    let what = format!("{} has {mistakes}:{listed}", one_line(&name));
    Failure::new("policy-file", what)
        .exit(Exit::Usage)
        .advice("`recount policy schema` prints the schema of the file")
}
