//! Signals that ask `recount run` to end: it interrupts the running tools.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::Bench;

const SCRIPT: &str =
    r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "p", "name": "pack"}]}]}"#;

/// A tool whose command starts another program. That one reports its start, and that it survived.
const TOOLS: &str = r#"
[[tool]]
name = "pack"
description = "Packs"
command = ["sh", "-c", """
(exec 3>alive; echo started >&3; read line <release; echo survived >&3)
echo 1
"""]
"#;

fn id_of(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

#[test]
fn signal_ends_the_program_and_its_tools() {
    for signal in [Signal::INT, Signal::TERM] {
        let bench = Bench::new();
        bench.write("tools.toml", TOOLS);
        let (alive, release) = (bench.path("alive"), bench.path("release"));
        let made = Command::new("mkfifo").args([&alive, &release]).status();
        assert!(made.unwrap().success());
        let (_simulator, url) = bench.simulate(SCRIPT);
        let mut run = bench.start(&format!(
            "run --tools tools.toml --endpoint {url} --journal j --text please"
        ));
        let id = id_of(run.id());
        let asking = thread::spawn(move || {
            let mut alive = File::open(alive).unwrap();
            alive.read_exact(&mut [0; 8]).unwrap();
            kill_process(id, signal).unwrap();
            alive
        });
        run.until("To continue:");
        assert_eq!(
            run.ends(),
            Some(1),
            "{signal:?}: not at a terminal it was stopped"
        );
        let mut alive = asking.join().unwrap();

        // Opened for reading, too, because opening only for writing blocks without a reader.
        let release = File::options().read(true).write(true).open(release);
        let mut release = release.unwrap();
        release.write_all(b"\n").unwrap();
        let mut rest = String::new();
        alive.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "{signal:?}");
        bench.run("verify j").ends_with(0);
    }
}

#[test]
fn signal_before_the_connection_is_reported() {
    let bench = Bench::new();
    bench.write("tools.toml", TOOLS);
    // The listener never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", silent.local_addr().unwrap());
    let mut run = bench
        .command(&format!(
            "run --tools tools.toml --endpoint {url} --journal j"
        ))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = id_of(run.id());
    // In a thread, so that the test also ends if the program never connects.
    thread::spawn(move || {
        let (mut asking, _) = silent.accept().unwrap();
        asking.read_exact(&mut [0; 4]).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        // Reads until the program has ended.
        let _rest = asking.read_to_end(&mut Vec::new());
    });
    assert_eq!(run.wait().unwrap().code(), Some(1));
    let mut said = String::new();
    run.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("error[stopped]: "), "{said}");
    let sessions = bench.run("sessions j --json").ends_with(0).json_lines();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["closed"], true, "its id was never shown");
}
