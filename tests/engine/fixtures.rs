//! A recorded conversation gives the same transcript whenever it is played.

mod as_recorded;
mod corpus;
mod processes;
mod relayed;
mod stage;
mod taken_out;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::surviving::SurvivingJournal;
use recount::fixture::{Error, Fixture, Recording, Step};
use recount::journal::{Append, Journal};
use recount::prelude::*;
use recount::session::Seq;
use recount::testing::{Told, replayed};
use recount::{assert_replays, assert_session_snapshot};

use stage::{Stage, agent, counted, files, refund};

#[test]
fn recording_plays_equally_twenty_times() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    for _ in 0..20 {
        let played = fixture.play(&agent()).unwrap();
        assert_eq!(played.report(), "");
        assert_eq!(Some(&played.story()), fixture.story());
    }
    let by_itself = fixture.play_by_itself().unwrap();
    assert_eq!(by_itself.report(), "");
}

#[test]
fn a_story_reads_as_what_happened() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let session = Fixture::load(stage.fixture())
        .unwrap()
        .play(&agent())
        .unwrap();
    assert_session_snapshot!(session);
    session.assert_called("refund", json!({"order": 17, "card": "4111-1111"}));
    session.assert_not_called("lookup");
}

#[test]
fn a_short_story_may_stand_in_the_test_itself() {
    let told = recount::testing::history().opened("support");
    assert_session_snapshot!(told, @"  1  engine  session_opened              agent=support");
}

#[test]
fn a_play_opens_no_socket_whatever_the_agent_would_connect_to() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let agent = agent().connect_to(Endpoint::url(format!("ws://{address}")));
    let fixture = Fixture::load(stage.fixture()).unwrap();
    assert_eq!(fixture.play(&agent).unwrap().report(), "");
    let absent = listener.accept().unwrap_err();
    assert_eq!(absent.kind(), std::io::ErrorKind::WouldBlock);
    // A served agent does connect to this address.
    stage.run(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let engine = Engine::in_memory().agent("support", agent).open().await;
        let engine = engine.unwrap();
        // The agent's own timeouts end the other branch. The dropped accept leaves no one waiting.
        tokio::select! {
            accepted = listener.accept() => drop(accepted.unwrap()),
            connected = engine.session("support").connect() => panic!("{:?}", connected.map(drop)),
        }
    });
}

#[test]
fn failed_assertion_on_calls_lists_actual_calls() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let session = Fixture::load(stage.fixture())
        .unwrap()
        .play(&agent())
        .unwrap();
    let message = |assertion: &dyn Fn(&Told)| {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| assertion(&session)));
        *failed.unwrap_err().downcast::<String>().unwrap()
    };
    let other = message(&|it| it.assert_called("refund", json!({"order": 18})));
    insta::assert_snapshot!(other, @r#"
    refund was not called with {"order":18}; what was called:
      refund {"card":"4111-1111","order":17}
    "#);
    let called = message(&|it| it.assert_not_called("refund"));
    assert!(
        called.starts_with("refund was called; what was called:"),
        "{called}"
    );
}

#[test]
fn recorded_tools_do_not_run_and_real_ones_do() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = Agent::new()
        .model("gemini-live-2.5-flash")
        .tools(counted(&runs));
    fixture.play(&agent).unwrap().assert_as_recorded();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    fixture
        .with_real_tools()
        .play(&agent)
        .unwrap()
        .assert_as_recorded();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn report_shows_where_agent_without_approval_differs() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let ungated = Agent::new().model("gemini-live-2.5-flash").tools(refund());
    let played = fixture.play(&ungated).unwrap();
    insta::assert_snapshot!(played.report());
    // The updated fixture is what later plays are compared with.
    played.updated().save(stage.fixture()).unwrap();
    let updated = Fixture::load(stage.fixture()).unwrap();
    assert_eq!(updated.play(&ungated).unwrap().difference(), None);
}

#[test]
fn redacted_values_are_in_no_file_and_fixture_still_plays() {
    let stage = Stage::new();
    stage.refunded(Recording::to(stage.fixture()).redacting("/card"));
    let written = files(&stage.fixture());
    assert!(!written.contains("4111-1111"), "{written}");
    assert!(!written.contains("handle-"), "{written}");
    assert!(written.matches("[redacted]").count() > 3, "{written}");
    let played = Fixture::load(stage.fixture())
        .unwrap()
        .play(&agent())
        .unwrap();
    assert_eq!(played.report(), "");
    played.assert_called("refund", json!({"order": 17, "card": "[redacted]"}));
}

