//! Every alteration is found, with session and seq, and has its own exit code.

use std::fs;
use std::sync::Arc;

use recount::ledger::Ledger;
use recount_journal::{Append, DiskJournal, Draft, Hash, Journal, Object, block_on};

use uuid::Uuid;

use crate::program::Bench;

#[test]
fn an_altered_export_is_damaged_at_its_record() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench.run("export demo --out out.jsonl").ends_with(0);
    let text = fs::read_to_string(bench.path("out.jsonl")).unwrap();
    let forged = text.replace("\"confirmed\":true", "\"confirmed\":false");
    assert_ne!(forged, text);
    bench.write("forged.jsonl", &forged);
    let answered = text
        .lines()
        .find(|line| line.contains("\"confirmation_answered\""))
        .unwrap();
    let seq = serde_json::from_str::<serde_json::Value>(answered).unwrap()["seq"].to_string();
    let place = format!("session {id} seq {seq}");
    bench
        .run("verify forged.jsonl")
        .ends_with(4)
        .prints(&["Damaged export", &place]);
    let report = bench.run("verify forged.jsonl --json").ends_with(4).json();
    assert_eq!(report["sound"], false);
    assert_eq!(report["findings"][0]["seq"].to_string(), seq);
}

/// A repair that was killed after the decision and before it replaced the log.
#[test]
fn dry_run_of_unfinished_repair_agrees_with_verify() {
    let bench = Bench::with_demo();
    let log = bench.path("demo/log");
    let new = bench.path("demo/log.new");
    fs::create_dir(&new).unwrap();
    for segment in fs::read_dir(&log).unwrap() {
        let segment = segment.unwrap();
        fs::copy(segment.path(), new.join(segment.file_name())).unwrap();
    }
    bench.run("verify demo").ends_with(4);
    bench
        .run("repair demo --dry-run")
        .ends_with(4)
        .prints(&["An earlier repair is not finished"]);
    let told = bench
        .run("repair demo --dry-run --json")
        .ends_with(4)
        .json();
    assert_eq!(
        (&told["needed"], &told["unfinished"]),
        (&true.into(), &true.into())
    );
    assert!(new.exists(), "nothing was changed");
    bench.run("repair demo").ends_with(0);
    bench.run("verify demo").ends_with(0);
    let told = bench
        .run("repair demo --dry-run --json")
        .ends_with(0)
        .json();
    assert_eq!(
        (&told["needed"], &told["unfinished"]),
        (&false.into(), &false.into())
    );
}

