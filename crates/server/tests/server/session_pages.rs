//! The pages of sessions: their list, one of them, one of its records, and what they change.

use axum::body::Body;
use axum::http::Request;
use recount::session::{Seq, SessionId};
use recount_server::{Grant, Role};

use crate::bench::{Bench, Reply};
use crate::world::{FOREIGN, World};

/// Fetches a page with a token.
async fn get(bench: &Bench, token: &str, path: &str) -> Reply {
    let request = Request::get(path).header("accept", "text/html");
    let request = request.header("authorization", format!("Bearer {token}"));
    bench.send(request, Body::empty()).await
}

/// Sends a form with a token.
async fn post(bench: &Bench, token: &str, path: &str, fields: &str) -> Reply {
    let request = Request::post(path)
        .header("accept", "text/html")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .header("authorization", format!("Bearer {token}"));
    bench.send(request, Body::from(fields.to_owned())).await
}

fn page_of(session: SessionId) -> String {
    format!("/sessions/{session}")
}

#[tokio::test]
async fn list_has_the_sessions_of_the_viewer() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let list = get(&world.bench, &token, "/sessions").await;
    assert_eq!(list.status, 200, "{}", list.text);
    let link = format!("href=\"./sessions/{}\"", world.own.session);
    assert!(list.text.contains(&link), "{}", list.text);
    assert!(!list.text.contains(FOREIGN));
    assert!(!list.text.contains(&world.other_tenant.session.to_string()));
    // A form sends its empty fields, too.
    let none = "/sessions?text=&agent=none&label=&since=&until=&state=";
    let none = get(&world.bench, &token, none).await;
    assert!(
        none.text.contains("No session is selected."),
        "{}",
        none.text
    );
    let open = "/sessions?text=OWN-TEXT&agent=&label=tenant%3Aacme&state=open";
    let open = get(&world.bench, &token, open).await;
    assert!(open.text.contains(&link), "{}", open.text);
}

#[tokio::test]
async fn list_continues_with_its_cursor() {
    let world = World::new().await;
    let token = world
        .bench
        .token("root", &[Grant::everywhere(Role::Viewer)]);
    let mut path = "/sessions?limit=1&agent=support".to_owned();
    let mut found = Vec::new();
    while found.len() < 3 {
        let list = get(&world.bench, &token, &path).await;
        let all = [&world.own, &world.other_tenant, &world.other_agent];
        let shown = all.into_iter().map(|it| it.session);
        found.extend(shown.filter(|it| list.text.contains(&format!("sessions/{it}\""))));
        let Some((_, rest)) = list.text.split_once("rel=\"next\" href=\"") else {
            break;
        };
        let query = rest.split('"').next().unwrap().replace("&amp;", "&");
        assert!(query.contains("agent=support"), "{query}");
        path = format!("/sessions{query}");
    }
    assert_eq!(found, [world.other_tenant.session, world.own.session]);
}

#[tokio::test]
async fn session_has_a_timeline_and_a_link_to_each_event() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let page = get(&world.bench, &token, &page_of(world.own.session)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("<figure class=\"timeline\">"));
    let head = world.bench.engine.ledger().journal();
    let head = head.head(world.own.session.0).await.unwrap().unwrap().seq;
    for seq in 1..=head {
        let link = format!("href=\"../sessions/{}/records/{seq}\"", world.own.session);
        assert!(page.text.contains(&link), "{seq} in {}", page.text);
    }
    assert!(page.text.contains("data-live="), "{}", page.text);
    // A viewer changes nothing, so no form for it is offered.
    for act in ["/revoke", "/pause", "/unpause"] {
        assert!(!page.text.contains(act), "{act} in {}", page.text);
    }
    assert!(page.text.contains("Standing leaves"));
    assert!(!page.text.contains(FOREIGN) && !page.text.contains(" style="));
}

#[tokio::test]
async fn events_are_selected_by_kind_call_and_text() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let rows = async |query: &str| {
        let path = format!("{}?{query}", page_of(world.own.session));
        let page = get(&world.bench, &token, &path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let (_, rows) = page.text.split_once("id=\"rows\"").unwrap();
        rows.to_owned()
    };
    let calls = rows("kind=function_call_received&text=&call=").await;
    assert_eq!(calls.matches("<tr>").count() - 1, 5, "{calls}");
    assert!(!calls.contains("policy_decided"));
    let of_call = rows(&format!("call={}", world.own.ended)).await;
    assert!(of_call.contains(">tool_returned<"), "{of_call}");
    assert!(!of_call.contains(">tool_paused<"), "{of_call}");
    let text = rows("text=PRINTED").await;
    assert!(!text.contains("tool_returned"), "{text}");
    let text = rows("text=%22sent%22%3Atrue").await;
    assert!(text.contains(">tool_returned<"), "{text}");
    let nothing = rows("text=no-such-text").await;
    assert!(nothing.contains("No event is selected."));
    // A page continues where it ended, with its filters.
    let first = rows("kind=function_call_received&limit=2").await;
    let (_, next) = first.split_once("rel=\"next\" href=\"?").unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&");
    let second = rows(&next).await;
    assert_eq!(second.matches("<tr>").count() - 1, 2, "{second}");
    assert!(!second.contains(&format!("records/{}\"", world.own.claimable)));
}

