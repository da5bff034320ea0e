//! Policies, pauses, erasures, holds, clocks and the scope on the page.

use recount::ledger::{ClockReading, ClockSync, PauseTarget};
use recount::session::{Actor, Command, PauseCommand, SessionId, Timestamp};
use recount::testing::toolbox;
use recount_journal::block_on;
use recount_reads::{Depth, Door, How, Missed, OnRecord, Read, RecordedRead, Switch};
use serde_json::json;
use uuid::Uuid;

use super::kit::{Kept, begun, bob, read, section};
use crate::disclosure::Disclose;

fn has(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "{wanted:?} is missing in: {text}");
}

#[test]
fn change_of_policies_has_its_program_and_difference() {
    let mut kept = Kept::new();
    let (before, after) = (toolbox().plain("pay"), toolbox().gated("pay"));
    kept.keep(&begun(&before), &before);
    kept.keep(&begun(&after).later(1), &after);
    kept.keep(&begun(&after).later(2), &after);
    let shown = section(&kept.page(), "policies");
    has(&shown, "1 change.");
    has(&shown, "Change of agent support");
    has(&shown, "when it attached; approvals are enforced");
    has(&shown, "Difference of the policies:");
    has(&shown, "+ \"confirm\"");
    has(&shown, "Contracts unchanged, contracts/");
}

#[test]
fn withheld_policies_are_known_by_their_hash_alone() {
    let mut kept = Kept::new();
    let (before, after) = (toolbox().plain("pay"), toolbox().gated("pay"));
    kept.keep(&begun(&before), &before);
    kept.keep(&begun(&after), &after);
    let page = crate::report::html(&kept.contents(Disclose::None));
    let shown = section(&page, "policies");
    has(&shown, "The texts are withheld.");
    has(&shown, &after.policies().hash().to_string());
    assert!(!shown.contains("May it pay?"), "{shown}");
}

#[test]
fn sealed_policies_have_no_difference_without_the_key() {
    let mut kept = Kept::new();
    let (before, after) = (toolbox().plain("pay"), toolbox().gated("pay"));
    kept.seal(&begun(&before), &before);
    kept.seal(&begun(&after), &after);
    let ledger = recount::ledger::Ledger::new(kept.journal.clone());
    let contents = read(&ledger, &kept.leaves(), Disclose::All);
    let page = crate::report::html(&contents);
    has(
        &section(&page, "policies"),
        "No program attached to a session in scope.",
    );
    let scope = section(&page, "scope");
    has(&scope, "2 sessions: sealed, no key store given");
    has(&scope, "2 sessions in scope sealed on record");
    has(
        &section(&page, "population"),
        "2 not readable here + 0 read 2",
    );
}

#[test]
fn pauses_of_sessions_and_of_the_journal_name_their_actor() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("pay");
    let pause = PauseCommand {
        tool: Some("pay".to_owned()),
        reason: Some("wrong prices".to_owned()),
        by: bob(),
    };
    kept.keep(&begun(&tools).commanded(Command::Pause(pause)), &tools);
    let reason = Some("the bank is down".to_owned());
    block_on(
        kept.desk()
            .pause(PauseTarget::Everything, reason, false, bob()),
    )
    .unwrap();
    let shown = section(&kept.page(), "pauses");
    has(
        &shown,
        "bob paused the tool \"pay\" in the session: wrong prices",
    );
    has(&shown, "bob paused everything: the bank is down");
    assert_eq!(shown.matches("paused everything").count(), 1, "{shown}");
}

#[test]
fn erasure_says_what_remains() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("pay");
    let told = begun(&tools).closed();
    let session = kept.seal(&told, &tools);
    block_on(kept.desk().erase(session, "ticket 17", bob())).unwrap();
    let page = kept.page();
    let shown = section(&page, "erasures");
    has(
        &shown,
        "bob, user of the operating system; acted as a person ticket 17",
    );
    has(&shown, "What remains is the envelope of each record");
    assert!(!shown.contains("interrupted"), "{shown}");
    has(&section(&page, "scope"), "1 session: sealed, key erased");
}

