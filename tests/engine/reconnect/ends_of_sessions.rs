//! Ends of handles and sessions: a detach cancels running calls, and none that wait.

use recount::prelude::Actor;
use recount::session::Outcome;

use crate::nothing_left::{assert_nothing_is_left, settle};
use crate::reconnect::stage::Stage;

/// The model calls a slow tool and a gated one.
const CALLS: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "s", "name": "ship"}, {"id": "r", "name": "refund"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn disconnecting_cuts_off_what_runs_and_leaves_open_what_waits() {
    let stage = Stage::new(CALLS, |agent| agent).await;
    let live = stage.gone().await;
    live.disconnect().await.unwrap();
    settle().await;
    assert_eq!((stage.till.runs(), stage.till.over()), (1, 1));
    assert_eq!(stage.outcomes(&live).await, [Outcome::Unknown]);
    assert_eq!(stage.engine.pending().await.unwrap().len(), 1);
    stage.pass(60_000).await;
    assert_eq!(stage.connections(), 1, "no connection is wanted");
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn dropped_handle_detaches_session_between_connections_too() {
    for lost in [false, true] {
        let stage = Stage::new(CALLS, |agent| agent).await;
        let live = stage.gone().await;
        if lost {
            stage.model.drop_connection(1006, "gone");
            settle().await;
        }
        drop(live);
        settle().await;
        assert_eq!(
            (stage.till.runs(), stage.till.over()),
            (1, 1),
            "lost: {lost}"
        );
        assert_eq!(stage.engine.pending().await.unwrap().len(), 1);
        stage.pass(60_000).await;
        assert_eq!(stage.connections(), 1);
        stage
            .engine
            .shutdown(std::time::Duration::ZERO)
            .await
            .unwrap();
        settle().await;
        assert_nothing_is_left();
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_does_not_come_back() {
    let stage = Stage::new(CALLS, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    live.close("done", Actor::embedder("ada")).await.unwrap();
    stage.pass(60_000).await;
    assert_eq!(stage.connections(), 1);
    stage.end(live).await;
}
