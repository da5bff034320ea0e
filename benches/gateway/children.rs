//! The child processes: each prints its address, and then answers one line by another.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::processor_time::processor_time;

/// The argument that makes the program a child.
const CHILD: &str = "--child";

/// The words of this process, if it is a child.
pub(crate) fn words_of_child() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    let is_child = words.next().as_deref() == Some(CHILD);
    is_child.then(|| words.collect())
}

/// A child process. It ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts this program again, with these words.
    pub(crate) fn start(words: &[&str]) -> Process {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program)
            .arg(CHILD)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let output = child.stdout.take().expect("its output");
        Process {
            input: child.stdin.take(),
            output: BufReader::new(output).lines(),
            child,
        }
    }

    /// The next line that the process prints.
    pub(crate) fn line(&mut self) -> String {
        let line = self.output.next().expect("a process that still runs");
        line.expect("a line")
    }

    /// The answer of the process to a line.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{line}").expect("a process that still runs");
        self.line()
    }

    /// The CPU time of the process so far.
    pub(crate) fn processor_time(&mut self) -> Duration {
        let nanoseconds = self.ask("cpu").parse().expect("nanoseconds");
        Duration::from_nanos(nanoseconds)
    }

    /// The memory of the process that is no file, in KiB.
    pub(crate) fn memory(&mut self) -> f64 {
        self.ask("memory").parse().expect("a figure of memory")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Prints a line for the process that started this one.
pub(crate) fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("a reader");
}

/// Answers lines on a thread of its own, until input ends and the process with it. `answer` knows
/// the lines beyond those about CPU time and memory.
pub(crate) fn answer_lines(mut answer: impl FnMut(&[&str]) -> String + Send + 'static) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let line = line.expect("a line");
            let words: Vec<&str> = line.split(' ').collect();
            say(&match words.as_slice() {
                ["cpu"] => processor_time().as_nanos().to_string(),
                ["memory"] => memory(),
                other => answer(other),
            });
        }
        std::process::exit(0);
    });
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells of memory");
    let value = status.lines().find_map(|it| it.strip_prefix("RssAnon:"));
    let words = value.and_then(|it| it.split_whitespace().next());
    words.expect("a figure of memory").to_owned()
}

/// Allows this process as many open sockets as the system lets it have.
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit up to the maximum");
}
