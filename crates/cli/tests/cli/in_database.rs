//! Commands and a service over a journal in a database.

use std::fs;

use serde_json::json;
use tokio_postgres::NoTls;

use crate::answering::{TOOLS, parked, refunds};
use crate::comparing::imported;
use crate::program::Bench;
use crate::service::runtime;
use crate::web::{Web, bearer, secret, token};

const STORY: &str = "approved";

/// The address of the server's database.
fn server() -> String {
    std::env::var("RECOUNT_TEST_POSTGRES").expect("run this test with .ci/postgres")
}

/// The address of a schema that no other test has. It goes with the server.
pub(crate) fn address() -> String {
    let server = server();
    let separator = if server.contains('?') { '&' } else { '?' };
    format!(
        "{server}{separator}schema=cli_{}",
        uuid::Uuid::now_v7().simple()
    )
}

/// Runs statements in the schema of an address.
fn execute(address: &str, statements: &str) {
    let (_, schema) = address.rsplit_once("schema=").unwrap();
    let all = format!("SET search_path = {schema}; {statements}");
    runtime().block_on(async {
        let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&all).await.unwrap();
    });
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn export_and_import_keep_every_byte_and_the_root() {
    let (bench, at) = (Bench::new(), address());
    imported(&bench, STORY);
    let run = bench.run(&format!("import {STORY}.jsonl {at} --json"));
    let run = run.ends_with(0).json();
    let verified = bench.run(&format!("verify {STORY} --json")).json();
    assert_eq!(
        (&run["root"], &run["journal"]),
        (&verified["root"], &json!(null))
    );
    for journal in [STORY, &at] {
        bench.run(&format!("export {journal}")).ends_with(0);
    }
    let export = |journal: &str| bench.run(&format!("export {journal}")).ends_with(0).out;
    let whole = export(&at);
    assert_eq!(whole, export(STORY));
    bench.write("back.jsonl", &whole);
    bench.run("import back.jsonl back").ends_with(0);
    assert_eq!(export("back"), whole);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn commands_that_look_say_the_same_of_both_stores() {
    let (bench, at) = (Bench::new(), address());
    imported(&bench, STORY);
    bench
        .run(&format!("import {STORY}.jsonl {at}"))
        .ends_with(0);
    let id = bench.session(STORY);
    for command in [
        "sessions AT --json".to_owned(),
        "pending AT".to_owned(),
        "pauses AT".to_owned(),
        "holds AT".to_owned(),
        "leaves AT".to_owned(),
        format!("log AT {id} --json"),
        format!("state AT {id} --json"),
        "replay AT --json".to_owned(),
        "audit decisions AT --csv".to_owned(),
        "audit clock AT".to_owned(),
        "checkpoint list AT".to_owned(),
        "export AT --format otlp".to_owned(),
        "diff AT AT".to_owned(),
    ] {
        let run = |journal: &str| bench.run(&command.replace("AT", journal)).ends_with(0).out;
        assert_eq!(run(&at), run(STORY), "{command}");
    }
    bench.write("p.toml", "[tools.refund]\nconfirm = false\n");
    let what_if = |journal: &str| {
        bench
            .run(&format!("replay {journal} --policy p.toml --json"))
            .out
    };
    assert_eq!(what_if(&at), what_if(STORY));
    let fixture = format!("fixture export {at} {id} fixture");
    bench.run(&fixture).ends_with(0);
    bench.run(&format!("diff {at}:{id} fixture")).ends_with(0);
    bench
        .run(&format!("evidence {at} --out bundle"))
        .ends_with(0);
    bench.run("verify bundle").ends_with(0);
    let page = format!("audit decisions {at} --html page.html");
    bench.run(&page).ends_with(0);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn import_wants_a_whole_file_and_an_empty_database() {
    let (bench, at) = (Bench::new(), address());
    bench
        .run(&format!("sessions {at}"))
        .fails(1, "no-journal")
        .prints_error(&["`recount import`"]);
    bench
        .run(&format!("approve {at} 0199 --as ada"))
        .fails(1, "no-journal");
    imported(&bench, STORY);
    let whole = fs::read_to_string(bench.path(&format!("{STORY}.jsonl"))).unwrap();
    let cut = whole.trim_end().rsplit_once('\n').unwrap().0;
    bench.write("cut.jsonl", cut);
    bench
        .run(&format!("import cut.jsonl {at}"))
        .fails(4, "damaged");
    let records = || {
        bench
            .run(&format!("verify {at} --json"))
            .ends_with(0)
            .json()["records"]
            .clone()
    };
    assert_eq!(records(), 0, "nothing of a damaged file is kept");
    let import = format!("import {STORY}.jsonl {at}");
    bench.run(&import).ends_with(0);
    let after = records();
    bench
        .run(&import)
        .fails(1, "occupied")
        .prints_error(&["expected a database without records at postgres"]);
    assert_eq!(records(), after);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn verify_finds_what_was_altered_in_the_database() {
    let (bench, at) = (Bench::new(), address());
    imported(&bench, STORY);
    bench
        .run(&format!("import {STORY}.jsonl {at}"))
        .ends_with(0);
    let verify = format!("verify {at}");
    bench.run(&verify).ends_with(0).prints(&[
        "Consistent journal, not anchored: 1 session",
        "note: read from the database",
    ]);
    execute(
        &at,
        "UPDATE head SET hash = decode(repeat('00', 32), 'hex')",
    );
    bench.run(&verify).ends_with(4).prints(&[
        "Damaged journal: 1 finding",
        "the hash of the head is not that of its record",
    ]);
    let alter = "UPDATE append SET lines = convert_to(replace(convert_from(lines, 'UTF8'), \
                 'support', 'suppOrt'), 'UTF8')";
    execute(&at, alter);
    bench.run(&verify).ends_with(4).prints(&["Damaged journal"]);
}

/// The log of the database still names what was removed.
#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn verify_names_the_sessions_whose_rows_are_gone_or_unreadable() {
    let bench = Bench::new();
    imported(&bench, STORY);
    let id = bench.session(STORY);
    let nil = "'00000000-0000-0000-0000-000000000000'";
    for (damage, told) in [
        (
            format!(
                "DELETE FROM append WHERE session <> {nil};
                 DELETE FROM head WHERE session <> {nil}"
            ),
            "the record is in the log and is missing",
        ),
        (
            format!("UPDATE append SET lines = '\\xff0aff' WHERE session <> {nil}"),
            "the line is no record",
        ),
        (
            format!("UPDATE append SET lines = '' WHERE session <> {nil}"),
            "the line is no record",
        ),
        (
            format!("DELETE FROM head WHERE session <> {nil}"),
            "the session has records, and no head",
        ),
    ] {
        let at = address();
        bench
            .run(&format!("import {STORY}.jsonl {at}"))
            .ends_with(0);
        execute(&at, &damage);
        bench
            .run(&format!("verify {at}"))
            .ends_with(4)
            .prints(&["Damaged journal", &id, told]);
        if damage.contains("append") {
            bench
                .run(&format!("export {at}"))
                .fails(4, "damaged")
                .prints_error(&[&id, "a database is restored from its own backup"]);
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn request_is_answered_at_the_desk_and_runs_once() {
    let (bench, at) = (Bench::new(), address());
    let (_simulator, url, request) = parked(&bench);
    bench.run("export j --out j.jsonl").ends_with(0);
    bench.run(&format!("import j.jsonl {at}")).ends_with(0);
    bench
        .run(&format!("approve {at} {request} --as ada"))
        .ends_with(0)
        .prints(&["refund approved", "Recorded in the database"]);
    bench
        .run(&format!("deny {at} {request} --as ada"))
        .fails(3, "already-answered");
    let session = bench.session(&at);
    let resume =
        format!("run --tools tools.toml --endpoint {url} --journal {at} --resume {session}");
    bench.run(&resume).ends_with(0).prints(&[
        "refund started, attempt 1",
        "“It is decided.”",
        "recount run",
    ]);
    assert_eq!(refunds(&bench), 1);
    for command in [
        format!("pause {at} {session} --as ada"),
        format!("unpause {at} {session} --as ada"),
        format!("hold {at} {session} --reason case-7 --as ada"),
        format!("verify {at}"),
        format!("replay {at}"),
    ] {
        bench.run(&command).ends_with(0);
    }
}

/// Starts a service whose configuration takes the address of the database from a variable.
fn served(bench: &Bench, at: &str) -> Web {
    let mut command = bench.command("serve --listen 127.0.0.1:0 --json");
    let command = command.env("JOURNAL", at);
    let child = command.stdout(std::process::Stdio::piped()).spawn();
    Web::of(crate::program::Started::of(child.unwrap()))
}

/// The lease goes on, and everything can be read.
#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn service_is_not_ready_while_the_database_refuses_appends() {
    let (bench, at) = (Bench::new(), address());
    bench.write("tools.toml", TOOLS);
    bench.write(
        "recount.toml",
        "journal_env = \"JOURNAL\"\n[access]\ntokens = \"tokens.json\"\n\
         [agents.orders]\ntools = [\"tools.toml\"]\n",
    );
    let bearer_of = token(&bench, "ada --role admin");
    let key = secret(&bearer_of);
    let web = served(&bench, &at);
    let open = || web.post(key, "/v1/sessions", &json!({"agent": "orders"}));
    assert_eq!((open().status, web.get(key, "/readyz").status), (201, 200));
    execute(
        &at,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'no right' USING ERRCODE = 'insufficient_privilege';
         END $$;
         CREATE TRIGGER refused BEFORE INSERT ON append FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let refused = open();
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["code"], "journal-unavailable");
    let ready = web.get(key, "/readyz");
    assert_eq!(ready.status, 503);
    let problem = ready.json();
    assert_eq!(problem["code"], "not-writable", "{problem}");
    execute(&at, "DROP TRIGGER refused ON append");
    assert_eq!((open().status, web.get(key, "/readyz").status), (201, 200));
    web.ask_to_end();
    assert!(web.program.ends_well());
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn service_serves_a_database_and_answers_the_desk() {
    let (bench, at) = (Bench::new(), address());
    bench.write("tools.toml", TOOLS);
    bench.write(
        "recount.toml",
        "journal_env = \"JOURNAL\"\n[postgres]\nnode = \"web-1\"\nstate = \"own\"\n\
         [access]\ntokens = \"tokens.json\"\n[agents.orders]\ntools = [\"tools.toml\"]\n",
    );
    let bearer_of = token(&bench, "ada --role admin");
    let key = secret(&bearer_of);
    let web = served(&bench, &at);
    let opened = web
        .post(key, "/v1/sessions", &json!({"agent": "orders"}))
        .json();
    let session = opened["session"].as_str().unwrap();
    let headers = format!("{}idempotency-key: k1\r\n", bearer(key));
    let call = json!({"tool": "refund", "args": {"order": "A-17"}}).to_string();
    let line = format!("POST /v1/sessions/{session}/calls");
    let mut log = bench.start(&format!("log {at} {session} --follow"));
    log.until("session opened");
    let asked = web.send(&line, &headers, &call).json();
    let request = asked["request"].as_str().unwrap();
    let approve = format!("approve {at} {request} --as ada");
    bench
        .run(&approve)
        .ends_with(0)
        .prints(&["refund approved"]);
    let headers = format!("{headers}prefer: wait=30\r\n");
    let ended = web.send(&line, &headers, &call).json();
    assert_eq!(
        ended["ended"]["response"],
        json!({"refunded": true}),
        "{ended}"
    );
    assert_eq!(refunds(&bench), 1);
    assert_eq!(web.get(key, "/v1/sessions").status, 200);
    log.until("refund approved");
    log.until("refund ended: returned");
    assert!(bench.path("own/journal.access/JOURNAL").exists());
    bench
        .run("reads own/journal --json")
        .ends_with(0)
        .prints(&["/v1/sessions"]);
    let local = bench.path("own/journal").read_dir().unwrap().count();
    assert_eq!(local, 0, "there is no control socket");
    web.ask_to_end();
    assert!(web.program.ends_well());
    bench.run(&format!("verify {at}")).ends_with(0);
}
