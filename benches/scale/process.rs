//! The child processes of this bench, and their arguments.

use std::path::Path;

use crate::child::{self, End};
pub(crate) use crate::said::ChildOutput;
use crate::said::{child_arguments, run};

/// Runs the work of a child and returns true, if this process is one.
pub(crate) fn is_child() -> bool {
    let Some(words) = child_arguments() else {
        return false;
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse().expect("a number");
    let fill = |path: &str, records: &str, sessions: &str, end| {
        child::fill(Path::new(path), number(records), number(sessions), end);
    };
    match words.as_slice() {
        ["fill", path, records, sessions] => fill(path, records, sessions, End::Close),
        ["hold", path, records, sessions] => fill(path, records, sessions, End::Hold),
        ["open", path] => child::open(Path::new(path)),
        other => unreachable!("{other:?} is nothing that a child does"),
    }
    true
}

/// Fills a journal in a process. The process closes it, or is killed after the last
/// acknowledgement.
pub(crate) fn fill(path: &Path, records: u64, sessions: u64, end: End) -> ChildOutput {
    let word = match end {
        End::Close => "fill",
        End::Hold => "hold",
    };
    let (records, sessions) = (records.to_string(), sessions.to_string());
    run(&[word, text(path), &records, &sessions], end == End::Hold)
}

/// Opens a journal in a new process.
pub(crate) fn open(path: &Path) -> ChildOutput {
    run(&["open", text(path)], false)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}
