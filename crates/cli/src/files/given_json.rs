//! JSON as it is given on the command line: in place, in a file, or on standard input.

use std::path::Path;

use crate::failures::{Exit, Failure};
use crate::text::one_line;
use recount::session::Json;
use recount_text::files::given_file;

/// The maximum length of what is given, in bytes. A record takes 3 MiB; what is somewhat larger is
/// refused in the words of a record.
const GIVEN_BYTES_MAX: u64 = 64 << 20;

/// Reads `given`, which is `what`: the JSON itself, `@FILE`, or `-` for standard input.
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
