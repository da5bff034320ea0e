//! `goAway` of the service: running calls may end first, if they end in time.

use recount::session::Outcome;
use recount::simulator::{Event, Side, Standing};

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

const SHIP: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "go"}, "connection": 1, "send": [{"call": [{"id": "s", "name": "ship"}]}, {"go_away": "10s"}]}
{"on": {"responses_to": ["s"]}, "send": [{"say": "Shipped."}, {"sessionResumptionUpdate": {"newHandle": "h2", "resumable": true}}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

/// The position of an event in the transcript.
fn place(stage: &Stage, wanted: impl Fn(u32, &Event) -> bool) -> usize {
    let transcript = stage.model.transcript();
    let mut entries = transcript.entries().iter();
    let found = entries.position(|entry| wanted(entry.connection.0, &entry.event));
    found.expect("it is in the transcript")
}

#[tokio::test(start_paused = true)]
async fn response_is_sent_and_old_socket_closed_before_switch() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    stage.pass(5_000).await;
    assert_eq!(stage.connections(), 1, "the tool still runs");
    stage.till.release().await;
    assert_eq!(stage.connections(), 2, "nothing was under way any more");
    let answers: Vec<_> = stage
        .answered()
        .into_iter()
        .map(|it| (it.0, it.2))
        .collect();
    assert_eq!(answers, [(1, Standing::Accepted)]);
    assert_eq!(stage.doors.shown(), ["none", "h2"]);
    let closed = place(&stage, |on, event| {
        on == 1
            && matches!(
                event,
                Event::Closed {
                    by: Side::Client,
                    ..
                }
            )
    });
    let opened = place(&stage, |on, event| on == 2 && *event == Event::Connected);
    assert!(closed < opened, "closed at {closed}, opened at {opened}");
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn unfinished_call_continues_and_next_connection_gets_outcome() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    stage.pass(7_999).await;
    assert_eq!(stage.connections(), 1);
    // Two of the ten seconds are reserved for the switch itself.
    stage.pass(1).await;
    assert_eq!(stage.connections(), 2);
    assert_eq!(stage.till.over(), 0);
    stage.till.release().await;
    let told = stage.told(2);
    assert!(told.last().unwrap().contains("shipped"), "{told:?}");
    assert_eq!(stage.till.runs(), 1);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

/// The model continues its turn and calls after `goAway`.
const LATE_CALL: &str = r#"
{"on": {"text": "go"}, "connection": 1, "send": [{"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": "Wait"}]}}}, {"go_away": "10s"}, {"call": [{"id": "p", "name": "pay"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn no_call_starts_any_more_on_a_connection_that_is_to_be_left() {
    let stage = Stage::new(LATE_CALL, |agent| agent).await;
    let live = stage.gone().await;
    assert_eq!(stage.till.runs(), 0);
    stage.pass(8_000).await;
    assert_eq!((stage.connections(), stage.till.runs()), (2, 1));
    assert!(stage.answered().is_empty());
    let told = stage.told(2);
    assert!(told.last().unwrap().contains("paid"), "{told:?}");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn call_held_back_by_ending_connection_does_not_start() {
    let stage = Stage::new(LATE_CALL, |agent| agent).await;
    let live = stage.gone().await;
    live.disconnect().await.unwrap();
    settle().await;
    let facts = stage.facts(&live).await;
    let kinds: Vec<&str> = facts.iter().map(|fact| fact.event.kind()).collect();
    let ends = ["runner_detached", "disconnected"];
    assert!(kinds.ends_with(&ends), "{kinds:?}");
    assert!(!kinds.contains(&"call_started"), "{kinds:?}");
    // The call is not in doubt, and runs once.
    live.connect().await.unwrap();
    settle().await;
    assert_eq!(stage.till.runs(), 1);
    assert_eq!(stage.outcomes(&live).await, [Outcome::Returned]);
    let told = stage.told(2);
    assert!(told.last().unwrap().contains("paid"), "{told:?}");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn text_during_a_switch_is_sent_on_next_connection() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    // The model's turn is open, so the text waits for the switch.
    let (said, ()) = tokio::join!(live.send_text("And me?"), stage.pass(8_000));
    said.unwrap();
    settle().await;
    assert_eq!(stage.told(1), ["go"]);
    assert!(
        stage.told(2).contains(&"And me?".to_owned()),
        "{:?}",
        stage.told(2)
    );
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn idle_connection_is_left_at_once_even_without_time_left() {
    let script = r#"
{"on": {"text": "go"}, "connection": 1, "send": [{"say": "Going."}, {"goAway": {}}]}
"#;
    let stage = Stage::new(script, |agent| agent).await;
    let live = stage.gone().await;
    assert_eq!(stage.connections(), 2);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn early_close_after_go_away_is_an_ordinary_loss() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1000, []).await;
    assert_eq!((stage.connections(), stage.till.over()), (2, 0));
    stage.pass(20_000).await;
    assert_eq!(stage.connections(), 2, "the planned switch is off");
    stage.till.release().await;
    assert!(stage.told(2).last().unwrap().contains("shipped"));
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_sends_each_connection_away_is_given_up() {
    const AWAY: &str = r#"
{"on": "setup", "once": false, "send": [{"go_away": "10s"}]}
{"on": "otherwise", "send": []}
"#;
    let stage = Stage::new(AWAY, |agent| agent).await;
    let live = stage.engine.session("support").connect().await.unwrap();
    settle().await;
    for _ in 0..400 {
        stage.pass(500).await;
    }
    assert!(stage.connections() <= 9, "{}", stage.connections());
    assert_eq!(stage.count(&live, "reconnects_exhausted").await, 1);
    stage.end(live).await;
}
