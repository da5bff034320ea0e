//! The page of operators: its numbers against worlds whose numbers are known.

use std::sync::Arc;

use recount::journal::seal::MemoryKeyStore;
use recount::ledger::PauseTarget;
use recount::prelude::{Actor, Agent, Engine, T, json};
use recount::session::{InDoubt, Json, SessionId, Timestamp};
use recount_server::{Grant, Principal, Role};

use crate::bench::Bench;
use crate::clock::HandClock;
use crate::visitor::{Visitor, rows, section, tally, words};
use crate::world::{FOREIGN, World, agents, engine};

/// The principal with these grants, as a login has it.
fn person(name: &str, grants: impl IntoIterator<Item = Grant>) -> Principal {
    Principal::new(Actor::token(name), grants.into_iter().collect())
}

fn admin() -> Principal {
    person("root", [Grant::everywhere(Role::Admin)])
}

fn numbers(page: &str) -> Vec<u64> {
    tally(page)
        .iter()
        .map(|(number, _)| number.parse().unwrap())
        .collect()
}

async fn pauses(bench: &Bench) -> usize {
    bench.engine.ledger().pauses().await.unwrap().len()
}

#[tokio::test]
async fn page_has_the_numbers_of_the_world() {
    let world = World::new().await;
    let ada = Visitor::of(&world.bench, admin());
    let page = ada.open("/operations").await;
    assert_eq!(page.status, 200, "{}", page.text);
    let names: Vec<String> = tally(&page.text).into_iter().map(|it| it.1).collect();
    assert_eq!(
        names,
        [
            "open calls",
            "wait for an answer",
            "in doubt",
            "run by clients",
            "pauses",
            "standing leaves"
        ]
    );
    assert_eq!(numbers(&page.text), [12, 6, 0, 3, 0, 3]);
    let mut backlog = rows(&page.text, "backlog");
    backlog.iter_mut().for_each(|it| it.truncate(7));
    backlog.sort();
    let row = |agent: &str, tool: &str, numbers: [u64; 5]| {
        let mut row = vec![agent.to_owned(), tool.to_owned()];
        row.extend(numbers.map(|it| it.to_string()));
        row
    };
    assert_eq!(
        backlog,
        [
            row("billing", "pack", [2, 0, 0, 1, 1]),
            row("billing", "refund", [1, 1, 0, 0, 0]),
            row("billing", "ship", [1, 0, 1, 0, 0]),
            row("support", "pack", [4, 0, 0, 2, 2]),
            row("support", "refund", [2, 2, 0, 0, 0]),
            row("support", "ship", [2, 0, 2, 0, 0]),
        ]
    );
    let runners = rows(&page.text, "runners");
    let here = "in this process";
    assert_eq!(runners[0], ["billing", here, "1", "1"], "{runners:?}");
    assert_eq!(runners[1], ["support", here, "2", "2"], "{runners:?}");
    let claims = rows(&page.text, "claims");
    assert_eq!(claims.len(), 3);
    for claim in &claims {
        assert_eq!((claim[0].as_str(), claim[1].as_str()), ("ada", "pack"));
        assert_eq!(claim[6], "held", "{claim:?}");
    }
    let leaves = rows(&page.text, "leaves");
    assert_eq!(leaves.len(), 3);
    assert_eq!(leaves[0][0], "mail");
    assert_eq!(leaves[0][5], "0 of 5", "{leaves:?}");
    let health = words(section(&page.text, "health")).join(" ");
    assert!(health.contains("takes records"), "{health}");
    assert!(health.contains("Sessions in the journal 3"), "{health}");
}

#[tokio::test]
async fn foreign_sessions_are_not_counted() {
    let world = World::new().await;
    let tenant = world.tenant(Role::Operator);
    let page = Visitor::with(&world.bench, &tenant)
        .open("/operations")
        .await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(numbers(&page.text), [4, 2, 0, 1, 0, 1]);
    for foreign in [
        FOREIGN,
        "billing",
        "globex",
        &world.other_tenant.session.to_string(),
        &world.other_agent.session.to_string(),
        // The numbers of the whole service are those of other tenants, too.
        "Sessions in the journal",
    ] {
        assert!(!page.text.contains(foreign), "{foreign}");
    }
    let runners = rows(&page.text, "runners");
    assert_eq!(runners, [["support", "in this process", "1", "1"]]);
}

