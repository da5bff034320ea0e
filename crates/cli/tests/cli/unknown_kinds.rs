//! Commands over records of a newer version.

use recount_journal::{Actor, Append, DiskJournal, Draft, Journal, block_on};

use crate::damage::forge;
use crate::program::Bench;

/// A bench with a journal `demo` with a record of a newer version, and the seq of that record.
pub(crate) fn pondered() -> (Bench, u64) {
    let bench = Bench::with_demo();
    let session = uuid::Uuid::parse_str(&bench.session("demo")).unwrap();
    let seq = ponder(&bench, "demo", session);
    (bench, seq)
}

/// Adds a record of a newer version to a session. Returns its seq.
fn ponder(bench: &Bench, journal: &str, session: uuid::Uuid) -> u64 {
    let journal = DiskJournal::open(bench.path(journal)).unwrap();
    let head = block_on(journal.head(session)).unwrap().unwrap();
    let draft = Draft {
        session,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: "model_pondered",
        cause: None,
        actor: Actor::new("model"),
        body: r#"{"about":"life"}"#,
        prev: head.hash,
    };
    let append = Append::new(session, head.seq, vec![draft.line()]);
    block_on(journal.append(append)).unwrap();
    block_on(journal.close()).unwrap();
    head.seq + 1
}

/// Adds a session with one record to a journal.
fn opened(bench: &Bench, journal: &str) -> uuid::Uuid {
    let session = uuid::Uuid::max();
    let journal = DiskJournal::open(bench.path(journal)).unwrap();
    let draft = Draft {
        session,
        seq: 1,
        at_us: 0,
        kind: "session_opened",
        cause: None,
        actor: Actor::new("engine"),
        body: r#"{"agent":"support","rules":1,"program":"recount 0.1.0"}"#,
        prev: recount_journal::Hash::ZERO,
    };
    block_on(journal.append(Append::new(session, 0, vec![draft.line()]))).unwrap();
    block_on(journal.close()).unwrap();
    session
}

#[test]
fn unknown_kinds_are_refused_or_skipped() {
    let (bench, seq) = pondered();
    bench.run("demo --approve --journal other").ends_with(0);
    let session = bench.session("demo");
    bench.write("policy.toml", "[defaults]\ntimeout = \"10s\"\n");
    let commands = [
        "replay demo".to_owned(),
        "replay demo --policy policy.toml".to_owned(),
        format!("state demo {session}"),
        "diff demo other".to_owned(),
        "show demo 0000".to_owned(),
        format!("fixture export demo {session} refused"),
    ];
    for command in &commands {
        bench
            .run(command)
            .fails(4, "unreadable")
            .prints_error(&["model_pondered", "--unknown-kinds skip"]);
    }
    let warning = format!(
        "warning[unknown-kind]: skipped 1 record of kind model_pondered, \
         the first at seq {seq} of session {session}\n"
    );
    for (command, code) in commands.iter().zip([0, 0, 0, 0, 1, 0]) {
        let told = bench.run(&format!("{command} --unknown-kinds skip"));
        assert_eq!(told.code, code, "{told:#?}");
        assert!(told.err.starts_with(&warning), "{told:#?}");
    }
    // Without skipped records there is no warning.
    bench.run("replay other --unknown-kinds skip").ends_with(0);
    bench.run("replay demo --unknown-kinds loudly").ends_with(2);
}

#[test]
fn audit_names_unreadable_sessions() {
    let (bench, seq) = pondered();
    let session = bench.session("demo");
    let told = bench.run("audit decisions demo --json").ends_with(4);
    let rows = told.json_lines();
    let unread: Vec<_> = rows.iter().filter(|it| it["row"] == "unread").collect();
    assert_eq!(unread.len(), 1);
    assert_eq!(
        (&unread[0]["session"], &unread[0]["why"]),
        (&session.as_str().into(), &"unreadable".into())
    );
    let problem = unread[0]["problem"].as_str().unwrap();
    assert!(problem.contains("model_pondered"), "{problem}");

    let told = bench.run("audit decisions demo --json --unknown-kinds skip");
    assert_eq!(told.code, 0, "{told:#?}");
    assert!(
        told.err
            .contains(&format!("seq {seq} of session {session}"))
    );
    let rows = told.json_lines();
    assert!(rows.iter().all(|it| it["row"] != "unread"));
    assert!(rows.iter().any(|it| it["row"] == "call"));
}

#[test]
fn replay_continues_after_an_unreadable_session() {
    let (bench, _) = pondered();
    let sound = opened(&bench, "demo");

    let told = bench.run("replay demo --all");
    assert_eq!(told.code, 4, "{told:#?}");
    told.prints(&[
        "not read: ",
        "Replay matches the record: 1 session, ",
        ", 1 observation, ",
    ])
    .prints_error(&["error[unreadable]: 1 of 2 sessions not replayed; the first is "]);
    let rows = bench.run("replay demo --json").ends_with(4).json_lines();
    assert_eq!(rows[0]["error"]["code"], "unreadable", "{rows:?}");
    assert_eq!(rows[1]["session"], sound.to_string(), "{rows:?}");

    bench.write("policy.toml", "[defaults]\ntimeout = \"10s\"\n");
    let told = bench
        .run("replay demo --policy policy.toml --json")
        .ends_with(4)
        .prints_error(&["1 of 2 sessions not decided again"]);
    assert_eq!(told.json_lines().len(), 2);
}

#[test]
fn divergence_decides_on_the_exit_code() {
    let bench = Bench::with_demo();
    forge(&bench, "forged", |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    let unread = opened(&bench, "forged");
    ponder(&bench, "forged", unread);
    bench.run("replay forged").ends_with(5).prints(&[
        &format!("Session {unread} not read: "),
        "1 diverged of 1 session",
    ]);
}

#[test]
fn only_commands_that_can_skip_advise_it() {
    let (bench, _) = pondered();
    bench.run("export demo --out demo.jsonl").ends_with(0);
    let told = bench.run("import demo.jsonl again");
    let told = told.fails(4, "unreadable");
    assert!(!told.err.contains("--unknown-kinds"), "{told:#?}");
}

#[test]
fn export_with_an_unknown_kind_is_read_like_its_journal() {
    let (bench, seq) = pondered();
    let session = bench.session("demo");
    bench.run("export demo --out demo.jsonl.zst").ends_with(0);
    let log = format!("log PATH {session}");
    for command in [
        log.as_str(),
        "replay PATH --unknown-kinds skip",
        "verify PATH",
    ] {
        let [of_journal, of_export] = ["demo", "demo.jsonl.zst"].map(|path| {
            let run = bench.run(&command.replace("PATH", path));
            (run.code, run.out.replace("export", "journal"), run.err)
        });
        assert_eq!(of_export, of_journal, "{command}");
        assert_eq!(of_export.0, 0);
    }
    let unknown = [
        "the open work of 1 session",
        &format!("record {seq}"),
        "model_pondered",
    ];
    bench
        .run("pending demo.jsonl.zst")
        .fails(4, "unreadable")
        .prints_error(&unknown);
    bench.run("sessions demo.jsonl.zst").prints_error(&unknown);
}
