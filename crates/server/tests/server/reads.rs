//! Reads on record: each route, each door, refusals, and what the access journal does not have.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use recount::engine::SystemClock;
use recount::journal::{DiskJournal, Journal, MemoryJournal};
use recount::prelude::{Actor, json};
use recount::session::SessionId;
use recount_journal::testing::MemoryDisk;
use recount_reads::{Depth, Door, How, OnFailure, OnRecord, RecordedRead, Recorder, Settings};
use recount_server::{Grant, Principal, Role};

use crate::bench::posting;
use crate::matrix::{Need, Row, rows};
use crate::page::Browser;
use crate::visitor::{Visitor, words};
use crate::world::{FOREIGN, World};

/// A world whose service records reads in this journal.
async fn recording(journal: Arc<dyn Journal>, settings: Settings) -> (World, Recorder) {
    let mut world = World::new().await;
    let recorder = Recorder::start(journal, SystemClock::shared(), settings).await;
    let recorder = recorder.unwrap();
    let service = world.bench.service.clone();
    let service = service.recording_reads(recorder.clone());
    world.bench = world.bench.over_service(service);
    (world, recorder)
}

async fn in_memory() -> (World, Recorder) {
    recording(Arc::new(MemoryJournal::new()), Settings::default()).await
}

async fn on_record(recorder: &Recorder) -> OnRecord {
    recount_reads::on_record(&**recorder.journal())
        .await
        .unwrap()
}

async fn last(recorder: &Recorder) -> RecordedRead {
    on_record(recorder).await.reads.pop().unwrap()
}

/// True if the answers of the route have something of sessions.
fn is_read(row: &Row) -> bool {
    let nothing = [
        "/metrics",
        "/v1/me",
        "/healthz",
        "/readyz",
        "/login",
        "/v1/openapi.json",
    ];
    let is_check = row.path.ends_with("/replay") || row.path.ends_with("/verify");
    (row.method == "get" || is_check) && !nothing.contains(&row.path)
}

#[tokio::test]
async fn every_reading_route_names_its_sessions() {
    let (world, recorder) = in_memory().await;
    let (bench, own) = (&world.bench, world.own.session);
    let admin = bench.admin();
    let target = json!({"target": {"session": own}, "reason": "a pause to list"});
    bench.post(&admin, "/v1/pause", &target).await;
    let token = world.tenant(Role::Admin);
    for row in rows().iter().filter(|it| is_read(it)) {
        let by = match row.needs {
            Need::Everywhere => &admin,
            _ => &token,
        };
        let reply = row.send(bench, Some(by), &world.own).await;
        assert_eq!(reply.status, row.allowed, "{}", row.path);
        let found = last(&recorder).await;
        let method = row.method.to_uppercase();
        assert_eq!(found.read.route, format!("{method} {}", row.path));
        assert_eq!((found.read.door, found.read.how), (Door::Http, How::Token));
        assert_eq!(found.read.status, row.allowed, "{}", row.path);
        let sessions = &found.read.sessions;
        // The reads and the sinks are those of the service.
        match row.needs {
            Need::Everywhere => assert_eq!(sessions, &[], "{}", row.path),
            _ => assert_eq!(sessions, &[own], "{}", row.path),
        }
        if row.path.ends_with("/records") {
            assert_eq!(found.read.depth, Depth::Bodies);
        }
    }
}

#[tokio::test]
async fn route_without_content_is_no_read() {
    let (world, recorder) = in_memory().await;
    let token = world.tenant(Role::Admin);
    for row in rows().iter().filter(|it| !is_read(it)) {
        let reply = row.send(&world.bench, Some(&token), &world.own).await;
        if reply.status.is_success() {
            let reads = on_record(&recorder).await.reads;
            let route = format!("{} {}", row.method.to_uppercase(), row.path);
            assert!(reads.iter().all(|it| it.read.route != route), "{route}");
        }
    }
}

