//! Exports without what a file names: they verify like the whole one, and nothing of it is left.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::Bench;

/// A bench with a journal of one session in which a bill was paid.
fn bench() -> Bench {
    let bench = Bench::new();
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("fixtures/journals/rules-1/approved.jsonl");
    let text = fs::read(file).unwrap();
    recount::ledger::import(&text[..], bench.path("journal"), None).unwrap();
    bench
}

/// Exports by the file `rules`, and returns what was said on standard error.
fn redacts(bench: &Bench, out: &str) -> String {
    let run = bench.run(&format!("export journal --redact rules --out {out}"));
    assert_eq!(run.code, 0, "{}", run.err);
    run.err
}

#[test]
fn redacted_export_verifies_with_the_root_of_the_whole_one() {
    let bench = bench();
    bench.run("export journal --out whole.jsonl").ends_with(0);
    bench.write(
        "rules",
        "# what was said, and what came of it\n/text\n/response\n",
    );
    let told = redacts(&bench, "redacted.jsonl");
    assert!(told.contains("note: redacted in"), "{told}");
    let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    let (whole, redacted) = (read("whole.jsonl"), read("redacted.jsonl"));
    for said in ["settle my bill", "\"paid\":true"] {
        assert!(whole.contains(said) && !redacted.contains(said), "{said}");
    }
    // The approval itself stays as it is.
    let answered = whole
        .lines()
        .find(|it| it.contains("confirmation_answered"));
    assert!(redacted.contains(answered.unwrap()));

    let of = |name: &str| {
        let verify = format!("verify {name} --json");
        bench.run(&verify).ends_with(0).json()
    };
    let (all, some) = (of("whole.jsonl"), of("redacted.jsonl"));
    assert_eq!(all["root"], some["root"]);
    assert_eq!((&all["withheld"], &all["size"]), (&0.into(), &some["size"]));
    assert!(some["withheld"].as_u64().unwrap() >= 3, "{some}");
    bench
        .run("verify redacted.jsonl")
        .ends_with(0)
        .prints(&["are withheld"]);
    bench
        .run("import redacted.jsonl new")
        .fails(1, "partial-export");
    bench
        .run("sessions redacted.jsonl")
        .fails(1, "partial-export");
    assert!(!bench.path("new").exists());

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_export.py");
    let root = all["root"].as_str().unwrap();
    let mut script_run = Command::new("python3");
    script_run
        .arg(script)
        .arg(bench.path("redacted.jsonl"))
        .arg(root);
    if let Ok(run) = script_run.output() {
        let out = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && out.contains("withheld"), "{out}");
    }
}

#[test]
fn altered_remainder_of_a_redacted_export_is_found() {
    let bench = bench();
    bench.write("rules", "/response\n");
    redacts(&bench, "it.jsonl");
    let text = fs::read_to_string(bench.path("it.jsonl")).unwrap();
    let hash = text.split("\"withheld\":{\"hash\":\"").nth(1).unwrap();
    let other = text.replacen(&hash[..8], "00000000", 1);
    bench.write("it.jsonl", &other);
    bench.run("verify it.jsonl").ends_with(4);
}

#[test]
fn redaction_that_names_no_field_is_refused() {
    let bench = bench();
    bench.write("rules", "response\n");
    bench
        .run("export journal --redact rules --out it.jsonl")
        .fails(2, "bad-request");
    assert!(!bench.path("it.jsonl").exists());
    bench.write("rules", "/nowhere\n");
    let told = redacts(&bench, "it.jsonl");
    assert!(told.contains("there is no value at /nowhere"), "{told}");
    let verified = bench.run("verify it.jsonl --json").ends_with(0).json();
    assert_eq!(verified["withheld"], 0);
}
