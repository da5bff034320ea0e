//! Files and directories that commands write: they replace nothing, and are never within a journal.

use std::fs;
use std::path::Path;

use crate::program::{Bench, Run};

/// Every command that writes a file, without the name of the file.
const FILES: [&str; 2] = ["export demo --out", "audit decisions demo --html"];

/// Every command that creates a directory, without its name.
const DIRECTORIES: [&str; 5] = [
    "backup demo",
    "restore copy",
    "import demo.jsonl",
    "fixture export demo SESSION",
    "demo --approve --journal",
];

fn bench() -> Bench {
    let bench = Bench::with_demo();
    bench.run("backup demo copy").ends_with(0);
    bench.run("export demo --out demo.jsonl").ends_with(0);
    bench
}

/// True if `verify` finds no damage.
fn is_sound(bench: &Bench) -> bool {
    bench.run("verify demo").code == 0
}

fn simulate(bench: &Bench, record: &str) -> Run {
    bench.write(
        "script.jsonl",
        "{\"on\": \"otherwise\", \"send\": [{\"say\": \"Hi.\"}]}\n",
    );
    bench.run(&format!(
        "simulate --script script.jsonl --listen 127.0.0.1:0 --record {record}"
    ))
}

#[test]
fn files_replace_nothing_without_force() {
    let bench = bench();
    bench.write("note.txt", "mine");
    let kept = |run: Run| {
        run.fails(1, "occupied")
            .prints_error(&["note.txt", "--force"]);
        assert_eq!(fs::read_to_string(bench.path("note.txt")).unwrap(), "mine");
    };
    for command in FILES {
        kept(bench.run(&format!("{command} note.txt")));
    }
    kept(simulate(&bench, "note.txt"));
    for command in FILES {
        bench
            .run(&format!("{command} note.txt --force"))
            .ends_with(0);
        assert_ne!(fs::read_to_string(bench.path("note.txt")).unwrap(), "mine");
    }
    assert_no_drafts(&bench);
}

fn assert_no_drafts(bench: &Bench) {
    let names = fs::read_dir(bench.path("")).unwrap();
    let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
    let drafts: Vec<String> = names.filter(|it| it.contains(".part")).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[cfg(unix)]
#[test]
fn force_replaces_only_regular_files() {
    use std::os::unix::fs::{FileTypeExt, symlink};

    let bench = bench();
    bench.write("note.txt", "mine");
    symlink("note.txt", bench.path("link")).unwrap();
    fs::create_dir(bench.path("d")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(bench.path("fifo"))
        .status();
    assert!(made.unwrap().success());
    for name in ["link", "d", "fifo", "/dev/null"] {
        for force in ["", " --force"] {
            for command in FILES {
                let run = bench.run(&format!("{command} {name}{force}"));
                run.fails(1, "occupied").prints_error(&[name]);
            }
            simulate(&bench, &format!("{name}{force}")).fails(1, "occupied");
        }
    }
    assert_eq!(fs::read_to_string(bench.path("note.txt")).unwrap(), "mine");
    assert!(bench.path("link").is_symlink());
    let fifo = fs::metadata(bench.path("fifo")).unwrap();
    assert!(fifo.file_type().is_fifo());
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
}

#[test]
fn nothing_is_written_within_a_journal() {
    let bench = bench();
    let session = bench.session("demo");
    let log = fs::read_dir(bench.path("demo/log"))
        .unwrap()
        .next()
        .unwrap();
    let log = log.unwrap().file_name().into_string().unwrap();
    let files = [
        format!("demo/log/{log}"),
        "demo/JOURNAL".into(),
        "demo/new".into(),
    ];
    for name in &files {
        for force in ["", " --force"] {
            for command in FILES {
                let run = bench.run(&format!("{command} {name}{force}"));
                run.fails(2, "within-journal").prints_error(&[name]);
            }
            simulate(&bench, &format!("{name}{force}")).fails(2, "within-journal");
        }
    }
    for within in ["demo/x", "demo/log/y", "copy/../demo/z"] {
        for command in DIRECTORIES {
            let command = command.replace("SESSION", &session);
            bench
                .run(&format!("{command} {within}"))
                .fails(2, "within-journal")
                .prints_error(&[within]);
        }
        assert!(!bench.path(within).exists());
    }
    assert!(is_sound(&bench));
    assert!(Path::new(&bench.path("demo/JOURNAL")).is_file());
}

#[test]
fn dash_and_dev_stdout_mean_standard_output() {
    let bench = bench();
    let plain = bench.run("export demo").ends_with(0).out;
    for name in ["-", "/dev/stdout"] {
        let out = bench
            .run(&format!("export demo --out {name}"))
            .ends_with(0)
            .out;
        assert_eq!(out, plain);
        let html = bench.run(&format!("audit decisions demo --html {name}"));
        let html = html.ends_with(0).out;
        assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    }
    assert!(!bench.path("-").exists());
}
