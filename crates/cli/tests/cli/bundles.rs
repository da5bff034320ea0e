//! Evidence bundles: writing one, and the verdicts about it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::Bench;
use crate::sealing;

/// A bench with the journal of a demo, a key and its public key, and a copy of the checkpoint.
fn signed() -> (Bench, String) {
    let bench = Bench::with_demo();
    let key = bench.run("checkpoint key example.com/journal --out key");
    let public = key.ends_with(0).out.trim().to_owned();
    bench.write("public", &public);
    bench
        .run("checkpoint make demo --key key --out kept")
        .ends_with(0);
    (bench, public)
}

/// The verdict of the script in a bundle, where Python is.
fn without_recount(bench: &Bench, bundle: &str, options: &[&str], code: i32, words: &str) {
    let mut python = Command::new("python3");
    let script = Path::new(bundle).join("verify.py");
    let run = python.arg(script).arg(bundle).args(options);
    let Ok(run) = run.current_dir(bench.path(".")).output() else {
        return;
    };
    let out = String::from_utf8_lossy(&run.stdout);
    if out.contains("No module named 'cryptography'") {
        return;
    }
    assert_eq!(run.status.code(), Some(code), "{out}");
    assert!(out.contains(words), "{out}");
}

#[test]
fn bundle_is_sound_only_with_something_from_elsewhere() {
    let (bench, public) = signed();
    let wrote = bench.run("evidence demo --out bundle --public-key public");
    wrote
        .ends_with(0)
        .prints(&["Wrote bundle: ", "shown whole", "manifest "]);
    let alone = "Consistent bundle, not anchored: 1 session";
    bench.run("verify bundle").ends_with(0).prints(&[alone]);
    without_recount(&bench, "bundle", &[], 0, "Consistent bundle, not anchored");
    let anchored = [
        "Sound bundle, anchored to the checkpoint of",
        "signed by example.com/journal; 2 records came later and are only consistent",
    ];
    let command = format!("verify bundle --since kept --public-key {public}");
    bench.run(&command).ends_with(0).prints(&anchored);
    let options = ["--since", "kept", "--public-key", &public];
    without_recount(
        &bench,
        "bundle",
        &options,
        0,
        "signed by example.com/journal",
    );
    // The key that came with the bundle is as good as none.
    let own = fs::read_dir(bench.path("bundle/keys")).unwrap().count();
    assert_eq!(own, 1);
    bench.run("verify bundle --root 00").ends_with(2);
    let root = format!("verify bundle --root {}", "0".repeat(64));
    bench
        .run(&root)
        .ends_with(2)
        .prints_error(&["a bundle takes --since"]);
}

#[test]
fn altered_bundle_is_damaged_for_both_verifiers() {
    let (bench, _) = signed();
    bench.run("evidence demo --out bundle").ends_with(0);
    let page = fs::read_to_string(bench.path("bundle/report.html")).unwrap();
    bench.write("bundle/report.html", &page.replace("html", "htm"));
    bench
        .run("verify bundle")
        .ends_with(4)
        .prints(&["Damaged bundle: 1 finding", "report.html is altered"]);
    without_recount(&bench, "bundle", &[], 4, "report.html");
    let other = bench
        .run("checkpoint key example.com/journal --out other")
        .ends_with(0);
    let other = other.out.trim().to_owned();
    bench.write("bundle/report.html", &page);
    bench
        .run(&format!("verify bundle --public-key {other}"))
        .ends_with(4)
        .prints(&["expected a signature of a known key"]);
    without_recount(
        &bench,
        "bundle",
        &["--public-key", &other],
        4,
        "no given key",
    );
}

#[test]
fn page_says_which_checkpoint_the_journal_continues() {
    let (bench, _) = signed();
    let options = "--checkpoint kept --keys-live vault";
    bench
        .run(&format!("evidence demo --out bundle {options}"))
        .ends_with(0);
    let page = fs::read_to_string(bench.path("bundle/report.html")).unwrap();
    assert!(page.contains("vault"));
    bench.run("demo --deny --journal other").ends_with(0);
    bench
        .run("evidence other --out foreign --checkpoint kept")
        .ends_with(4)
        .prints_error(&["error[other-tree]"]);
    assert!(!bench.path("foreign").exists());
    bench
        .run("evidence demo --out b --checkpoint public")
        .ends_with(2)
        .prints_error(&["error[bad-checkpoint]"]);
}

#[test]
fn zip_file_of_a_sample_is_verified() {
    let (bench, public) = signed();
    let command = "evidence demo --disclose all --sample 2 --seed auditor --out b.zip --json";
    let wrote = bench.run(command).ends_with(0).json();
    assert_eq!(
        (&wrote["calls"], &wrote["sessions"]),
        (&4.into(), &1.into())
    );
    assert!(wrote["disclosed"].as_u64() < wrote["records"].as_u64());
    let verified = format!("verify b.zip --public-key {public} --json");
    let verified = bench.run(&verified).ends_with(0).json();
    assert_eq!(verified["verdict"], "anchored");
    assert_eq!(verified["disclosed"], wrote["disclosed"]);
}

