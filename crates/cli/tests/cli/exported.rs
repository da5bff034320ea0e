//! The commands that only read, over an export in place of its journal, compressed or not.

use std::collections::BTreeMap;
use std::fs;

use crate::answering::parked;
use crate::program::{Bench, Run};
use crate::sealing;

/// The exports of a journal `demo`.
const EXPORTS: [&str; 3] = ["demo.jsonl", "demo.jsonl.gz", "demo.jsonl.zst"];

/// A bench with the journal `demo` and its exports.
fn with_exports() -> Bench {
    let bench = Bench::with_demo();
    for file in EXPORTS {
        bench.run(&format!("export demo --out {file}")).ends_with(0);
    }
    bench
}

/// The output of a command, with PATH for the journal or the export.
fn told(run: &Run, path: &str) -> (i32, String, String) {
    let without = |text: &str| text.replace(path, "PATH");
    (run.code, without(&run.out), without(&run.err))
}

/// The entries of the directory, with the content of each file.
fn entries(bench: &Bench) -> BTreeMap<String, Option<Vec<u8>>> {
    let all = fs::read_dir(bench.path(".")).unwrap();
    let of = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).ok())
    };
    all.map(|it| of(it.unwrap())).collect()
}

#[test]
fn looking_commands_print_the_same_for_exports() {
    let bench = with_exports();
    let id = bench.session("demo");
    let log = bench.run(&format!("log demo {id} --json")).json_lines();
    let attached = log.iter().find(|it| it["kind"] == "runner_attached");
    let catalog = attached.unwrap()["body"]["catalog"].as_str().unwrap();
    let catalog = catalog.rsplit(':').next().unwrap();
    let commands = [
        "sessions PATH".to_owned(),
        "sessions PATH --json".to_owned(),
        format!("log PATH {id}"),
        format!("log PATH {id} --full"),
        format!("log PATH {} --json", &id[..8]),
        "log PATH ffffffff".to_owned(),
        format!("show PATH {catalog}"),
        format!("show PATH {catalog} --json"),
        "show PATH 00000000".to_owned(),
        "pending PATH".to_owned(),
        "pending PATH --json".to_owned(),
        "leaves PATH".to_owned(),
        "pauses PATH --json".to_owned(),
        "replay PATH".to_owned(),
        "replay PATH --json".to_owned(),
        format!("state PATH {id}"),
        format!("state PATH {id} --at 9 --diff 20 --json"),
        "diff PATH PATH".to_owned(),
        format!("diff PATH:{id} {id} --exact --json"),
        "audit decisions PATH".to_owned(),
        "audit decisions PATH --full".to_owned(),
        "audit decisions PATH --csv".to_owned(),
        "audit decisions PATH --json".to_owned(),
        "export PATH".to_owned(),
        format!("export PATH --session {id}"),
        "export PATH --format otlp".to_owned(),
    ];
    for command in commands {
        let run = bench.run(&command.replace("PATH", "demo"));
        let expected = told(&run, "demo");
        assert!(
            run.code != 2 && !(run.out.is_empty() && run.err.is_empty())
                || command.contains("--json")
        );
        for file in EXPORTS {
            let run = bench.run(&command.replace("PATH", file));
            // An agent or a label may be named as the journal.
            let (code, out, err) = told(&run, file);
            let found = (
                code,
                out.replace("demo", "PATH"),
                err.replace("demo", "PATH"),
            );
            assert_eq!(found, expected, "{command} {file}");
        }
    }
    let before = entries(&bench);
    assert_eq!(before.keys().filter(|it| it.starts_with("demo")).count(), 4);
}

#[test]
fn session_differs_from_no_export_of_itself() {
    let bench = with_exports();
    let id = bench.session("demo");
    for file in EXPORTS {
        for (a, b) in [("demo", file), (file, "demo.jsonl")] {
            bench
                .run(&format!("diff {a} {b}:{id} --exact"))
                .ends_with(0);
        }
    }
    bench.run("demo --journal other").ends_with(0);
    bench.run("diff other demo.jsonl.zst").ends_with(5);
}

#[test]
fn fixture_and_report_of_an_export_are_those_of_the_journal() {
    let bench = with_exports();
    let id = bench.session("demo");
    bench
        .run(&format!("fixture export demo {id} of-journal"))
        .ends_with(0);
    let steps = |dir: &str| fs::read_to_string(bench.path(dir).join("steps.jsonl")).unwrap();
    for (number, file) in EXPORTS.into_iter().enumerate() {
        let dir = format!("fixture-{number}");
        bench
            .run(&format!("fixture export {file} {id} {dir}"))
            .ends_with(0);
        assert_eq!(steps(&dir), steps("of-journal"));
        bench
            .run(&format!("audit decisions {file} --html {number}.html"))
            .ends_with(0)
            .prints(&["Every hash and every chain holds", "with the same result"]);
        let html = fs::read_to_string(bench.path(&format!("{number}.html"))).unwrap();
        assert!(html.contains(file));
    }
}

