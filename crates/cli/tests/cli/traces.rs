//! `recount export --format otlp`, and the mistakes of `[traces]`.

use crate::comparing::imported;
use crate::program::Bench;
use serde_json::Value;

/// The names of the spans in lines of OTLP.
fn names(lines: &[Value]) -> Vec<String> {
    let spans = lines.iter().flat_map(|line| {
        let spans = &line["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().unwrap().iter()
    });
    spans
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn export_of_spans_has_every_call() {
    let bench = Bench::new();
    imported(&bench, "denied");
    let whole = bench.run("export denied --format otlp").ends_with(0);
    let names = names(&whole.json_lines());
    let calls = names.iter().filter(|it| it.starts_with("execute_tool "));
    assert_eq!(calls.count(), 1, "{names:?}");
    assert!(names.iter().any(|it| it.starts_with("await_approval ")));
    let session = bench.session("denied");
    let one = format!("export denied --format otlp --session {session} --out spans.jsonl");
    bench
        .run(&one)
        .ends_with(0)
        .prints(&["Exported", "1 session"]);
    let written = std::fs::read_to_string(bench.path("spans.jsonl")).unwrap();
    assert_eq!(written, whole.out);
}

#[test]
fn content_of_spans_is_named() {
    let bench = Bench::new();
    imported(&bench, "denied");
    let key = "gen_ai.tool.call.arguments";
    let bare = bench.run("export denied --format otlp").ends_with(0);
    assert!(!bare.out.contains(key));
    let told = "export denied --format otlp --with arguments,people --service-name shop";
    bench
        .run(told)
        .prints(&[key, "recount.approver.name", "\"shop\""]);
    bench
        .run("export denied --with arguments")
        .fails(2, "bad-request");
    let unknown = bench.run("export denied --format otlp --with everything");
    unknown.ends_with(2).prints_error(&["arguments, results"]);
}

#[cfg(feature = "otel")]
#[test]
fn mistakes_of_traces_are_listed() {
    let bench = Bench::new();
    for (text, expected) in [
        ("", "traces.endpoint: expected a value, found none"),
        (
            "endpoint = \"nowhere\"",
            "traces.endpoint: expected an http or https URL",
        ),
        (
            "endpoint = \"http://localhost:1\"\nwith = [\"args\"]",
            "traces.with: expected one of arguments",
        ),
        (
            "endpoint = \"http://localhost:1\"\nheaders_env = \"NO_SUCH\"",
            "traces.headers_env: expected a variable",
        ),
        (
            "endpoint = \"http://a.example\"\nheaders_file = \"headers\"",
            "traces.endpoint: expected an https URL",
        ),
        (
            "endpoint = \"https://a.example\"\nheaders_file = \"open\"",
            "traces.headers_file: ",
        ),
    ] {
        bench.write("headers", "authorization=t0ken");
        bench.write("open", "authorization=t0ken");
        chmod(&bench, "headers", 0o600);
        chmod(&bench, "open", 0o644);
        bench.write("recount.toml", &format!("[traces]\n{text}\n"));
        let run = bench.run("check").fails(2, "config-file");
        assert!(run.err.contains(expected), "{text}: {}", run.err);
        assert!(!run.err.contains("t0ken"), "{}", run.err);
    }
}

#[cfg(feature = "otel")]
fn chmod(bench: &Bench, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(bench.path(name), permissions).unwrap();
}
