//! States, ways and bounds on the pages of sessions and of the audit, and long cards.

use std::time::Duration;

use recount::ledger::PauseTarget;
use recount::prelude::{Actor, LiveHandle, json};
use recount::session::SessionId;
use recount_server::{Grant, Principal, Role};

use crate::bench::Bench;
use crate::raw::{NEWER, append, unreadable_session};
use crate::visitor::{Visitor, words};
use crate::world::{World, engine};

fn root(bench: &Bench) -> Visitor<'_> {
    let everything = vec![Grant::everywhere(Role::Admin)];
    Visitor::of(bench, Principal::new(Actor::token("root"), everything))
}

fn by() -> Actor {
    Actor::embedder("pipeline")
}

async fn look(handle: &LiveHandle, note: &str) {
    let args = json!({ "note": note });
    handle.call_function("look", args, by()).await.unwrap();
}

#[tokio::test]
async fn answer_belongs_to_the_call_of_its_request() {
    let world = World::new().await;
    let (session, root) = (world.own.session, root(&world.bench));
    let path = format!("/sessions/{session}?call={}", world.own.ended);
    let page = root.open(&path).await.text;
    let rows = between(&page, "id=\"rows\"", "</main>");
    for kind in [
        "confirmation_requested",
        "confirmation_answered",
        "tool_returned",
    ] {
        assert_eq!(
            rows.matches(&format!(">{kind}<")).count(),
            1,
            "{kind}: {rows}"
        );
    }
    let answer = format!("/sessions/{session}/records/{}", world.own.leave);
    let page = root.open(&answer).await.text;
    let link = format!("/calls/{}\">call {0}</a>", world.own.ended);
    assert!(page.contains(&link), "{page}");
}

/// The part of a page between two texts.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let (_, rest) = page.split_once(from).unwrap();
    rest.split(to).next().unwrap()
}

#[tokio::test]
async fn list_says_which_sessions_are_paused_or_closed() {
    let world = World::new().await;
    let (engine, root) = (&world.bench.engine, root(&world.bench));
    let badges = async || {
        let page = root.open("/sessions").await.text;
        ["paused", "closed"].map(|it| words(&page).iter().filter(|word| *word == it).count())
    };
    // The filter has the word `closed`, too.
    assert_eq!(badges().await, [0, 1]);
    let target = PauseTarget::Session(world.own.session);
    engine.pause(target, None, false, by()).await.unwrap();
    assert_eq!(badges().await, [1, 1]);
    let handle = engine.session("billing").open().await.unwrap();
    let path = format!("/sessions/{}", handle.session_id());
    assert!(root.open(&path).await.text.contains("data-live="));
    handle.close("done", by()).await.unwrap();
    assert_eq!(badges().await, [1, 2]);
    // Nothing follows in a closed session.
    assert!(!root.open(&path).await.text.contains("data-live="));
}

#[tokio::test]
async fn record_has_the_ways_and_effects_that_exist() {
    let world = World::new().await;
    let (session, root) = (world.own.session, root(&world.bench));
    let journal = world.bench.engine.ledger().journal().clone();
    let head = journal.head(session.0).await.unwrap().unwrap().seq;
    let page = async |seq: u64| {
        let path = format!("/sessions/{session}/records/{seq}");
        root.open(&path).await.text
    };
    for (seq, ways) in [(1, [false, true]), (2, [true, true]), (head, [true, false])] {
        let page = page(seq).await;
        let found = ["Record before", "Record after"].map(|it| page.contains(it));
        assert_eq!(found, ways, "{seq}");
    }
    let lines = journal.read(session.0, 1, usize::MAX).await.unwrap();
    let causes: Vec<Option<u64>> = lines.iter().map(|it| it.record().unwrap().cause).collect();
    for seq in 1..=head {
        let page = page(seq).await;
        let effects = between(&page, "<dt>Effects</dt>", "</dd>");
        let caused = causes.iter().filter(|it| **it == Some(seq)).count();
        assert_eq!(effects.matches("href=").count(), caused, "{seq}: {effects}");
        // These differ after every record.
        for ever in ["/head", "/last_at_us"] {
            assert!(
                !page.contains(&format!("<bdi>{ever}</bdi>")),
                "{seq}: {ever}"
            );
        }
    }
}