#[test]
fn compressed_exports_verify_and_import_like_plain_ones() {
    let bench = with_exports();
    let root = bench.run("verify demo --json").json()["root"].clone();
    let plain = fs::read_to_string(bench.path("demo.jsonl")).unwrap();
    for (number, file) in EXPORTS.into_iter().enumerate() {
        let size = fs::metadata(bench.path(file)).unwrap().len() as usize;
        assert!(number == 0 || size < plain.len() / 2, "{file} {size}");
        let report = bench
            .run(&format!("verify {file} --json"))
            .ends_with(0)
            .json();
        assert_eq!(
            (&report["kind"], &report["verdict"], &report["root"]),
            (&"export".into(), &"consistent".into(), &root)
        );
        bench
            .run(&format!("verify {file} --root {}", root.as_str().unwrap()))
            .ends_with(0)
            .prints(&["Sound export, anchored to the given root"]);
        let imported = format!("import {file} again-{number} --json");
        let imported = bench.run(&imported).ends_with(0).json();
        assert_eq!(imported["root"], root);
    }
    // The content decides, and the name does not.
    fs::rename(bench.path("demo.jsonl.gz"), bench.path("named.zst")).unwrap();
    assert_eq!(bench.run("export named.zst").ends_with(0).out, plain);
}

#[test]
fn waiting_call_of_an_export_is_shown_and_not_answered() {
    let bench = Bench::new();
    let (_simulator, _, request) = parked(&bench);
    let session = bench.session("j");
    bench.run("export j --out j.jsonl.gz").ends_with(0);
    let pending = bench.run("pending j --json").ends_with(0).out;
    let of_export = bench.run("pending j.jsonl.gz --json").ends_with(0).out;
    assert_eq!(of_export, pending);
    let listed = bench
        .run("pending j.jsonl.gz")
        .ends_with(0)
        .prints(&["Refund this order?", "note: an export is only read"]);
    assert!(!listed.out.contains("recount approve"), "{listed:?}");
    let before = entries(&bench);
    for command in [
        format!("approve j.jsonl.gz {request}"),
        format!("deny j.jsonl.gz {request} --reason no"),
        format!("cancel j.jsonl.gz {request}"),
        "pause j.jsonl.gz --all --reason stop".to_owned(),
        format!("erase j.jsonl.gz {session} --reason asked --yes"),
        "backup j.jsonl.gz copy".to_owned(),
        "restore j.jsonl.gz copy".to_owned(),
        "repair j.jsonl.gz".to_owned(),
        "compact j.jsonl.gz".to_owned(),
        "run --journal j.jsonl.gz --tools tools.toml --endpoint ws://127.0.0.1:9 --text hello"
            .to_owned(),
    ] {
        let run = bench.run(&command);
        assert_eq!(run.code, 1, "{command} {run:#?}");
        run.fails(1, "not-a-journal")
            .prints_error(&["an export is only read", "recount import FILE NEW"]);
    }
    assert_eq!(entries(&bench), before);
}

#[test]
fn sealed_session_of_an_export_needs_its_key() {
    let bench = Bench::new();
    let (_simulator, _) = sealing::paused(&bench);
    let session = bench.session("j");
    bench.run("export j --out j.jsonl.zst").ends_with(0);
    let with_keys = |command: &str| sealing::run(&bench, "a", command);
    for command in [
        "pending PATH --keys k --json".to_owned(),
        "sessions PATH --keys k --json".to_owned(),
        format!("log PATH {session} --keys k"),
        format!("state PATH {session} --keys k"),
        "audit decisions PATH --keys k --json".to_owned(),
        "replay PATH --keys k".to_owned(),
    ] {
        let [of_journal, of_export] = ["j", "j.jsonl.zst"].map(|path| {
            let run = with_keys(&command.replace("PATH", path)).ends_with(0);
            assert!(!run.out.is_empty());
            run.out
        });
        assert_eq!(of_export, of_journal, "{command}");
    }
    for command in ["log PATH SESSION", "replay PATH", "audit decisions PATH"] {
        let command = command.replace("SESSION", &session);
        let [of_journal, of_export] =
            ["j", "j.jsonl.zst"].map(|path| told(&bench.run(&command.replace("PATH", path)), path));
        assert_eq!(of_export, of_journal, "{command}");
    }
    let unknown = "the open work of 1 session in j.jsonl.zst is not known";
    for command in ["pending", "pending --json", "leaves"] {
        bench
            .run(&format!("{command} j.jsonl.zst"))
            .fails(6, "sealed")
            .prints_error(&[unknown, "--keys DIR"]);
    }
    let sessions = bench.run("sessions j.jsonl.zst");
    assert_eq!(sessions.code, 0);
    sessions
        .prints(&[&session])
        .prints_error(&["note: ", unknown]);
}