#[tokio::test]
async fn empty_journal_has_a_page() {
    let bench = Bench::over(engine().await);
    let page = Visitor::of(&bench, admin()).open("/operations").await;
    assert_eq!(numbers(&page.text), [0; 6]);
    for (id, text) in [
        ("pauses", "Nothing is paused."),
        ("doubts", "No interrupted call waits for an answer."),
        ("backlog", "No call is open."),
        ("claims", "No client runs a call."),
        ("leaves", "No standing leave is in force."),
        ("holds", "No session is under a legal hold."),
        ("erasures", "No erasure is on record."),
    ] {
        let words = words(section(&page.text, id));
        assert!(words.contains(&text.to_owned()), "{id}: {words:?}");
    }
}

#[tokio::test]
async fn page_needs_an_operator() {
    let world = World::new().await;
    let bench = &world.bench;
    for role in [Role::Client, Role::Viewer, Role::Approver] {
        let token = bench.token("eve", &[Grant::everywhere(role)]);
        let eve = Visitor::with(bench, &token);
        assert_eq!(eve.open("/operations").await.status, 403, "{role}");
        let live = eve.open("/live?page=operations").await;
        assert_eq!(live.status, 403, "{role}");
        let inbox = eve.open("/figures").await.text;
        assert!(!inbox.contains("href=\"./operations\""), "{role}");
        for fields in [
            vec![("target", "everything")],
            vec![("target", "agent:support")],
            vec![("session", world.own.session.to_string().leak() as &str)],
        ] {
            for path in ["/operations/pause", "/operations/unpause"] {
                let refused = eve.send(path, &fields).await;
                assert_eq!(refused.status, 403, "{role} {path} {fields:?}");
            }
        }
    }
    let viewer = world.tenant(Role::Viewer);
    let (session, leave) = (world.own.session.to_string(), world.own.leave.to_string());
    let fields = [("session", session.as_str()), ("leave", leave.as_str())];
    let viewer = Visitor::with(bench, &viewer);
    let refused = viewer.send("/operations/revoke", &fields).await;
    assert_eq!(refused.status, 403);
    assert_eq!(pauses(bench).await, 0);
    assert_eq!(bench.engine.standing_leaves().await.unwrap().len(), 3);
    let nothing = Visitor::with(bench, "rct_x").open("/operations").await;
    assert_eq!(nothing.status, 401);
}