#[test]
fn hold_has_its_reason_and_its_release() {
    let kept = Kept::new();
    let by = json!({"name": "ada", "authenticated_by": "os_user"});
    let target = json!({"label": {"key": "matter", "value": "17"}});
    kept.note(
        "hold_placed",
        &json!({"target": target, "reason": "counsel", "by": by}),
    );
    kept.note(
        "hold_placed",
        &json!({"target": target, "reason": "again", "by": by}),
    );
    kept.note(
        "hold_released",
        &json!({"hold": 1, "reason": "settled", "by": by}),
    );
    let shown = section(&kept.page(), "erasures");
    has(
        &shown,
        "counsel 1970-01-01 00:00:07.000 UTC by ada: settled, record 3",
    );
    has(&shown, "again in force");
}

#[test]
fn clock_that_was_set_is_an_anomaly() {
    let kept = Kept::new();
    let reading = |wall: i64, monotonic_us: i64| ClockReading {
        wall: Timestamp(wall),
        monotonic_us,
        origin: "boot 1".to_owned(),
        process: Uuid::from_u128(1),
        synchronization: ClockSync::Unknown,
    };
    let ledger = kept.ledger();
    for it in [reading(9_000_000_000, 0), reading(5_400_000_000, 0)] {
        block_on(ledger.observe_clock(&it)).unwrap();
    }
    let shown = section(&kept.page(), "clock");
    has(
        &shown,
        "the clock was set back by 3600 s while a process ran",
    );
    has(&shown, "2 observations, from ");
    has(&shown, "nothing about synchronisation in 2 of them");
    let unknown = section(&Kept::new().page(), "clock");
    has(&unknown, "nothing is known about the clocks");
    assert!(!unknown.contains("No anomaly"), "{unknown}");
}

fn read_of(by: &str, session: u128, status: u16) -> RecordedRead {
    RecordedRead {
        stream: Uuid::nil(),
        seq: 1,
        at: Timestamp(1_763_700_000_000_000),
        read: Read {
            by: Actor::token(by),
            how: How::Token,
            door: Door::Http,
            route: "GET /v1/sessions/{id}/records".to_owned(),
            sessions: vec![SessionId(Uuid::from_u128(session))],
            every_session: false,
            depth: Depth::Bodies,
            status,
        },
        repeats: 2,
        last: Timestamp(1_763_700_060_000_000),
    }
}

#[test]
fn reads_of_sessions_in_scope_are_counted_and_listed() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("pay");
    kept.keep(&begun(&tools), &tools);
    let mut contents = kept.contents(Disclose::All);
    let page = crate::report::html(&contents);
    has(&section(&page, "reads"), "No access journal was given.");
    contents.add_reads(OnRecord {
        reads: vec![
            read_of("ada", 1, 200),
            read_of("eve", 1, 403),
            read_of("bob", 99, 200),
        ],
        missed: vec![Missed {
            reads: 4,
            from: Timestamp(0),
            until: Timestamp(1),
            error: "no space".to_owned(),
        }],
        switches: vec![(Timestamp(5), Switch::Off)],
    });
    let shown = section(&crate::report::html(&contents), "reads");
    has(&shown, "ada 0 3 0 3 eve 0 0 3 3 All 0 3 3 6");
    has(
        &shown,
        "2 more reads, the last 2025-11-21 04:41:00.000 UTC ada, a token of the service",
    );
    has(
        &shown,
        "HTTP API GET /v1/sessions/{id}/records 00000000-0000-0000-0000-000000000001",
    );
    has(&shown, "4 reads missing, from 1970-01-01 00:00:00.000 UTC");
    has(&shown, "configuration switches the record of reads off");
    assert!(!shown.contains("bob"), "{shown}");
}
