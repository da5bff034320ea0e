//! The inbox and the card: what they show, to whom, and what their forms do.

use recount::engine::{LiveHandle, Updates};
use recount::prelude::{Actor, Agent, Engine, T, json};
use recount::session::{Approvers, Edits, Seq, Timestamp};
use recount_server::{Grant, NewToken, Role};
use std::time::Duration;

use crate::bench::Bench;
use crate::page::Browser;
use crate::world::World;

/// Text that a page must show without effect.
const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m\u{202e}\u{200b}\"'&";

/// An engine with an agent whose tools ask in every way.
pub(crate) async fn engine() -> Engine {
    let schema = json!({"type": "object", "required": ["cents"], "properties": {
        "cents": {"type": "integer", "maximum": 100}, "note": {"type": "string"}}});
    let refund = T::simple_with("refund", "Refunds", schema, |_| async {
        Ok(json!({"receipt": 17}))
    });
    let refund = T::confirm_within(refund, "Refund this order?", Duration::from_secs(3600));
    let refund = T::may_allow_for_session(T::confirm_edits(refund, Edits::Allowed));
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let pay = T::approvers(T::confirm(pay, "Pay?"), Approvers::roles(["finance"]));
    let ship = T::simple("ship", "Ships", |_| async {
        Ok(json!({"label": "printed"}))
    });
    let agent = Agent::new()
        .model("none")
        .strict()
        .tools(refund)
        .tools(T::quorum(pay, 2))
        .tools(T::long_running(ship));
    Engine::in_memory()
        .agent("desk", agent)
        .open()
        .await
        .unwrap()
}

/// A session of the agent, with a label.
pub(crate) async fn session(engine: &Engine, tenant: &str) -> (LiveHandle, Updates) {
    let opening = engine.session("desk").label("tenant", tenant);
    let handle = opening.open().await.unwrap();
    let updates = handle.subscribe();
    (handle, updates)
}

/// Calls a tool and waits until it asks. Returns the path of the card.
pub(crate) async fn asks(
    handle: &LiveHandle,
    updates: &mut Updates,
    tool: &str,
    args: serde_json::Value,
) -> String {
    let (calling, name) = (handle.clone(), tool.to_owned());
    drop(tokio::spawn(async move {
        let _ = calling
            .call_function(&name, args, Actor::embedder("pipeline"))
            .await;
    }));
    recorded(updates, "confirmation_requested").await;
    let asked = handle.pending().await.unwrap();
    let call = asked.iter().map(|it| it.call).max().unwrap();
    path(handle, call)
}

pub(crate) async fn recorded(updates: &mut Updates, kind: &str) {
    let found = updates.wait_for(|event| event.kind() == kind).await;
    assert!(found.is_some(), "the session has ended without {kind}");
}

pub(crate) fn path(handle: &LiveHandle, call: Seq) -> String {
    format!("/sessions/{}/calls/{call}", handle.session_id())
}

/// A token of a person with these roles, as approvers name them.
pub(crate) fn person(bench: &Bench, name: &str, roles: &[&str]) -> String {
    let new = NewToken::new(name).grant(Grant::everywhere(Role::Approver));
    let new = roles.iter().fold(new, |new, role| new.role(*role));
    let store = bench.access.tokens().unwrap();
    store
        .create(new, Timestamp(1))
        .unwrap()
        .0
        .expose()
        .to_owned()
}

#[tokio::test]
async fn approval_on_the_card_runs_the_call() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let inbox = ada.open("/inbox").await.text;
    assert!(
        inbox.contains("<title>(1) Inbox · Recount</title>"),
        "{inbox}"
    );
    assert!(inbox.contains(&format!("href=\".{card}\"")) && inbox.contains("Refund this order?"));
    let sent = ada
        .submit(&card, &format!("{card}/answer"), &[("answer", "yes")])
        .await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    assert_eq!(sent.headers["location"], format!("../../../..{card}"));
    recorded(&mut updates, "tool_returned").await;
    let page = ada.open(&card).await.text;
    assert!(page.contains("Ran, receipt 17"), "{page}");
    assert!(page.contains("approved</span><bdi> by ada"), "{page}");
    assert!(!page.contains("Your answer</h2>") && page.contains("<title>refund · Recount"));
    assert!(
        ada.open("/inbox")
            .await
            .text
            .contains("No call waits for an answer")
    );
}

