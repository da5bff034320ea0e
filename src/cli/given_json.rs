//! JSON as it is given on the command line: in place, in a file, or on standard input.

use std::io::Read;

use super::failure::{Exit, Failure};
use super::one_line::one_line;
use crate::session::Json;

/// Reads `given`, which is `what`: the JSON itself, `@FILE`, or `-` for standard input.
pub(super) fn given_json(what: &str, given: &str) -> Result<Json, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::io(format!("read {}", one_line(path)), &error))?,
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::io("read standard input", &error))?;
            text
        }
        None => given.to_owned(),
    };
    Json::parse(&text).map_err(|problem| {
        let what = format!("expected {what} as JSON, found {problem}");
        Failure::new("not-json", one_line(&what)).exit(Exit::Usage)
    })
}