#[tokio::test]
async fn foreign_session_is_on_record_as_refused() {
    let (world, recorder) = in_memory().await;
    let token = world.tenant(Role::Admin);
    let foreign = &world.other_tenant;
    for row in rows() {
        if !matches!(row.needs, Need::In(_) | Need::Driving) {
            continue;
        }
        let reply = row.send(&world.bench, Some(&token), foreign).await;
        // Several answers have one response, whose items are refused one by one.
        if reply.status != 404 {
            continue;
        }
        let found = last(&recorder).await.read;
        let route = format!("{} {}", row.method.to_uppercase(), row.path);
        assert_eq!((found.route.as_str(), found.status), (route.as_str(), 404));
        let names_it = found.sessions == [foreign.session];
        assert!(names_it, "{route}: {:?}", found.sessions);
        assert!(!found.is_served());
    }
}

#[tokio::test]
async fn every_page_names_its_sessions() {
    let (world, recorder) = in_memory().await;
    let (bench, own) = (&world.bench, &world.own);
    // A decision for the history.
    let answer = format!("/v1/requests/{}/answer", own.request);
    let token = world.tenant(Role::Admin);
    bench
        .post(&token, &answer, &json!({"confirmed": false}))
        .await;
    let grant = Grant::everywhere(Role::Admin).of_agent("support");
    let grant = grant.with_label("tenant", "acme");
    let visitor = Visitor::of(bench, Principal::new(Actor::token("eve"), vec![grant]));
    let (session, call) = (own.session, own.paused);
    let pages = [
        ("/inbox".to_owned(), Depth::Bodies),
        ("/history".to_owned(), Depth::Bodies),
        ("/sessions".to_owned(), Depth::Envelopes),
        ("/audit".to_owned(), Depth::Bodies),
        ("/operations".to_owned(), Depth::Bodies),
        (format!("/sessions/{session}"), Depth::Bodies),
        (format!("/sessions/{session}/records/1"), Depth::Bodies),
        (format!("/sessions/{session}/calls/{call}"), Depth::Bodies),
    ];
    for (path, depth) in pages {
        let page = visitor.open(&path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let read = last(&recorder).await.read;
        assert_eq!(read.sessions, [session], "{path}");
        assert_eq!(
            (read.door, read.how, read.depth),
            (Door::Pages, How::Login, depth)
        );
        assert_eq!(read.by.name, "eve");
        assert!(!read.route.contains(&session.to_string()), "{}", read.route);
    }
    visitor.open("/figures").await;
    let figures = last(&recorder).await.read;
    assert!(figures.every_session && figures.sessions.is_empty());
    // The script asks when to fetch a page again; that shows nothing.
    let number = on_record(&recorder).await.reads.len();
    let (name, cookie) = ("authorization", format!("Bearer {token}"));
    bench
        .first(Request::get("/live").header(name, cookie), Body::empty())
        .await;
    assert_eq!(on_record(&recorder).await.reads.len(), number);
}

#[tokio::test]
async fn stream_is_on_record_before_its_first_message() {
    let (world, recorder) = in_memory().await;
    let token = world.tenant(Role::Viewer);
    let mut events = world.bench.stream(&token, "/v1/pending/events").await;
    assert!(
        events
            .next()
            .await
            .unwrap()
            .data
            .to_string()
            .contains("own-text")
    );
    let read = last(&recorder).await.read;
    assert_eq!(read.route, "GET /v1/pending/events");
    assert_eq!(read.sessions, [world.own.session]);
    // The next message has the same session, so there is no further read.
    let number = on_record(&recorder).await.reads.len();
    let answer = format!("/v1/requests/{}/answer", world.own.request);
    let approver = world.tenant(Role::Approver);
    world
        .bench
        .post(&approver, &answer, &json!({"confirmed": false}))
        .await;
    events.next().await.unwrap();
    assert_eq!(on_record(&recorder).await.reads.len(), number);
}

#[tokio::test]
async fn same_read_soon_after_is_counted() {
    let (world, recorder) = in_memory().await;
    let token = world.tenant(Role::Viewer);
    let path = format!("/v1/sessions/{}/records", world.own.session);
    for _ in 0..5 {
        assert_eq!(world.bench.get(&token, &path).await.status, 200);
    }
    let status = recorder.status();
    assert_eq!((status.recorded, status.repeated), (1, 4));
    recorder.stop().await;
    assert_eq!(last(&recorder).await.repeats, 4);
}

#[tokio::test]
async fn access_journal_has_no_secret_and_no_body() {
    let journal = Arc::new(MemoryJournal::new());
    let (world, recorder) = recording(journal.clone(), Settings::default()).await;
    let (bench, session) = (&world.bench, world.own.session);
    let token = world.tenant(Role::Admin);
    let browser = Browser::with(bench, &token).await;
    for path in [
        "/inbox",
        "/audit",
        "/sessions?text=own-text",
        "/login?token=rcl_abc",
    ] {
        browser.open(path).await;
    }
    bench
        .get(&token, &format!("/v1/sessions/{session}/records?from=1"))
        .await;
    bench
        .get(&token, "/v1/audit/decisions?actor=own-text")
        .await;
    recorder.stop().await;
    let mut text = String::new();
    for (stream, _) in journal.sessions(None, 100).await.unwrap() {
        for line in journal.read(stream, 1, 1_000).await.unwrap() {
            text.push_str(str::from_utf8(line.bytes()).unwrap());
        }
    }
    assert!(text.contains("login_with_token") && text.contains(&session.to_string()));
    let (_, secret) = token.split_once('_').unwrap();
    let (_, cookie) = browser.cookie.split_once('=').unwrap();
    for secret in [secret, cookie, "own-text", FOREIGN, "rcl_", "?", "refunded"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

/// A journal on a disk whose room the test sets.
fn on_disk(directory: &tempfile::TempDir) -> (MemoryDisk, Arc<DiskJournal>) {
    let disk = MemoryDisk::new();
    let options = DiskJournal::options(directory.path().join("access"));
    let options = options.disk(Arc::new(disk.clone())).floor_bytes(1_000);
    (disk, Arc::new(options.create(true).open().unwrap()))
}

#[tokio::test]
async fn read_without_room_is_served_and_told_later() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, journal) = on_disk(&directory);
    let (world, recorder) = recording(journal, Settings::default()).await;
    let token = world.tenant(Role::Viewer);
    disk.set_free_space(999);
    // Otherwise it looks at the disk with one of the next appends.
    assert!(recorder.journal().room().is_err());
    for path in ["/v1/pending", "/v1/sessions"] {
        assert_eq!(world.bench.get(&token, path).await.status, 200);
    }
    let status = recorder.status();
    assert_eq!((status.missed, status.error.is_some()), (2, true));
    let admin = Principal::new(Actor::token("root"), vec![Grant::everywhere(Role::Admin)]);
    let admin = Visitor::of(&world.bench, admin);
    let page = words(&admin.open("/operations").await.text).join(" ");
    assert!(page.contains("cannot be recorded"), "{page}");
    let metrics = admin.open("/metrics").await.text;
    assert!(metrics.contains("recount_reads_recordable 0"), "{metrics}");
    disk.set_free_space(1 << 30);
    assert_eq!(world.bench.get(&token, "/v1/leaves").await.status, 200);
    let found = on_record(&recorder).await;
    assert_eq!((found.missed.len(), found.missed[0].reads), (1, 3));
    assert!(
        found.missed[0].error.contains("no room"),
        "{:?}",
        found.missed
    );
    assert_eq!(recorder.status().error, None);
    let page = words(&admin.open("/reads").await.text).join(" ");
    assert!(page.contains("3 reads without a record"), "{page}");
}

#[tokio::test]
async fn read_without_room_is_refused_if_settings_say_so() {
    let directory = tempfile::tempdir().unwrap();
    let (disk, journal) = on_disk(&directory);
    let settings = Settings {
        on_failure: OnFailure::Refuse,
        ..Settings::default()
    };
    let (world, recorder) = recording(journal, settings).await;
    let token = world.tenant(Role::Viewer);
    disk.set_free_space(999);
    // Otherwise it looks at the disk with one of the next appends.
    assert!(recorder.journal().room().is_err());
    let refused = world.bench.get(&token, "/v1/pending").await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (503, "read-not-recorded")
    );
    assert!(!refused.text.contains("own-text"), "{}", refused.text);
    assert_eq!(world.bench.get(&token, "/v1/me").await.status, 200);
    disk.set_free_space(1 << 30);
    assert_eq!(world.bench.get(&token, "/v1/pending").await.status, 200);
    let found = on_record(&recorder).await;
    assert_eq!((found.reads.len(), found.missed.len()), (1, 0));
}

