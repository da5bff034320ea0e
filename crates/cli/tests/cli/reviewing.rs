//! `recount fixture review`: shows what changed, and accepts it or leaves it.

use std::fs;

use serde_json::{Value, json};

use crate::comparing::imported;
use crate::fixture_terms::{UNGATED, approved_and_denied, configured};
use crate::fixtures::exported;
use crate::program::Bench;

const FILES: [&str; 3] = ["fixture.json", "steps.jsonl", "story.txt"];

/// The three files of a fixture.
fn files(bench: &Bench, fixture: &str) -> [String; 3] {
    FILES.map(|name| fs::read_to_string(bench.path(&format!("{fixture}/{name}"))).unwrap())
}

/// Copies a fixture.
fn copied(bench: &Bench, from: &str, to: &str) {
    fs::create_dir(bench.path(to)).unwrap();
    for file in FILES {
        let from = bench.path(&format!("{from}/{file}"));
        fs::copy(from, bench.path(&format!("{to}/{file}"))).unwrap();
    }
}

#[test]
fn accepted_result_passes_with_and_without_the_configuration() {
    let bench = configured();
    bench.write("policies.toml", UNGATED);
    let review = "fixture review --config recount.toml --accept all fixture";
    bench.run(review).ends_with(0).prints(&[
        "1 of 1: fixture\nThe steps of 1 call changed, and its outcome did not.\n",
        "Steps that can no longer happen, and go if you accept:\n- step ",
        ", confirmation_answered: question 1 was not asked\n",
        "fixture: accepted\n1 accepted, 0 left as they are, 0 as recorded\n",
    ]);
    let [header, steps, story] = files(&bench, "fixture");
    assert!(!steps.contains("confirmation_answered"), "{steps}");
    assert!(story.contains("verdict=allowed"), "{story}");
    assert!(!header.contains("Refund it?"), "{header}");
    bench.run("fixture test fixture").ends_with(0);
    bench
        .run("fixture test --config recount.toml fixture")
        .ends_with(0);
    bench
        .run(review)
        .ends_with(0)
        .prints(&["fixture: as recorded\n"]);
    assert_eq!(files(&bench, "fixture"), [header, steps, story]);
    let entries = fs::read_dir(bench.path("fixture")).unwrap();
    assert_eq!(entries.count(), 3, "no draft is left");
}