#[test]
fn decisions_are_replayed_from_a_bundle() {
    let (bench, _) = signed();
    bench
        .run("evidence demo --disclose all --out all")
        .ends_with(0);
    let replayed = ["Replay matches the record: 1 session"];
    bench
        .run("replay all/records.jsonl")
        .ends_with(0)
        .prints(&replayed);
    bench.run("evidence demo --out some").ends_with(0);
    bench
        .run("replay some/records.jsonl")
        .ends_with(1)
        .prints_error(&["error[partial-export]"]);
}

#[test]
fn export_gives_the_bundle_of_its_journal() {
    let (bench, _) = signed();
    bench.run("export demo --out demo.jsonl").ends_with(0);
    bench.run("evidence demo --out one.zip").ends_with(0);
    bench.run("evidence demo.jsonl --out two.zip").ends_with(0);
    let of = |name: &str| {
        bench
            .run(&format!("verify {name} --json"))
            .ends_with(0)
            .json()
    };
    // The time of writing differs, and with it the manifest.
    let (mut one, mut two) = (of("one.zip"), of("two.zip"));
    assert!(one["manifest"].take().is_string() && two["manifest"].take().is_string());
    assert_eq!(one, two);
}

#[test]
fn sealed_records_are_shown_as_they_are_stored() {
    let bench = Bench::new();
    drop(sealing::paused(&bench));
    let key = bench
        .run("checkpoint key example.com/journal --out key")
        .ends_with(0);
    bench.run("checkpoint make j --key key").ends_with(0);
    for (options, out) in [("--keys k", "with"), ("", "without")] {
        let command = format!("evidence j --disclose all {options} --out {out}");
        sealing::run(&bench, "a", &command).ends_with(0);
        let records = fs::read_to_string(bench.path(&format!("{out}/records.jsonl"))).unwrap();
        assert!(records.contains("$sealed") && !records.contains("A-17"));
        let verify = format!("verify {out} --public-key {}", key.out.trim());
        bench.run(&verify).ends_with(0).prints(&["Sound bundle"]);
        without_recount(&bench, out, &[], 0, "Consistent bundle");
    }
}

#[test]
fn unfit_options_and_places_are_refused() {
    let (bench, _) = signed();
    fs::create_dir(bench.path("taken")).unwrap();
    bench.write("taken/file", "kept");
    let id = bench.session("demo");
    bench
        .run(&format!("export demo --session {id} --out part.jsonl"))
        .ends_with(0);
    for (command, code, words) in [
        ("evidence demo --out taken", 1, "error[occupied]"),
        (
            "evidence demo --out demo/bundle",
            2,
            "error[within-journal]",
        ),
        ("evidence demo --out b --sample 3", 2, "--seed"),
        (
            "evidence demo --out b --disclose some",
            2,
            "expected none, approvals or all",
        ),
        (
            "evidence demo --out b --disclose none --sample 3 --seed x",
            2,
            "expected --disclose approvals or all",
        ),
        (
            "evidence demo --out b --since 2026-02-01 --until 2026-01-01",
            2,
            "expected --since before --until",
        ),
        (
            "evidence demo --out b --session ffffffff",
            1,
            "error[unknown-session]",
        ),
        ("evidence demo --out b --public-key x", 2, "error[bad-key]"),
        ("evidence nope --out b", 1, "error[no-journal]"),
        ("evidence demo --out -", 2, "ends with .zip for --out"),
        (
            "evidence part.jsonl --out b",
            2,
            "error[partial-export]: expected a journal or an export of a whole journal",
        ),
    ] {
        bench.run(command).ends_with(code).prints_error(&[words]);
    }
    let left: Vec<_> = fs::read_dir(bench.path(".")).unwrap().collect();
    let parts = left.iter().filter(|it| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".part") || name == "b"
    });
    assert_eq!(parts.count(), 0);
}