#[tokio::test]
async fn switch_is_only_shown_where_it_may_be_used() {
    let world = World::new().await;
    let bench = &world.bench;
    let by = Actor::embedder("root");
    let own = PauseTarget::Session(world.own.session);
    let other = PauseTarget::Session(world.other_agent.session);
    for target in [own, other, PauseTarget::Everything] {
        let paused = bench.engine.pause(target, None, false, by.clone());
        paused.await.unwrap();
    }
    let mixed = [
        Grant::everywhere(Role::Viewer),
        Grant::everywhere(Role::Operator).of_agent("billing"),
    ];
    let page = Visitor::of(bench, person("bob", mixed))
        .open("/operations")
        .await;
    // All three are seen, and one of them may be ended.
    assert_eq!(numbers(&page.text)[4], 3);
    let listed = section(&page.text, "pauses");
    assert_eq!(listed.matches("End the pause").count(), 1);
    let field = format!(r#"name="session" value="{}""#, world.other_agent.session);
    assert!(listed.contains(&field), "{listed}");
    assert!(page.text.contains(r#"value="agent:billing""#));
    assert!(!page.text.contains(r#"value="agent:support""#));
    assert!(!page.text.contains(r#"value="everything""#));
    // An approver of a session may revoke its leave, a viewer may not.
    let leaves = section(&page.text, "leaves");
    assert_eq!(leaves.matches("action=\"./operations/revoke\"").count(), 1);
    assert!(leaves.contains(&world.other_agent.session.to_string()));
}

#[tokio::test]
async fn pause_begins_and_ends_with_a_form() {
    let world = World::new().await;
    let bench = &world.bench;
    let ada = Visitor::of(bench, admin());
    for (fields, shown) in [
        (vec![("target", "everything")], "Everything"),
        (vec![("target", "agent:support")], "Agent support"),
    ] {
        let mut pausing = fields.clone();
        pausing.push(("reason", "the bank is down"));
        let done = ada.submit("/operations/pause", &pausing).await;
        assert_eq!(done.status, 303, "{}", done.text);
        let location = done.headers["location"].to_str().unwrap();
        assert_eq!(location, "../operations");
        let page = ada.open("/operations").await.text;
        let listed = words(section(&page, "pauses")).join(" ");
        assert!(listed.contains(shown), "{listed}");
        assert!(listed.contains("the bank is down"), "{listed}");
        assert!(listed.contains("paused by root"), "{listed}");
        let recorded = bench.engine.ledger().pauses().await.unwrap().remove(0);
        assert_eq!(recorded.pause.by, Actor::token("root"));
        let mut ending = fields;
        ending.push(("reason", ""));
        let done = ada.submit("/operations/unpause", &ending).await;
        assert_eq!(done.status, 303, "{}", done.text);
        assert_eq!(pauses(bench).await, 0);
    }
}

#[tokio::test]
async fn session_and_tool_are_paused_by_their_names() {
    let world = World::new().await;
    let (bench, session) = (&world.bench, world.own.session.to_string());
    let tenant = world.tenant(Role::Operator);
    let tenant = Visitor::with(bench, &tenant);
    let tool = [("session", session.as_str()), ("tool", "refund")];
    let done = tenant.send("/operations/pause", &tool).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let all = [("session", session.as_str()), ("cancel_running", "yes")];
    let done = tenant.send("/operations/pause", &all).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let page = tenant.open("/operations").await.text;
    let listed = words(section(&page, "pauses")).join(" ");
    assert!(listed.contains("Tool refund of session"), "{listed}");
    assert!(listed.contains("All calls of session"), "{listed}");
    // The claimed call was cancelled with the pause.
    assert_eq!(numbers(&page)[3], 0);
    let done = tenant.send("/operations/unpause", &tool).await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(pauses(bench).await, 1);
    // A foreign session is unknown, and so is one that does not exist.
    for id in [
        world.other_tenant.session,
        SessionId(uuid::Uuid::from_u128(7)),
    ] {
        let id = id.to_string();
        let refused = tenant.send("/operations/pause", &[("session", &id)]).await;
        assert_eq!(refused.status, 404, "{}", refused.text);
    }
    for odd in [
        vec![("target", "all")],
        vec![("tool", "refund")],
        vec![("target", "everything"), ("session", &session)],
        vec![("session", "x")],
        vec![],
    ] {
        let refused = tenant.send("/operations/pause", &odd).await;
        assert_eq!(refused.status, 422, "{odd:?}");
    }
}

#[tokio::test]
async fn leave_is_revoked_with_a_form() {
    let world = World::new().await;
    let bench = &world.bench;
    let ada = Visitor::of(bench, admin());
    let (session, leave) = (world.own.session.to_string(), world.own.leave.to_string());
    let mut fields = vec![("session", session.as_str()), ("leave", leave.as_str())];
    fields.push(("reason", "end of the shift"));
    let done = ada.submit("/operations/revoke", &fields).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let page = ada.open("/operations").await.text;
    assert_eq!(numbers(&page)[5], 2);
    let again = ada.submit("/operations/revoke", &fields).await;
    assert_eq!(again.status, 409, "{}", again.text);
}

#[tokio::test]
async fn form_without_its_token_changes_nothing() {
    let world = World::new().await;
    let bench = &world.bench;
    let ada = Visitor::of(bench, admin());
    let (session, leave) = (world.own.session.to_string(), world.own.leave.to_string());
    let forms: [(&str, Vec<(&str, &str)>); 3] = [
        ("/operations/pause", vec![("target", "everything")]),
        ("/operations/unpause", vec![("target", "everything")]),
        (
            "/operations/revoke",
            vec![("session", &session), ("leave", &leave)],
        ),
    ];
    for (path, fields) in &forms {
        assert_eq!(ada.send(path, fields).await.status, 403, "{path}");
        let mut wrong = fields.clone();
        wrong.push(("csrf", "x"));
        assert_eq!(ada.send(path, &wrong).await.status, 403, "{path}");
    }
    assert_eq!(pauses(bench).await, 0);
    assert_eq!(bench.engine.standing_leaves().await.unwrap().len(), 3);
}

#[tokio::test]
async fn texts_of_people_have_no_effect_on_the_page() {
    let odd = "<script>alert(1)</script>\u{202e}\u{1b}[31m\"";
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let agent = || Agent::new().model("none").strict();
    let engine = Engine::in_memory().agent(odd, agent().tools(T::confirm(pay, odd)));
    let bench = Bench::over(engine.open().await.unwrap());
    let handle = bench.engine.session(odd).external_id(odd).open().await;
    let handle = handle.unwrap();
    let by = || Actor::embedder(odd);
    let call = handle.begin_call("pay", Json::empty_object(), "k", by());
    call.await.unwrap();
    let ada = Visitor::of(&bench, person(odd, [Grant::everywhere(Role::Admin)]));
    let target = format!("agent:{odd}");
    let fields = [("target", target.as_str()), ("reason", odd)];
    let done = ada.submit("/operations/pause", &fields).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let page = ada.open("/operations").await.text;
    assert!(!page.contains("<script>alert"), "{page}");
    // The values of fields have the exact name, and are not shown.
    let shown = words(&page).join(" ");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_eq!(numbers(&page)[..2], [1, 1]);
    // The hidden field has the exact name, so the pause can be ended.
    let done = ada.submit("/operations/unpause", &fields[..1]).await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(pauses(&bench).await, 0);
}

#[tokio::test]
async fn interrupted_call_leads_to_its_card() {
    let clock = HandClock::new();
    let pay = T::in_doubt(
        T::client("pay", "Pays", json!({"type": "object"})),
        InDoubt::Ask,
    );
    let agent = Agent::new().model("none").strict().tools(pay);
    let engine = Engine::in_memory()
        .clock(clock.clone())
        .agent("shop", agent);
    let engine = engine.open().await.unwrap();
    let bench = Bench::with(engine, |access| access.with_clock(clock.clone()));
    let handle = bench.engine.session("shop").open().await.unwrap();
    let session = handle.session_id();
    let by = || Actor::embedder("shop");
    let begun = handle.begin_call("pay", Json::empty_object(), "k1", by());
    let call = begun.await.unwrap().call;
    let worker = bench.token("worker-7", &[Grant::everywhere(Role::Client)]);
    let claim = json!({"claim": "c1", "lease_ms": 60_000, "wait": 5});
    let claimed = bench.post(&worker, "/v1/claims", &claim).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    clock.forward_ms(30_000);
    let ada = Visitor::of(&bench, admin());
    let page = ada.open("/operations").await.text;
    let row = &rows(&page, "claims")[0];
    let cells: Vec<&str> = row.iter().map(String::as_str).collect();
    assert_eq!(cells[..3], ["worker-7", "pay", "shop"]);
    assert_eq!(cells[4..], ["30 s ago", "in 30 s", "c1"]);
    assert_eq!(numbers(&page)[..4], [1, 0, 0, 1]);
    let mut updates = handle.subscribe();
    clock.forward_ms(31_000);
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    assert!(asked.await.is_some());
    let page = ada.open("/operations").await.text;
    assert_eq!(numbers(&page)[..4], [1, 1, 1, 0]);
    let card = format!(r#"href="./sessions/{session}/calls/{call}""#);
    assert!(section(&page, "doubts").contains(&card), "{page}");
    assert_eq!(rows(&page, "doubts")[0][..2], ["pay", "shop"]);
}

#[tokio::test]
async fn erasure_is_listed_for_readers_of_everything() {
    let keys = Arc::new(MemoryKeyStore::default());
    let engine = Engine::in_memory().keys(keys);
    let engine = engine.agent("support", Agent::new().sealed());
    let bench = Bench::over(engine.open().await.unwrap());
    let handle = bench.engine.session("support").open().await.unwrap();
    let (session, by) = (handle.session_id(), || Actor::os_user("ada"));
    handle.close("done", by()).await.unwrap();
    let ledger = bench.engine.ledger();
    let erased = ledger.erase(session, by(), "ticket <17>", Timestamp(1));
    erased.await.unwrap();
    let page = Visitor::of(&bench, admin()).open("/operations").await.text;
    let row = &rows(&page, "erasures")[0];
    let link = format!(r#"href="./sessions/{session}""#);
    assert!(section(&page, "erasures").contains(&link), "{page}");
    assert_eq!(row[2..4], ["ada", "ticket &lt;17&gt;"]);
    let support = Grant::everywhere(Role::Operator).of_agent("support");
    let narrow = Visitor::of(&bench, person("bob", [support]));
    let page = narrow.open("/operations").await.text;
    assert!(!page.contains("ticket") && !page.contains(&session.to_string()));
}

#[tokio::test]
async fn session_without_its_agent_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    let engine = agents(Engine::builder(&journal)).open().await.unwrap();
    engine.session("billing").open().await.unwrap();
    engine.shutdown(std::time::Duration::ZERO).await.unwrap();
    let engine = Engine::builder(&journal).agent("support", Agent::new());
    let bench = Bench::over(engine.open().await.unwrap());
    let page = Visitor::of(&bench, admin()).open("/operations").await.text;
    let runners = rows(&page, "runners");
    assert_eq!(runners[0], ["billing", "not in this process", "1", "0"]);
    assert_eq!(runners[1], ["support", "in this process", "0", "0"]);
    let health = words(section(&page, "health")).join(" ");
    assert!(health.contains("stay free"), "{health}");
}

#[tokio::test]
async fn draining_service_says_so_and_takes_no_form() {
    let bench = Bench::over(engine().await);
    let ada = Visitor::of(&bench, admin());
    let page = ada.open("/operations").await.text;
    assert!(!page.contains("shutting down"));
    bench.service.drain();
    let page = ada.open("/operations").await.text;
    assert!(page.contains("The service is shutting down."));
    let refused = ada.submit("/operations/pause", &[("target", "everything")]);
    assert_eq!(refused.await.status, 503);
}

#[tokio::test]
async fn dead_letter_is_sent_again_and_discarded() {
    let (bench, notifier, _directory) = crate::sinks::bench().await;
    let ada = Visitor::of(&bench, admin());
    let page = ada.open("/operations").await.text;
    let shown = rows(&page, "sinks");
    let cells: Vec<&str> = shown[0].iter().map(String::as_str).collect();
    assert_eq!(cells[..6], ["ops", "command", "names", "0", "1", "0"]);
    assert!(cells[7].starts_with("fails since"), "{cells:?}");
    let (_, letters) = section(&page, "sinks").split_once("Dead letters").unwrap();
    assert!(letters.contains("asked"), "{letters}");
    let letter = letters.split(r#"name="letter" value=""#).nth(1).unwrap();
    let letter = letter.split('"').next().unwrap();
    let fields = [("sink", "ops"), ("letter", letter)];
    for path in ["/operations/retry-letter", "/operations/discard-letter"] {
        assert_eq!(ada.send(path, &fields).await.status, 403, "{path}");
        let support = Grant::everywhere(Role::Operator).of_agent("support");
        let narrow = bench.token("bob", &[support]);
        let narrow = Visitor::with(&bench, &narrow);
        assert_eq!(narrow.send(path, &fields).await.status, 403, "{path}");
        let page = narrow.open("/operations").await.text;
        assert!(!page.contains(r#"id="sinks""#));
    }
    let discarded = ada.submit("/operations/discard-letter", &fields).await;
    assert_eq!(discarded.status, 303, "{}", discarded.text);
    assert!(notifier.sinks().await.unwrap()[0].dead_letters.is_empty());
    let gone = ada.submit("/operations/retry-letter", &fields).await;
    assert_eq!(gone.status, 404, "{}", gone.text);
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn stream_has_the_changes_of_the_page_alone() {
    let world = World::new().await;
    let bench = &world.bench;
    let by = || Actor::embedder("root");
    let billing = Grant::everywhere(Role::Operator).of_agent("billing");
    let token = bench.token("bob", &[billing]);
    let position = bench.engine.ledger().journal().position().await.unwrap();
    let path = format!("/live?page=operations&after={position}");
    let mut stream = bench.stream(&token, &path).await;
    assert_eq!(stream.status, 200);
    let pause = async |agent: &str| {
        let target = PauseTarget::Agent(agent.to_owned());
        bench.engine.pause(target, None, false, by()).await.unwrap();
        bench.engine.ledger().journal().position().await.unwrap()
    };
    // The pause of another agent is not its business, nor are its sessions.
    pause("support").await;
    let after = pause("billing").await;
    let changed = stream.next().await.unwrap();
    assert_eq!(
        (changed.name.as_str(), changed.id),
        ("changed", Some(after))
    );
    for odd in ["page=inbox", "page=operations&session=x"] {
        let bob = Visitor::with(bench, &token);
        let refused = bob.open(&format!("/live?{odd}")).await;
        assert_eq!(refused.status, 422, "{odd}");
    }
}