#[test]
fn accepted_questions_get_their_new_numbers() {
    let bench = approved_and_denied();
    bench
        .run("fixture review --policy ungated.toml --accept all fixture")
        .ends_with(0);
    let [_, steps, story] = files(&bench, "fixture");
    let answers: Vec<&str> = steps
        .lines()
        .filter(|it| it.contains("confirmation_answered"))
        .collect();
    assert_eq!(answers.len(), 1, "{steps}");
    assert!(
        answers[0].contains(r#""request":1,"confirmed":false"#),
        "{steps}"
    );
    assert!(story.contains("outcome=denied"), "{story}");
    bench.run("fixture test fixture").ends_with(0);
}

#[test]
fn review_without_a_terminal_asks_for_a_choice() {
    let bench = configured();
    bench.write("policies.toml", UNGATED);
    let before = files(&bench, "fixture");
    let review = "fixture review --config recount.toml fixture";
    bench
        .run(review)
        .fails(2, "not-asked")
        .prints_error(&["--accept all", "`recount fixture test`"]);
    let listed = bench.run(&format!("{review} --json")).ends_with(5).json();
    assert_eq!(
        (&listed["as_recorded"], &listed["accepted"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(files(&bench, "fixture"), before);
    let all = bench.run(&format!("{review} --accept all --json"));
    let all = all.ends_with(0).json();
    assert_eq!(
        (&all["as_recorded"], &all["accepted"]),
        (&json!(false), &json!(true))
    );
    let again = bench.run(&format!("{review} --accept all --json"));
    let again = again.ends_with(0).json();
    assert_eq!(
        (&again["as_recorded"], &again["accepted"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn result_that_does_not_repeat_is_not_accepted() {
    let bench = exported();
    let [_, steps, _] = files(&bench, "fixture");
    let end: Value = serde_json::from_str(steps.lines().last().unwrap()).unwrap();
    let lost = json!({
        "at_ms": end["at_ms"], "kind": "connection_lost", "body": {"reason": "gone"},
    });
    bench.write("fixture/steps.jsonl", &format!("{steps}{lost}\n"));
    let before = files(&bench, "fixture");
    bench
        .run("fixture review --accept all fixture")
        .fails(1, "not-repeatable")
        .prints_error(&["nothing was written: Not done: there was no connection to lose"]);
    assert_eq!(files(&bench, "fixture"), before);
}

#[test]
fn fixture_without_a_story_gets_one() {
    let bench = exported();
    let before = files(&bench, "fixture");
    fs::remove_file(bench.path("fixture/story.txt")).unwrap();
    bench
        .run("fixture review fixture nope --accept all")
        .fails(1, "no-fixture")
        .prints(&[
            "fixture: accepted\n",
            "1 accepted, 0 left as they are, 0 as recorded\n",
        ]);
    assert_eq!(files(&bench, "fixture"), before);
}

/// The stories of the corpus, each with other policies for every tool.
#[test]
fn stories_of_the_corpus_are_accepted_under_other_policies() {
    let bench = Bench::new();
    bench.write("gated.toml", "[defaults]\nconfirm = \"Really?\"\n");
    bench.write("ungated.toml", "[defaults]\nconfirm = false\n");
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/journals");
    let mut stories = Vec::new();
    for rules in ["rules-1", "rules-2"] {
        for file in fs::read_dir(format!("{corpus}/{rules}")).unwrap() {
            let path = file.unwrap().path();
            stories.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    for story in &stories {
        imported(&bench, story);
        let session = bench.session(story);
        bench
            .run(&format!("fixture export {story} {session} {story}-gated"))
            .ends_with(0);
    }
    let gated: Vec<String> = stories.iter().map(|it| format!("{it}-gated")).collect();
    let played = bench.run(&format!("fixture test --json {}", gated.join(" ")));
    let unusable = |it: &&Value| it["error"].is_object();
    let played = played.json_lines();
    for it in played.iter().filter(unusable) {
        // Code of a program decided in it.
        assert_eq!(it["error"]["code"], "needs-program", "{it}");
    }
    let usable = played.iter().filter(|it| !unusable(it));
    let gated: Vec<&str> = usable.map(|it| it["fixture"].as_str().unwrap()).collect();
    assert!(gated.len() > 20, "{gated:?}");
    let ungated = gated.iter().map(|it| it.replace("-gated", "-ungated"));
    let ungated: Vec<String> = ungated.collect();
    for (from, to) in gated.iter().zip(&ungated) {
        copied(&bench, from, to);
    }
    for (policy, all) in [("gated", gated.join(" ")), ("ungated", ungated.join(" "))] {
        let review = format!("fixture review --policy {policy}.toml --accept all {all}");
        bench.run(&review).ends_with(0);
        bench.run(&format!("fixture test {all}")).ends_with(0);
    }
}

/// A fixture that a program recorded has the frames to the model, too.
#[test]
fn accepted_fixture_has_the_frames_that_are_sent_now() {
    let bench = Bench::new();
    bench.write("ungated.toml", UNGATED);
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/conversations/refund"
    );
    fs::create_dir(bench.path("fixture")).unwrap();
    for file in FILES {
        fs::copy(
            format!("{recorded}/{file}"),
            bench.path(&format!("fixture/{file}")),
        )
        .unwrap();
    }
    let [_, steps, _] = files(&bench, "fixture");
    // One frame is sent less without the question.
    copied(&bench, "fixture", "less");
    let review = "fixture review --policy ungated.toml --accept all less";
    bench.run(review).ends_with(0);
    bench.run("fixture test less").ends_with(0);
    let [_, less, _] = files(&bench, "less");
    let sent = |steps: &str| steps.matches(r#""kind":"frame_out""#).count();
    assert_eq!((sent(&steps), sent(&less)), (4, 3), "{less}");
    // One frame more is sent than this one has.
    let without = steps
        .lines()
        .filter(|it| !it.contains("awaiting_confirmation"));
    let without: String = without.map(|it| format!("{it}\n")).collect();
    bench.write("fixture/steps.jsonl", &without);
    bench.run("fixture test fixture").ends_with(5);
    bench
        .run("fixture review --accept all fixture")
        .ends_with(0);
    bench.run("fixture test fixture").ends_with(0);
    let [_, more, _] = files(&bench, "fixture");
    assert_eq!((sent(&without), sent(&more)), (3, 4), "{more}");
}

#[cfg(target_os = "linux")]
#[test]
fn person_accepts_skips_and_quits_at_a_terminal() {
    let bench = approved_and_denied();
    for name in ["second", "third", "fourth"] {
        copied(&bench, "fixture", name);
    }
    let before = files(&bench, "fixture");
    let review = "fixture review --policy ungated.toml fixture second third fourth";
    let mut terminal = crate::terminal::Terminal::start(&bench, review);
    let asks = "[a]ccept, [s]kip or [q]uit? ";
    let shown = terminal.until(asks);
    assert!(shown.contains("1 of 4: fixture"), "{shown}");
    assert!(shown.contains("question 1 was not asked"), "{shown}");
    terminal.types("s\n");
    let shown = terminal.until(asks);
    assert!(shown.contains("fixture: skipped"), "{shown}");
    assert!(shown.contains("2 of 4: second"), "{shown}");
    terminal.types("what\n");
    terminal.until(asks);
    terminal.types("accept\n");
    let shown = terminal.until(asks);
    assert!(shown.contains("second: accepted"), "{shown}");
    terminal.types("q\n");
    terminal.until("1 accepted, 2 left as they are, 0 as recorded, 1 not played");
    assert_eq!(terminal.ends(), Some(5));
    for name in ["fixture", "third", "fourth"] {
        assert_eq!(files(&bench, name), before, "{name}");
    }
    bench.run("fixture test second").ends_with(0);
}
