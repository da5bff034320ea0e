//! The frame of the page: the verdict, its length, its text, hostile content.

use std::collections::BTreeSet;
use std::path::Path;

use recount::session::{Actor, ToolConfirmation};
use recount::testing::toolbox;
use serde_json::json;

use super::kit::{Kept, begun, text};
use crate::disclosure::Disclose;
use crate::report::html;

/// A text that would have an effect on a page, a terminal or the order of letters.
const EVIL: &str = "<script>alert(1)</script>\u{202e}esrever\u{200b}\u{1b}[31m\"'&";

#[test]
fn page_without_checkpoint_does_not_claim_completeness() {
    let kept = Kept::new();
    let page = text(&kept.page());
    assert!(page.contains("Consistent, not anchored."), "{page}");
    assert!(page.contains("Completeness is not shown."), "{page}");
    assert!(
        page.contains("The journal has no signed checkpoint."),
        "{page}"
    );
    assert!(page.contains("Signing keys live not stated"), "{page}");
    assert!(!page.contains("Sound"), "{page}");
}

#[test]
fn checkpoint_on_record_alone_is_no_anchor() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("look");
    kept.keep(&begun(&tools), &tools);
    kept.checkpoint();
    let page = text(&kept.page());
    assert!(page.contains("Completeness is not shown."), "{page}");
    assert!(
        page.contains("the latest covers the first 3 records"),
        "{page}"
    );
    assert!(!page.contains("Sound"), "{page}");
}

#[test]
fn checkpoint_from_outside_is_an_anchor() {
    let mut kept = Kept::new();
    let tools = toolbox().plain("look");
    kept.keep(&begun(&tools), &tools);
    let outside = kept.checkpoint();
    kept.keep(&begun(&tools), &tools);
    let mut contents = kept.contents(Disclose::All);
    assert!(contents.anchor(&outside, &kept.leaves()));
    contents.statements.keys_live = Some("in a device of the notary".to_owned());
    let page = text(&html(&contents));
    assert!(
        page.contains("Sound, anchored to the checkpoint of 3 records."),
        "{page}"
    );
    assert!(
        page.contains("as the operator states: in a device of the notary"),
        "{page}"
    );
    assert!(!page.contains("Completeness is not shown."), "{page}");

    // A checkpoint of another journal is none.
    let mut other = Kept::new();
    let billing = recount::testing::history().opened("billing");
    other.keep(&billing.attached(&tools).connected(), &tools);
    let mut contents = other.contents(Disclose::All);
    assert!(!contents.anchor(&outside, &other.leaves()));
    assert!(text(&html(&contents)).contains("Consistent, not anchored."));
}

#[test]
fn hostile_content_has_no_effect() {
    let mut kept = Kept::new();
    let tools = toolbox().gated("pay");
    let yes = ToolConfirmation::confirmed().with_reason(EVIL);
    let told = recount::testing::history()
        .opened(EVIL)
        .attached(&tools)
        .connected();
    let told = told.call("c1", "pay", json!({"to": EVIL, EVIL: 1}));
    let told = told.answered_by(Actor::token(EVIL), yes);
    kept.keep(
        &told.returned(json!({})).call("c2", EVIL, json!({})),
        &tools,
    );
    let mut contents = kept.contents(Disclose::All);
    contents.statements.keys_live = Some(EVIL.to_owned());
    contents.statements.journal = Some(EVIL.to_owned());
    contents.request.written_by.program = EVIL.to_owned();
    let page = html(&contents);
    assert!(
        !page.contains("<script"),
        "a tag of the content is in the page"
    );
    assert!(
        !page.contains(['\u{202e}', '\u{200b}', '\u{1b}']),
        "an unseen character is in it"
    );
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;<span class=\"unseen\""));
}

#[test]
fn page_refers_to_nothing_outside_of_the_bundle() {
    let page = Kept::new().page();
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("default-src 'none'"));
    for outside in [
        "<script",
        "<img",
        "<link",
        "src=",
        "url(",
        "@import",
        "http-equiv=\"refresh",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    let links = page.split("href=\"").skip(1);
    for link in links.map(|it| it.split('"').next().unwrap()) {
        let id = link
            .strip_prefix('#')
            .unwrap_or_else(|| unreachable!("{link}"));
        assert!(page.contains(&format!("id=\"{id}\"")), "no section {id}");
    }
}

#[test]
fn page_never_claims_to_fulfil_a_clause() {
    let mut kept = Kept::new();
    let tools = toolbox().gated("pay");
    kept.keep(
        &begun(&tools).call("c1", "pay", json!({})).granted("ada"),
        &tools,
    );
    let page = kept.page().to_lowercase();
    for word in ["compliant", "certified", "satisfies", "fulfils"] {
        assert!(!page.contains(word), "{word}");
    }
    let ids: BTreeSet<&str> = page.split("<section id=\"").skip(1).collect();
    assert_eq!(ids.len(), 15);
}

/// Ten thousand approvals are rows of one table.
#[test]
fn page_of_many_approvals_stays_small_and_whole() {
    let mut kept = Kept::new();
    let tools = toolbox().gated("pay");
    let told = begun(&tools)
        .call("c1", "pay", json!({"cents": 4200}))
        .granted("ada");
    kept.keep(&told.returned(json!({})), &tools);
    let mut contents = kept.contents(Disclose::All);
    let call = contents.sessions[0].calls[0].clone();
    contents.sessions[0].calls = vec![call; 10_000];
    let page = html(&contents);
    assert!(page.len() < 12_000_000, "{} bytes", page.len());
    assert!(!page.contains("<article>"));
    let shown = text(&page);
    assert!(shown.contains("10,000 approvals, one a row."));
    assert!(shown.contains("All 10,000 10,000"));
}

/// The pages of the documentation make no such claim, either.
#[test]
fn documentation_never_claims_to_fulfil_a_clause() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files += 1;
                assert!(
                    !text.to_lowercase().contains("compliant"),
                    "{}",
                    path.display()
                );
            }
        }
    }
    assert!(files > 30, "{files} files");
}

#[test]
fn decisions_repeat_only_from_a_bundle_with_all_content() {
    let kept = Kept::new();
    let mut contents = kept.contents(Disclose::All);
    let whole = "This command makes every decision again";
    assert!(html(&contents).contains(whole));
    contents.request.redacted = vec!["/reason".to_owned()];
    assert!(!html(&contents).contains(whole));
    assert!(!html(&kept.contents(Disclose::Approvals)).contains(whole));
}