#[tokio::test]
async fn pages_of_events_have_each_event_once() {
    let world = World::new().await;
    let (session, root) = (world.own.session, root(&world.bench));
    let journal = world.bench.engine.ledger().journal().clone();
    let head = journal.head(session.0).await.unwrap().unwrap().seq;
    let (mut path, mut seqs) = (format!("/sessions/{session}?limit=7"), Vec::new());
    loop {
        let page = root.open(&path).await.text;
        let rows = between(&page, "id=\"rows\"", "</main>");
        let links = rows.split("/records/").skip(1);
        seqs.extend(links.map(|it| it.split('"').next().unwrap().parse::<u64>().unwrap()));
        let Some((_, rest)) = rows.split_once("rel=\"next\" href=\"") else {
            break;
        };
        let query = rest.split('"').next().unwrap().replace("&amp;", "&");
        path = format!("/sessions/{session}{query}");
        // The page of older events does not change.
        assert!(!root.open(&path).await.text.contains("data-live="));
    }
    assert_eq!(seqs, (1..=head).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn timeline_leads_to_earlier_calls() {
    let bench = Bench::over(engine().await);
    let handle = bench.engine.session("support").open().await.unwrap();
    for n in 0..62 {
        look(&handle, &n.to_string()).await;
    }
    let root = root(&bench);
    let path = format!("/sessions/{}", handle.session_id());
    let page = root.open(&path).await.text;
    let timeline = between(&page, "<section id=\"timeline\"", "</section>");
    assert!(
        timeline.contains("Not drawn: 2 earlier calls"),
        "{timeline}"
    );
    assert!(!timeline.contains("Newest calls"));
    let query = between(timeline, "<a href=\"?before=", "\"");
    let query = query.split('#').next().unwrap();
    let page = root.open(&format!("{path}?before={query}")).await.text;
    let timeline = between(&page, "<section id=\"timeline\"", "</section>");
    let lanes = [3, 9, 15].map(|it| timeline.contains(&format!(">look #{it}</text>")));
    assert_eq!(lanes, [true, true, false], "{timeline}");
    assert!(timeline.contains("Newest calls") && !page.contains("data-live="));
}

/// The last one of 10,002 records cannot be read, nor the others; only the newest are shown.
#[tokio::test]
async fn long_session_shows_its_newest_records() {
    let bench = Bench::over(engine().await);
    let session = SessionId(uuid::Uuid::from_u128(7));
    let journal = bench.engine.ledger().journal().clone();
    let mut records = vec![("session_opened", NEWER)];
    records.resize(10_002, ("pondered", NEWER));
    for part in records.chunks(1_000) {
        append(journal.as_ref(), session, 1, part, Vec::new()).await;
    }
    let page = root(&bench)
        .open(&format!("/sessions/{session}"))
        .await
        .text;
    assert!(page.contains("Only the newest records: 2 older records left out."));
    assert!(
        page.contains("pondered (not known to this version)"),
        "{page}"
    );
    let kinds = between(&page, "<option value=\"pondered\">", "</option>");
    assert_eq!(kinds, "pondered (10000)");
}

#[tokio::test]
async fn audit_shortens_arguments_and_lists_problems() {
    let bench = Bench::over(engine().await);
    let handle = bench.engine.session("support").open().await.unwrap();
    look(&handle, &"ö".repeat(200)).await;
    let root = root(&bench);
    let page = root.open("/audit").await.text;
    assert!(
        page.contains(&"ö".repeat(200)) && !page.contains('…'),
        "{page}"
    );
    look(&handle, &"ü".repeat(400)).await;
    let page = root.open("/audit").await.text;
    assert!(
        page.contains(&"ü".repeat(280)) && page.contains('…'),
        "{page}"
    );
    assert!(!page.contains(&"ü".repeat(300)), "{page}");
    let id = SessionId(uuid::Uuid::from_u128(7));
    unreadable_session(bench.engine.ledger().journal().as_ref(), id).await;
    let replayed = root.submit("/audit/replay", &[]).await;
    assert_eq!(replayed.status, 200, "{}", replayed.text);
    assert!(
        replayed
            .text
            .contains("<strong>1 session with a problem</strong>")
    );
    let link = format!("sessions/{id}\">{id}</a>: ");
    assert!(replayed.text.contains(&link), "{}", replayed.text);
    assert!(!replayed.text.contains("The same decisions"));
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn foreign_session_wakes_no_page_of_operations() {
    let bench = Bench::over(engine().await);
    let [own, foreign] = ["billing", "support"].map(|agent| {
        let opening = bench.engine.session(agent);
        async { opening.open().await.unwrap() }
    });
    let (own, foreign) = (own.await, foreign.await);
    let billing = Grant::everywhere(Role::Operator).of_agent("billing");
    let token = bench.token("bob", &[billing]);
    let journal = bench.engine.ledger().journal().clone();
    let position = journal.position().await.unwrap();
    let path = format!("/live?page=operations&after={position}");
    let mut stream = bench.stream(&token, &path).await;
    let reading = tokio::spawn(async move { stream.next().await.unwrap() });
    let agent = PauseTarget::Agent("support".to_owned());
    bench
        .engine
        .pause(agent.clone(), None, false, by())
        .await
        .unwrap();
    bench.engine.unpause(agent, None, by()).await.unwrap();
    look(&foreign, "x").await;
    // Longer than the shortest time between two messages.
    tokio::time::advance(Duration::from_secs(10)).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(!reading.is_finished(), "a foreign session has woken it");
    look(&own, "x").await;
    assert_eq!(reading.await.unwrap().name, "changed");
}

/// A model must not push the answer, or a harmful argument, out of sight.
#[tokio::test]
async fn long_arguments_are_folded_and_counted() {
    let bench = Bench::over(engine().await);
    let handle = bench.engine.session("support").open().await.unwrap();
    let mut updates = handle.subscribe();
    let mut args = json!({"blob": "A".repeat(10_000), "a_lines": "l\n".repeat(50)});
    for n in 0..200 {
        args[format!("k{n}")] = json!(n);
    }
    let by = Actor::embedder("pipeline");
    let args = recount::session::Json::parse(&args.to_string()).unwrap();
    let call = handle
        .begin_call("refund", args, "once", by)
        .await
        .unwrap()
        .call;
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    assert!(asked.await.is_some());
    let root = root(&bench);
    let card = format!("/sessions/{}/calls/{call}", handle.session_id());
    let page = root.open(&card).await.text;
    // Without what is folded, everything is short and counted.
    let (mut shown, mut folded) = (String::new(), 0);
    for part in page.split_inclusive('>') {
        folded += part.matches("<details").count();
        if folded == 0 {
            shown.push_str(part);
        }
        folded -= part.matches("</details>").count();
    }
    assert!(!shown.contains(&"A".repeat(501)) && shown.contains(&"A".repeat(400)));
    assert!(shown.matches("<bdi>l</bdi>").count() <= 11, "{shown}");
    assert_eq!(shown.matches("<th scope=\"row\">").count(), 100, "{shown}");
    for words in [
        "All 10000 characters",
        "All 100 characters",
        "102 more, 202 in all",
        "href=\"#answers\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains(&"A".repeat(10_000)));
    let session = root
        .open(&format!("/sessions/{}", handle.session_id()))
        .await
        .text;
    assert!(!session.contains(&"A".repeat(600)));
}

/// A refused form is shown at the path to which it was posted.
#[tokio::test]
async fn path_of_a_form_leads_to_its_page() {
    let world = World::new().await;
    let root = root(&world.bench);
    let card = format!("/sessions/{}/calls/{}", world.own.session, world.own.ended);
    for form in ["answer", "respond", "reconcile"] {
        let reply = root.open(&format!("{card}/{form}")).await;
        assert_eq!(reply.status, 303, "{form}: {}", reply.text);
        let location = reply.headers["location"].to_str().unwrap();
        assert_eq!(location, format!("../../../..{card}"));
    }
    let reply = root.open("/operations/pause").await;
    assert_eq!(reply.headers["location"], "../operations");
    // A form after the end of the login: the person learns that it did not count.
    let late = Visitor::with(&world.bench, "rct_x");
    let reply = late
        .send(&format!("{card}/answer"), &[("answer", "yes")])
        .await;
    assert_eq!(reply.status, 401, "{}", reply.text);
    assert!(reply.text.contains("nothing was changed"), "{}", reply.text);
    let next = format!("name=\"next\" value=\"{}\"", &card[1..]);
    assert!(reply.text.contains(&next), "{}", reply.text);
    let program = world
        .bench
        .get(&world.bench.admin(), "/operations/pause")
        .await;
    assert_eq!(program.status, 405, "{}", program.text);
}
