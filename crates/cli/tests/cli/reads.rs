//! Reads on record: by `recount serve`, in a journal beside that of the sessions.

use std::fs;

use serde_json::Value;

use crate::program::Bench;
use crate::web::{Web, secret, token};

/// The routes of the reads on record.
fn routes(lines: &[Value]) -> Vec<String> {
    let reads = lines.iter().filter_map(|it| it["read"]["route"].as_str());
    reads.map(str::to_owned).collect()
}

/// The begins and ends of the recording.
fn switches(lines: &[Value]) -> Vec<String> {
    let all = lines.iter().filter_map(|it| it["recording"].as_str());
    all.map(str::to_owned).collect()
}

#[test]
fn service_records_who_reads() {
    let bench = Bench::with_demo();
    let session = bench.session("demo");
    let web = Web::start(&bench, "--journal demo");
    let ada = token(&bench, "ada --role viewer");
    let records = format!("/v1/sessions/{session}/records");
    assert_eq!(web.get(secret(&ada), &records).status, 200);
    // Through the control socket, because the service has the journal.
    bench.run("pending demo").ends_with(0);
    // While the service runs, a copy is read.
    let listed = bench.run(&format!("reads demo --session {}", &session[..8]));
    let listed = listed.ends_with(0).prints(&[
        "ada (token)",
        "GET /v1/sessions/{id}/records",
        "HTTP API, token, with bodies",
        &format!("session {session}"),
        "control socket",
    ]);
    assert!(!listed.out.contains(secret(&ada)));
    web.ask_to_end();
    assert!(web.program.ends_well());
    let lines = bench
        .run("reads demo.access --json")
        .ends_with(0)
        .json_lines();
    assert_eq!(
        routes(&lines),
        ["GET /v1/sessions/{id}/records", "pending", "pauses"]
    );
    assert_eq!(switches(&lines), ["began", "ended"]);
    let of_ada = bench.run("reads demo --reader ada --json").ends_with(0);
    assert_eq!(routes(&of_ada.json_lines()).len(), 1);
    bench.run("verify demo.access").ends_with(0);
    bench
        .run("export demo.access --out reads.jsonl")
        .ends_with(0);
    bench.run("verify reads.jsonl").ends_with(0);
    let exported = bench.run("reads reads.jsonl --json").ends_with(0);
    assert_eq!(exported.json_lines(), lines);
    // The sessions have none of it.
    bench.run("replay demo").ends_with(0);
    bench.run("reads nowhere").fails(1, "no-journal");
}

#[test]
fn read_survives_the_kill_of_the_service() {
    let bench = Bench::new();
    let web = Web::start(&bench, "--journal j");
    let ada = token(&bench, "ada --role viewer");
    assert_eq!(web.get(secret(&ada), "/v1/sessions").status, 200);
    web.program.kill();
    let lines = bench.run("reads j --json").ends_with(0).json_lines();
    assert_eq!(routes(&lines), ["GET /v1/sessions"]);
    assert_eq!(switches(&lines), ["began"]);
    let again = Web::start(&bench, "--journal j");
    again.ask_to_end();
    assert!(again.program.ends_well());
    bench.run("verify j.access").ends_with(0);
}

#[test]
fn recording_that_is_switched_off_is_on_record() {
    let bench = Bench::new();
    bench.write("recount.toml", "[reads]\nrecord = false\n");
    let web = Web::start(&bench, "--journal j");
    let root = token(&bench, "root --role admin");
    let listed = web.get(secret(&root), "/v1/reads").json();
    assert_eq!(listed["recording"], false);
    web.ask_to_end();
    assert!(web.program.ends_well());
    bench
        .run("reads j")
        .ends_with(0)
        .prints(&["was switched off"]);
    bench.write(
        "recount.toml",
        "[reads]\non_failure = \"stop\"\nrecords = true\n",
    );
    bench.run("check").ends_with(2).prints_error(&[
        "expected \"serve\" or \"refuse\"",
        "reads.records: unknown key",
    ]);
}

#[test]
fn access_journal_has_checkpoints_of_its_own() {
    let bench = Bench::new();
    bench
        .run("checkpoint key example.com/j --out key")
        .ends_with(0);
    bench.write(
        "recount.toml",
        "journal = \"j\"\nlisten = \"127.0.0.1:0\"\n\
         [checkpoints]\norigin = \"example.com/j\"\nkeys = [\"key\"]\n\
         [[checkpoints.anchors]]\nname = \"mount\"\ndirectory = \"mount\"\n",
    );
    fs::create_dir(bench.path("mount")).unwrap();
    let web = Web::start(&bench, "");
    web.ask_to_end();
    assert!(web.program.ends_well());
    let last = bench.run("checkpoint list j.access --last").ends_with(0);
    assert!(
        last.out.starts_with("example.com/j/access\n"),
        "{}",
        last.out
    );
    let handed = fs::read_dir(bench.path("mount/access")).unwrap();
    let copies: Vec<String> = handed
        .map(|it| fs::read_to_string(it.unwrap().path()).unwrap())
        .collect();
    assert!(copies.contains(&last.out), "{copies:?}");
    bench.write("kept", &last.out);
    bench
        .run("verify j.access --since kept")
        .ends_with(0)
        .prints(&["anchored to the checkpoint"]);
}

#[test]
fn unusable_access_journal_stops_a_service_only_if_it_refuses() {
    let bench = Bench::with_demo();
    bench.write("demo.access", "no journal");
    let web = Web::start(&bench, "--journal demo");
    let ada = token(&bench, "ada --role viewer");
    assert_eq!(web.get(secret(&ada), "/v1/sessions").status, 200);
    web.ask_to_end();
    assert!(web.program.ends_well());
    bench.write(
        "refuse.toml",
        "journal = \"demo\"\n[reads]\non_failure = \"refuse\"\n",
    );
    let refused = bench.run("serve --config refuse.toml --listen 127.0.0.1:0");
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("demo.access"), "{}", refused.err);
    assert_eq!(
        fs::read_to_string(bench.path("demo.access")).unwrap(),
        "no journal"
    );
}
