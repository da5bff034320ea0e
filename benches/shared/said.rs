//! Starts this program once more as a child, and reads what it says: a name and a figure a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

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

/// What this process is to do as a child, when it is one.
pub(crate) fn order() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    let is_child = words.next().as_deref() == Some(CHILD);
    is_child.then(|| words.collect())
}

/// Lets a child do something; kills it as soon as it has said one thing, if it is to be killed.
pub(crate) fn run(words: &[&str], killed: bool) -> Said {
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
        if killed {
            child.kill().expect("a kill");
            break;
        }
    }
    let status = child.wait().expect("an end");
    let as_asked = status.success() != killed;
    assert!(
        as_asked,
        "the child that should {words:?} ended with {status}: {said:?}"
    );
    Said(said)
}
