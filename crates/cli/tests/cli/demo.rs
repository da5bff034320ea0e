//! The demo holds what it promises, whatever is answered, and replaces nothing but itself.

use std::fs;

use crate::program::Bench;

#[test]
fn an_approved_refund_runs_once_although_its_process_was_killed() {
    let bench = Bench::new();
    let run = bench.run("demo --approve").ends_with(0).says(&[
        "SIGKILL for process",
        "✓ the refund ran once: 1 start on record, 1 line in refunds.txt",
        "✓ the model was told the other two as conversation on the new one",
        "4 executions, 1 restart, verified, replayed",
        "log recount-demo ",
    ]);
    assert!(
        !run.out.contains('✗') && !run.out.contains('\u{1b}'),
        "{run:#?}"
    );
    let wide = |line: &&str| line.chars().count() > 80 && !line.contains("/recount ");
    assert_eq!(
        run.out.lines().find(wide),
        None,
        "nothing is wider than 80 columns"
    );
    let witness = fs::read_to_string(bench.path("recount-demo/refunds.txt")).unwrap();
    assert_eq!(witness.lines().count(), 1);
    assert!(
        witness.starts_with("refunded order=1001 cents=4200 key="),
        "{witness}"
    );
}

#[test]
fn a_denied_refund_never_runs_and_the_model_is_told_why() {
    let bench = Bench::new();
    bench.run("demo --deny --journal d").ends_with(0).says(&[
        "✓ the refund never ran: 0 starts on record, 0 lines in refunds.txt",
        "3 executions, 1 restart, verified, replayed",
    ]);
    assert!(!bench.path("d/refunds.txt").exists());
    let session = bench.session("d");
    bench
        .run(&format!("log d {session}"))
        .ends_with(0)
        .says(&["refund ends: denied (as conversation)"]);
}

#[test]
fn without_a_terminal_it_says_what_it_chose() {
    let bench = Bench::new();
    bench
        .run("demo")
        .ends_with(0)
        .says(&["no terminal to ask on, so it is approved"]);
}

#[test]
fn a_second_run_replaces_the_first() {
    let bench = Bench::with_demo();
    let first = bench.session("demo");
    // As a demo leaves it that was killed itself.
    bench.write("demo/CONTROL", "{}");
    bench.write("demo/CONTROL.token", "");
    bench.run("demo --deny --journal demo").ends_with(0);
    assert_ne!(bench.session("demo"), first);
}

#[test]
fn a_demo_whose_index_was_damaged_is_replaced_too() {
    let bench = Bench::with_demo();
    for file in fs::read_dir(bench.path("demo/sled")).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            fs::write(file, "no index").unwrap();
        }
    }
    bench.run("demo --approve --journal demo").ends_with(0);
    let aside = |name: &str| name.starts_with("sled.");
    let names = fs::read_dir(bench.path("demo")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| aside(name)).count(), 0);
}

#[test]
fn a_directory_that_is_not_the_demos_is_left_alone() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    bench
        .run("demo --approve --journal mine")
        .fails(3, "not-the-demos")
        .complains(&["letter.txt", "--journal"]);
    assert_eq!(
        fs::read_to_string(bench.path("mine/letter.txt")).unwrap(),
        "dear"
    );
    assert_eq!(fs::read_dir(bench.path("mine")).unwrap().count(), 1);
}

#[test]
fn a_demos_directory_that_holds_something_else_too_is_left_alone() {
    let bench = Bench::with_demo();
    bench.write("demo/letter.txt", "dear");
    bench
        .run("demo --approve --journal demo")
        .fails(3, "not-the-demos")
        .complains(&["letter.txt"]);
    bench.run("verify demo").ends_with(0);
}

#[test]
fn a_journal_that_is_not_the_demos_is_left_alone() {
    let bench = Bench::with_demo();
    fs::remove_file(bench.path("demo/RECOUNT-DEMO")).unwrap();
    fs::remove_file(bench.path("demo/refunds.txt")).unwrap();
    bench
        .run("demo --approve --journal demo")
        .fails(3, "not-the-demos")
        .complains(&["one without RECOUNT-DEMO"]);
    bench.run("verify demo").ends_with(0);
}
