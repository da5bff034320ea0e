//! Streams: records as they are appended, and what waits as it changes.

use std::time::Duration;

use axum::http::Request;
use recount::prelude::{Actor, Engine, json};
use recount_server::{Grant, Role};
use tokio::time::Instant;

use crate::bench::{Bench, Event};
use crate::clock::HandClock;
use crate::world::{World, agents};

fn ids(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(|it| it.id).collect()
}

#[tokio::test]
async fn records_stream_to_the_end_of_the_session() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.tenant(Role::Viewer));
    let path = format!("/v1/sessions/{}", world.own.session);
    let mut stream = bench.stream(&token, &format!("{path}/events")).await;
    assert_eq!(stream.status, 200);
    let first = stream.next().await.unwrap();
    assert_eq!((first.name.as_str(), first.id), ("record", Some(1)));
    assert_eq!(first.data["record"]["kind"], "session_opened");
    let close = json!({"reason": "done"});
    let closed = bench
        .post(&bench.admin(), &format!("{path}/close"), &close)
        .await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    let mut rest = stream.rest().await;
    let end = rest.pop().unwrap();
    assert_eq!(
        (end.name.as_str(), &end.data),
        ("end", &json!({"reason": "closed"}))
    );
    let seqs = ids(&rest);
    assert_eq!(seqs, (2..2 + seqs.len() as u64).collect::<Vec<_>>());
    assert!(
        rest.iter()
            .any(|it| it.data["record"]["kind"] == "session_closed")
    );
    // The data are those of the listing.
    let listed = bench
        .get(&token, &format!("{path}/records?limit=1000"))
        .await
        .json();
    assert_eq!(rest[0].data, listed["items"][1]);
}

#[tokio::test]
async fn stream_continues_after_the_last_id() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.tenant(Role::Viewer));
    let path = format!("/v1/sessions/{}/events", world.own.session);
    let first = async |query: &str, last: Option<&str>| {
        let mut request = Request::get(format!("{path}{query}"))
            .header("authorization", format!("Bearer {token}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let mut stream = bench.events(request).await;
        let status = stream.status.as_u16();
        let id = match status {
            200 => stream.next().await.unwrap().id,
            _ => None,
        };
        (status, id)
    };
    assert_eq!(first("?from=4", None).await, (200, Some(4)));
    assert_eq!(first("?from=4", Some("6")).await, (200, Some(7)));
    assert_eq!(first("", Some("0")).await, (200, Some(1)));
    assert_eq!(first("", Some("x")).await, (422, None));
    let last = u64::MAX.to_string();
    assert_eq!(first("", Some(&last)).await, (422, None));
    assert_eq!(first("?form=4", None).await, (422, None));
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn new_record_reaches_a_waiting_stream() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.tenant(Role::Viewer));
    let session = world.own.session;
    let head = bench
        .engine
        .ledger()
        .journal()
        .head(session.0)
        .await
        .unwrap()
        .unwrap();
    let path = format!("/v1/sessions/{session}/events?from={}", head.seq + 1);
    let mut stream = bench.stream(&token, &path).await;
    // A record of another session is not told.
    let other = world.other_tenant.session;
    let by = || Actor::embedder("ada");
    bench
        .engine
        .close_session(other, "done", by())
        .await
        .unwrap();
    let cancel = async {
        let handle = bench.engine.reopen(session).await.unwrap().releasing();
        handle.cancel(world.own.paused, None, by()).await.unwrap()
    };
    let begun = Instant::now();
    let (event, seq) = tokio::join!(stream.next(), cancel);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "a heartbeat wakes it"
    );
    let event = event.unwrap();
    assert!(event.id.unwrap() <= seq.0 && event.data["record"]["session"] == json!(session));
}

#[tokio::test]
async fn streams_end_when_the_service_drains() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.tenant(Role::Viewer));
    let path = format!("/v1/sessions/{}/events", world.own.session);
    let mut records = bench.stream(&token, &path).await;
    let mut pending = bench.stream(&token, "/v1/pending/events").await;
    records.next().await.unwrap();
    pending.next().await.unwrap();
    bench.service.drain();
    for stream in [records, pending] {
        let rest = stream.rest().await;
        let end = rest.last().unwrap();
        assert_eq!(
            (end.name.as_str(), &end.data),
            ("end", &json!({"reason": "draining"}))
        );
    }
}

