//! Forms of cards and the inbox: calls denied together, and text that is kept when it is refused.

use recount::prelude::{Actor, ToolConfirmation, json};

use crate::bench::Bench;
use crate::cards::{asks, engine, path, person, recorded, session};
use crate::page::{Browser, hidden};

#[tokio::test]
async fn whole_session_is_denied_at_once() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 6})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let all = format!("/sessions/{}/deny-all", handle.session_id());
    let page = ada.open(&card).await.text;
    assert!(page.contains("Deny these 2 calls"), "{page}");
    let csrf = hidden(&page, "csrf");
    let seen = hidden(&page, "seen");
    let next = hidden(&page, "next");
    let fields = [
        ("csrf", csrf.as_str()),
        ("seen", &seen),
        ("reason", "enough"),
        ("next", &next),
    ];
    let denied = ada.send(&all, &fields).await;
    assert_eq!(denied.status, 303, "{}", denied.text);
    let place = denied.headers["location"].to_str().unwrap();
    assert_eq!(place, format!("../..{card}?denied=2&asked=2&newer=0"));
    assert!(handle.pending().await.unwrap().is_empty());
    let page = ada.open(&place[5..]).await.text;
    assert!(page.contains("2 calls were denied."), "{page}");
}

/// A call that was asked after the page was made is not denied with those of the page.
#[tokio::test]
async fn unseen_call_is_not_denied_with_the_others() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    for cents in [5, 6] {
        asks(&handle, &mut updates, "refund", json!({"cents": cents})).await;
    }
    asks(&handle, &mut updates, "pay", json!({})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let page = ada.open("/inbox?tool=refund").await.text;
    assert!(page.contains("Deny these 2 calls"), "{page}");
    let csrf = hidden(&page, "csrf");
    let seen = hidden(&page, "seen");
    let first = handle.pending().await.unwrap().remove(0);
    let answered = handle.answer(
        first.id,
        ToolConfirmation::confirmed(),
        Actor::embedder("bob"),
    );
    answered.await.unwrap();
    asks(&handle, &mut updates, "refund", json!({"cents": 7})).await;
    let all = format!("/sessions/{}/deny-all", handle.session_id());
    let denied = ada.send(&all, &[("csrf", &csrf), ("seen", &seen)]).await;
    let place = denied.headers["location"].to_str().unwrap();
    assert_eq!(place, "../../inbox?denied=1&asked=2&newer=2");
    let open = handle.pending().await.unwrap();
    let open: Vec<&str> = open.iter().map(|it| it.args.as_str()).collect();
    assert_eq!(open, ["{}", r#"{"cents":7}"#]);
    let page = ada.open(&place[5..]).await.text;
    assert!(page.contains("1 of 2 calls could be denied."), "{page}");
    assert!(
        page.contains("2 newer calls of the session wait."),
        "{page}"
    );
    for seen in ["", "none", "5 x"] {
        let unfit = ada.send(&all, &[("csrf", &csrf), ("seen", seen)]).await;
        assert_eq!(unfit.status, 422, "{seen}");
    }
    assert_eq!(handle.pending().await.unwrap().len(), 2);
}

/// A person who made a mistake corrects the text, which is where it was typed.
#[tokio::test]
async fn refused_text_stays_in_its_field() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let card = asks(&handle, &mut updates, "refund", json!({"cents": 5})).await;
    let ada = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    let answer = format!("{card}/answer");
    let allow = [
        ("answer", "allow"),
        ("bound", "hours"),
        ("hours", "many"),
        ("count", "17"),
    ];
    let wrong = ada.submit(&card, &answer, &allow).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    assert!(
        wrong.text.contains("Nothing was recorded: "),
        "{}",
        wrong.text
    );
    assert!(
        wrong.text.contains(r#"id="allowing" open"#),
        "{}",
        wrong.text
    );
    assert!(wrong.text.contains(r#"value="17""#), "{}", wrong.text);
    assert!(
        !wrong.text.contains(r#"id="denying" open"#),
        "{}",
        wrong.text
    );
    assert_eq!(handle.pending().await.unwrap().len(), 1);
}

#[tokio::test]
async fn result_from_outside_is_supplied_on_the_card() {
    let bench = Bench::over(engine().await);
    let (handle, mut updates) = session(&bench.engine, "acme").await;
    let calling = handle.clone();
    drop(tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        let _ = calling.call_function("ship", json!({}), by).await;
    }));
    recorded(&mut updates, "tool_paused").await;
    let card = path(&handle, handle.paused().await.unwrap()[0].call);
    let approver = Browser::with(&bench, &person(&bench, "ada", &[])).await;
    assert!(
        !approver
            .open(&card)
            .await
            .text
            .contains("Supply the result</button>")
    );
    let root = Browser::with(&bench, &bench.admin()).await;
    let respond = format!("{card}/respond");
    let wrong = root.submit(&card, &respond, &[("result", "[1]")]).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    let text = "\n{\"tracking\":\n  \"<b>\u{e9}\" 1}";
    let wrong = root.submit(&card, &respond, &[("result", text)]).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    let place = "the result is not JSON: line 3, character 10: expected";
    assert!(wrong.text.contains(place), "{}", wrong.text);
    // A browser drops the first line break of the area.
    let kept = concat!(
        "aria-describedby=\"refused\">\n\n{&quot;tracking&quot;:\n  ",
        "&quot;&lt;b&gt;\u{e9}&quot; 1}</textarea>"
    );
    assert!(wrong.text.contains(kept), "{}", wrong.text);
    assert!(wrong.text.contains(r#"id="refused""#), "{}", wrong.text);
    let sent = root
        .submit(&card, &respond, &[("result", r#"{"tracking":"<b>1</b>"}"#)])
        .await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let page = root.open(&card).await.text;
    assert!(page.contains("The result came from outside"), "{page}");
    assert!(page.contains("&lt;b&gt;1&lt;/b&gt;"), "{page}");
}