#[tokio::test]
async fn denial_has_its_reason_and_the_second_answer_learns_it() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let answer = format!("{card}/answer");
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let bob = Browser::with(&bench, &person(&bench, "bob", &[])).await;
    let asked = handle.pending().await.unwrap().remove(0);
    let denied = [("answer", "no"), ("reason", HOSTILE)];
    let sent = ada.submit(&card, &answer, &denied).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let csrf = crate::page::hidden(&bob.open("/inbox").await.text, "csrf");
    let (id, hash) = (asked.id.to_string(), asked.request_hash.to_string());
    let late = [
        ("csrf", csrf.as_str()),
        ("request", &id),
        ("request_hash", &hash),
        ("answer", "yes"),
    ];
    let late = bob.send(&answer, &late).await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert!(
        late.text.contains("Your answer does not count"),
        "{}",
        late.text
    );
    assert!(
        late.text.contains("denied</span><bdi> by ada"),
        "{}",
        late.text
    );
    assert!(
        late.text.contains("&lt;script&gt;alert(1)"),
        "{}",
        late.text
    );
    assert!(!late.text.contains("Your answer</h2>"));
}

#[tokio::test]
async fn edit_shows_faults_at_their_fields_and_the_difference() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let args = json!({"cents": 5, "note": "keep"});
    let card = asks(&handle, &mut updates, "refund", args).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let edit = format!("{card}/edit");
    let page = ada.open(&edit).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains(r#"name="arg.cents""#), "{}", page.text);
    let wrong = [
        ("arg.cents", "101"),
        ("arg.note", "typed"),
        ("step", "show"),
    ];
    let wrong = ada.submit(&edit, &edit, &wrong).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    assert!(wrong.text.contains(r#"value="101""#), "{}", wrong.text);
    assert!(wrong.text.contains("\ntyped</textarea>"), "{}", wrong.text);
    assert!(wrong.text.contains(r#"class="fault""#), "{}", wrong.text);
    assert!(
        wrong.text.contains(r#"aria-invalid="true""#),
        "{}",
        wrong.text
    );
    let right = [("arg.cents", "100"), ("arg.note", "keep"), ("step", "show")];
    let shown = ada.submit(&edit, &edit, &right).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(
        shown.text.contains("<del><code><bdi>5</bdi></code></del>"),
        "{}",
        shown.text
    );
    assert!(
        shown
            .text
            .contains("<ins><code><bdi>100</bdi></code></ins>"),
        "{}",
        shown.text
    );
    assert_eq!(
        handle.pending().await.unwrap().len(),
        1,
        "nothing is sent yet"
    );
    let sent = [("arg.cents", "100"), ("arg.note", "keep"), ("step", "send")];
    let sent = ada.submit(&edit, &edit, &sent).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    recorded(&mut updates, "tool_returned").await;
    let page = ada.open(&card).await.text;
    assert!(
        page.contains("The approver changed the arguments"),
        "{page}"
    );
    assert_eq!(ada.open(&edit).await.status, 410);
}

#[tokio::test]
async fn quorum_shows_who_has_said_yes_and_who_may() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "pay", json!({})).await;
    let answer = format!("{card}/answer");
    let eve = Browser::with(&bench, &person(&bench, "eve", &["sales"])).await;
    let page = eve.open(&card).await.text;
    assert!(
        page.contains("0 of 2 approvals") && page.contains("role finance"),
        "{page}"
    );
    assert!(!page.contains(r#"id="approve""#) && page.contains("You may not say yes"));
    assert!(
        page.contains("does not name this person as an approver"),
        "{page}"
    );
    assert!(!eve.open("/inbox?mine=yes").await.text.contains("Pay?"));
    let ada = Browser::with(&bench, &person(&bench, "ada", &["finance"])).await;
    assert!(ada.open("/inbox?mine=yes").await.text.contains("Pay?"));
    let first = ada
        .submit(&card, &answer, &[("answer", "yes"), ("reason", "checked")])
        .await;
    assert_eq!(first.status, 303, "{}", first.text);
    let page = ada.open(&card).await.text;
    assert!(
        page.contains("1 of 2 approvals") && page.contains("by ada"),
        "{page}"
    );
    assert!(
        !page.contains(r#"id="approve""#),
        "ada has said yes: {page}"
    );
    assert!(page.contains("You approved") && page.contains("You have said yes to this call"));
    assert!(
        page.contains("Still needed: <bdi>1 approval by one of: role finance"),
        "{page}"
    );
    let bob = Browser::with(&bench, &person(&bench, "bob", &["finance"])).await;
    let page = bob.open(&card).await.text;
    assert!(page.contains("<bdi>ada</bdi> approved") && !page.contains("You approved"));
    let second = bob.submit(&card, &answer, &[("answer", "yes")]).await;
    assert_eq!(second.status, 303, "{}", second.text);
    recorded(&mut updates, "tool_returned").await;
    let page = bob.open(&card).await.text;
    assert!(page.contains("by ada and by bob"), "{page}");
}

#[tokio::test]
async fn leave_for_the_session_can_be_revoked_on_the_card() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let allow = [
        ("answer", "allow"),
        ("bound", "count"),
        ("count", "2"),
        ("hours", "8"),
    ];
    let allowed = ada.submit(&card, &format!("{card}/answer"), &allow).await;
    assert_eq!(allowed.status, 303, "{}", allowed.text);
    recorded(&mut updates, "tool_returned").await;
    let page = ada.open(&card).await.text;
    assert!(page.contains("for 2 further calls"), "{page}");
    let (_, rest) = page.split_once("/leaves/").unwrap();
    let leave = rest.split('/').next().unwrap();
    let revoke = format!("{card}/leaves/{leave}/revoke");
    let revoked = ada.submit(&card, &revoke, &[("reason", "enough")]).await;
    assert_eq!(revoked.status, 303, "{}", revoked.text);
    let page = ada.open(&card).await.text;
    assert!(
        page.contains("revoked") && !page.contains(r#"id="revoke""#),
        "{page}"
    );
    asks(&handle, &mut updates, "refund", json!({"cents": 6})).await;
}

#[tokio::test]
async fn viewer_sees_no_buttons_and_foreign_scope_is_unknown() {
    let world = World::new().await;
    let viewer = Browser::with(&world.bench, &world.tenant(Role::Viewer)).await;
    let asked = world
        .bench
        .engine
        .ledger()
        .pending_in(world.own.session)
        .await
        .unwrap();
    let card = format!("/sessions/{}/calls/{}", world.own.session, asked[0].call);
    let page = viewer.open(&card).await.text;
    assert!(page.contains("Refund this order?"), "{page}");
    assert!(
        !page.contains("/answer\"") && !page.contains("Deny"),
        "{page}"
    );
    let id = asked[0].id.to_string();
    let (answer, yes) = (
        format!("{card}/answer"),
        [("answer", "yes"), ("request", &id)],
    );
    let sent = viewer.submit(&card, &answer, &yes).await;
    assert_eq!(sent.status, 403);
    let all = format!("/sessions/{}/deny-all", world.own.session);
    let sent = viewer.submit(&card, &all, &[]).await;
    assert_eq!(sent.status, 403, "before the fields are checked");
    let inbox = viewer.open("/inbox").await.text;
    assert!(
        inbox.contains("own-text") && !inbox.contains(crate::world::FOREIGN),
        "{inbox}"
    );
    let admin = Browser::with(&world.bench, &world.tenant(Role::Admin)).await;
    let missing = "0199e2a0-0000-7000-8000-000000000001";
    let unknown = admin.open(&format!("/sessions/{missing}/calls/5")).await;
    assert_eq!(unknown.status, 404);
    for place in [&world.other_tenant, &world.other_agent] {
        let foreign = admin
            .open(&format!(
                "/sessions/{}/calls/{}",
                place.session, place.ended
            ))
            .await;
        assert_eq!(foreign.status, 404);
        let id = place.session.to_string();
        let same = foreign.text.replace(&id, missing);
        let path = |text: &str| text.replace(&place.ended.to_string(), "5");
        assert_eq!(path(&same), path(&unknown.text));
        let denied = format!("/sessions/{id}/deny-all");
        let csrf = crate::page::hidden(&admin.open("/inbox").await.text, "csrf");
        assert_eq!(admin.send(&denied, &[("csrf", &csrf)]).await.status, 404);
    }
}

#[tokio::test]
async fn hostile_text_is_shown_without_effect() {
    let bench = Bench::over(engine().await);
    let opening = bench.engine.session("desk").label("tenant", HOSTILE);
    let opening = opening.external_id(HOSTILE).on_behalf_of(HOSTILE);
    let handle = opening.open().await.unwrap();
    let mut updates = handle.subscribe();
    let args = json!({"cents": 5, "note": HOSTILE, HOSTILE: {"deep": [HOSTILE]}});
    let card = asks(&handle, &mut updates, "refund", args).await;
    let ada = Browser::with(&bench, &person(&bench, HOSTILE, &[])).await;
    let edit = format!("{card}/edit");
    let typed = [("arg.cents", "7"), ("arg.note", HOSTILE), ("step", "show")];
    let difference = ada.submit(&edit, &edit, &typed).await;
    assert_eq!(difference.status, 200, "{}", difference.text);
    for page in ["/inbox", &card] {
        let text = ada.open(page).await.text;
        assert!(text.contains("&lt;script&gt;alert(1)"), "{page}: {text}");
        assert!(text.contains(r">\u{202e}</span>"), "{page}: {text}");
        assert!(text.contains(r">\u{1b}</span>"), "{page}: {text}");
        assert_harmless(page, &text);
    }
    assert_harmless("the difference", &difference.text);
    assert_harmless("the form", &ada.open(&edit).await.text);
}

/// Checks that no markup of the text is markup of the page, and that no character that is not seen
/// is in the page. The value of a field is the text that the person edits, so it has them.
fn assert_harmless(page: &str, text: &str) {
    assert!(!text.contains("<script>"), "{page}: {text}");
    let mut outside = String::new();
    for part in text.split("<textarea") {
        outside.push_str(part.split_once("</textarea>").map_or(part, |it| it.1));
    }
    for part in outside.split(" value=\"") {
        let shown = part.split_once('"').map_or(part, |it| it.1);
        for control in ['\u{1b}', '\u{202e}', '\u{200b}'] {
            assert!(!shown.contains(control), "{page}: {shown}");
        }
    }
}

#[tokio::test]
async fn inbox_begins_with_what_expires_first() {
    let bench = Bench::over(engine().await);
    let (later, mut updates) = session(&bench.engine, "later").await;
    asks(&later, &mut updates, "pay", json!({})).await;
    let (sooner, mut updates) = session(&bench.engine, "sooner").await;
    asks(&sooner, &mut updates, "refund", json!({"cents": 1})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &["finance"])).await;
    let all = ada.open("/inbox").await.text;
    let at = |text: &str, id: &str| text.find(&format!("id=\"of-{id}\""));
    let (first, second) = (
        sooner.session_id().to_string(),
        later.session_id().to_string(),
    );
    assert!(
        at(&all, &first).unwrap() < at(&all, &second).unwrap(),
        "{all}"
    );
    for (query, shown, hidden) in [
        ("tool=ref", &first, &second),
        ("label=tenant:later", &second, &first),
        (&format!("session={second}"), &second, &first),
    ] {
        let page = ada.open(&format!("/inbox?{query}")).await.text;
        assert!(
            at(&page, shown).is_some() && at(&page, hidden).is_none(),
            "{query}: {page}"
        );
    }
    let none = ada.open("/inbox?agent=nothing").await.text;
    assert!(
        none.contains("No call waits that fits the filters"),
        "{none}"
    );
}

#[tokio::test]
async fn page_is_told_of_changes_that_its_person_may_see() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let (foreign, mut others) = session(&bench.engine, "globex").await;
    let acme = Grant::everywhere(Role::Viewer).with_label("tenant", "acme");
    let token = bench.token("ada", &[acme]);
    let ada = Browser::with(&bench, &token).await;
    let page = ada.open("/inbox").await.text;
    let (_, rest) = page.split_once("data-live=\"").unwrap();
    let live = rest.split('"').next().unwrap().replace("&amp;", "&");
    let mut stream = bench.stream(&token, &live[1..]).await;
    let reading = tokio::spawn(async move { stream.next().await.unwrap() });
    asks(&foreign, &mut others, "refund", json!({"cents": 1})).await;
    // The other task has its turns, in which it reads the commit.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(
        !reading.is_finished(),
        "a foreign session has woken the page"
    );
    asks(&handle, &mut updates, "refund", json!({"cents": 1})).await;
    assert_eq!(reading.await.unwrap().name, "changed");
    let of_foreign = format!("/live?session={}", foreign.session_id());
    assert_eq!(bench.get(&token, &of_foreign).await.status, 404);
}

#[tokio::test]
async fn history_finds_decisions_by_their_words() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    assert!(ada.open("/history").await.text.contains("No decision fits"));
    for (cents, answer) in [(5, "yes"), (6, "no")] {
        let card = asks(&handle, &mut updates, "refund", json!({ "cents": cents })).await;
        let fields = [("answer", answer), ("reason", "as agreed")];
        let sent = ada.submit(&card, &format!("{card}/answer"), &fields).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        recorded(&mut updates, "response_issued").await;
    }
    let rows = async |query: &str| {
        let page = ada.open(&format!("/history?{query}")).await.text;
        let has = |cents: u32| page.contains(&format!("cents&quot;:{cents}"));
        (has(5), has(6))
    };
    assert_eq!(rows("").await, (true, true));
    assert_eq!(rows("q=AS+agreed").await, (true, true));
    assert_eq!(rows("q=nothing").await, (false, false));
    assert_eq!(rows("decision=approved").await, (true, false));
    assert_eq!(rows("decision=denied&q=ada").await, (false, true));
    let page = ada.open("/history").await.text;
    assert!(
        page.find("cents&quot;:6") < page.find("cents&quot;:5"),
        "newest first: {page}"
    );
    assert_eq!(ada.open("/history?decision=maybe").await.status, 422);
    let acme = Grant::everywhere(Role::Viewer).with_label("tenant", "globex");
    let foreign = Browser::with(&bench, &bench.token("eve", &[acme])).await;
    assert!(
        foreign
            .open("/history")
            .await
            .text
            .contains("No decision fits")
    );
}
