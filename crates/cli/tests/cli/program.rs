//! Runs the program in a directory of its own, and the simulator beside it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory in which the program is run.
pub(crate) struct Bench {
    directory: TempDir,
}

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        Bench { directory }
    }

    /// With the journal `demo` that `recount demo --approve` leaves.
    pub(crate) fn with_demo() -> Bench {
        let bench = Bench::new();
        bench.run("demo --approve --journal demo").ends_with(0);
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The program with arguments that have no spaces.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recount"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .env_remove("NO_COLOR")
            .env_remove("RECOUNT_LOG")
            .env_remove("RECOUNT_MASTER_KEY")
            .env_remove("RECOUNT_MASTER_KEY_FILE")
            .env_remove("GEMINI_API_KEY")
            .env_remove("GOOGLE_API_KEY")
            .env_remove("GOOGLE_GENAI_API_KEY")
            .env_remove("GOOGLE_GENAI_USE_VERTEXAI");
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        let output = self.command(arguments).output().unwrap();
        Run {
            code: output.status.code().expect("nobody kills it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts the program and reads its output as it comes.
    pub(crate) fn start(&self, arguments: &str) -> Started {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Started { child, out }
    }

    /// Starts the simulator with a script, and says where it listens.
    pub(crate) fn simulate(&self, script: &str) -> (Started, String) {
        self.write("script.jsonl", script);
        let mut simulator = self.start("simulate --script script.jsonl --listen 127.0.0.1:0");
        let url = simulator.until("ws://");
        (simulator, url)
    }

    /// The only session of a journal.
    pub(crate) fn session(&self, journal: &str) -> String {
        let listed = self
            .run(&format!("sessions {journal} --json"))
            .ends_with(0)
            .json_lines();
        assert_eq!(listed.len(), 1);
        listed[0]["session"].as_str().unwrap().to_owned()
    }
}

impl Run {
    /// Expects an exit code, and that a failure says so on standard error and a success says
    /// nothing there.
    pub(crate) fn ends_with(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{self:#?}");
        if code == 0 {
            assert_eq!(self.err, "", "{self:#?}");
        }
        self
    }

    /// Expects the code of an error, in one line.
    pub(crate) fn fails(self, exit: i32, code: &str) -> Run {
        let run = self.ends_with(exit);
        assert!(run.err.starts_with(&format!("error[{code}]: ")), "{run:#?}");
        assert!(
            run.err.lines().skip(1).all(|line| line.starts_with("  ")),
            "{run:#?}"
        );
        run
    }

    /// Expects every one of these in the output.
    pub(crate) fn says(self, words: &[&str]) -> Run {
        for word in words {
            assert!(self.out.contains(word), "expected {word:?} in {self:#?}");
        }
        self
    }

    /// Expects every one of these on standard error.
    pub(crate) fn complains(self, words: &[&str]) -> Run {
        for word in words {
            assert!(self.err.contains(word), "expected {word:?} in {self:#?}");
        }
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }

    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The program while it runs; it is killed with this value.
pub(crate) struct Started {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Started {
    /// Reads on until a line contains this, and returns the line.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        let mut read = String::new();
        loop {
            let mut line = String::new();
            let bytes = self.out.read_line(&mut line).unwrap();
            assert!(bytes > 0, "it ended without {wanted:?}:\n{read}");
            if line.contains(wanted) {
                return line.trim_end().to_owned();
            }
            read.push_str(&line);
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, and says whether that is a good one.
    pub(crate) fn ends_well(mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Waits for its end; gives its exit code, if it has one.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends it as nothing in it can hinder.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