/// The page names a checkpoint from elsewhere only if the journal continues it.
#[test]
fn page_is_anchored_to_a_checkpoint_that_it_continues() {
    let (bench, _) = signed();
    let page = |bundle: &str| {
        fs::read_to_string(bench.path(bundle).join("report.html")).unwrap_or_default()
    };
    bench.run("evidence demo --out alone").ends_with(0);
    let alone = page("alone");
    assert!(alone.contains("Consistent, not anchored."), "{alone}");
    assert!(alone.contains("Completeness is not shown."), "{alone}");
    let command =
        "evidence demo --out told --checkpoint kept --public-key public --keys-live notary";
    bench.run(command).ends_with(0);
    let told = page("told");
    let sound = "Sound, anchored to the checkpoint of ";
    for words in [
        sound,
        "as the operator states: <bdi>notary</bdi>",
        "<bdi>demo</bdi>",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let kept = fs::read_to_string(bench.path("kept")).unwrap_or_default();
    let root = kept.lines().nth(2).unwrap_or_default();
    bench.write(
        "other",
        &kept.replace(root, &format!("{}=", "A".repeat(43))),
    );
    let unsigned = bench.run("evidence demo --out other-1 --checkpoint other");
    unsigned
        .ends_with(4)
        .prints_error(&["the journal does not begin with the "]);
    let signed = bench.run("evidence demo --out other-2 --checkpoint other --public-key public");
    signed
        .ends_with(4)
        .prints_error(&["error[forged-checkpoint]"]);
    assert!(!bench.path("other-1").exists() && !bench.path("other-2").exists());
}

#[test]
fn redacted_bundle_verifies_without_what_was_taken_out() {
    let (bench, public) = signed();
    bench
        .run("evidence demo --disclose all --out whole")
        .ends_with(0);
    bench.write("rules", "/response\n/text\n/args\n");
    let redacts = bench.run("evidence demo --disclose all --redact rules --out bundle");
    assert_eq!(redacts.code, 0, "{}", redacts.err);
    let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    let names = ["records.jsonl", "report.html", "README.md", "bundle.json"];
    let texts = |bundle: &str| names.map(|it| read(&format!("{bundle}/{it}"))).concat();
    let (whole, redacted) = (texts("whole"), texts("bundle"));
    // What the model, the person and the tool of the demo say.
    let session: Vec<serde_json::Value> = read("whole/records.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: Vec<&str> = session
        .iter()
        .filter_map(|it| it["body"]["text"].as_str())
        .filter(|it| it.len() > 12)
        .collect();
    assert!(said.len() >= 2, "{said:?}");
    for said in said {
        assert!(whole.contains(said) && !redacted.contains(said), "{said}");
    }
    assert!(redacted.contains("Taken out of records"));
    let described: serde_json::Value = serde_json::from_str(&read("bundle/bundle.json")).unwrap();
    assert_eq!(
        described["redacted"],
        serde_json::json!(["/args", "/response", "/text"])
    );

    let verify = format!("verify bundle --since kept --public-key {public}");
    bench
        .run(&verify)
        .ends_with(0)
        .prints(&["Sound bundle, anchored to the checkpoint of"]);
    without_recount(
        &bench,
        "bundle",
        &["--since", "kept", "--public-key", &public],
        0,
        "Sound",
    );
    bench
        .run("replay bundle/records.jsonl")
        .fails(1, "partial-export");
}

#[test]
fn redacted_sample_and_tools_verify() {
    let (bench, _) = signed();
    bench.write("rules", "/program\n/args\n");
    let command = "evidence demo --disclose all --sample 2 --seed auditor --redact rules --out b";
    let redacts = bench.run(command);
    assert_eq!(redacts.code, 0, "{}", redacts.err);
    bench
        .run("verify b")
        .ends_with(0)
        .prints(&["Consistent bundle"]);
    without_recount(&bench, "b", &[], 0, "Consistent bundle");
    let population = fs::read_to_string(bench.path("b/population.jsonl")).unwrap();
    assert!(!population.contains("refund"), "{population}");
    // The records that name them are withheld, so nothing proves what they are.
    assert!(!bench.path("b/policies").exists() && !bench.path("b/contracts").exists());
}

#[test]
fn bundle_without_sessions_says_so() {
    let (bench, _) = signed();
    bench
        .run("evidence demo --agent other --out b")
        .ends_with(0)
        .prints(&["note: no session is in scope"]);
    let wrote = bench.run("evidence demo --out w").ends_with(0).out;
    let manifest = |out: &str| {
        out.lines()
            .find(|it| it.starts_with("manifest "))
            .map(str::to_owned)
    };
    let verified = bench.run("verify w").ends_with(0).out;
    assert!(manifest(&wrote).is_some() && manifest(&wrote) == manifest(&verified));
}

#[test]
fn redacted_names_are_in_no_file_of_a_bundle() {
    let bench = Bench::new();
    let story = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("fixtures/journals/rules-1/approved.jsonl");
    let story = fs::read(story).unwrap();
    recount::ledger::import(&story[..], bench.path("journal"), None).unwrap();
    bench.write("rules", "/by/name\n/agent\n");
    bench
        .run("evidence journal --disclose all --out whole")
        .ends_with(0);
    let redacts = bench.run("evidence journal --disclose all --redact rules --out b");
    assert_eq!(redacts.code, 0, "{}", redacts.err);
    let files = |bundle: &str| {
        ["records.jsonl", "report.html", "README.md", "bundle.json"]
            .map(|it| fs::read_to_string(bench.path(&format!("{bundle}/{it}"))).unwrap())
            .concat()
    };
    let (whole, redacted) = (files("whole"), files("b"));
    // The name of the approver is too short to be looked for within other texts.
    for said in [
        "\"name\":\"ada\"",
        "<bdi>ada</bdi>",
        "\"agent\":\"support\"",
        "<bdi>support</bdi>",
    ] {
        assert!(whole.contains(said) && !redacted.contains(said), "{said}");
    }
}
