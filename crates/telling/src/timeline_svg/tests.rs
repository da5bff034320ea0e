//! Pictures of the recorded sessions, of long ones, and of ones with hostile texts.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use recount::journal::Record;
use recount::session::testing::{Toolbox, history, toolbox};
use recount::session::{Event, Fact, Seq, Timestamp};
use serde_json::{Value, json};

use super::calls::Calls;
use super::surroundings::Surroundings;
use super::*;

fn settings(links: &dyn Fn(Seq) -> Option<String>) -> Settings<'_> {
    Settings {
        name: "Timeline of a session",
        links,
        lanes_max: LANES_MAX,
    }
}

fn linked(seq: Seq) -> Option<String> {
    Some(format!("records/{seq}"))
}

/// The recorded journals of `fixtures/journals`.
fn recorded() -> Vec<(String, Vec<Fact>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals");
    let folders = fs::read_dir(root).unwrap().map(|it| it.unwrap().path());
    let files = folders.filter(|it| it.is_dir());
    let files = files.flat_map(|it| fs::read_dir(it).unwrap());
    let mut files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    files.sort();
    let name = |it: &Path| it.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|it| (name(it), facts(it))).collect()
}

fn facts(file: &Path) -> Vec<Fact> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|it| it.starts_with("{\"v\":"));
    let records = lines.map(|it| Record::parse(it.as_bytes()).unwrap());
    // The stream of the journal itself is no session.
    let records = records.filter(|it| !it.session.is_nil());
    let facts = records.map(|it| Fact {
        seq: Seq(it.seq),
        at: Timestamp(it.at_us),
        cause: it.cause.map(Seq),
        event: Event::decode(it.kind, it.body.get()).unwrap(),
    });
    facts.collect()
}

/// The lanes and rows of a session as text: each state with the seqs between which it lasted.
fn outline(facts: &[Fact]) -> String {
    let (mut calls, mut around) = (Calls::default(), Surroundings::default());
    for (at, fact) in facts.iter().enumerate() {
        let is_of_call = calls.apply(at, fact);
        around.apply(at, fact, is_of_call);
    }
    let seq = |at: usize| facts[at].seq.0;
    let end = |at: Option<usize>| at.map_or(String::new(), |at| seq(at).to_string());
    let mut out = String::new();
    for (name, bands) in [("connection", &around.epochs), ("turn", &around.turns)] {
        for band in bands {
            let cut = if band.is_cut { ", cut" } else { "" };
            let _ = writeln!(out, "  {name} {}-{}{cut}", seq(band.from), end(band.to));
        }
    }
    let restarts: Vec<u64> = around.restarts.iter().map(|at| seq(*at)).collect();
    if !restarts.is_empty() {
        let _ = writeln!(out, "  restarts {restarts:?}");
    }
    for lane in calls.lanes() {
        let _ = write!(out, "  {} #{}:", lane.name, lane.call);
        for it in &lane.stretches {
            let class = it.state.class();
            let _ = write!(out, " {class} {}-{}", seq(it.from), end(it.to));
        }
        let marks: Vec<String> = lane
            .marks
            .iter()
            .map(|it| format!("{} {}", seq(it.at), it.kind.class()))
            .collect();
        let outcome = lane.outcome.map_or("open", |it| it.in_words());
        let _ = writeln!(out, " => {outcome}\n      {}", marks.join(", "));
    }
    out
}

