//! Every file argument has a size limit and must be a file or a pipe, in every command.

#![cfg(unix)]

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::program::{Bench, Run};

/// Commands with an endless device as an argument, and the path that the error names.
const GIVEN: [(&str, &str); 10] = [
    ("approve demo 0 --payload @/dev/zero", "/dev/zero"),
    ("approve demo 0 --args @/dev/zero", "/dev/zero"),
    ("respond-call demo 0123 --response @/dev/zero", "/dev/zero"),
    ("reconcile demo 0 1 --done @/dev/zero", "/dev/zero"),
    ("policy check /dev/zero", "/dev/zero"),
    ("replay demo --policy /dev/zero", "/dev/zero"),
    (
        "run --tools tools.toml --policy /dev/zero --endpoint ws://127.0.0.1:9",
        "/dev/zero",
    ),
    (
        "run --tools /dev/zero --endpoint ws://127.0.0.1:9",
        "/dev/zero",
    ),
    ("simulate --script /dev/zero", "/dev/zero"),
    ("fixture test endless", "endless/fixture.json"),
];

#[test]
fn device_without_end_is_refused_by_name() {
    let bench = Bench::with_demo();
    let tool = "[[tool]]\nname = \"echo\"\ndescription = \"Echoes\"\ncommand = [\"cat\"]\n";
    bench.write("tools.toml", tool);
    std::fs::create_dir(bench.path("endless")).unwrap();
    symlink("/dev/zero", bench.path("endless/fixture.json")).unwrap();
    for (command, path) in GIVEN {
        let run = bench.run(command);
        assert_ne!(run.code, 0, "{command}: {run:?}");
        let told = format!("{}{}", run.out, run.err);
        assert!(
            told.contains(path) && told.contains("found a device"),
            "{command}: {told}"
        );
        assert!(told.contains("expected a file or a pipe of "), "{told}");
    }
    let master = bench
        .command("verify demo")
        .env("RECOUNT_MASTER_KEY_FILE", "/dev/zero")
        .output();
    assert!(master.unwrap().status.success(), "no key is asked for");
    let mut listing = bench.command("pending demo --keys keys");
    let listed = listing.env("RECOUNT_MASTER_KEY_FILE", "/dev/zero").output();
    let told = String::from_utf8(listed.unwrap().stderr).unwrap();
    assert!(
        told.contains("/dev/zero") && told.contains("found a device"),
        "{told}"
    );
}

#[test]
fn standard_input_is_read_up_to_its_limit() {
    let bench = Bench::with_demo();
    for name in ["-", "@/dev/stdin", "@/proc/self/fd/0"] {
        let mut command = bench.command("respond-call demo 0123 --response");
        let zero = File::open("/dev/zero").unwrap();
        let output = command.arg(name).stdin(zero).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.contains("expected 64 MiB at most, found more"),
            "{name}: {told}"
        );
        // A pipe that ends is read completely.
        let mut command = bench.command("respond-call demo 0123 --response");
        let mut child = command
            .arg(name)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"{\"ok\":true}").unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("error[unknown-call]"), "{name}: {told}");
    }
}

#[test]
fn pipe_of_a_process_substitution_is_read() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_recount");
    let script =
        format!("{program} policy check <(printf '[tools.refund]\\nconfirm = \"Refund?\"\\n')");
    let checked = bench.command("").get_current_dir().map(|directory| {
        std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(directory)
            .output()
    });
    let Some(Ok(checked)) = checked else {
        println!("not looked at: there is no bash");
        return;
    };
    let told = Run {
        code: checked.status.code().unwrap(),
        out: String::from_utf8(checked.stdout).unwrap(),
        err: String::from_utf8(checked.stderr).unwrap(),
    };
    assert!(
        !told.err.contains("expected a file") && !told.err.contains("failed to read"),
        "{told:?}"
    );
}

/// The next export to the same file removes the draft of a killed process.
#[test]
fn draft_of_a_killed_export_is_removed() {
    let bench = Bench::with_demo();
    let left = [
        "out.jsonl.4194305.recount.part",
        "other.jsonl.4194305.recount.part",
        "out.jsonl.notes.part",
    ];
    for name in left {
        bench.write(name, "half");
    }
    bench.run("export demo --out out.jsonl").ends_with(0);
    let is_there = |name: &str| bench.path(name).exists();
    assert_eq!(left.map(is_there), [false, true, true]);
    let drafts = std::fs::read_dir(bench.path(".")).unwrap();
    let drafts = drafts.filter(|it| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("out.jsonl.")
    });
    assert_eq!(drafts.count(), 1);
}
