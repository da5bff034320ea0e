//! What the commands do about records that a newer program wrote.

use recount_journal::{Actor, Append, DiskJournal, Draft, Journal, block_on};

use crate::damage::forge;
use crate::program::Bench;

/// The journal `demo`, to whose session a newer program has added a record, and the record's seq.
pub(crate) fn pondered() -> (Bench, u64) {
    let bench = Bench::with_demo();
    let session = uuid::Uuid::parse_str(&bench.session("demo")).unwrap();
    let seq = ponder(&bench, "demo", session);
    (bench, seq)
}

/// Adds a record of a newer program to a session. Returns its seq.
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

/// Adds a session that has done nothing to a journal.
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
fn what_only_a_newer_program_knows_is_refused_and_passed_over_only_where_that_is_asked_for() {
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
            .complains(&["model_pondered", "--unknown-kinds skip"]);
    }
    let warning = format!(
        "warning[unknown-kind]: passed over 1 record of kind model_pondered, the first at seq {seq} of session {session}\n"
    );
    for (command, code) in commands.iter().zip([0, 0, 0, 0, 1, 0]) {
        let told = bench.run(&format!("{command} --unknown-kinds skip"));
        assert_eq!(told.code, code, "{told:#?}");
        assert!(told.err.starts_with(&warning), "{told:#?}");
    }
    // Nothing is warned of where nothing is passed over.
    bench.run("replay other --unknown-kinds skip").ends_with(0);
    bench.run("replay demo --unknown-kinds loudly").ends_with(2);
}

#[test]
fn an_audit_tells_which_session_it_could_not_read_and_ends_with_4() {
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
fn a_replay_tells_every_other_session_of_the_one_that_it_cannot_read_and_ends_with_4() {
    let (bench, _) = pondered();
    let sound = opened(&bench, "demo");

    let told = bench.run("replay demo --all");
    assert_eq!(told.code, 4, "{told:#?}");
    told.says(&[
        "not read: ",
        "Replayed to the same decisions: 1 session, ",
        ", 1 observation, ",
    ])
    .complains(&["error[unreadable]: 1 of 2 sessions not replayed; the first is "]);
    let rows = bench.run("replay demo --json").ends_with(4).json_lines();
    assert_eq!(rows[0]["error"]["code"], "unreadable", "{rows:?}");
    assert_eq!(rows[1]["session"], sound.to_string(), "{rows:?}");

    bench.write("policy.toml", "[defaults]\ntimeout = \"10s\"\n");
    let told = bench
        .run("replay demo --policy policy.toml --json")
        .ends_with(4)
        .complains(&["1 of 2 sessions not decided again"]);
    assert_eq!(told.json_lines().len(), 2);
}

#[test]
fn that_a_session_diverged_is_told_by_the_exit_code_whatever_else_could_not_be_read() {
    let bench = Bench::with_demo();
    forge(&bench, "forged", |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    let unread = opened(&bench, "forged");
    ponder(&bench, "forged", unread);
    bench.run("replay forged").ends_with(5).says(&[
        &format!("Session {unread} not read: "),
        "1 diverged of 1 session",
    ]);
}

#[test]
fn only_a_command_that_can_skip_is_advised_to() {
    let (bench, _) = pondered();
    bench.run("export demo --out demo.jsonl").ends_with(0);
    let told = bench.run("import demo.jsonl again");
    let told = told.fails(4, "unreadable");
    assert!(!told.err.contains("--unknown-kinds"), "{told:#?}");
}
