//! Every wrong command has its own error with advice, and creates nothing.

use std::fs;
use std::process::Stdio;

use recount_journal::DiskJournal;

use crate::program::Bench;

#[test]
fn missing_journal_is_not_created() {
    let bench = Bench::new();
    for command in [
        "sessions nope",
        "log nope abcd",
        "pending nope",
        "approve nope abcd",
        "export nope",
        "verify nope",
        "replay nope",
        "state nope abcd",
        "run --tools t.toml --endpoint ws://127.0.0.1:1 --journal nope --resume abcd",
    ] {
        bench.write(
            "t.toml",
            "[[tool]]\nname = \"t\"\ndescription = \"t\"\ncommand = [\"true\"]\n",
        );
        bench
            .run(command)
            .fails(1, "no-journal")
            .prints_error(&["nope", "help: "]);
        assert!(!bench.path("nope").exists(), "{command}");
    }
}

#[test]
fn other_directory_is_no_journal() {
    let bench = Bench::with_demo();
    fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    bench
        .run("sessions mine")
        .fails(1, "not-a-journal")
        .prints_error(&["letter.txt"]);
    bench
        .run("sessions mine/letter.txt")
        .fails(1, "not-a-journal");
    let marker = bench.path("demo/JOURNAL");
    let text = fs::read_to_string(&marker)
        .unwrap()
        .replace("\"version\":1", "\"version\":99");
    fs::write(&marker, text).unwrap();
    bench
        .run("sessions demo")
        .fails(1, "newer-format")
        .prints_error(&["99", "version of recount"]);
}

#[test]
fn journal_in_use_is_not_opened() {
    let bench = Bench::with_demo();
    let held = DiskJournal::open_existing(bench.path("demo")).unwrap();
    for command in [
        "sessions demo",
        "approve demo abcd",
        "demo --approve --journal demo",
    ] {
        bench
            .run(command)
            .fails(1, "journal-in-use")
            .prints_error(&["demo"]);
    }
    drop(held);
    bench.run("sessions demo").ends_with(0);
}

#[test]
fn command_without_a_reader_does_not_succeed() {
    let bench = Bench::with_demo();
    for command in ["replay demo --json", "sessions demo", "export demo"] {
        let mut started = bench.command(command);
        let mut child = started.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(141), "{command}");
    }
}

#[test]
fn unknown_id_is_answered_with_similar_ones() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let last = if id.ends_with('0') { '1' } else { '0' };
    let near = format!("{}{last}", &id[..id.len() - 1]);
    let run = bench
        .run(&format!("log demo {near}"))
        .fails(1, "unknown-session");
    run.prints_error(&[&format!("did you mean {id}?")]);
    let far = bench.run("log demo ffffffff").fails(1, "unknown-session");
    assert!(!far.err.contains("did you mean"), "{far:#?}");
    bench.run("log demo abc").fails(2, "not-an-id");
    bench.run("log demo nonsense").fails(2, "not-an-id");
    bench
        .run("approve demo ffffffff")
        .fails(1, "unknown-request")
        .prints_error(&["recount pending"]);
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let bench = Bench::new();
    for command in [
        "",
        "nonsense",
        "log",
        "demo --approve --deny",
        "run --endpoint ws://x",
    ] {
        assert_eq!(bench.run(command).code, 2, "{command}");
    }
    bench.write(
        "t.toml",
        "[[tool]]\nname = \"t\"\ndescripton = \"t\"\ncommand = []\n",
    );
    let run = bench
        .run("run --tools t.toml --endpoint ws://127.0.0.1:1")
        .fails(2, "tools-file");
    run.prints_error(&["descripton", "command: expected a list"]);
    bench.write(
        "t.toml",
        "[[tool]]\nname = \"t\"\ndescription = \"t\"\ncommand = [\"true\"]\n",
    );
    bench
        .run("run --tools t.toml")
        .fails(2, "no-endpoint")
        .prints_error(&["GEMINI_API_KEY"]);
    for (endpoint, found) in [("http://127.0.0.1:1", "\"http\""), ("somewhere", "none")] {
        bench
            .run(&format!("run --tools t.toml --endpoint {endpoint}"))
            .fails(2, "no-endpoint")
            .prints_error(&["expected a URL that begins with ws:// or wss://", found]);
    }
}

#[test]
fn the_help_promises_the_exit_codes() {
    let help = Bench::new().run("--help").ends_with(0);
    help.prints(&["0  all is well", "3  refused", "4  damaged", "5  diverged"]);
}

#[test]
fn the_simulator_listens_on_this_machine_only() {
    let bench = Bench::new();
    bench.write(
        "s.jsonl",
        r#"{"on": "any_text", "send": [{"say": "Hello."}]}"#,
    );
    bench
        .run("simulate --script s.jsonl --listen 0.0.0.0:0")
        .fails(1, "listen")
        .prints_error(&["0.0.0.0:0"]);
    bench.write("s.jsonl", r#"{"on": "nothing we know"}"#);
    bench
        .run("simulate --script s.jsonl")
        .fails(1, "script")
        .prints_error(&["line 1"]);
}

#[test]
fn every_code_is_documented() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let docs = fs::read_to_string(root.join("docs/command-line.md")).unwrap();
    let mut places = vec![root.join("crates/cli/src")];
    let mut codes = std::collections::BTreeSet::new();
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(fs::read_dir(place).unwrap().map(|it| it.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(place).unwrap();
        // A code is the first argument of a failure, or the result for a refusal.
        let (given, refusals) = ("Failure::new(", "fn refusal_code");
        for (at, _) in text.match_indices(given) {
            let argument = text[at + given.len()..].trim_start();
            codes.extend(
                argument
                    .strip_prefix('"')
                    .and_then(|it| it.split('"').next())
                    .map(str::to_owned),
            );
        }
        let refusals = text.split_once(refusals).map_or("", |(_, rest)| rest);
        let arms = refusals.split("\n}").next().unwrap();
        codes.extend(arms.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    assert!(codes.len() > 40, "{codes:?}");
    codes.retain(|code| !docs.contains(&format!("`{code}`")));
    assert!(codes.is_empty(), "not in docs/command-line.md: {codes:?}");
}