#[tokio::test]
async fn record_has_its_cause_its_effects_and_its_state() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let (session, call) = (world.own.session, world.own.ended);
    let path = |seq: u64| format!("{}/records/{seq}", page_of(session));
    let page = get(&world.bench, &token, &path(call.0)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let verdict = format!(
        "href=\"../../../sessions/{session}/records/{}\"",
        call.0 + 1
    );
    assert!(
        page.text.contains("function_call_received"),
        "{}",
        page.text
    );
    assert!(page.text.contains(&verdict), "{}", page.text);
    assert!(
        page.text
            .contains(&format!("<code><bdi>/calls/{call}</bdi></code>"))
    );
    assert!(page.text.contains("own-text") && page.text.contains("SHA-256"));
    let next = get(&world.bench, &token, &path(call.0 + 1)).await;
    let cause = format!("href=\"../../../sessions/{session}/records/{call}\"");
    assert!(next.text.contains(&cause) && next.text.contains("<dt>Cause</dt>"));
    for none in ["0", "x"] {
        let page = get(
            &world.bench,
            &token,
            &format!("{}/records/{none}", page_of(session)),
        )
        .await;
        assert_eq!(page.status, 422, "{none}");
    }
    let beyond = get(&world.bench, &token, &path(100_000)).await;
    assert_eq!(beyond.status, 404);
}

#[tokio::test]
async fn foreign_session_is_as_unknown_on_every_page() {
    let world = World::new().await;
    let token = world.tenant(Role::Operator);
    let unknown: SessionId = "0199e2a0-0000-7000-8000-00000000dead".parse().unwrap();
    let without_id = |text: &str, id: SessionId| text.replace(&id.to_string(), "ID");
    let foreign = [world.other_tenant.session, world.other_agent.session];
    for page in ["", "/records/1", "?kind=tool_returned"] {
        let at =
            async |id: SessionId| get(&world.bench, &token, &format!("/sessions/{id}{page}")).await;
        let none = at(unknown).await;
        assert_eq!(none.status, 404, "{}", none.text);
        for id in foreign {
            let found = at(id).await;
            assert_eq!(found.status, 404);
            assert_eq!(without_id(&found.text, id), without_id(&none.text, unknown));
        }
    }
    for act in ["pause", "unpause", "leaves/9/revoke", "verify", "replay"] {
        let at = async |id: SessionId| {
            post(&world.bench, &token, &format!("/sessions/{id}/{act}"), "").await
        };
        let none = at(unknown).await;
        assert_eq!(none.status, 404, "{act} {}", none.text);
        for id in foreign {
            let found = at(id).await;
            assert_eq!(found.status, 404, "{act}");
            assert_eq!(without_id(&found.text, id), without_id(&none.text, unknown));
        }
    }
    assert!(
        world
            .bench
            .engine
            .ledger()
            .pauses()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn operator_pauses_and_unpauses_the_session() {
    let world = World::new().await;
    let (page, session) = (page_of(world.own.session), world.own.session);
    let viewer = world.tenant(Role::Approver);
    let refused = post(&world.bench, &viewer, &format!("{page}/pause"), "").await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let token = world.tenant(Role::Operator);
    let shown = get(&world.bench, &token, &page).await;
    assert!(
        shown
            .text
            .contains(&format!("action=\"../sessions/{session}/pause\""))
    );
    let fields = "reason=the+bank+%3Cis%3E+down";
    let paused = post(&world.bench, &token, &format!("{page}/pause"), fields).await;
    assert_eq!(paused.status, 303, "{}", paused.text);
    assert_eq!(
        paused.headers["location"],
        format!("../../sessions/{session}")
    );
    let shown = get(&world.bench, &token, &page).await;
    assert!(
        shown.text.contains("the bank &lt;is&gt; down"),
        "{}",
        shown.text
    );
    assert!(shown.text.contains("/unpause\"") && !shown.text.contains("/pause\""));
    let pauses = world.bench.engine.ledger().pauses().await.unwrap();
    assert_eq!(pauses.len(), 1);
    assert_eq!(pauses[0].pause.by.name, "ada");
    let ended = post(&world.bench, &token, &format!("{page}/unpause"), "").await;
    assert_eq!(ended.status, 303, "{}", ended.text);
    assert!(
        world
            .bench
            .engine
            .ledger()
            .pauses()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn approver_revokes_a_standing_leave() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    let page = page_of(world.own.session);
    let leave: Seq = world.own.leave;
    let shown = get(&world.bench, &token, &page).await;
    let action = format!("/leaves/{leave}/revoke");
    assert!(shown.text.contains(&action), "{}", shown.text);
    let revoked = post(&world.bench, &token, &format!("{page}{action}"), "").await;
    assert_eq!(revoked.status, 303, "{}", revoked.text);
    let shown = get(&world.bench, &token, &page).await;
    assert!(!shown.text.contains(&action) && shown.text.contains("leave_revoked"));
}

#[tokio::test]
async fn checks_answer_with_a_page_where_no_script_runs() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    let page = page_of(world.own.session);
    let sound = post(&world.bench, &token, &format!("{page}/verify"), "").await;
    assert_eq!(sound.status, 200, "{}", sound.text);
    assert!(sound.text.contains(
        "<strong>Consistent, not anchored</strong>: every hash of this session holds, in "
    ));
    assert!(sound.text.contains("the records that the service reads"));
    let same = post(&world.bench, &token, &format!("{page}/replay"), "").await;
    assert!(
        same.text.contains("<strong>The same decisions</strong>"),
        "{}",
        same.text
    );
}
