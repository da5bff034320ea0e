//! Runs the program and the simulator in a temporary directory.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary directory in which the program is run.
pub(crate) struct Bench {
    directory: TempDir,
}

/// The result of one run.
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

    /// A bench with the journal `demo` of `recount demo --approve`.
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

    /// The command for the program, with arguments without spaces.
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
        // Variables of a service of the developer would configure every service of the tests.
        for (name, _) in std::env::vars().filter(|(it, _)| it.starts_with("RECOUNT_SERVE_")) {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        let output = self.command(arguments).output().unwrap();
        Run {
            code: output.status.code().expect("it is not killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts the program. Its output is read line by line.
    pub(crate) fn start(&self, arguments: &str) -> Started {
        let child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Started::of(child)
    }

    /// Starts the simulator with a script. Returns its URL, too.
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
    /// Expects an exit code. Expects that a successful run prints nothing to standard error.
    pub(crate) fn ends_with(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{self:#?}");
        if code == 0 {
            assert_eq!(self.err, "", "{self:#?}");
        }
        self
    }

    /// Expects an exit code and an error code.
    pub(crate) fn fails(self, exit: i32, code: &str) -> Run {
        let run = self.ends_with(exit);
        assert!(run.err.starts_with(&format!("error[{code}]: ")), "{run:#?}");
        assert!(
            run.err.lines().skip(1).all(|line| line.starts_with("  ")),
            "{run:#?}"
        );
        run
    }

    /// Expects these texts in the output.
    pub(crate) fn prints(self, words: &[&str]) -> Run {
        for word in words {
            assert!(self.out.contains(word), "expected {word:?} in {self:#?}");
        }
        self
    }

    /// Expects these texts on standard error.
    pub(crate) fn prints_error(self, words: &[&str]) -> Run {
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

/// The running program. Dropping it kills the program.
pub(crate) struct Started {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Started {
    /// A program that was started with its output in a pipe.
    pub(crate) fn of(mut child: Child) -> Started {
        let out = BufReader::new(child.stdout.take().unwrap());
        Started { child, out }
    }

    /// Reads lines until one contains `wanted`, and returns that line.
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

    /// Waits for the end. Returns true if the program succeeded.
    pub(crate) fn ends_well(mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Waits for the end. Returns the exit code, if there is one.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Kills the program with SIGKILL.
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
