//! The test program, started again as a process that can be killed.
//!
//! A test calls [`order`] first to find out if it is such a process. A child prints to standard
//! error, because the test harness writes to standard output.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use recount::prelude::*;

const ORDER: &str = "RECOUNT_CHILD_PROCESS_ORDER";

/// A hundred times the duration of the slowest child.
const PATIENCE: Duration = Duration::from_secs(300);

/// The order of this process, if a test started it.
pub(crate) fn order() -> Option<Value> {
    let order = std::env::var(ORDER).ok()?;
    Some(serde_json::from_str(&order).unwrap())
}

/// Runs the work of a child process. The process must finish in time, or its test fails.
pub(crate) fn obey(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await });
    done.expect("the process comes to its end");
}

/// Prints one line for the test that started this process.
pub(crate) fn say(what: impl Display) {
    let line = format!("@ {what}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A child process that runs one test of this program; killed on drop.
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

    /// The next line that the process printed; `None` once the process has ended.
    pub(crate) fn next(&mut self) -> Option<String> {
        for line in &mut self.lines {
            let line = line.unwrap();
            match line.strip_prefix("@ ") {
                Some(said) => return Some(said.to_owned()),
                // An ordinary line, for example the reason of a failure.
                None => eprintln!("{line}"),
            }
        }
        None
    }

    /// Waits for a line that starts with `word`, and returns the rest of the line.
    pub(crate) fn until(&mut self, word: &str) -> String {
        while let Some(said) = self.next() {
            if let Some(rest) = said.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
        panic!("the process ended before it said {word:?}");
    }

    /// Waits until the process exits with success.
    pub(crate) fn end(mut self) {
        while self.next().is_some() {}
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills the process with SIGKILL. Lines printed before can still be read.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        // The process holds its journal until it is gone.
        self.child.wait().unwrap();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
