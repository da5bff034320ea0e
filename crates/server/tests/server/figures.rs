//! The figures: each number against a history whose numbers are known.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::LiveHandle;
use recount::prelude::{Actor, Agent, Engine, T, ToolConfirmation, json};
use recount::session::{Json, RequestId, Seq};
use recount_server::{Grant, Principal, Role};

use crate::bench::{Bench, Reply};
use crate::clock::HandClock;
use crate::visitor::{Visitor, rows, section, tally, words};
use crate::world::{FOREIGN, World};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// A service whose clock the test sets, with tools that ask.
struct Shop {
    bench: Bench,
    clock: Arc<HandClock>,
}

impl Shop {
    async fn new() -> Shop {
        let clock = HandClock::new();
        let tool = |name: &str| {
            let run = |_| async { Ok(json!({})) };
            T::simple(name, "Does it", run)
        };
        let agent = Agent::new()
            .model("none")
            .strict()
            .tools(T::confirm(tool("refund"), "Refund?"))
            .tools(T::confirm_within(
                tool("mail"),
                "Mail?",
                Duration::from_secs(600),
            ));
        let engine = Engine::in_memory().clock(clock.clone());
        let engine = engine.agent("support", agent).open().await.unwrap();
        let set = clock.clone();
        Shop {
            bench: Bench::with(engine, |access| access.with_clock(set)),
            clock,
        }
    }

    async fn session(&self, tenant: &str) -> Asking<'_> {
        let opening = self.bench.engine.session("support").label("tenant", tenant);
        Asking {
            shop: self,
            handle: opening.open().await.unwrap(),
        }
    }

    async fn page(&self, query: &str) -> String {
        let viewer = Principal::new(Actor::token("eve"), vec![Grant::everywhere(Role::Viewer)]);
        let path = format!("/figures{query}");
        let page = Visitor::of(&self.bench, viewer).open(&path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text
    }
}

/// A session whose calls ask.
struct Asking<'s> {
    shop: &'s Shop,
    handle: LiveHandle,
}

impl Asking<'_> {
    /// Calls a tool, and returns the call and its request.
    async fn ask(&self, tool: &str, key: &str) -> (Seq, RequestId) {
        let mut updates = self.handle.subscribe();
        let by = Actor::embedder("shop");
        let begun = self.handle.begin_call(tool, Json::empty_object(), key, by);
        let call = begun.await.unwrap().call;
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        assert!(asked.await.is_some());
        let pending = self.handle.pending().await.unwrap();
        let request = pending.iter().find(|it| it.call == call).unwrap().id;
        (call, request)
    }

    async fn answer(&self, request: RequestId, answer: ToolConfirmation, by: Actor) {
        let engine = &self.shop.bench.engine;
        engine.answer(request, answer, by).await.unwrap();
    }
}

/// A history: seven requests, of which six ended in these ways.
async fn history(shop: &Shop) {
    let session = shop.session("acme").await;
    let yes = ToolConfirmation::confirmed;
    let (ada, bob) = (|| Actor::token("ada"), || Actor::token("bob"));
    // Three yes after 1, 2 and 30 minutes, one no after 4.
    for (minutes, by, answer) in [
        (1, ada(), yes()),
        (2, ada(), yes()),
        (30, bob(), yes()),
        (4, bob(), ToolConfirmation::denied("no")),
    ] {
        let (_, request) = session.ask("refund", &format!("r{minutes}")).await;
        shop.clock.forward_ms(minutes * MINUTE_MS);
        session.answer(request, answer, by).await;
    }
    // One expires after its ten minutes, one is withdrawn, one stays open.
    let mut updates = session.handle.subscribe();
    session.ask("mail", "m1").await;
    shop.clock.forward_ms(10 * MINUTE_MS);
    let expired = updates.wait_for(|event| event.kind() == "confirmation_expired");
    assert!(expired.await.is_some());
    let (call, _) = session.ask("refund", "w").await;
    session.handle.cancel(call, None, ada()).await.unwrap();
    session.ask("refund", "open").await;
}

