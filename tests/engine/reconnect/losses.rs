//! A connection is lost, or the next one cannot be opened.

use std::time::Duration;

use recount::engine::Reconnects;
use recount::prelude::LiveHandle;
use recount::session::{ConnectFailed, Event, Observation, Outcome, ReconnectScheduled};

use crate::nothing_left::settle;
use crate::reconnect::doors::Door;
use crate::reconnect::stage::Stage;

/// The model answers every text, and issues a handle after each turn.
const TALK: &str = r#"
{"on": "setup", "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "go"}, "send": [{"say": "Going."}, {"sessionResumptionUpdate": {"newHandle": "h2", "resumable": true}}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn a_lost_conversation_goes_on_with_the_newest_handle() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    live.send_text("Still there?").await.unwrap();
    settle().await;
    assert_eq!(stage.doors.shown(), ["none", "h2"]);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn after_every_close_code_the_conversation_goes_on() {
    for code in [
        1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 1014, 4000,
    ] {
        let stage = Stage::new(TALK, |agent| agent).await;
        let live = stage.gone().await;
        stage.drop_then(code, []).await;
        assert_eq!(stage.connections(), 2, "after {code}");
        assert_eq!(stage.doors.shown(), ["none", "h2"], "after {code}");
        stage.end(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn input_rejected_twice_ends_reconnects() {
    for code in [1007, 1008] {
        let stage = Stage::new(TALK, |agent| agent).await;
        let live = stage.gone().await;
        stage.drop_then(code, []).await;
        stage.drop_then(code, []).await;
        assert_eq!(
            stage.count(&live, "reconnects_exhausted").await,
            1,
            "{code}"
        );
        assert_eq!(stage.connections(), 2, "{code}");
        stage.end(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connection_with_model_output_resets_attempts() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    for _ in 0..4 {
        stage.drop_then(1008, []).await;
        live.send_text("And now?").await.unwrap();
        settle().await;
    }
    assert_eq!(stage.connections(), 5);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_ends_every_connection_at_once_is_given_up() {
    let patience = Reconnects::default().attempts_max(3);
    let stage = Stage::new(TALK, |agent| agent.reconnects(patience)).await;
    let live = stage.gone().await;
    for _ in 0..5 {
        stage.drop_then(1011, []).await;
    }
    assert_eq!(stage.connections(), 4, "the first and three tries");
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_mistake_in_the_setup_is_not_tried_again() {
    for code in [1007, 1008] {
        let stage = Stage::new(TALK, |agent| agent).await;
        stage.doors.meet([Door::Refused(code)]);
        let refused = stage.engine.session("support").connect().await;
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("refused the setup"), "{told}");
        stage.pass(60_000).await;
        assert_eq!(stage.doors.shown().len(), 1, "{code}");
        let sessions = stage.engine.sessions().await.unwrap();
        assert!(sessions.iter().all(|it| it.is_closed()));
    }
}

/// The recorded attempts: the number, the delay in milliseconds, and the handle.
async fn tries(stage: &Stage, live: &LiveHandle) -> Vec<(u32, i64, Option<String>)> {
    let facts = stage.facts(live).await.into_iter();
    facts
        .filter_map(|fact| match fact.event {
            Event::Observed(Observation::ReconnectScheduled(ReconnectScheduled {
                attempt,
                due_us,
                resumes,
            })) => Some((attempt, (due_us.0 - fact.at.0) / 1000, resumes)),
            Event::Observed(_) | Event::Decided(_) => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn tries_and_waits_are_on_record_until_there_are_no_more() {
    let patience = Reconnects::default()
        .attempts_max(5)
        .waits(Duration::from_secs(1), Duration::from_secs(6));
    let stage = Stage::new(CALLS, |agent| agent.reconnects(patience)).await;
    let live = stage.gone().await;
    assert_eq!(stage.till.runs(), 1);
    stage.drop_then(1006, vec![Door::Unreachable; 5]).await;
    for _ in 0..5 {
        stage.pass(6_000).await;
    }
    let tries = tries(&stage, &live).await;
    let most = [1_000, 2_000, 4_000, 6_000, 6_000];
    assert_eq!(tries.len(), 5, "{tries:?}");
    for (index, ((attempt, wait, _), most)) in tries.iter().zip(most).enumerate() {
        assert_eq!(*attempt as usize, index + 1);
        assert!((most / 2..=most).contains(wait), "{tries:?}");
    }
    assert_eq!(stage.count(&live, "connect_failed").await, 5);
    // The running tool was cut off, and the open request stays open.
    assert_eq!(stage.till.over(), 1);
    assert_eq!(stage.outcomes(&live).await, [Outcome::Unknown]);
    assert_eq!(stage.engine.pending().await.unwrap().len(), 1);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

/// The model calls a slow tool and a gated one.
const CALLS: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "s", "name": "ship"}, {"id": "r", "name": "refund"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn a_service_that_says_nothing_is_tried_again() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, [Door::Silent]).await;
    assert_eq!(stage.connections(), 1);
    // The setup timeout is 15 s.
    tokio::time::advance(Duration::from_secs(16)).await;
    settle().await;
    stage.pass(1_000).await;
    assert_eq!(stage.connections(), 2);
    let failed = stage.events(&live, "connect_failed").await;
    let [Event::Observed(Observation::ConnectFailed(ConnectFailed { reason, .. }))] = &failed[..]
    else {
        panic!("{failed:?}");
    };
    assert!(reason.contains("within 15 s"), "{reason}");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn text_between_connections_is_sent_on_the_next() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    let (said, ()) = tokio::join!(live.send_text("Hello again?"), stage.pass(1_000));
    said.unwrap();
    settle().await;
    assert_eq!(stage.told(2), ["Hello again?"]);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn explicit_connect_does_not_wait_for_backoff() {
    let stage = Stage::new(TALK, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    live.connect().await.unwrap();
    stage.pass(60_000).await;
    assert_eq!(stage.connections(), 2);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn disabled_reconnects_cancel_nothing_after_a_loss() {
    let never = Reconnects::never();
    let stage = Stage::new(CALLS, |agent| agent.reconnects(never)).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    // The timeout of the tool itself is 30 s.
    stage.pass(20_000).await;
    assert_eq!(stage.connections(), 1);
    assert_eq!(stage.till.over(), 0);
    assert_eq!(stage.count(&live, "reconnect_scheduled").await, 0);
    live.connect().await.unwrap();
    stage.till.release().await;
    assert_eq!(stage.told(2).last().unwrap().matches("shipped").count(), 1);
    stage.end(live).await;
}

/// A service that sends one word on each connection and never ends its turn.
const A_WORD: &str = r#"
{"on": "setup", "once": false, "send": [{"raw": "{\"serverContent\":{\"modelTurn\":{\"parts\":[{\"text\":\"Hm.\"}]}}}"}]}
{"on": "otherwise", "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn a_word_before_each_loss_makes_no_loss_good() {
    let stage = Stage::new(A_WORD, |agent| agent).await;
    let live = stage.gone().await;
    for _ in 0..20 {
        stage.model.drop_connection(1000, "bye");
        settle().await;
        stage.pass(60_000).await;
    }
    let tries = tries(&stage, &live).await;
    let attempts: Vec<u32> = tries.iter().map(|it| it.0).collect();
    // Each connection here lasted longer than a delay, so none counts as lost at once.
    assert!(attempts.iter().all(|it| *it <= 8), "{attempts:?}");
    stage.end(live).await;

    let stage = Stage::new(A_WORD, |agent| agent).await;
    let live = stage.gone().await;
    for _ in 0..400 {
        stage.model.drop_connection(1000, "bye");
        settle().await;
        stage.pass(500).await;
    }
    assert_eq!(stage.connections(), 9, "the first and eight tries");
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    stage.end(live).await;
}

/// The service sends messages without end that change nothing.
#[tokio::test(start_paused = true)]
async fn messages_without_effect_do_not_fill_the_journal() {
    const NOISE: &str = r#"
{"on": {"text": "go"}, "send": [{"repeat": 1}]}
{"on": "otherwise", "send": []}
"#;
    let handle = r#"{"sessionResumptionUpdate": {"newHandle": "hN", "resumable": true}}"#;
    let noise = [
        r#"{"raw": "nonsense"}"#,
        r#"{"raw": "{\"toolCallCancellation\":{\"ids\":[\"x\"]}}"}"#,
    ];
    let mut send: Vec<String> = (0..1_000)
        .map(|at| handle.replace("hN", &format!("h{at}")))
        .collect();
    for _ in 0..500 {
        send.extend(noise.map(str::to_owned));
    }
    let script = NOISE.replace(r#"{"repeat": 1}"#, &send.join(","));
    let stage = Stage::new(&script, |agent| agent).await;
    let live = stage.gone().await;
    let facts = stage.facts(&live).await.len();
    assert!(facts < 100, "{facts} records");
    stage.drop_then(1006, []).await;
    assert_eq!(stage.doors.shown(), ["none", "h999"], "the newest is used");
    stage.end(live).await;
}
