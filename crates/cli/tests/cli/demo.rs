//! The demo keeps its promises with every answer, and replaces only directories of its own.

use std::fs;

use crate::program::Bench;

#[test]
fn an_approved_refund_runs_once_although_its_process_was_killed() {
    let bench = Bench::new();
    let run = bench.run("demo --approve").ends_with(0).prints(&[
        "SIGKILL for process",
        "✓ the refund ran once: 1 start recorded, 1 line in refunds.txt",
        "✓ the model got the other two as text on the new connection",
        "4 executions, 1 restart, consistent, not anchored, replayed",
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
fn denied_refund_never_runs() {
    let bench = Bench::new();
    bench.run("demo --deny --journal d").ends_with(0).prints(&[
        "✓ the refund never ran: 0 starts recorded, 0 lines in refunds.txt",
        "3 executions, 1 restart, consistent, not anchored, replayed",
    ]);
    assert!(!bench.path("d/refunds.txt").exists());
    let session = bench.session("d");
    bench
        .run(&format!("log d {session}"))
        .ends_with(0)
        .prints(&["refund ended: denied (sent as text)"]);
}

#[test]
fn demo_without_a_terminal_shows_its_choice() {
    let bench = Bench::new();
    bench
        .run("demo")
        .ends_with(0)
        .prints(&["because there is no terminal to ask on"]);
}

#[test]
fn a_second_run_replaces_the_first() {
    let bench = Bench::with_demo();
    let first = bench.session("demo");
    // The files that a killed demo leaves.
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
fn other_directory_is_not_replaced() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    bench
        .run("demo --approve --journal mine")
        .fails(3, "not-the-demos")
        .prints_error(&["letter.txt", "--journal"]);
    assert_eq!(
        fs::read_to_string(bench.path("mine/letter.txt")).unwrap(),
        "dear"
    );
    assert_eq!(fs::read_dir(bench.path("mine")).unwrap().count(), 1);
}

#[test]
fn demo_directory_with_another_file_is_not_replaced() {
    let bench = Bench::with_demo();
    bench.write("demo/letter.txt", "dear");
    bench
        .run("demo --approve --journal demo")
        .fails(3, "not-the-demos")
        .prints_error(&["letter.txt"]);
    bench.run("verify demo").ends_with(0);
}

#[test]
fn other_journal_is_not_replaced() {
    let bench = Bench::with_demo();
    fs::remove_file(bench.path("demo/RECOUNT-DEMO")).unwrap();
    fs::remove_file(bench.path("demo/refunds.txt")).unwrap();
    bench
        .run("demo --approve --journal demo")
        .fails(3, "not-the-demos")
        .prints_error(&["one without RECOUNT-DEMO"]);
    bench.run("verify demo").ends_with(0);
}
