//! A half-open connection is detected, and the session connects again.

use std::time::Duration;

use recount::live::{Endpoint, Keepalive};
use recount::prelude::*;
use recount::session::{Event, Observation};
use recount::simulator::{Script, Simulator};

/// The service reads nothing on the first connection, not even pings.
const HALF_OPEN: &str = r#"
{"on": "setup", "connection": 1, "send": [{"read": false}]}
{"on": "otherwise", "once": false, "send": [{"say": "Well."}]}
"#;

#[tokio::test]
async fn a_half_open_connection_is_lost_and_made_again() {
    let simulator = Simulator::start(Script::parse(HALF_OPEN).unwrap());
    let simulator = simulator.listen("127.0.0.1:0").await.unwrap();
    let endpoint =
        Endpoint::url(simulator.url()).keepalive(Keepalive::every(Duration::from_millis(30)));
    let live = Live::builder()
        .model("m")
        .connect_to(endpoint)
        .await
        .unwrap();
    let mut updates = live.subscribe();
    let lost = updates.wait_for(|event| event.kind() == "disconnected");
    let lost = lost.await.unwrap();
    let Event::Observed(Observation::Disconnected(lost)) = &lost.fact.event else {
        panic!("{lost:?}")
    };
    assert_eq!(lost.code, None);
    assert!(
        lost.reason.starts_with("nothing came for"),
        "{}",
        lost.reason
    );
    let again = updates.wait_for(|event| event.kind() == "connected");
    assert!(again.await.is_some());
}