#[test]
fn states_of_recorded_calls() {
    let mut all = String::new();
    for (name, facts) in recorded() {
        let _ = writeln!(all, "{name}\n{}", outline(&facts));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn picture_of_an_approval_after_a_restart() {
    let all = recorded();
    let (_, facts) = all
        .iter()
        .find(|(name, _)| name == "every_policy_and_a_restart")
        .unwrap();
    let picture = picture(facts, &settings(&linked));
    // An element a line, so that a difference can be read.
    insta::assert_snapshot!(picture.markup.replace("><", ">\n<"));
}

#[test]
fn every_event_of_a_recorded_session_is_in_its_picture() {
    for (name, facts) in recorded() {
        let picture = picture(&facts, &settings(&linked));
        let document = roxmltree::Document::parse(&picture.markup).unwrap();
        let titles: Vec<&str> = document
            .descendants()
            .filter(|it| it.has_tag_name("title"))
            .filter_map(|it| it.text())
            .collect();
        let (mut shown, mut more) = (0, 0);
        for line in titles.iter().flat_map(|it| it.lines()) {
            if let Some(rest) = line.strip_prefix("and ") {
                more += rest.split(' ').next().unwrap().parse::<usize>().unwrap();
            } else if line.contains(" #") && line.as_bytes()[2] == b':' {
                shown += 1;
            }
        }
        // An event about several calls has a mark in each lane.
        assert!(shown + more >= facts.len(), "{name}: {shown} + {more}");
    }
}

#[test]
fn picture_has_no_style_and_no_script() {
    for (name, facts) in recorded() {
        let markup = picture(&facts, &settings(&linked)).markup;
        for forbidden in [" style=", "<style", "<script", "url(", " on", "javascript:"] {
            let tags = markup.split('<').map(|it| it.split('>').next().unwrap());
            let found = tags.map(|it| format!("<{it}")).any(|tag| {
                // A sentence may have these words; the names of attributes may not.
                let outside: String = tag.split('"').step_by(2).collect();
                outside.contains(forbidden)
            });
            assert!(!found, "{forbidden} in {name}");
        }
        assert!(
            !markup.contains("style=") && !markup.contains("<script"),
            "{name}"
        );
    }
}

/// A session with this number of calls of a tool, each with eight events.
fn busy(calls: usize) -> Vec<Fact> {
    let tools: Toolbox = toolbox().plain("pay");
    let mut history = history().opened("support").attached(&tools).connected();
    for call in 0..calls {
        let id = format!("c{call}");
        history = history.call(&id, "pay", json!({"n": call})).started();
        history = history.returned(json!({"paid": true})).sent().later(250);
    }
    history.facts().to_vec()
}

#[test]
fn lanes_are_bounded_and_the_rest_is_counted() {
    let facts = busy(700);
    assert!(facts.len() >= 4_000, "{}", facts.len());
    let picture = picture(&facts, &settings(&linked));
    assert_eq!(
        (picture.calls + picture.left_out, picture.left_out > 600),
        (700, true)
    );
    assert!(picture.calls <= LANES_MAX);
    let left_out = format!("Not drawn: {} earlier calls", picture.left_out);
    assert!(picture.markup.contains(&left_out));
    assert!(picture.markup.len() < 400_000, "{}", picture.markup.len());
    // The facts before the picture are another one, with the calls before.
    let start = picture.starts_at.unwrap();
    let earlier: Vec<Fact> = facts.iter().filter(|it| it.seq < start).cloned().collect();
    let before = super::picture(&earlier, &settings(&linked));
    assert_eq!(before.calls + before.left_out, picture.left_out);
    let first = format!(" #{start} calls pay ");
    assert!(picture.markup.contains(&first) && !before.markup.contains(&first));
}

#[test]
fn open_call_keeps_its_lane_among_many() {
    let tools = toolbox().gated("refund").plain("pay");
    let mut history = history().opened("support").attached(&tools).connected();
    history = history.call("r", "refund", json!({"order": 7}));
    for call in 0..100 {
        let id = format!("c{call}");
        history = history.call(&id, "pay", json!({})).started();
        history = history.returned(json!({})).sent().later(250);
    }
    let picture = picture(history.facts(), &settings(&linked));
    assert!(picture.left_out > 0);
    assert!(
        picture.markup.contains(">refund #4</text>"),
        "{}",
        picture.markup
    );
    assert!(picture.markup.contains("refund #4: waiting for approval, "));
    assert!(picture.markup.contains("1 lane at the top began before"));
}

/// A session in which each of these texts is a name, an argument, words or a reason.
fn filled(texts: &[String]) -> Vec<Fact> {
    let mut seq = 0;
    let mut facts = Vec::new();
    let mut add = |kind: &str, body: Value| {
        seq += 1;
        facts.push(Fact {
            seq: Seq(seq),
            at: Timestamp(i64::try_from(seq).unwrap() * 40_000),
            cause: None,
            event: Event::decode(kind, &body.to_string()).unwrap(),
        });
    };
    let by = |name: &str| json!({"name": name, "authenticated_by": "embedder"});
    for text in texts {
        add(
            "session_opened",
            json!({"agent": text, "rules": 1, "program": text}),
        );
        add("connected", json!({"model": text, "endpoint": text}));
        add("user_text_sent", json!({"epoch": 2, "text": text}));
        add("model_output_received", json!({"epoch": 2, "text": text}));
        let args = json!({text.as_str(): text});
        let call = json!({"epoch": 2, "id": text, "name": text, "args": args});
        add("function_call_received", call);
        add(
            "operator_cancelled",
            json!({"call": 5, "reason": text, "by": by(text)}),
        );
        add("session_closed", json!({"reason": text, "by": by(text)}));
    }
    facts
}

fn well_formed(texts: &[String], name: &str) {
    let facts = filled(texts);
    let link = |seq: Seq| Some(format!("/{}?{seq}", texts.concat()));
    let settings = Settings {
        name,
        links: &link,
        lanes_max: 3,
    };
    let markup = picture(&facts, &settings).markup;
    let document = roxmltree::Document::parse(&markup);
    let document = document.unwrap_or_else(|error| unreachable!("{error} in {markup}"));
    let allowed = [
        "a",
        "div",
        "figcaption",
        "figure",
        "g",
        "li",
        "line",
        "path",
        "rect",
        "span",
        "svg",
        "text",
        "title",
        "ul",
    ];
    for element in document.descendants().filter(|it| it.is_element()) {
        let tag = element.tag_name().name();
        assert!(allowed.contains(&tag), "{tag} in {markup}");
        for attribute in element.attributes() {
            let known = "aria-hidden aria-label class d data-at focusable height href role rx \
                         tabindex width x x1 x2 y y1 y2";
            let name = attribute.name();
            assert!(known.split(' ').any(|it| it == name), "{name} in {markup}");
        }
    }
}

#[test]
fn markup_in_every_field_has_no_effect() {
    let evil = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "]]></title><a href='javascript:x'>",
        "\u{1b}[31m\u{202e}\u{0}\u{ffff}\u{fffe}&amp;&#0;",
        "<!--",
    ];
    for text in evil {
        well_formed(&[text.to_owned(), "pay".to_owned()], text);
    }
    let markup = picture(&filled(&["a\u{202e}b".to_owned()]), &settings(&linked)).markup;
    assert!(markup.contains("a\\u{202e}b") && !markup.contains('\u{202e}'));
}

proptest! {
    #[test]
    fn picture_is_well_formed_whatever_the_texts(
        texts in prop::collection::vec(any::<String>(), 0..5),
        name in any::<String>(),
    ) {
        well_formed(&texts, &name);
    }
}