fn named(page: &str, name: &str) -> String {
    let found = tally(page).into_iter().find(|it| it.1 == name);
    found.unwrap().0
}

#[tokio::test]
async fn page_has_the_numbers_of_the_history() {
    let shop = Shop::new().await;
    history(&shop).await;
    let page = shop.page("").await;
    assert_eq!(named(&page, "asked"), "7");
    assert_eq!(named(&page, "open now"), "1");
    assert_eq!(named(&page, "median to a decision"), "2 min");
    assert_eq!(named(&page, "95th percentile"), "30 min");
    assert_eq!(named(&page, "expired"), "16.7 %");
    assert_eq!(
        rows(&page, "outcomes"),
        [
            ["Allowed", "3", "50.0 %"],
            ["Denied", "1", "16.7 %"],
            ["Settled", "0", "0.0 %"],
            ["Expired", "1", "16.7 %"],
            ["Allowed without an answer", "0", "0.0 %"],
            ["Withdrawn", "1", "16.7 %"],
        ]
    );
    assert_eq!(
        rows(&page, "tools"),
        [
            [
                "refund", "6", "3", "1", "0", "0", "0", "1", "2 min", "30 min"
            ],
            ["mail", "1", "0", "0", "0", "1", "0", "0", "–", "–"],
        ]
    );
    assert_eq!(
        rows(&page, "approvers"),
        [
            ["ada (token)", "2", "0", "0", "1 min", "2 min"],
            ["bob (token)", "1", "1", "0", "4 min", "30 min"],
        ]
    );
    assert!(page.contains("Read: 1 session that changed in this time"));
    assert!(!page.contains("Left out"));
}

#[tokio::test]
async fn open_requests_are_counted_at_the_end_of_each_interval() {
    let shop = Shop::new().await;
    let session = shop.session("acme").await;
    session.ask("refund", "stays").await;
    // The clock of the tests stands at a whole hour.
    shop.clock.forward_ms(60 * MINUTE_MS);
    let (_, request) = session.ask("refund", "ends").await;
    shop.clock.forward_ms(90 * MINUTE_MS);
    let no = ToolConfirmation::denied("no");
    session.answer(request, no, Actor::token("ada")).await;
    let page = shop.page("?range=24h").await;
    let counted: Vec<[String; 2]> = rows(&page, "open")
        .into_iter()
        .map(|row| [row[1].clone(), row[2].clone()])
        .collect();
    assert_eq!(counted.len(), 24);
    let last: Vec<[&str; 2]> = counted[20..]
        .iter()
        .map(|it| [it[0].as_str(), it[1].as_str()])
        .collect();
    // 07:00, then 08:00 with the first, 09:00 with the second, and 10:00 with the end of it.
    assert_eq!(last, [["0", "0"], ["1", "1"], ["1", "2"], ["0", "1"]]);
    let decided = rows(&page, "decisions");
    assert_eq!(decided[23][1..], ["1", "1 h 30 min", "1 h 30 min"]);
    assert_eq!(decided[22][1..], ["0", "–", "–"]);
}

#[tokio::test]
async fn request_before_the_range_counts_while_it_is_open() {
    let shop = Shop::new().await;
    let old = shop.session("acme").await;
    let (_, early) = old.ask("refund", "early").await;
    old.answer(early, ToolConfirmation::confirmed(), Actor::token("ada"))
        .await;
    old.ask("refund", "waits").await;
    shop.clock.forward_ms(8 * DAY_MS);
    let page = shop.page("?range=7d").await;
    assert_eq!(
        (named(&page, "asked"), named(&page, "open now")),
        ("0".into(), "1".into())
    );
    assert!(page.contains("Read: 0 sessions"), "{page}");
    let open = rows(&page, "open");
    assert!(open.iter().all(|row| row[2] == "1"), "{open:?}");
    let month = shop.page("?range=30d").await;
    assert_eq!(
        (named(&month, "asked"), named(&month, "open now")),
        ("2".into(), "1".into())
    );
    let empty = shop.page("?range=7d&tool=mail").await;
    assert!(empty.contains("No approval was asked for in this time."));
}