#[test]
fn a_cut_export_is_damaged() {
    let bench = Bench::with_demo();
    bench.run("export demo --out out.jsonl").ends_with(0);
    let text = fs::read_to_string(bench.path("out.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    bench.write("cut.jsonl", &(lines[..lines.len() - 3].join("\n") + "\n"));
    bench
        .run("verify cut.jsonl")
        .ends_with(4)
        .prints(&["it has no trailer"]);
}

#[test]
fn flipped_byte_of_the_log_is_found_at_its_record() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let segment = fs::read_dir(bench.path("demo/log"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&segment).unwrap();
    let wanted = b"amount_cents";
    let at = bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
    bench
        .run("verify demo")
        .ends_with(4)
        .prints(&["Damaged journal", &format!("session {id} seq ")]);
    bench
        .run("sessions demo")
        .fails(4, "damaged")
        .prints_error(&["recount verify"]);
}

#[test]
fn a_flipped_byte_of_the_log_is_repaired_from_the_index() {
    let bench = Bench::with_demo();
    let sessions = bench.run("sessions demo --json").ends_with(0).out;
    bench
        .run("repair demo")
        .ends_with(0)
        .prints(&["Nothing to repair"]);
    flip(&bench, b"amount_cents");
    bench
        .run("repair demo --dry-run")
        .ends_with(0)
        .prints(&["restored from the index", "A repair would leave"]);
    bench.run("verify demo").ends_with(4);
    let report = bench.run("repair demo --json").ends_with(0).json();
    assert_eq!(
        (&report["needed"], &report["lost"]),
        (&true.into(), &false.into())
    );
    assert_eq!(report["frames_from_index"], 1);
    assert_eq!(report["damaged_log"], "log.damaged-1");
    bench.run("verify demo").ends_with(0);
    bench.run("replay demo").ends_with(0);
    assert_eq!(bench.run("sessions demo --json").ends_with(0).out, sessions);
}

#[test]
fn loss_in_a_repair_has_exit_code_4() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    fs::remove_dir_all(bench.path("demo/sled")).unwrap();
    flip(&bench, b"amount_cents");
    bench.run("repair demo").ends_with(4).prints(&[
        &format!("session {id}: nothing recovered, salvaged 1-"),
        " is lost",
        "salvaged records are in salvage-1.jsonl",
        "the old log is kept as log.damaged-1",
    ]);
    bench.run("verify demo").ends_with(0);
    bench.run("sessions demo").ends_with(0);
}

#[test]
fn compaction_shows_the_freed_space() {
    let bench = Bench::with_demo();
    let root = bench.run("verify demo --json").ends_with(0).json()["root"].clone();
    let report = bench.run("compact demo --json").ends_with(0).json();
    assert!(report["bytes_after"].as_u64() > Some(0), "{report}");
    bench
        .run("compact demo")
        .ends_with(0)
        .prints(&["Compacted the index from ", "KiB"]);
    assert_eq!(
        bench.run("verify demo --json").ends_with(0).json()["root"],
        root
    );
    flip(&bench, b"amount_cents");
    bench
        .run("compact demo")
        .fails(4, "damaged")
        .prints_error(&["recount repair"]);
}

/// Flips a byte of the log at the first occurrence of `wanted`.
pub(crate) fn flip(bench: &Bench, wanted: &[u8]) {
    let mut segments = fs::read_dir(bench.path("demo/log")).unwrap();
    let segment = segments.next().unwrap().unwrap().path();
    let mut bytes = fs::read(&segment).unwrap();
    let at = bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
}

#[test]
fn an_altered_decision_diverges_with_both_sides() {
    let bench = Bench::with_demo();
    let seq = forge(&bench, "forged", |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    bench
        .run("verify forged")
        .ends_with(0)
        .prints(&["Consistent"]);
    let run = bench.run("replay forged").ends_with(5);
    run.prints(&[
        &format!("diverges at seq {seq}"),
        "- recorded  policy_decided ",
        "+ derived   policy_decided ",
        "verdict: recorded \"allowed\", derived \"ask\"",
        "Causes, the first one first:",
        "model    calls refund {",
        "State of call #",
        "\"name\":\"received\"",
        "1 diverged of 1 session",
        "`recount state PATH SESSION --at SEQ`",
    ]);
    let report = bench.run("replay forged --json").ends_with(5).json();
    assert_eq!(report["diverged"]["seq"], seq);
    assert_eq!(report["diverged"]["derived"]["body"]["verdict"], "ask");
    let causes = report["diverged"]["causes"].as_array().unwrap();
    let call = &causes.last().unwrap()["seq"];
    assert_eq!(causes.last().unwrap()["kind"], "function_call_received");
    assert_eq!(&report["diverged"]["derived"]["cause"], call);
    let before = &report["diverged"]["before"];
    assert_eq!(before["head"], seq - 1);
    let phase = &before["calls"][call.to_string()]["phase"];
    assert_eq!(phase["name"], "received");
}

#[test]
fn decision_with_another_cause_or_member_diverges() {
    let bench = Bench::with_demo();
    let seq = forge(&bench, "caused", |_, cause| *cause = cause.map(|it| it - 1));
    bench.run("verify caused").ends_with(0);
    bench.run("replay caused").ends_with(5).prints(&[
        &format!("diverges at seq {seq}"),
        &format!("cause: recorded {}, derived {}", seq - 2, seq - 1),
    ]);
    let seq = forge(&bench, "wordy", |body, _| {
        *body = body.replacen('{', "{\"approved_by\":\"ada\",", 1);
    });
    bench.run("replay wordy").ends_with(5).prints(&[
        &format!("diverges at seq {seq}"),
        "approved_by: recorded \"ada\", derived absent",
    ]);
}

#[test]
fn later_divergences_have_one_line() {
    let bench = Bench::with_demo();
    let seq = forge_copies(&bench, "forged", 13, |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    let run = bench.run("replay forged").ends_with(5);
    assert_eq!(run.out.matches("Causes, the first").count(), 10);
    let place = format!("diverges at seq {seq}");
    assert_eq!(run.out.matches(&place).count(), 13);
    let line = format!("{place}: recorded policy_decided, derived policy_decided\n");
    assert_eq!(run.out.matches(&line).count(), 3);
    run.prints(&[
        "13 diverged of 13 sessions",
        "The first 10 are shown in full",
    ]);
    let json = bench.run("replay forged --json").ends_with(5).json_lines();
    assert!(json.len() == 13 && json.iter().all(|it| !it["diverged"].is_null()));
}

/// Writes the session of the demo into another journal, with an altered first verdict `ask`.
///
/// Body and cause are changed, and every later hash is recomputed. Returns the seq of the verdict.
pub(crate) fn forge(
    bench: &Bench,
    to: &str,
    change: impl Fn(&mut String, &mut Option<u64>),
) -> u64 {
    forge_copies(bench, to, 1, change)
}

/// As [`forge`], this number of times; each copy has its own session id.
fn forge_copies(
    bench: &Bench,
    to: &str,
    copies: u128,
    change: impl Fn(&mut String, &mut Option<u64>),
) -> u64 {
    let from = DiskJournal::options(bench.path("demo"))
        .read_only()
        .open()
        .unwrap();
    let ledger = Ledger::new(Arc::new(from));
    let journal = ledger.journal();
    let from = block_on(journal.sessions(None, 1)).unwrap()[0].0;
    let forged = DiskJournal::open(bench.path(to)).unwrap();
    let mut changed = 0;
    for copy in 0..copies {
        let session = Uuid::from_u128(from.as_u128() + copy);
        let (mut lines, mut objects, mut prev) = (Vec::new(), Vec::new(), Hash::ZERO);
        changed = 0;
        for line in block_on(journal.read(from, 1, usize::MAX)).unwrap() {
            let record = line.record().unwrap();
            let mut body = record.body.get().to_owned();
            for hash in body.split('"').filter_map(|word| word.parse::<Hash>().ok()) {
                let object = block_on(journal.object(hash)).unwrap();
                objects.extend(object.map(Object::new));
            }
            let mut cause = record.cause;
            if changed == 0 && body.contains("\"verdict\":\"ask\"") {
                changed = record.seq;
                change(&mut body, &mut cause);
            }
            let draft = Draft {
                session,
                seq: record.seq,
                at_us: record.at_us,
                kind: record.kind,
                cause,
                actor: record.actor.clone(),
                body: &body,
                prev,
            };
            let line = draft.line();
            prev = line.leaf();
            lines.push(line);
        }
        objects.sort_by_key(|object| object.hash);
        objects.dedup();
        let append = Append {
            objects,
            ..Append::new(session, 0, lines)
        };
        block_on(forged.append(append)).unwrap();
    }
    block_on(forged.close()).unwrap();
    changed
}

#[test]
fn cut_log_is_found_by_the_note_of_its_close() {
    let bench = Bench::with_demo();
    fs::remove_dir_all(bench.path("demo/sled")).unwrap();
    let log = bench.path("demo/log/0000000000000001.log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    let missed = format!("of the {} bytes that it was closed with", whole.len());
    bench.run("verify demo").ends_with(4).prints(&[&missed]);
    for _ in 0..2 {
        bench
            .run("sessions demo")
            .fails(4, "damaged")
            .prints_error(&[&missed]);
    }
    bench.run("repair demo").ends_with(4).prints(&[
        "the log ends at frame ",
        ": lost",
        "0 salvaged, some lost",
    ]);
    bench.run("verify demo").ends_with(0);
    bench.run("sessions demo").ends_with(0);
}
