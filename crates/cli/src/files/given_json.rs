//! JSON arguments of the command line: in place, from a file, or from standard input.

use std::path::Path;

use crate::failures::{Exit, Failure};
use recount::session::Json;
use recount_telling::one_line;
use recount_text::files::given_file;

/// The maximum length of such an argument, in bytes.
///
/// It is larger than a record (3 MiB), so that the refusal of a record names that limit.
const GIVEN_BYTES_MAX: u64 = 64 << 20;

/// Reads the argument `given`: JSON itself, `@FILE`, or `-` for standard input. `what` is its name
/// in an error.
pub(crate) fn given_json(what: &str, given: &str) -> Result<Json, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => given_file::text(Path::new(path), GIVEN_BYTES_MAX)
            .map_err(|error| Failure::io(format!("read {}", one_line(path)), &error))?,
        None if given == "-" => given_file::standard_input(GIVEN_BYTES_MAX)
            .map_err(|error| Failure::io("read standard input", &error))?,
        None => given.to_owned(),
    };
    Json::parse(&text).map_err(|problem| {
        let what = format!("expected {what} as JSON, found {problem}");
        Failure::new("not-json", one_line(&what)).exit(Exit::Usage)
    })
}