#[tokio::test]
async fn number_of_streams_is_bounded() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.tenant(Role::Viewer));
    let mut streams = Vec::new();
    for _ in 0..4 {
        let stream = bench.stream(&token, "/v1/pending/events").await;
        assert_eq!(stream.status, 200);
        streams.push(stream);
    }
    let refused = bench.get(&token, "/v1/pending/events").await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (429, "too-many-requests")
    );
    streams.pop();
    assert_eq!(bench.stream(&token, "/v1/pending/events").await.status, 200);
}

/// A service whose engine has no time of its own.
async fn still() -> Bench {
    let engine = agents(Engine::in_memory()).clock(HandClock::new());
    Bench::over(engine.open().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn silent_stream_sends_heartbeats_and_expires() {
    let bench = still().await;
    let token = bench.admin();
    let begun = Instant::now();
    let mut stream = bench.stream(&token, "/v1/pending/events").await;
    let nothing = stream.next().await.unwrap();
    assert_eq!(nothing.data, json!({"items": [], "next": null}));
    assert_eq!(stream.part().await.unwrap(), ": heartbeat\n\n");
    assert_eq!(begun.elapsed().as_secs(), 15);
    let end = stream.next().await.unwrap();
    assert_eq!(
        (end.name.as_str(), &end.data),
        ("end", &json!({"reason": "expired"}))
    );
    assert_eq!(
        (begun.elapsed().as_secs(), stream.next().await),
        (900, None)
    );
}

#[tokio::test(start_paused = true)]
async fn quick_changes_are_one_message() {
    let bench = still().await;
    let token = bench.admin();
    let by = || Actor::embedder("shop");
    let session = bench.engine.session("support").open().await.unwrap();
    let mut stream = bench.stream(&token, "/v1/pending/events").await;
    assert_eq!(stream.next().await.unwrap().data["items"], json!([]));
    let begun = Instant::now();
    for number in 0..20 {
        let args = recount::session::Json::of(&json!({"note": number.to_string()}));
        let key = number.to_string();
        session
            .begin_call("refund", args, &key, by())
            .await
            .unwrap();
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let message = stream.next().await.unwrap();
    assert_eq!(message.data["items"].as_array().unwrap().len(), 20);
    assert_eq!(begun.elapsed(), Duration::from_millis(250));
    // Five more messages take at least a second.
    for number in 20..25 {
        let args = recount::session::Json::of(&json!({"note": number.to_string()}));
        let key = number.to_string();
        session
            .begin_call("refund", args, &key, by())
            .await
            .unwrap();
        stream.next().await.unwrap();
    }
    assert_eq!(begun.elapsed(), Duration::from_millis(1500));
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn pending_stream_has_own_sessions_alone() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = world.tenant(Role::Viewer);
    let path = format!("/v1/pending/events?session={}", world.other_tenant.session);
    let foreign = bench.stream(&token, &path).await.next().await.unwrap();
    assert_eq!(foreign.data["items"], json!([]));
    let client = bench.token("shop", &[Grant::everywhere(Role::Client)]);
    let none = bench
        .stream(&client, "/v1/pending/events")
        .await
        .next()
        .await
        .unwrap();
    assert_eq!(none.data["items"], json!([]));
    let mut stream = bench.stream(&token, "/v1/pending/events").await;
    let first = stream.next().await.unwrap();
    assert_eq!(first.data, bench.get(&token, "/v1/pending").await.json());
    let answer = format!("/v1/requests/{}/answer", world.own.request);
    let (yes, approver) = (json!({"confirmed": true}), world.tenant(Role::Approver));
    let begun = Instant::now();
    let (next, answered) = tokio::join!(stream.next(), bench.post(&approver, &answer, &yes));
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "a second look finds it"
    );
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(next.unwrap().data["items"].as_array().unwrap().len(), 1);
}
