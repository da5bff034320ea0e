//! The page of the audit: decisions with filters, exports, and the checks of all sessions.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use recount::prelude::{Actor, Engine, json};
use recount_server::{Grant, Role};

use crate::bench::{Bench, Reply};
use crate::world::{FOREIGN, World, agents};

async fn get(bench: &Bench, token: &str, path: &str) -> Reply {
    let request = Request::get(path).header("authorization", format!("Bearer {token}"));
    bench.send(request, Body::empty()).await
}

async fn post(bench: &Bench, token: &str, path: &str) -> Reply {
    let request = Request::post(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .header("authorization", format!("Bearer {token}"));
    bench.send(request, Body::empty()).await
}

/// The rows of the table of decisions.
fn rows(page: &Reply) -> usize {
    assert_eq!(page.status, 200, "{}", page.text);
    page.text.matches("<th scope=\"row\">").count()
}

#[tokio::test]
async fn decisions_are_those_of_the_viewers_sessions() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let page = get(&world.bench, &token, "/audit").await;
    assert_eq!(rows(&page), 5, "{}", page.text);
    assert!(page.text.contains("own-text") && !page.text.contains(FOREIGN));
    let card = format!(
        "href=\"./sessions/{}/calls/{}\"",
        world.own.session, world.own.ended
    );
    assert!(page.text.contains(&card), "{}", page.text);
    assert!(page.text.contains("Read: 1 session, newest first."));
    let root = world
        .bench
        .token("root", &[Grant::everywhere(Role::Viewer)]);
    assert_eq!(rows(&get(&world.bench, &root, "/audit").await), 15);
}

#[tokio::test]
async fn filters_select_calls_and_lead_to_the_exports() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let path = "/audit?tool=mail&actor=&label=&from=&until=&verdict=approved&outcome=";
    let page = get(&world.bench, &token, path).await;
    assert_eq!(rows(&page), 1, "{}", page.text);
    assert!(page.text.contains("<option value=\"approved\" selected>"));
    // Each export has exactly the selected calls.
    for (name, lines) in [("decisions.csv", 2), ("decisions.jsonl", 2)] {
        let (before, _) = page
            .text
            .split_once(&format!("\" download=\"{name}\""))
            .unwrap();
        let (_, link) = before.rsplit_once("href=\"./").unwrap();
        let link = format!("/{}", link.replace("&amp;", "&"));
        assert!(link.contains("tool=mail&verdict=approved"), "{link}");
        let export = get(&world.bench, &token, &link).await;
        assert_eq!(export.text.lines().count(), lines, "{}", export.text);
    }
    for wrong in ["/audit?verdict=maybe", "/audit?cursor=x"] {
        assert_eq!(
            get(&world.bench, &token, wrong).await.status,
            422,
            "{wrong}"
        );
    }
    let none = get(&world.bench, &token, "/audit?tool=no-such-tool").await;
    assert!(none.text.contains("No call is selected."));
}

/// A page has 50 calls, and the next one begins within the session.
#[tokio::test]
async fn pages_have_each_call_once() {
    let bench = Bench::over(agents(Engine::in_memory()).open().await.unwrap());
    let token = bench.token("root", &[Grant::everywhere(Role::Viewer)]);
    for calls in [30, 70] {
        let handle = bench.engine.session("support").open().await.unwrap();
        for n in 0..calls {
            let (args, by) = (
                json!({"note": format!("{calls}-{n}")}),
                Actor::embedder("ada"),
            );
            handle.call_function("look", args, by).await.unwrap();
        }
    }
    let (mut path, mut sizes, mut found) = ("/audit".to_owned(), Vec::new(), String::new());
    loop {
        let page = get(&bench, &token, &path).await;
        sizes.push(rows(&page));
        found.push_str(&page.text);
        let Some((_, rest)) = page.text.split_once("rel=\"next\" href=\"") else {
            break;
        };
        let query = rest.split('"').next().unwrap().replace("&amp;", "&");
        path = format!("/audit{query}");
    }
    assert_eq!(sizes, [50, 50]);
    for note in (0..30)
        .map(|n| format!("30-{n}"))
        .chain((0..70).map(|n| format!("70-{n}")))
    {
        let note = format!("&quot;{note}&quot;");
        assert_eq!(found.matches(&note).count(), 1, "{note}");
    }
}

#[tokio::test]
async fn checks_of_all_sessions_stay_within_the_scope() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let sound = post(&world.bench, &token, "/audit/verify").await;
    assert_eq!(sound.status, 200, "{}", sound.text);
    assert!(
        sound
            .text
            .contains("<strong>Consistent, not anchored: every hash holds</strong>, in ")
    );
    assert!(sound.text.contains(" of 1 session."), "{}", sound.text);
    let root = world
        .bench
        .token("root", &[Grant::everywhere(Role::Viewer)]);
    let same = post(&world.bench, &root, "/audit/replay").await;
    assert!(
        same.text
            .contains("<strong>The same decisions</strong>, in ")
    );
    assert!(same.text.contains(" of 3 sessions."), "{}", same.text);
}

/// A process reads the records that it has, so it does not see what was done to the files. The page
/// says so, and `recount verify` finds the damage in the stopped journal.
#[tokio::test]
async fn check_says_that_it_does_not_read_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let bench = Bench::over(agents(Engine::builder(&path)).open().await.unwrap());
    let token = bench.token("root", &[Grant::everywhere(Role::Viewer)]);
    let handle = bench.engine.session("support").open().await.unwrap();
    let args = json!({"note": "bytes-to-alter"});
    let by = Actor::embedder("pipeline");
    handle.call_function("look", args, by).await.unwrap();
    let mut altered = 0;
    for file in std::fs::read_dir(path.join("log")).unwrap() {
        let file = file.unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        while let Some(at) = bytes.windows(14).position(|it| it == b"bytes-to-alter") {
            bytes[at..at + 7].copy_from_slice(b"altered");
            altered += 1;
        }
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(altered > 0);
    let verified = post(&bench, &token, "/audit/verify").await;
    assert_eq!(verified.status, 200, "{}", verified.text);
    assert!(
        verified
            .text
            .contains("Checked were the records that the service reads.")
    );
    drop(handle);
    bench.engine.shutdown(Duration::ZERO).await.unwrap();
    drop(bench);
    let found = recount_journal::verify::directory(&path).unwrap();
    assert!(!found.is_sound() && !found.findings.is_empty());
}
