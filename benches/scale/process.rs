//! Starts this program once more as a child, and reads what it says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child::{self, End};

/// What a child said: names and what stands behind them.
#[derive(Debug)]
pub(crate) struct Said(BTreeMap<String, String>);

impl Said {
    pub(crate) fn text(&self, name: &str) -> &str {
        let text = self.0.get(name);
        text.unwrap_or_else(|| unreachable!("a child that ended well says its {name}: {self:?}"))
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.text(name).parse().expect("a number")
    }
}

/// The word that makes the program a child.
const CHILD: &str = "--child";

/// Does a child's work and returns true, when this process is one.
pub(crate) fn is_child() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse().expect("a number");
    match words.as_slice() {
        [CHILD, "fill", path, records, sessions] => {
            child::fill(
                Path::new(path),
                number(records),
                number(sessions),
                End::Close,
            );
        }
        [CHILD, "hold", path, records, sessions] => {
            child::fill(
                Path::new(path),
                number(records),
                number(sessions),
                End::Hold,
            );
        }
        [CHILD, "open", path] => child::open(Path::new(path)),
        _ => return false,
    }
    true
}

/// Fills a journal in a process that closes it, or that is killed as soon as everything is acknowledged.
pub(crate) fn fill(path: &Path, records: u64, sessions: u64, end: End) -> Said {
    let word = match end {
        End::Close => "fill",
        End::Hold => "hold",
    };
    run(
        &[
            word,
            text(path),
            &records.to_string(),
            &sessions.to_string(),
        ],
        end,
    )
}

/// Opens a journal in a fresh process.
pub(crate) fn open(path: &Path) -> Said {
    run(&["open", text(path)], End::Close)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

fn run(words: &[&str], end: End) -> Said {
    let program = std::env::current_exe().expect("the program knows itself");
    let mut child = Command::new(program)
        .arg(CHILD)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let out = child.stdout.take().expect("what it says");
    let mut said = BTreeMap::new();
    for line in BufReader::new(out).lines() {
        let line = line.expect("a line");
        let (name, what) = line.split_once(' ').expect("a name and a figure");
        said.insert(name.to_owned(), what.to_owned());
        if end == End::Hold {
            child.kill().expect("a kill");
            break;
        }
    }
    let status = child.wait().expect("an end");
    let as_asked = status.success() != (end == End::Hold);
    assert!(
        as_asked,
        "the child that should {words:?} ended with {status}: {said:?}"
    );
    Said(said)
}
