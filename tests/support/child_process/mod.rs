//! The test's own program, started again as a process that can be killed.
//!
//! A test asks [`order`] first whether it is such a process; what it says goes to standard error,
//! because the test harness prints on the other stream only.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use recount::prelude::*;

const ORDER: &str = "RECOUNT_CHILD_PROCESS_ORDER";

/// A hundred times what the slowest of them needs.
const PATIENCE: Duration = Duration::from_secs(300);

/// What this process was told to do, if it is one that a test started.
pub(crate) fn order() -> Option<Value> {
    let order = std::env::var(ORDER).ok()?;
    Some(serde_json::from_str(&order).unwrap())
}

/// Does what this process was told to do. One that does not come to its end must end its test.
pub(crate) fn obey(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await });
    done.expect("the process comes to its end");
}

/// Says something to the test that started this process.
pub(crate) fn say(what: impl Display) {
    let line = format!("@ {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A process that runs one test of this program; killed when it is dropped.
pub(crate) struct ChildProcess {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl ChildProcess {
    /// Starts the test `test` with an order.
    pub(crate) fn start(test: &str, order: &Value) -> ChildProcess {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(ORDER, order.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        ChildProcess { child, lines }
    }

    /// What it says next; nothing once it has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        for line in &mut self.lines {
            let line = line.unwrap();
            match line.strip_prefix("@ ") {
                Some(said) => return Some(said.to_owned()),
                // Why it fails, if it does.
                None => eprintln!("{line}"),
            }
        }
        None
    }

    /// Waits until it says `word`, and returns what stands behind it.
    pub(crate) fn until(&mut self, word: &str) -> String {
        while let Some(said) = self.next() {
            if let Some(rest) = said.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
        panic!("the process ended before it said {word:?}");
    }

    /// Waits for a good end.
    pub(crate) fn end(mut self) {
        while self.next().is_some() {}
        assert!(self.child.wait().unwrap().success());
    }

    /// Ends it with SIGKILL. What it said before can still be read.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        // Until it is gone the journal is its own.
        self.child.wait().unwrap();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
