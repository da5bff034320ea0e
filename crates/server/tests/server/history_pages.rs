//! The history, and pages over sessions that cannot be read.

use recount::prelude::Actor;
use recount::session::SessionId;
use recount_server::{Grant, Principal, Role};

use crate::bench::Bench;
use crate::raw::{NEWER, append, unreadable_session};
use crate::visitor::Visitor;
use crate::world::World;

fn id(number: u128) -> SessionId {
    SessionId(uuid::Uuid::from_u128(number))
}

fn root(bench: &Bench) -> Visitor<'_> {
    let everything = vec![Grant::everywhere(Role::Admin)];
    Visitor::of(bench, Principal::new(Actor::token("root"), everything))
}

/// One session of a newer program, and one that has records of it at its end.
#[tokio::test]
async fn unreadable_session_fails_no_page() {
    let world = World::new().await;
    let (bench, other) = (&world.bench, world.other_tenant.session);
    let journal = bench.engine.ledger().journal();
    unreadable_session(journal.as_ref(), id(7)).await;
    let at = journal.head(other.0).await.unwrap().unwrap().at_us;
    append(journal.as_ref(), other, at, &[("pondered", NEWER)], vec![]).await;
    let (root, token) = (root(bench), world.tenant(Role::Operator));
    let tenant = Visitor::with(bench, &token);
    for path in [
        "/inbox",
        "/history",
        "/sessions",
        "/audit",
        "/operations",
        "/figures",
        "/v1/sessions",
        "/v1/pending",
        "/v1/leaves",
        "/v1/pauses",
        "/metrics",
        &format!("/sessions/{}", id(7)),
        &format!("/sessions/{other}"),
    ] {
        let page = root.open(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let is_foreign = path.starts_with("/sessions/");
        let status = if is_foreign { 404 } else { 200 };
        let page = tenant.open(path).await;
        assert_eq!(page.status, status, "{path}: {}", page.text);
    }
    let history = root.open("/history").await.text;
    assert!(
        history.contains("2 sessions could not be read"),
        "{history}"
    );
    assert!(history.contains("own-text"), "{history}");
    // The tenant may not read them, so it does not know of them.
    let history = tenant.open("/history").await.text;
    assert!(history.contains("own-text") && !history.contains("could not be read"));
    let audit = root.open("/audit").await.text;
    assert!(audit.contains("Not readable here: 2 sessions"), "{audit}");
    // What waits in it is not hidden.
    let inbox = root.open("/inbox").await.text;
    assert!(inbox.contains("A call that cannot be read here"), "{inbox}");
    let link = format!("sessions/{}/calls/2\"", id(7));
    assert!(inbox.contains(&link), "{inbox}");
}

#[tokio::test]
async fn search_goes_on_behind_its_maximum() {
    let world = World::new().await;
    let bench = &world.bench;
    let journal = bench.engine.ledger().journal();
    let own = world.own.session.0;
    let first = journal.read(own, 1, 1).await.unwrap().remove(0);
    let body = first.record().unwrap().body.to_string();
    let head = journal.head(own).await.unwrap().unwrap();
    // 2,000 newer sessions without a decision, and one more.
    for number in 1..=2_001 {
        let opened = [("session_opened", body.as_str())];
        let at = head.at_us + 1_000_000_000 + i64::try_from(number).unwrap();
        append(journal.as_ref(), id(number), at, &opened, vec![]).await;
    }
    let root = root(bench);
    let page = root.open("/history?q=OWN-text").await.text;
    assert!(page.contains("No decision fits."), "{page}");
    assert!(page.contains("Searched: 2000 sessions"), "{page}");
    let (before, _) = page.split_once("\">Search older sessions").unwrap();
    let (_, query) = before.rsplit_once("href=\"?").unwrap();
    let query = query.replace("&amp;", "&");
    assert!(query.starts_with("q=OWN-text&from="), "{query}");
    let older = root.open(&format!("/history?{query}")).await.text;
    assert!(older.contains("own-text"), "{older}");
    assert!(!older.contains("Search older sessions"), "{older}");
    // A tenant without these sessions searches its own.
    let stranger = bench.token(
        "eve",
        &[Grant::everywhere(Role::Viewer).of_agent("billing")],
    );
    let stranger = Visitor::with(bench, &stranger).open("/history").await.text;
    assert!(!stranger.contains("Searched:"), "{stranger}");
    for odd in ["from=x", "from=1", "from=1.x", "cursor=1.2", "from=.0"] {
        let refused = root.open(&format!("/history?{odd}")).await;
        assert_eq!(refused.status, 422, "{odd}");
    }
}

#[tokio::test]
async fn search_has_a_bound_and_no_stream() {
    let world = World::new().await;
    let root = root(&world.bench);
    let refused = root
        .open(&format!("/history?q={}", "%C3%A4".repeat(201)))
        .await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let expected = "q: expected at most 200 characters, found 201";
    assert!(refused.text.contains(expected), "{}", refused.text);
    let fits = root
        .open(&format!("/history?q={}", "%C3%A4".repeat(200)))
        .await;
    assert_eq!(fits.status, 200, "{}", fits.text);
    for (query, is_live) in [("", true), ("?q=a", false), ("?decision=denied", false)] {
        let page = root.open(&format!("/history{query}")).await.text;
        assert_eq!(page.contains("data-live="), is_live, "{query}");
    }
}
