//! Sealed sessions: commands with the keys work as usual, commands without report that it is
//! sealed.

use crate::program::{Bench, Run};

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "#,
    r#""args": {"order": "A-17", "pin": "four-digits"}}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "send": [{"say": "It is noted."}]}"#,
    "\n",
);

const TOOLS: &str = r#"
[[tool]]
name = "pay"
description = "Pays"
command = ["sh", "-c", "cat >got.json; echo '{}'"]
confirm = "Pay?"
secret = ["/pin"]
"#;

/// Runs the program with a master key of this repeated digit.
pub(crate) fn run(bench: &Bench, digit: &str, arguments: &str) -> Run {
    let mut command = bench.command(arguments);
    command.env("RECOUNT_MASTER_KEY", digit.repeat(64));
    let output = command.output().unwrap();
    Run {
        code: output.status.code().expect("it is not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A journal `j` with a sealed session in which a call waits, and its simulator.
pub(crate) fn paused(bench: &Bench) -> (crate::program::Started, String) {
    bench.write("tools.toml", TOOLS);
    let (simulator, url) = bench.simulate(SCRIPT);
    let begin =
        format!("run --tools tools.toml --endpoint {url} --journal j --keys k --text settle");
    run(bench, "a", &begin)
        .ends_with(0)
        .prints(&["recount approve j", "--keys k"]);
    (simulator, url)
}

#[test]
fn sealed_session_works_with_its_keys() {
    let bench = Bench::new();
    let (_simulator, url) = paused(&bench);
    let listed = run(&bench, "a", "pending j --keys k --json")
        .ends_with(0)
        .json_lines();
    assert_eq!(listed[0]["sealed_args"], serde_json::json!(["/pin"]));
    assert_eq!(listed[0]["args"]["order"], "A-17");
    let request = listed[0]["request"].as_str().unwrap();
    let shown = run(&bench, "a", "pending j --keys k").ends_with(0);
    assert!(!shown.out.contains("four-digits"), "{shown:?}");
    shown.prints(&[
        "pay: Pay?",
        r#""order":"A-17""#,
        r#""pin":{"$sealed":"v1."#,
        "…\"}",
    ]);
    run(&bench, "a", &format!("approve j {request} --keys k"))
        .ends_with(0)
        .prints(&["pay approved"]);
    let session = bench.session("j");
    let resumed =
        format!("run --tools tools.toml --endpoint {url} --journal j --keys k --resume {session}");
    run(&bench, "a", &resumed).ends_with(0);
    let got = std::fs::read_to_string(bench.path("got.json")).unwrap();
    assert!(got.contains("four-digits"), "the tool gets it open: {got}");
    run(&bench, "a", "replay j --keys k")
        .ends_with(0)
        .prints(&["Replay matches the record: 1 session"]);
    run(&bench, "a", &format!("log j {session} --keys k"))
        .ends_with(0)
        .prints(&["settle", "pay"]);
}

#[test]
fn sealed_session_only_verifies_without_its_keys() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    let session = bench.session("j");
    bench
        .run("verify j")
        .ends_with(0)
        .prints(&["Consistent journal"]);
    bench.run("export j --out out.jsonl").ends_with(0);
    bench.run("verify out.jsonl").ends_with(0);
    let exported = std::fs::read_to_string(bench.path("out.jsonl")).unwrap();
    for text in ["settle", "four-digits", "Pay?"] {
        assert!(!exported.contains(text), "{text}");
    }
    bench.run("sessions j").ends_with(0).prints(&["sealed"]);
    bench.run("pending j").ends_with(0).prints(&[
        "A call of a sealed session",
        " ago\n",
        " --keys DIR\n",
    ]);
    bench
        .run(&format!("log j {session}"))
        .ends_with(0)
        .prints(&[
            "function_call_received (sealed)",
            "confirmation_requested (sealed)",
        ]);
    bench.run("replay j").fails(6, "sealed").prints_error(&[
        "1 session not replayed",
        &session,
        "--keys",
    ]);
    bench
        .run(&format!("state j {session}"))
        .fails(6, "sealed")
        .prints_error(&[&session, "--keys"]);
    let state = format!("state j {session} --keys k --pointer /calls");
    let shown = run(&bench, "a", &state).ends_with(0);
    assert!(!shown.out.contains("four-digits"), "{shown:?}");
    shown.prints(&["pay", "$sealed  v1.", "awaiting_confirmation"]);
    let listed = bench.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(listed[0]["sealed"], true);
    let request = listed[0]["request"].as_str().unwrap();
    bench
        .run(&format!("approve j {request}"))
        .fails(6, "sealed");
}

#[test]
fn sealed_session_is_imported_with_its_open_request() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    bench.run("export j --out out.jsonl").ends_with(0);
    bench
        .run("import out.jsonl new")
        .fails(6, "sealed")
        .prints_error(&["--keys"]);
    assert!(!bench.path("new").exists());
    run(&bench, "a", "import out.jsonl new --keys k").ends_with(0);
    let request = |journal: &str| {
        let listed = run(&bench, "a", &format!("pending {journal} --keys k --json"));
        listed.ends_with(0).json_lines()[0]["request"].clone()
    };
    assert_eq!(request("j"), request("new"));
    let session = bench.session("new");
    let sealed = bench.run(&format!("log new {session} --json")).ends_with(0);
    let original = bench.run(&format!("log j {session} --json")).ends_with(0);
    assert_eq!(sealed.out, original.out);
    assert!(sealed.out.contains("$sealed"));
    let id = request("new");
    let approve = format!("approve new {} --keys k", id.as_str().unwrap());
    run(&bench, "a", &approve)
        .ends_with(0)
        .prints(&["pay approved"]);
}

#[test]
fn wrong_and_missing_master_keys_have_own_errors() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    run(&bench, "b", "replay j --keys k")
        .fails(6, "wrong-master-key")
        .prints_error(&["help: "]);
    run(&bench, "x", "replay j --keys k").fails(2, "not-a-master-key");
    bench.run("replay j --keys k").fails(2, "no-master-key");
    run(&bench, "a", "replay j --keys nothing")
        .fails(1, "key-store")
        .prints_error(&["help: "]);
    run(&bench, "a", "replay j --keys j/keys")
        .fails(1, "key-store")
        .prints_error(&["inside the journal"]);
    bench.write("tools.toml", TOOLS);
    bench
        .run("run --tools tools.toml --endpoint ws://127.0.0.1:1 --journal other")
        .fails(1, "configuration")
        .prints_error(&["secret arguments", ".keys("]);
}