#[tokio::test]
async fn filters_select_requests() {
    let shop = Shop::new().await;
    history(&shop).await;
    shop.session("globex").await.ask("refund", "other").await;
    for (query, asked) in [
        ("", "8"),
        ("?range=&agent=&tool=&label=", "8"),
        ("?agent=support", "8"),
        ("?agent=billing", "0"),
        ("?tool=REF", "7"),
        ("?tool=mail", "1"),
        ("?label=tenant:acme", "7"),
        ("?label=tenant:acme&tool=mail", "1"),
    ] {
        assert_eq!(named(&shop.page(query).await, "asked"), asked, "{query}");
    }
    let viewer = Principal::new(Actor::token("eve"), vec![Grant::everywhere(Role::Viewer)]);
    let eve = Visitor::of(&shop.bench, viewer);
    for odd in ["?range=1y", "?label=tenant", "?tool=a&tool=b"] {
        assert_eq!(
            eve.open(&format!("/figures{odd}")).await.status,
            422,
            "{odd}"
        );
    }
}

#[tokio::test]
async fn foreign_requests_are_not_counted() {
    let world = World::new().await;
    let tenant = world.tenant(Role::Viewer);
    let page = Visitor::with(&world.bench, &tenant).open("/figures").await;
    assert_eq!(page.status, 200, "{}", page.text);
    // A mail that was approved, and a refund that waits.
    assert_eq!(named(&page.text, "asked"), "2");
    assert_eq!(named(&page.text, "open now"), "1");
    assert!(page.text.contains("Read: 1 session "), "{}", page.text);
    assert!(!page.text.contains(FOREIGN) && !page.text.contains("globex"));
    let all = Visitor::with(&world.bench, &world.bench.admin())
        .open("/figures")
        .await;
    assert_eq!(named(&all.text, "asked"), "6");
    let client = world.bench.token("w", &[Grant::everywhere(Role::Client)]);
    let refused: Reply = Visitor::with(&world.bench, &client).open("/figures").await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn empty_journal_has_figures() {
    let shop = Shop::new().await;
    let page = shop.page("").await;
    assert_eq!(named(&page, "asked"), "0");
    assert_eq!(named(&page, "median to a decision"), "–");
    assert!(page.contains("No approval was asked for in this time."));
    assert!(!page.contains("<svg"));
}

#[tokio::test]
async fn chart_has_a_name_and_no_inline_style() {
    let shop = Shop::new().await;
    history(&shop).await;
    let page = shop.page("").await;
    for id in ["decisions", "outcomes", "open", "tools", "approvers"] {
        let chart = section(&page, id);
        let names = format!("aria-labelledby=\"{id}-title {id}-desc\"");
        assert!(chart.contains(&names), "{id}");
        assert!(
            chart.contains(&format!("<title id=\"{id}-title\">")),
            "{id}"
        );
        assert!(chart.contains(&format!("<desc id=\"{id}-desc\">")), "{id}");
        // The numbers are in a table below.
        assert!(
            chart.split_once("</svg>").unwrap().1.contains("<table>"),
            "{id}"
        );
    }
    assert!(!page.contains("style="), "{page}");
    let about = words(section(&page, "outcomes"))[1].clone();
    assert!(
        about.starts_with("Allowed 50.0 %, Denied 16.7 %"),
        "{about}"
    );
}

#[tokio::test]
async fn names_of_tools_and_approvers_have_no_effect() {
    let shop = Shop::new().await;
    let session = shop.session("acme").await;
    let (_, request) = session.ask("refund", "r").await;
    let odd = "<script>alert(1)</script>\u{202e}\u{1b}[31m";
    let by = Actor::token(odd);
    session
        .answer(request, ToolConfirmation::confirmed(), by)
        .await;
    let page = shop.page("").await;
    assert!(!page.contains("<script>alert") && !page.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(rows(&page, "approvers").len(), 1);
    let page = shop
        .page("?tool=%3Cscript%3Ealert&agent=%22%3E%3Cb%3E")
        .await;
    assert!(!page.contains("<script>alert") && !page.contains("<b>"));
}
