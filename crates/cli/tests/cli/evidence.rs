//! Checkpoints and proofs: what they anchor, and what they reveal.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::Bench;
#[cfg(all(feature = "serve", unix))]
use crate::web::Web;

/// The verdict of the script, where Python and its package for signatures are, as in `.ci/run`.
fn without_recount(bench: &Bench, arguments: &[&str], code: i32, words: &str) {
    let script =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/verify_proof.py");
    let mut command = Command::new("python3");
    let run = command
        .arg(script)
        .args(arguments)
        .current_dir(bench.path("."))
        .output();
    let Ok(run) = run else { return };
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    if err.contains("No module named 'cryptography'") {
        return;
    }
    assert_eq!(run.status.code(), Some(code), "{out}{err}");
    assert!(out.contains(words), "{out}{err}");
}

/// A bench with a journal of one session, a key, and the public key.
fn approved() -> (Bench, String) {
    let bench = Bench::new();
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("fixtures/journals/rules-1/approved.jsonl");
    let text = fs::read(file).unwrap();
    recount::ledger::import(&text[..], bench.path("journal"), None).unwrap();
    let key = bench
        .run("checkpoint key example.com/journal --out key")
        .ends_with(0);
    let public = key.out.trim().to_owned();
    (bench, public)
}

#[test]
fn checkpoint_elsewhere_anchors_a_journal_that_grows() {
    let (bench, public) = approved();
    let made = bench
        .run("checkpoint make journal --key key --out kept")
        .ends_with(0);
    assert_eq!(made.out, fs::read_to_string(bench.path("kept")).unwrap());
    let last = bench.run("checkpoint list journal --last").ends_with(0);
    assert_eq!(last.out, made.out);
    // Each opening adds two records, and the checkpoint one.
    let since = format!("verify journal --since kept --public-key {public}");
    bench.run(&since).ends_with(0).prints(&[
        "Sound journal, anchored to the checkpoint of",
        "of example.com/journal, signed by example.com/journal; 2 records came later",
    ]);
    bench
        .run("verify journal --since kept")
        .ends_with(0)
        .prints(&["whose signatures were not checked"]);
    bench
        .run("verify journal")
        .ends_with(0)
        .prints(&["Consistent journal, not anchored"]);
    let told = bench.run(&format!("{since} --json")).ends_with(0).json();
    assert_eq!(told["verdict"], "anchored");
    assert_eq!(told["since"]["signed_by"][0], "example.com/journal");
}

#[test]
fn older_export_anchors_a_journal_too() {
    let (bench, _) = approved();
    bench.run("export journal --out older.jsonl").ends_with(0);
    bench.run("checkpoint make journal --key key").ends_with(0);
    bench
        .run("verify journal --since older.jsonl")
        .ends_with(0)
        .prints(&["Sound journal, anchored to the export of"]);
}

#[test]
fn forged_or_foreign_beginning_is_found() {
    let (bench, public) = approved();
    bench
        .run("checkpoint make journal --key key --out kept")
        .ends_with(0);
    let kept = fs::read_to_string(bench.path("kept")).unwrap();
    // Another number of records under the old signature.
    let lines: Vec<&str> = kept.lines().collect();
    bench.write("forged", &kept.replacen(lines[1], "3", 1));
    let forged = format!("verify journal --since forged --public-key {public}");
    bench
        .run(&forged)
        .ends_with(4)
        .prints_error(&["is not over this text"]);
    bench
        .run("verify journal --since forged")
        .ends_with(4)
        .prints(&["the journal does not begin with the checkpoint of 3 records"]);
    bench.write("later", &kept.replacen(lines[1], "1000", 1));
    bench
        .run("verify journal --since later")
        .ends_with(4)
        .prints(&["records were taken away"]);
    let other = bench
        .run("checkpoint key example.com/journal --out other")
        .ends_with(0);
    let other = other.out.trim().to_owned();
    let unknown = format!("verify journal --since kept --public-key {other}");
    bench
        .run(&unknown)
        .ends_with(4)
        .prints_error(&["expected a signature of a known key"]);
}

