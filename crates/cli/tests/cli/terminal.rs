//! `recount run` at a terminal: an answer counts for the call in its prompt.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::answering::parked;
use crate::program::Bench;

/// A script with a second call while the request about the first is on the screen.
const SCRIPT: &str = concat!(
    r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "p1", "name": "pay", "#,
    r#""args": {"to": "account-1", "cents": 999999}}]}, {"wait_ms": 300}, "#,
    r#"{"call": [{"id": "p2", "name": "pay", "#,
    r#""args": {"to": "account-2", "cents": 100}}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "Noted."}]}"#,
    "\n",
);

const TOOLS: &str = r#"
[[tool]]
name = "pay"
description = "Pays"
command = ["sh", "-c", "cat >>paid.txt; echo >>paid.txt; echo '{}'"]
confirm = "Pay?"
"#;

/// The end of a prompt.
const ENDS: &str = "? [y/n, empty: later] ";

/// The program at a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    screen: File,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(bench: &Bench, arguments: &str) -> Terminal {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let end = || {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
            Stdio::from(ioctl_tiocgptpeer(&screen, flags).unwrap())
        };
        let mut command = bench.command(arguments);
        command.stdin(end()).stdout(end()).stderr(end());
        Terminal {
            child: command.spawn().unwrap(),
            screen: screen.into(),
            seen: String::new(),
        }
    }

    /// Reads until the new output contains `wanted`, and returns the output up to its end.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(wanted) {
                let rest = self.seen.split_off(at + wanted.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let mut bytes = [0; 4096];
            let read = self.screen.read(&mut bytes).unwrap_or(0);
            assert!(read > 0, "it ended without {wanted:?}:\n{}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    /// Reads up to the next prompt about this call, past repeated prompts.
    fn until_prompt_about(&mut self, account: &str) -> String {
        loop {
            let shown = self.until(ENDS);
            if shown.lines().last().is_some_and(|it| it.contains(account)) {
                return shown;
            }
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code, if there is one.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn paid(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path("paid.txt")).unwrap_or_default()
}

#[test]
fn prompt_names_its_call_and_is_repeated_after_output() {
    let bench = Bench::new();
    bench.write("tools.toml", TOOLS);
    let (_simulator, url) = bench.simulate(SCRIPT);
    let mut terminal = Terminal::start(
        &bench,
        &format!("run --tools tools.toml --endpoint {url} --journal j --text please"),
    );
    let first = terminal.until(ENDS);
    let prompt = first.lines().last().unwrap();
    assert!(
        prompt.contains("pay") && prompt.contains("account-1"),
        "{prompt}"
    );
    // The second call is printed, and below it the first request again.
    terminal.until("account-2");
    let again = terminal.until(ENDS);
    let prompt = again.lines().last().unwrap();
    assert!(
        prompt.contains("account-1") && !prompt.contains("account-2"),
        "{prompt}"
    );
    assert!(again.contains("Pay?"), "{again}");
    terminal.types("y\n");
    // The end of the program kills a running tool.
    terminal.until(" ended: returned");
    terminal.until_prompt_about("account-2");
    terminal.types("n\n");
    terminal.until("denied");
    drop(terminal);
    let paid = paid(&bench);
    assert!(
        paid.contains("account-1") && !paid.contains("account-2"),
        "{paid}"
    );
}

#[test]
fn answer_to_a_call_decided_elsewhere_answers_no_other() {
    let bench = Bench::new();
    bench.write("tools.toml", TOOLS);
    let (_simulator, url) = bench.simulate(SCRIPT);
    let mut terminal = Terminal::start(
        &bench,
        &format!("run --tools tools.toml --endpoint {url} --journal j --text please"),
    );
    terminal.until("account-2");
    terminal.until(ENDS);
    // Typed for the first call, but not sent before another user decides that call.
    terminal.types("y");
    let waiting = bench.run("pending j --json").ends_with(0).json_lines();
    let first = waiting.iter().find(|it| it["args"]["to"] == "account-1");
    let first = first.unwrap()["request"].as_str().unwrap();
    bench.run(&format!("deny j {first}")).ends_with(0);
    terminal.until_prompt_about("account-2");
    terminal.types("\n");
    // An empty line postpones the request, and the prompt for a text appears.
    terminal.until("> ");
    drop(terminal);
    assert_eq!(paid(&bench), "");
}

/// A tool that does not end the first time, and requires approval when it was interrupted.
const CUT_OFF: &str = r#"
[[tool]]
name = "pay"
description = "Pays"
command = ["sh", "-c", """
cat >>paid.txt; echo >>paid.txt
test -e again && echo '{}' && exit
echo begun >begun; sleep 600
"""]
confirm = "Pay?"
in_doubt = "ask"
"#;

#[test]
fn approve_all_and_deny_all_leave_doubt_to_a_person() {
    let script = r#"
{"on": {"text": "please"}, "send": [{"call": [{"id": "p1", "name": "pay", "args": {"cents": 1}}]}]}
{"on": "otherwise", "send": [{"say": "Noted."}]}
"#;
    let bench = Bench::new();
    bench.write("tools.toml", CUT_OFF);
    let made = std::process::Command::new("mkfifo")
        .arg(bench.path("begun"))
        .status();
    assert!(made.unwrap().success());
    let (_simulator, url) = bench.simulate(script);
    let run = format!("run --tools tools.toml --endpoint {url} --journal j");
    let running = bench.start(&format!("{run} --text please --approve-all"));
    let mut begun = String::new();
    let mut told = File::open(bench.path("begun")).unwrap();
    told.read_to_string(&mut begun).unwrap();
    running.kill();
    bench.write("again", "");
    let session = bench.session("j");
    for flag in ["--approve-all", "--deny-all"] {
        let resumed = bench.run(&format!("{run} --resume {session} {flag}"));
        resumed
            .ends_with(0)
            .prints(&["pay is waiting for approval:"]);
        assert_eq!(paid(&bench).lines().count(), 1, "{flag}");
    }
    let resumed = bench.run(&format!("{run} --resume {session} --rerun-doubt"));
    resumed.ends_with(0).prints(&["pay ended: returned"]);
    assert_eq!(paid(&bench).lines().count(), 2);
}

#[test]
fn approve_at_a_terminal_shows_the_call_and_asks() {
    let bench = Bench::new();
    let (_simulator, _, request) = parked(&bench);
    let mut terminal = Terminal::start(&bench, &format!("approve j {}", &request[..6]));
    let shown = terminal.until("? [y/n] ");
    assert!(shown.contains(r#"{"order":"A-17"}"#), "{shown}");
    terminal.types("n\n");
    terminal.until("Nothing was recorded.");
    drop(terminal);
    assert_eq!(bench.run("pending j --json").json_lines().len(), 1);
    let mut terminal = Terminal::start(&bench, &format!("approve j {request}"));
    terminal.until("? [y/n] ");
    terminal.types("y\n");
    terminal.until("refund approved by ");
    terminal.until("The call starts when a process serves");
    let again = format!("approve j {request} --yes");
    let mut terminal = Terminal::start(&bench, &again);
    terminal.until("already-answered");
}

#[test]
fn approve_in_a_script_prints_the_call_and_asks_nothing() {
    let bench = Bench::new();
    let (_simulator, _, request) = parked(&bench);
    let approved = bench.run(&format!("approve j {request}")).ends_with(0);
    approved.prints(&["refund approved by ", r#"{"order":"A-17"}"#]);
}