#[test]
fn audit_shows_a_sealed_session_only_with_its_key() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    let session = bench.session("j");
    let unread = |run: Run| {
        let lines = run.ends_with(0).json_lines();
        let rows: Vec<_> = lines.iter().map(|it| it["row"].as_str().unwrap()).collect();
        assert_eq!(rows, ["unread", "totals"]);
        lines[0].clone()
    };
    let sealed = unread(bench.run("audit decisions j --json"));
    assert_eq!(
        (&sealed["session"], &sealed["why"]),
        (&session.clone().into(), &"key_not_given".into())
    );
    assert_eq!(
        (&sealed["calls"], &sealed["answers"]),
        (&1.into(), &0.into())
    );
    bench.run("audit decisions j").ends_with(0).prints(&[
        "0 calls of 0 sessions",
        "1 session not shown: sealed, no key store given",
    ]);
    bench
        .run("audit decisions j --csv")
        .ends_with(0)
        .prints(&[&session, ",key_not_given,,,,,,,,\r\n"]);

    bench
        .run("audit decisions j --html report.html")
        .ends_with(6)
        .prints(&["Only 0 decisions in 0 sessions could be made again"]);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(html.contains("Not everything could be replayed"));
    assert!(!html.contains("the same decisions"));

    let told = run(&bench, "a", "audit decisions j --keys k --json").ends_with(0);
    assert!(!told.out.contains("four-digits"), "{told:?}");
    let call = &told.json_lines()[0];
    assert_eq!(
        (&call["verdict"], &call["sealed"]),
        (&"waiting".into(), &true.into())
    );
    assert_eq!(call["sealed_args"], serde_json::json!(["/pin"]));
    run(
        &bench,
        "a",
        "audit decisions j --keys k --html report.html --force",
    )
    .ends_with(0)
    .prints(&["Every decision was made again"]);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(!html.contains("four-digits") && html.contains("sealed: /pin"));

    std::fs::remove_file(bench.path("k").join(format!("{session}.key"))).unwrap();
    let missing = unread(run(&bench, "a", "audit decisions j --keys k --json"));
    assert_eq!(missing["why"], "key_missing");
}