#[test]
fn record_is_proven_without_the_journal() {
    let (bench, public) = approved();
    let session = bench.session("journal");
    bench
        .run(&format!("prove journal {session} 2"))
        .ends_with(1)
        .prints_error(&[
            "expected a signed checkpoint on record, found none",
            "recount checkpoint make",
        ]);
    bench.run("checkpoint make journal --key key").ends_with(0);
    bench
        .run(&format!("prove journal {session} 2 --out two.tlog-proof"))
        .ends_with(0);
    let proven = format!("verify two.tlog-proof --public-key {public}");
    bench.run(&proven).ends_with(0).prints(&[
        &format!("Proven: record 2 of session {session}"),
        "signed by example.com/journal",
    ]);
    bench
        .run("verify two.tlog-proof")
        .ends_with(0)
        .prints(&["Consistent proof, not anchored"]);
    let told = bench.run(&format!("{proven} --json")).ends_with(0).json();
    assert_eq!(told["seq"], 2);
    without_recount(
        &bench,
        &["two.tlog-proof", &public],
        0,
        "proven, signed by example.com",
    );
    without_recount(
        &bench,
        &["two.tlog-proof"],
        0,
        "consistent, not anchored: record 2",
    );
    let other = bench
        .run("checkpoint key example.com/journal --out other")
        .out;
    let other = ["two.tlog-proof", other.trim()];
    without_recount(&bench, &other, 4, "no given key has signed the checkpoint");
    // The record in it is exchanged for its neighbour.
    bench
        .run(&format!("prove journal {session} 3 --out three.tlog-proof"))
        .ends_with(0);
    let read = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    let (two, three) = (read("two.tlog-proof"), read("three.tlog-proof"));
    let line = |text: &str| text.lines().nth(1).unwrap().to_owned();
    bench.write(
        "swapped.tlog-proof",
        &two.replace(&line(&two), &line(&three)),
    );
    without_recount(&bench, &["swapped.tlog-proof"], 4, "leads to another root");
    bench
        .run("verify swapped.tlog-proof")
        .ends_with(4)
        .prints_error(&["the proof leads to"]);
}

#[test]
fn record_after_the_last_checkpoint_is_not_proven_yet() {
    let (bench, _) = approved();
    let session = bench.session("journal");
    bench.run("checkpoint make journal --key key").ends_with(0);
    bench
        .run(&format!("prove journal {session} 9999"))
        .ends_with(2);
    bench
        .run(&format!("prove journal {session} 0"))
        .ends_with(2);
}

#[cfg(unix)]
#[test]
fn private_key_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (bench, public) = approved();
    let mode = fs::metadata(bench.path("key"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o600);
    bench
        .run("checkpoint key example.com/journal --out key")
        .ends_with(2);
    let secret = fs::read_to_string(bench.path("key")).unwrap();
    assert!(secret.starts_with("PRIVATE+KEY+example.com/journal+"));
    assert!(!secret.contains(public.splitn(3, '+').nth(2).unwrap()));
}

#[cfg(all(feature = "serve", unix))]
#[test]
fn service_signs_what_it_records() {
    let bench = Bench::new();
    let public = bench
        .run("checkpoint key example.com/journal --out key")
        .ends_with(0);
    bench.write(
        "recount.toml",
        "journal = \"j\"\nlisten = \"127.0.0.1:0\"\n\
         [checkpoints]\norigin = \"example.com/journal\"\nkeys = [\"key\"]\n\
         [[checkpoints.anchors]]\nname = \"mount\"\ndirectory = \"mount\"\n",
    );
    fs::create_dir(bench.path("mount")).unwrap();
    bench.run("check").ends_with(0);
    let web = Web::start(&bench, "");
    web.ask_to_end();
    assert!(web.program.ends_well());
    let last = bench.run("checkpoint list j --last").ends_with(0);
    // The last checkpoint was made after everything else, and handed over.
    let handed = fs::read_dir(bench.path("mount")).unwrap();
    let mut handed = handed
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_file());
    let handed = handed.next().unwrap();
    assert_eq!(fs::read_to_string(&handed).unwrap(), last.out);
    fs::copy(handed, bench.path("kept")).unwrap();
    let since = format!("verify j --since kept --public-key {}", public.out.trim());
    bench
        .run(&since)
        .ends_with(0)
        .prints(&["signed by example.com/journal"]);
    bench.write(
        "recount.toml",
        "[checkpoints]\norigin = \"example.com/journal\"\n\
         [[checkpoints.anchors]]\nname = \"a/b\"\ndirectory = \"x\"\n\
         [[checkpoints.anchors]]\nname = \"c\"\n",
    );
    bench.run("check").ends_with(2).prints_error(&[
        "expected keys or a signer",
        "expected letters, digits, - and _",
        "expected one of directory, command and timestamp",
    ]);
}
