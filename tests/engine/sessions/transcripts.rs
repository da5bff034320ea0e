//! A record contains all, some or none of what the user and the model say.

use crate::surviving::SurvivingJournal;
use recount::engine::{LiveEvent, Transcripts};
use recount::fixture::Fixture;
use recount::journal::{block_on, export};
use recount::prelude::*;
use recount::replay;
use recount::session::{Decision, Event, Seq};
use recount::testing::{Life, ManualClock, ScriptedModel};

const CARD: &str = "4111222233334444";
const ADDRESS: &str = "ada@example.com";

/// Every text of a side contains "zebra", in every place where the service may send one.
const SCRIPT: &str = concat!(
    "\n",
    r#"{"on": {"text": "refund"},"#,
    r#" "send": [{"serverContent": {"inputTranscription": {"text": "Spoken-zebra 4111222233"#,
    r#"334444, ada@example.com"}}},"#,
    r#" {"raw": "{\"serverContent\":{\"interimInputTranscription\":{\"text\":\"Interim-zebr"#,
    r#"a\"},\"groundingMetadata\":{\"webSearchQueries\":[\"Search-zebra\"]},"#,
    r#"\"modelTurn\":{\"parts\":[{\"text\":\"Thought-zebra\",\"thought\":true},"#,
    r#"{\"text\":\"Text-zebra 4111222233334444.\"}]}},"#,
    r#"\"brandNew\":{\"text\":\"New-zebra\"}}", "opcode": "text"},"#,
    r#" {"raw": "{\"serverContent\":{\"modelTurn\":\"Broken-zebra\"}}", "opcode": "text"},"#,
    r#" {"call": [{"id": "c1", "name": "look", "args": {"order": 17}}]}]}"#,
    "\n",
    r#"{"on": {"responses_to": ["c1"]},"#,
    r#" "send": [{"serverContent": {"outputTranscription": {"text": "Heard-zebra"}}},"#,
    r#" {"say": "Said-zebra."}]}"#,
    "\n",
    r#"{"on": "otherwise", "once": false, "send": []}"#,
    "\n",
);

/// A conversation: its journal, its fixture, and what listeners got.
struct Told {
    /// Every byte of every record and object of the journal.
    export: String,
    /// The files of the fixture.
    fixture: String,
    /// The kinds of the records, in order.
    kinds: Vec<&'static str>,
    heard: String,
}

fn agent(transcripts: Transcripts) -> Agent {
    let look = T::simple("look", "Looks", |args| async move {
        Ok(json!({"order": args["order"], "found": true}))
    });
    let agent = Agent::new().model("m").tools(look);
    agent.record_transcripts(transcripts)
}

fn told(transcripts: Transcripts) -> Told {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("fixture");
    let model = ScriptedModel::parse(SCRIPT).unwrap();
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let recorded = agent(transcripts).connect_to(model.clone());
    let recorded = recorded.record_to(directory.path().join("fixtures"));
    let life = Life::begin(&journal, &clock, [("support", recorded)]);
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    let mut listener = live.listen();
    let typed = format!("Please refund, typed-zebra {CARD} {ADDRESS}.");
    life.run(live.send_text(typed.clone())).unwrap();
    life.settle();
    let heard = life.run(async {
        let mut heard = String::new();
        loop {
            match listener.next().await.unwrap() {
                LiveEvent::Text(text) | LiveEvent::Transcript { text, .. } => heard += &text,
                LiveEvent::TurnComplete => return heard,
                _ => {}
            }
        }
    });
    model.drop_connection(1011, "refused: Closing-zebra");
    life.settle();
    clock.advance(std::time::Duration::from_secs(60));
    life.settle();
    life.run(live.disconnect()).unwrap();
    life.settle();
    let (session, ledger) = (live.session_id(), life.engine().ledger().clone());
    drop(live);
    life.settle();
    life.end();
    // The model got the user's text in full.
    let transcript = model.transcript();
    assert_eq!(transcript.told().next().map(|it| it.1), Some(typed));

    let facts = block_on(ledger.facts(session, Seq(1), 1_000)).unwrap();
    assert!(
        facts
            .iter()
            .any(|fact| matches!(fact.event, Event::Decided(Decision::ResponseIssued(_))))
    );
    let report = block_on(replay::verify(&ledger, session)).unwrap();
    assert!(
        report.diverged.is_none() && report.decisions > 0,
        "{report:?}"
    );
    let mut out = Vec::new();
    block_on(export(ledger.journal().as_ref(), None, &mut out)).unwrap();
    let recorded = directory.path().join("fixtures").join(session.to_string());
    let exported = block_on(Fixture::export_to(&ledger, session, &[] as &[&str], &dir)).unwrap();
    let mut fixture = String::new();
    for dir in [&recorded, &dir] {
        for name in ["fixture.json", "steps.jsonl", "story.txt"] {
            fixture += &std::fs::read_to_string(dir.join(name)).unwrap();
        }
    }
    for fixture in [Fixture::load(&recorded).unwrap(), exported.fixture] {
        let played = fixture.play(&agent(transcripts)).unwrap();
        assert_eq!(played.report(), "");
    }
    Told {
        export: String::from_utf8(out).unwrap(),
        fixture,
        kinds: facts.iter().map(|fact| fact.event.kind()).collect(),
        heard,
    }
}

/// Asserts that both the journal and the fixture contain a text, or do not.
fn assert_contained(told: &Told, text: &str, expected: bool) {
    for written in [&told.export, &told.fixture] {
        assert_eq!(written.contains(text), expected, "{text} in {written}");
    }
}

#[test]
fn full_record_has_every_word() {
    let told = told(Transcripts::Full);
    for text in ["typed", "Spoken", "Text", "Heard", "Said", "Closing"] {
        assert_contained(&told, &format!("{text}-zebra"), true);
    }
    assert_contained(&told, CARD, true);
    assert_contained(&told, ADDRESS, true);
    assert!(told.fixture.contains("Interim-zebra"), "{}", told.fixture);
}

#[test]
fn redacted_record_has_words_without_digits_and_addresses() {
    let told = told(Transcripts::Redacted);
    for text in ["typed", "Spoken", "Text", "Heard", "Said", "Closing"] {
        assert_contained(&told, &format!("{text}-zebra"), true);
    }
    assert_contained(&told, "typed-zebra ################ ###", true);
    for text in [CARD, ADDRESS] {
        assert_contained(&told, text, false);
    }
    // The journal never records them.
    for text in ["Interim", "Search", "Thought", "New"] {
        assert_contained(&told, &format!("{text}-zebra"), false);
    }
    assert_contained(&told, r#""order":17"#, true);
    assert!(told.heard.contains(CARD), "{}", told.heard);
}

#[test]
fn no_word_is_in_journal_or_fixture_but_each_turn_is() {
    let full = told(Transcripts::Full);
    let told = told(Transcripts::None);
    assert_contained(&told, "zebra", false);
    for text in [CARD, ADDRESS, "refund"] {
        assert_contained(&told, text, false);
    }
    assert_contained(&told, "[not recorded]", true);
    assert_contained(&told, r#""order":17"#, true);
    assert_eq!(told.kinds, full.kinds);
    assert_eq!(told.heard, full.heard);
    assert!(told.heard.contains("Spoken-zebra"), "{}", told.heard);
}
