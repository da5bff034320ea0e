//! Commands over sessions of later rules, and over terms with a field of a later version.

use recount::session::RULES;
use recount_journal::{Actor, Append, DiskJournal, Draft, Hash, Journal, Object, block_on};
use uuid::Uuid;

use crate::program::Bench;

/// A bench with a journal `demo`, and a second session in it under `rules`, whose policies are
/// `policies`. Its records end with one of an unknown kind with the body `ponders`, if there is
/// one.
fn with_session(rules: u32, policies: &str, ponders: Option<&str>) -> (Bench, Uuid) {
    let bench = Bench::with_demo();
    let objects = [r#"{"tools":{}}"#, policies].map(|it| Object::new(it.as_bytes()));
    let [catalog, policies] = [objects[0].hash, objects[1].hash];
    let attached = format!(
        r#"{{"agent":"support","catalog":"{catalog}","policies":"{policies}","rules":{rules},"#
    ) + r#""program":"recount 9.9.9","gates":{"enforced":true}}"#;
    let opened = r#"{"agent":"support","rules":1,"program":"recount 9.9.9"}"#;
    let bodies = [("session_opened", opened), ("runner_attached", &attached)];
    let ponders = ponders.map(|body| ("model_pondered", body));

    let session = Uuid::max();
    let (mut lines, mut prev) = (Vec::new(), Hash::ZERO);
    for ((kind, body), seq) in bodies.into_iter().chain(ponders).zip(1..) {
        let draft = Draft {
            session,
            seq,
            at_us: 0,
            kind,
            cause: None,
            actor: Actor::new("engine"),
            body,
            prev,
        };
        lines.push(draft.line());
        prev = lines.last().unwrap().leaf();
    }
    let append = Append {
        objects: objects.into(),
        ..Append::new(session, 0, lines)
    };
    let journal = DiskJournal::open(bench.path("demo")).unwrap();
    block_on(journal.append(append)).unwrap();
    block_on(journal.close()).unwrap();
    (bench, session)
}

/// Commands that fold a session. Each may skip unknown kinds.
fn folding(session: Uuid) -> [String; 3] {
    [
        format!("state demo {session}"),
        format!("replay demo {session}"),
        format!("fixture export demo {session} taken"),
    ]
}

const MISSPELT: &str = r#"{"tools":{"refund":{"confirm":{},"quorun":2}}}"#;

#[test]
fn unknown_field_is_refused_under_rules_2_only() {
    let (bench, session) = with_session(2, MISSPELT, None);
    for command in folding(session) {
        for skipping in ["", " --unknown-kinds skip"] {
            bench
                .run(&format!("{command}{skipping}"))
                .fails(4, "unknown-field")
                .prints_error(&["/tools/refund/quorun", &session.to_string()]);
        }
    }
    bench.run("export demo --out demo.jsonl").ends_with(0);
    bench
        .run("import demo.jsonl again")
        .fails(4, "unknown-field");
    bench.run("verify demo").ends_with(0);
    // The other session is served.
    let told = bench.run("replay demo --json").ends_with(4).json_lines();
    let errors: Vec<_> = told
        .iter()
        .filter_map(|it| it["error"]["code"].as_str())
        .collect();
    assert_eq!((told.len(), errors), (2, vec!["unknown-field"]), "{told:?}");

    let (bench, session) = with_session(1, MISSPELT, None);
    for command in folding(session) {
        bench.run(&command).ends_with(0);
    }
    bench.run("export demo --out demo.jsonl").ends_with(0);
    bench.run("import demo.jsonl again").ends_with(0);
}

#[test]
fn explicit_default_is_read_under_rules_2() {
    let policies = r#"{"acknowledges":false,"tools":{"refund":{"cache":null,"confirm":{}}}}"#;
    let (bench, session) = with_session(2, policies, None);
    for command in folding(session) {
        bench.run(&command).ends_with(0);
    }
}

#[test]
fn newer_rules_are_refused_and_listed_by_replay() {
    let (bench, session) = with_session(RULES + 1, r#"{"tools":{}}"#, None);
    for command in folding(session) {
        bench.run(&command).fails(4, "newer-rules");
    }
    bench.run("export demo --out demo.jsonl").ends_with(0);
    bench.run("import demo.jsonl again").fails(4, "newer-rules");
    let told = bench.run("replay demo --json").ends_with(4).json_lines();
    let refused: Vec<_> = told
        .iter()
        .filter(|it| it["error"]["code"] == "newer-rules")
        .map(|it| it["session"].as_str().unwrap())
        .collect();
    assert_eq!(refused, [session.to_string()]);
}

#[test]
fn unknown_kind_of_newer_rules_is_not_skipped() {
    let body = format!(r#"{{"rules":{}}}"#, RULES + 1);
    let (bench, session) = with_session(1, r#"{"tools":{}}"#, Some(&body));
    for command in folding(session) {
        for skipping in ["", " --unknown-kinds skip"] {
            let told = bench.run(&format!("{command}{skipping}"));
            let told = told.fails(4, "newer-rules");
            assert!(!told.err.contains("warning["), "{told:#?}");
        }
    }
    let body = format!(r#"{{"rules":{RULES}}}"#);
    let (bench, session) = with_session(1, r#"{"tools":{}}"#, Some(&body));
    for command in folding(session) {
        let told = bench.run(&format!("{command} --unknown-kinds skip"));
        assert_eq!(told.code, 0, "{told:#?}");
        assert!(told.err.starts_with("warning[unknown-kind]"), "{told:#?}");
    }
}