#[test]
fn erased_session_verifies_and_its_erasure_is_audited() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    let session = bench.session("j");
    let erase = format!("erase j {session} --reason ticket-17");
    bench
        .run(&format!("{erase} --yes"))
        .fails(2, "no-key-store");
    run(&bench, "a", &format!("{erase} --keys k")).fails(2, "not-asked");
    // An open request could never be answered afterwards.
    run(&bench, "a", &format!("{erase} --keys k --yes"))
        .fails(3, "work-open")
        .prints_error(&["1 open", "recount pending"]);
    let listed = run(&bench, "a", "pending j --keys k --json").ends_with(0);
    let request = listed.json_lines()[0]["request"].clone();
    let deny = format!("deny j {} --keys k", request.as_str().unwrap());
    run(&bench, "a", &deny).ends_with(0);

    run(&bench, "a", &format!("{erase} --keys k --as ada --yes"))
        .ends_with(0)
        .prints(&[
            &session,
            "erased (identity not verified) by",
            "ada",
            "ticket-17",
        ]);
    assert!(!bench.path("k").join(format!("{session}.key")).exists());
    bench
        .run("verify j")
        .ends_with(0)
        .prints(&["Consistent journal"]);
    run(&bench, "a", "replay j --keys k")
        .ends_with(0)
        .prints(&["Not replayed, because erased: 1 session"]);
    run(&bench, "a", &format!("replay j {session} --keys k")).fails(6, "sealed");
    // An export of the session can still be imported.
    bench.run("export j --out out.jsonl").ends_with(0);
    run(&bench, "a", "import out.jsonl copy --keys k").ends_with(0);
    let lines = run(&bench, "a", "audit decisions j --keys k --json")
        .ends_with(0)
        .json_lines();
    let rows: Vec<_> = lines.iter().map(|it| it["row"].as_str().unwrap()).collect();
    assert_eq!(rows, ["unread", "note", "note", "totals"]);
    assert_eq!(lines[0]["why"], "erased");
    assert_eq!(lines[0]["erasure"]["by"]["name"], "ada");
    assert_eq!(lines[0]["erasure"]["reason"], "ticket-17");
    assert_eq!(lines[1]["kind"], "erasure_requested");
    assert_eq!(lines[2]["kind"], "session_erased");
    // The erasure is an event in the chosen time, although there is no other one.
    let from = lines[1]["at"].as_str().unwrap();
    let since = format!("audit decisions j --from {from}");
    bench
        .run(&since)
        .ends_with(0)
        .prints(&["1 session not shown: sealed, key erased"]);
    let csv = bench.run(&format!("{since} --csv")).ends_with(0).out;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 2, "{csv}");
    assert!(rows[1].starts_with(&session), "{csv}");
    assert!(
        rows[1].contains(r#"erased (identity not verified) by ""ada"": ticket-17"#),
        "{csv}"
    );
    let before = format!("audit decisions j --to {from} --json");
    let before = bench.run(&before).ends_with(0).json_lines();
    assert_eq!(before[0]["why"], "erased");
    run(&bench, "a", "audit decisions j --keys k")
        .ends_with(0)
        .prints(&["1 session not shown: sealed, key erased", "ticket-17"]);
    bench
        .run("audit decisions j --html report.html --from 2999-01-01")
        .ends_with(0);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(
        !html.contains("ticket-17"),
        "the erasure is not in the chosen time"
    );
    bench
        .run("audit decisions j --html report.html --force")
        .ends_with(0);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(html.contains("key erased (identity not verified) by &quot;ada&quot;: ticket-17"));
    assert!(html.contains("1 session erased"));

    // A repeated command shows the first erasure.
    let again = run(&bench, "a", &format!("{erase} --keys k --yes --json")).ends_with(0);
    assert_eq!(again.json_lines()[0]["erasure"], lines[0]["erasure"]);
}
