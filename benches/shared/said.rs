//! Child processes: this program is started again, and prints one name and figure a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The output of a child, by name.
#[derive(Debug)]
pub(crate) struct ChildOutput(BTreeMap<String, String>);

impl ChildOutput {
    pub(crate) fn text(&self, name: &str) -> &str {
        let text = self.0.get(name);
        text.unwrap_or_else(|| unreachable!("a child that ended well says its {name}: {self:?}"))
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.text(name).parse().expect("a number")
    }
}

/// The argument that makes the program a child.
const CHILD: &str = "--child";

/// The arguments of this process after `--child`, if it is a child.
pub(crate) fn child_arguments() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    let is_child = words.next().as_deref() == Some(CHILD);
    is_child.then(|| words.collect())
}

/// Runs a child to its end. If `killed` is set, kills it after its first line.
pub(crate) fn run(words: &[&str], killed: bool) -> ChildOutput {
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
    ChildOutput(said)
}