#[tokio::test]
async fn reads_are_listed_for_operators_of_everything() {
    let (world, _) = in_memory().await;
    let (bench, admin) = (&world.bench, world.bench.admin());
    let read = async |token: &str, session: SessionId| {
        bench
            .get(token, &format!("/v1/sessions/{session}/records"))
            .await
    };
    let viewer = world.tenant(Role::Viewer);
    read(&viewer, world.own.session).await;
    read(&viewer, world.other_tenant.session).await;
    read(&admin, world.own.session).await;
    let listed = async |query: &str| {
        let reply = bench.get(&admin, &format!("/v1/reads?{query}")).await;
        let items = reply.json()["items"].as_array().unwrap().clone();
        let items = items.into_iter().filter(|it| it["door"] == "http");
        let is_listing = |it: &serde_json::Value| it["route"] == "GET /v1/reads";
        items.filter(|it| !is_listing(it)).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await.len(), 3);
    let own = listed(&format!("session={}", world.own.session)).await;
    let readers: Vec<_> = own.iter().map(|it| it["by"]["name"].clone()).collect();
    assert_eq!(readers, ["root", "ada"]);
    let of_ada = listed("reader=ada").await;
    assert_eq!((of_ada.len(), &of_ada[0]["status"]), (2, &json!(404)));
    assert_eq!(listed("until=1").await, [json!(null); 0]);
    let refused = bench.get(&world.tenant(Role::Admin), "/v1/reads").await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn change_is_no_read_unless_it_is_refused() {
    let (world, recorder) = in_memory().await;
    let answer = format!("/v1/requests/{}/answer", world.own.request);
    let body = json!({"confirmed": true});
    let viewer = world.tenant(Role::Viewer);
    assert_eq!(world.bench.post(&viewer, &answer, &body).await.status, 403);
    let read = last(&recorder).await.read;
    assert_eq!((read.status, read.sessions), (403, vec![world.own.session]));
    let approver = world.tenant(Role::Approver);
    assert_eq!(
        world.bench.post(&approver, &answer, &body).await.status,
        200
    );
    assert_eq!(on_record(&recorder).await.reads.len(), 1);
    // Without credentials there is no reader.
    let request = posting("rct_guessed", &answer);
    world
        .bench
        .send(request, Body::from(body.to_string()))
        .await;
    assert_eq!(on_record(&recorder).await.reads.len(), 1);
}

#[tokio::test]
async fn recording_leaves_sessions_as_they_are() {
    let (world, _) = in_memory().await;
    let ledger = world.bench.engine.ledger();
    let position = ledger.journal().position().await.unwrap();
    let token = world.tenant(Role::Viewer);
    for path in ["/v1/pending", "/v1/sessions", "/v1/audit/decisions"] {
        assert_eq!(world.bench.get(&token, path).await.status, 200);
    }
    assert_eq!(ledger.journal().position().await.unwrap(), position);
    world.bench.engine.shutdown(Duration::ZERO).await.unwrap();
}
