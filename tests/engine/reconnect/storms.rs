//! A service repeats unimportant messages without end: the journal stays small, and no fact is
//! lost.

use std::time::Duration;

use recount::engine::Reconnects;
use recount::live::wire::ServerMessage;
use recount::prelude::*;
use recount::session::{
    Event, Observation, ReconnectScheduled, Seq, Speaker, TranscriptReceived, UsageReported,
};

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

const QUIET: &str = r#"
{"on": {"text": "go"}, "send": [{"say": "Going."}]}
{"on": "otherwise", "once": false, "send": []}
"#;

/// The maximum number of records that thousands of messages may leave.
const RECORDS_MAX: usize = 700;

fn message(text: &str) -> ServerMessage {
    ServerMessage::decode(text).unwrap()
}

fn usage(total: usize) -> ServerMessage {
    message(&format!(
        r#"{{"usageMetadata":{{"totalTokenCount":{total}}}}}"#
    ))
}

fn piece(text: &str) -> ServerMessage {
    message(&format!(
        r#"{{"serverContent":{{"outputTranscription":{{"text":"{text}"}}}}}}"#
    ))
}

fn turn_complete() -> ServerMessage {
    message(r#"{"serverContent":{"turnComplete":true}}"#)
}

fn interrupted() -> ServerMessage {
    message(r#"{"serverContent":{"interrupted":true}}"#)
}

fn handle(number: usize) -> ServerMessage {
    message(&format!(
        r#"{{"sessionResumptionUpdate":{{"newHandle":"h{number}","resumable":true}}}}"#
    ))
}

impl Stage {
    /// Sends these messages from the service.
    async fn hears(&self, messages: impl IntoIterator<Item = ServerMessage>) {
        for (at, message) in messages.into_iter().enumerate() {
            self.model.send(&message);
            if at % 100 == 0 {
                settle().await;
            }
        }
        settle().await;
    }

    /// The recorded text of the model.
    async fn said(&self, live: &LiveHandle) -> String {
        let facts = self.facts(live).await.into_iter();
        let said = facts.filter_map(|it| match it.event {
            Event::Observed(Observation::TranscriptReceived(TranscriptReceived {
                speaker: Speaker::Model,
                text,
                ..
            })) => Some(text),
            Event::Observed(_) | Event::Decided(_) => None,
        });
        said.collect()
    }

    async fn usages(&self, live: &LiveHandle) -> Vec<u64> {
        let facts = self.facts(live).await.into_iter();
        let usages = facts.filter_map(|it| match it.event {
            Event::Observed(Observation::UsageReported(UsageReported { usage, .. })) => {
                usage.to_value()["totalTokenCount"].as_u64()
            }
            Event::Observed(_) | Event::Decided(_) => None,
        });
        usages.collect()
    }
}

#[tokio::test(start_paused = true)]
async fn usage_without_end_leaves_the_newest() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    stage.hears((1..=3_000).map(usage)).await;
    let usages = stage.usages(&live).await;
    assert!(usages.len() <= RECORDS_MAX, "{} records", usages.len());
    assert_eq!(
        usages[..10],
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        "a few are kept"
    );
    stage.pass(10_000).await;
    assert_eq!(stage.usages(&live).await.last(), Some(&3_000));
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn turns_without_content_do_not_fill_the_journal() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    let ends = (0..1_000).flat_map(|_| [turn_complete(), interrupted()]);
    stage.hears(ends).await;
    let facts = stage.facts(&live).await.len();
    assert!(facts <= RECORDS_MAX, "{facts} records");
    // A turn with content is still recorded.
    let before = stage.count(&live, "turn_completed").await;
    stage.hears([piece("Well."), turn_complete()]).await;
    assert_eq!(stage.count(&live, "turn_completed").await, before + 1);
    live.send_text("Anything?").await.unwrap();
    stage.hears([turn_complete()]).await;
    assert_eq!(stage.count(&live, "turn_completed").await, before + 2);
    stage.end(live).await;
}

/// An interrupted turn is open until its end, so a second interruption changes nothing.
#[tokio::test(start_paused = true)]
async fn interruptions_without_end_do_not_fill_the_journal() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    live.send_text("Anything?").await.unwrap();
    stage.hears([piece("Well,")]).await;
    stage.hears((0..1_000).map(|_| interrupted())).await;
    let facts = stage.facts(&live).await.len();
    assert!(facts <= RECORDS_MAX, "{facts} records");
    // An interruption after new text is still recorded.
    let before = stage.count(&live, "turn_interrupted").await;
    stage.hears([piece("Yes."), interrupted()]).await;
    assert_eq!(stage.count(&live, "turn_interrupted").await, before + 1);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn words_in_small_pieces_are_joined_and_none_is_lost() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    let pieces = (0..3_000).map(|at| format!("{} ", at % 10));
    let text: String = pieces.clone().collect();
    stage.hears(pieces.map(|it| piece(&it))).await;
    let facts = stage.facts(&live).await.len();
    assert!(facts <= RECORDS_MAX, "{facts} records");
    stage.pass(1_000).await;
    assert_eq!(
        stage.said(&live).await,
        text,
        "a second later all is on record"
    );
    stage
        .hears([piece("And"), piece(" more."), turn_complete()])
        .await;
    assert_eq!(stage.said(&live).await, format!("{text}And more."));
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn mixed_messages_without_content_are_bounded_and_stay_in_order() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    let storm = (1..=1_000).flat_map(|at| {
        let user = message(r#"{"serverContent":{"inputTranscription":{"text":"u"}}}"#);
        [usage(at), piece("m"), user, handle(at)]
    });
    stage.hears(storm).await;
    let facts = stage.facts(&live).await.len();
    assert!(facts <= RECORDS_MAX, "{facts} records");
    stage.drop_then(1006, []).await;
    assert_eq!(stage.doors.shown()[1], "h1000", "the newest is used");
    assert_eq!(stage.said(&live).await, "m".repeat(1_000));
    assert_eq!(stage.usages(&live).await.last(), Some(&1_000));
    stage.end(live).await;
}

/// A resumed conversation must get everything that its handle does not cover.
#[tokio::test(start_paused = true)]
async fn handle_covers_no_words_that_came_after_it() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    stage.hears((0..400).map(|_| piece("a"))).await;
    stage.hears([handle(1), piece("b")]).await;
    stage.pass(1_000).await;
    let session = stage.folded(&live).await;
    let covers = session.resumption.unwrap().covers;
    let facts = stage.facts(&live).await;
    let says_b = |event: &Event| match event {
        Event::Observed(Observation::TranscriptReceived(it)) => it.text == "b",
        Event::Observed(_) | Event::Decided(_) => false,
    };
    let b = facts.iter().find(|it| says_b(&it.event)).unwrap().seq;
    assert!(covers < b, "{covers} {b}");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn newest_handle_is_on_record_after_a_quiet_while() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    stage.hears((1..=50).map(handle)).await;
    let known = |it: recount::session::Session| it.resumption.map(|it| it.fingerprint);
    let newest = recount::session::ResumptionHandle::new("h50").fingerprint();
    assert_ne!(
        known(stage.folded(&live).await),
        Some(newest.clone()),
        "it is held back"
    );
    stage.pass(10_000).await;
    assert_eq!(known(stage.folded(&live).await), Some(newest));
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn newest_handle_is_on_record_once_the_engine_shuts_down() {
    let stage = Stage::new(QUIET, |agent| agent).await;
    let live = stage.gone().await;
    let session = live.session_id();
    stage.hears((1..=50).map(handle)).await;
    stage.engine.shutdown(Duration::ZERO).await.unwrap();
    let ledger = stage.engine.ledger();
    let facts = ledger.facts(session, Seq(1), 10_000).await.unwrap();
    let last = facts.iter().rev().find_map(|it| match &it.event {
        Event::Observed(Observation::ResumptionHandleReceived(it)) => it.fingerprint.clone(),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    let newest = recount::session::ResumptionHandle::new("h50").fingerprint();
    assert_eq!(last, Some(newest));
}

/// A service that completes a turn of its own on each connection.
const TURNS: &str = r#"
{"on": "setup", "once": false, "send": [{"say": "Hm."}]}
{"on": "otherwise", "once": false, "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn unrequested_turn_does_not_reset_attempts() {
    for script in [
        TURNS.to_owned(),
        TURNS.replace(
            r#"{"say": "Hm."}"#,
            r#"{"serverContent": {"turnComplete": true}}"#,
        ),
    ] {
        let stage = Stage::new(&script, |agent| agent).await;
        let live = stage.engine.session("support").connect().await.unwrap();
        settle().await;
        for _ in 0..400 {
            stage.model.drop_connection(1000, "bye");
            settle().await;
            stage.pass(500).await;
        }
        assert_eq!(stage.connections(), 9, "the first and eight tries");
        assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
        stage.end(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn empty_turn_after_words_makes_no_connection_good() {
    let patience = Reconnects::default().attempts_max(3);
    let stage = Stage::new(QUIET, |agent| agent.reconnects(patience)).await;
    let live = stage.gone().await;
    for _ in 0..3 {
        stage.drop_then(1006, []).await;
        live.send_text("Hello?").await.unwrap();
        settle().await;
        stage.hears([turn_complete()]).await;
    }
    stage.drop_then(1006, []).await;
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn first_wait_after_an_answered_turn_is_the_policys() {
    let patience = Reconnects::default().waits(Duration::from_secs(4), Duration::from_secs(60));
    let stage = Stage::new(QUIET, |agent| agent.reconnects(patience)).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    let scheduled = stage.events(&live, "reconnect_scheduled").await;
    let [Event::Observed(Observation::ReconnectScheduled(ReconnectScheduled { attempt, .. }))] =
        &scheduled[..]
    else {
        panic!("{scheduled:?}");
    };
    assert_eq!(*attempt, 1);
    stage.pass(1_999).await;
    assert_eq!(stage.connections(), 1);
    stage.pass(2_001).await;
    assert_eq!(stage.connections(), 2);
    stage.end(live).await;
}