#[test]
fn unanswered_request_expires_in_virtual_time() {
    let stage = Stage::new();
    stage.expired(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let last = fixture.steps().last().unwrap();
    assert!(last.at_ms >= 3_600_000, "{last:?}");
    let played = fixture.play(&stage::expiring()).unwrap();
    assert_eq!(played.report(), "");
    let kinds: Vec<&str> = played.facts().iter().map(|it| it.event.kind()).collect();
    assert!(kinds.contains(&"confirmation_expired"), "{kinds:?}");
}

#[test]
fn unanswered_call_runs_again_in_virtual_time() {
    let stage = Stage::new();
    stage.unanswered(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let played = fixture.play(&stage::running_unanswered()).unwrap();
    assert_eq!(played.report(), "");
    let kinds: Vec<&str> = played.facts().iter().map(|it| it.event.kind()).collect();
    assert!(kinds.contains(&"gate_waived"), "{kinds:?}");
    let denied = fixture.play(&stage::expiring()).unwrap();
    assert!(
        !denied.report().is_empty(),
        "a stricter policy is a difference"
    );
}

#[test]
fn a_connection_that_was_lost_is_lost_again_and_comes_back() {
    let stage = Stage::new();
    stage.lost_and_back(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let lost = |it: &&recount::fixture::Timed| matches!(it.step, Step::ConnectionLost(_));
    assert_eq!(fixture.steps().iter().filter(lost).count(), 1);
    let played = fixture.play(&agent()).unwrap();
    assert_eq!(played.report(), "");
}

#[test]
fn recorded_refusal_of_connection_is_played_after_setup() {
    let stage = Stage::new();
    stage.refused_and_back(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let refused = |it: &&recount::fixture::Timed| matches!(it.step, Step::ConnectionRefused(_));
    assert_eq!(fixture.steps().iter().filter(refused).count(), 1);
    let played = fixture.play(&agent()).unwrap();
    assert_eq!(played.report(), "");
    let setups = played.sent().filter(|it| it.starts_with(r#"{"setup""#));
    assert_eq!(setups.count(), 3);
}

#[test]
fn tool_that_starts_earlier_takes_as_long_as_recorded() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let fixture = Fixture::load(stage.fixture()).unwrap();
    let ungated = Agent::new().model("gemini-live-2.5-flash").tools(refund());
    let played = fixture.play(&ungated).unwrap();
    let at = |kind: &str| {
        let mut facts = played.facts().iter();
        facts.find(|it| it.event.kind() == kind).unwrap().at.0
    };
    // The recorded wait of a minute and a half for the approver is no part of the run.
    let ran_us = at("tool_returned") - at("call_started");
    assert!(ran_us < 10_000_000, "{ran_us}");
}

#[test]
fn exported_session_plays_as_recorded() {
    let stage = Stage::new();
    let (session, ledger) = stage.refunded(stage.fixture());
    let exported = stage
        .run(Fixture::export(&ledger, session, &["/card"]))
        .unwrap();
    let played = exported.play_by_itself().unwrap();
    assert_eq!(played.report(), "");
    played.assert_called("refund", json!({"order": 17, "card": "[redacted]"}));
    // The fixture can be saved and loaded without a difference.
    let dir = stage.path("exported");
    exported.save(&dir).unwrap();
    assert_eq!(Fixture::load(&dir).unwrap(), exported);
    let again = stage.run(Fixture::export_to(&ledger, session, &["/card"], &dir));
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
}

#[test]
fn newer_fixture_is_rejected_and_damaged_one_names_location() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    assert_eq!(Fixture::migrate(stage.fixture()).unwrap(), 1);
    let header = stage.fixture().join("fixture.json");
    let text = std::fs::read_to_string(&header).unwrap();
    std::fs::write(
        &header,
        text.replace(r#""format": 1"#, r#""format": 2, "else": {}"#),
    )
    .unwrap();
    for refused in [
        Fixture::load(stage.fixture()).map(drop),
        Fixture::migrate(stage.fixture()).map(drop),
    ] {
        let told = refused.unwrap_err().to_string();
        assert!(
            told.ends_with("is of format 2; this version reads up to 1"),
            "{told}"
        );
    }
    std::fs::write(&header, text).unwrap();
    let steps = stage.fixture().join("steps.jsonl");
    let lines = std::fs::read_to_string(&steps).unwrap();
    std::fs::write(
        &steps,
        lines.replacen("\"kind\":\"frame_in\"", "\"kind\":\"frame_up\"", 1),
    )
    .unwrap();
    let told = Fixture::load(stage.fixture()).unwrap_err().to_string();
    assert!(
        told.contains("is no step: no event is of kind \"frame_up\""),
        "{told}"
    );
    assert!(told.starts_with("line "), "{told}");
}

#[test]
fn a_fixture_that_is_there_is_not_written_over() {
    let stage = Stage::new();
    stage.refunded(stage.fixture());
    let engine = stage.run(
        Engine::in_memory()
            .agent(
                "support",
                agent()
                    .record_to(Recording::to("x").redacting("card"))
                    .sealed(),
            )
            .open(),
    );
    let mistakes = engine.err().unwrap().to_string();
    assert!(mistakes.contains(r#"found "card""#), "{mistakes}");
    assert!(
        mistakes.contains("a recording would be in clear"),
        "{mistakes}"
    );
    let again = stage.try_refunded(stage.fixture());
    assert!(again.err().unwrap().contains("there is a fixture in"));
}

#[test]
fn every_session_of_an_agent_has_a_directory_of_its_own() {
    let stage = Stage::new();
    let sessions = stage.two_sessions(stage.path("all"));
    for session in sessions {
        let fixture = Fixture::load(stage.path("all").join(session.to_string())).unwrap();
        assert_eq!(fixture.header().session, session);
        assert_eq!(fixture.play(&agent()).unwrap().report(), "");
    }
}

#[test]
fn a_journal_replays_and_one_whose_end_was_cut_does_not() {
    let stage = Stage::new();
    let (session, ledger) = stage.refunded(stage.fixture());
    assert_replays!(ledger);
    let cut = SurvivingJournal::new();
    stage.run(async {
        let lines = ledger.journal().read(session.0, 1, 1024).await.unwrap();
        let facts = ledger.facts(session, Seq(1), 1024).await.unwrap();
        let called = facts
            .iter()
            .position(|it| it.event.kind() == "function_call_received");
        let mut append = Append::new(session.0, 0, lines[..=called.unwrap()].to_vec());
        for fact in &facts {
            if let recount::session::Event::Observed(it) = &fact.event {
                for hash in it.objects() {
                    let hash = recount::journal::Hash::from_bytes(*hash.as_bytes());
                    let bytes = ledger.journal().object(hash).await.unwrap().unwrap();
                    append
                        .objects
                        .push(recount::journal::Object { hash, bytes });
                }
            }
        }
        append.objects.dedup();
        cut.append(append).await.unwrap();
    });
    let report = replayed(&cut).unwrap_err();
    assert!(
        report.contains("- recorded  nothing\n+ derived   policy_decided"),
        "{report}"
    );
}

/// The directory of the conversation in the repository.
const IN_THE_TREE: &str = "fixtures/conversations/refund";

/// `RECOUNT_WRITE_FIXTURES=1` writes it again.
#[test]
fn the_conversation_in_the_tree_is_what_is_recorded() {
    let stage = Stage::new();
    stage.refunded(Recording::to(stage.fixture()).redacting("/card"));
    if std::env::var_os("RECOUNT_WRITE_FIXTURES").is_some() {
        let recorded = Fixture::load(stage.fixture()).unwrap();
        recorded.save(IN_THE_TREE).unwrap();
    }
    let lines = |dir: &std::path::Path| -> Vec<String> {
        let text = files(dir);
        let lines = text.lines().filter(|it| !it.contains(r#""program": "#));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(IN_THE_TREE.as_ref()), lines(&stage.fixture()));
}

#[test]
fn the_conversation_in_the_tree_plays() {
    let fixture = Fixture::load(IN_THE_TREE).unwrap();
    fixture.play_by_itself().unwrap().assert_as_recorded();
    let session = fixture.play(&agent()).unwrap();
    session.assert_as_recorded();
    session.assert_called("refund", json!({"order": 17, "card": "[redacted]"}));
}
