//! What `recount diff` says of two sessions.

use std::fs;

use crate::program::Bench;

/// A journal of one story of the corpus.
fn imported(bench: &Bench, story: &str) {
    let file = format!(
        "{}/fixtures/journals/rules-1/{story}.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::copy(file, bench.path(&format!("{story}.jsonl"))).unwrap();
    bench
        .run(&format!("import {story}.jsonl {story}"))
        .ends_with(0);
}

#[test]
fn two_runs_of_one_conversation_are_the_same_whatever_their_times_and_ids() {
    let bench = Bench::new();
    bench.run("demo --approve --journal first").ends_with(0);
    bench.run("demo --approve --journal second").ends_with(0);
    bench
        .run("diff first second")
        .ends_with(0)
        .says(&["The same: ", " turns, ", " calls"]);
    let (first, second) = (bench.session("first"), bench.session("second"));
    let both = format!("diff first:{first} second:{} --json", &second[..8]);
    let told = bench.run(&both).ends_with(0).json();
    assert_eq!(
        (&told["same"], &told["differences"]),
        (&true.into(), &0.into())
    );
    assert!(told["calls"]["a"].as_u64() > Some(1), "{told}");
    bench.run("diff first second --exact").ends_with(5);
    bench.run(&format!("diff first {first}")).ends_with(0);
}

#[test]
fn where_a_person_says_no_the_stories_part() {
    let bench = Bench::new();
    imported(&bench, "approved");
    imported(&bench, "denied");
    let told = bench.run("diff approved denied").ends_with(5);
    insta::assert_snapshot!("an_approval_beside_a_denial", told.out);
    let lines = bench
        .run("diff approved denied --json")
        .ends_with(5)
        .json_lines();
    let (last, found) = lines.split_last().unwrap();
    assert_eq!(last["differences"], found.len());
    let kinds: Vec<&str> = found
        .iter()
        .filter_map(|it| it["difference"].as_str())
        .collect();
    assert!(kinds.contains(&"decision_changed"), "{kinds:?}");
}

#[test]
fn what_names_no_session_is_told_with_what_would() {
    let bench = Bench::new();
    imported(&bench, "approved");
    bench
        .run("diff nothing nowhere")
        .fails(2, "not-a-session")
        .complains(&["JOURNAL:SESSION", "nothing"]);
    bench
        .run("diff nowhere:0190 approved")
        .fails(1, "no-journal");
    bench.run("diff approved 0f0f").fails(1, "unknown-session");
}
