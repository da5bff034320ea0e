//! The exit code and error code of every command in every situation, from real runs.
//!
//! `tests/frozen/exit_codes/` pins them. The exit code 141 is tested in `errors`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use recount::session::{Seq, SessionId};
use recount_journal::DiskJournal;

use crate::comparing::imported;
use crate::damage::{flip, forge};
use crate::pinned::assert_pinned;
use crate::program::{Bench, Run};
use crate::sealing;
use crate::service::Service;
use crate::unknown_kinds::pondered;

/// A command line for each command. The words in capitals are replaced: by a journal, a session, a
/// request, a call by its seq and by its id, a hash, and a new file.
const COMMANDS: [&str; 38] = [
    "sessions JOURNAL",
    "log JOURNAL SESSION",
    "show JOURNAL HASH",
    "pending JOURNAL",
    "state JOURNAL SESSION",
    "replay JOURNAL",
    "replay JOURNAL --policy p.toml",
    "verify JOURNAL",
    "audit decisions JOURNAL",
    "diff JOURNAL JOURNAL",
    "export JOURNAL",
    "backup JOURNAL FRESH.backup",
    "fixture export JOURNAL SESSION FRESH.fixture",
    "approve JOURNAL REQUEST --as ada",
    "deny JOURNAL REQUEST --as ada",
    "settle JOURNAL REQUEST --failed no --as ada",
    "reconcile JOURNAL SESSION CALL --failed no --as ada",
    "respond-call JOURNAL ID --response {} --as ada",
    "cancel JOURNAL SESSION CALL --as ada",
    "claim JOURNAL --tool pay --claim w1 --as ada",
    "renew JOURNAL SESSION CALL --claim w1 --as ada",
    "finish JOURNAL SESSION CALL --claim w1 --result {} --as ada",
    "release JOURNAL SESSION CALL --claim w1 --as ada",
    "erase JOURNAL SESSION --reason no --yes --as ada",
    "repair JOURNAL --dry-run",
    "compact JOURNAL",
    "leaves JOURNAL",
    "revoke JOURNAL SESSION CALL --as ada",
    "pauses JOURNAL",
    "pause JOURNAL SESSION --as ada",
    "unpause JOURNAL SESSION --as ada",
    "holds JOURNAL",
    "hold JOURNAL SESSION --reason no --as ada",
    "unhold JOURNAL 1 --reason no --as ada",
    "checkpoint list JOURNAL",
    "prove JOURNAL SESSION 1",
    "evidence JOURNAL --out FRESH.evidence",
    "deny JOURNAL --session SESSION --all --as ada",
];

/// The values for the words in capitals.
struct Ids {
    session: SessionId,
    request: Seq,
    call: Seq,
    hash: String,
}

impl Ids {
    /// Ids that no journal has.
    fn unknown() -> Ids {
        Ids {
            session: SessionId(uuid::Uuid::from_u128(0xffff_ffff_u128 << 96)),
            request: Seq(7),
            call: Seq(5),
            hash: "f".repeat(64),
        }
    }

    /// The first of each in a session.
    fn first_in(bench: &Bench, journal: &str) -> Ids {
        let session = bench.session(journal);
        let log = bench.run(&format!("log {journal} {session} --json"));
        let log = log.json_lines();
        let first = |kind: &str| log.iter().find(|it| it["kind"] == kind);
        let seq = |kind: &str| Seq(first(kind).map_or(0, |it| it["seq"].as_u64().unwrap()));
        let attached = &first("runner_attached").unwrap()["body"];
        Ids {
            session: session.parse().unwrap(),
            request: seq("confirmation_requested"),
            call: seq("function_call_received"),
            hash: attached["policies"].as_str().unwrap().to_owned(),
        }
    }

    fn fill(&self, command: &str, journal: &str) -> String {
        command
            .replace("JOURNAL", journal)
            .replace("SESSION", &self.session.to_string())
            .replace(
                "REQUEST",
                &self.session.request_id(self.request).to_string(),
            )
            .replace("CALL", &self.call.to_string())
            .replace("ID", &self.session.call_id(self.call).to_string())
            .replace("HASH", &self.hash)
    }
}

/// A table of commands in one situation after another.
#[derive(Default)]
struct Table {
    text: String,
    fresh: usize,
}

impl Table {
    fn row(&mut self, command: &str, run: &Run) {
        let error = run
            .err
            .strip_prefix("error[")
            .and_then(|it| it.split(']').next());
        let error = error.map_or(String::new(), |it| format!(" {it}"));
        writeln!(self.text, "{:3}{error}: {command}", run.code).unwrap();
    }

    /// Runs every command in this situation.
    fn all(&mut self, situation: &str, bench: &Bench, journal: &str, ids: &Ids) {
        bench.write("p.toml", "running_max = 1\n");
        writeln!(self.text, "# {situation}").unwrap();
        for command in COMMANDS {
            self.fresh += 1;
            let line = command.replace("FRESH", &format!("fresh{}", self.fresh));
            self.row(command, &bench.run(&ids.fill(&line, journal)));
        }
    }

    /// Runs every command at the same time, in a situation that no command changes.
    fn all_at_once(&mut self, situation: &str, bench: &Bench, journal: &str, ids: &Ids) {
        bench.write("p.toml", "running_max = 1\n");
        writeln!(self.text, "# {situation}").unwrap();
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let running = COMMANDS.iter().enumerate().map(|(at, command)| {
                let line = ids.fill(&command.replace("FRESH", &format!("free{at}")), journal);
                scope.spawn(move || bench.run(&line))
            });
            let running: Vec<_> = running.collect();
            running.into_iter().map(|it| it.join().unwrap()).collect()
        });
        for (command, run) in COMMANDS.iter().zip(&runs) {
            self.row(command, run);
        }
    }

    /// Runs these commands.
    fn each<'c>(&mut self, bench: &Bench, commands: impl IntoIterator<Item = &'c str>) {
        for command in commands {
            self.row(command, &bench.run(command));
        }
    }
}

#[test]
fn every_command_has_its_row() {
    let bench = Bench::new();
    let mut known: BTreeSet<String> = COMMANDS.iter().map(|it| word(it)).collect();
    known.extend(OTHERS.iter().map(|it| word(it)));
    #[cfg(feature = "serve")]
    known.extend(OF_A_SERVICE.iter().map(|it| word(it)));
    for command in subcommands(&bench.run("--help").ends_with(0).out) {
        assert!(known.contains(&command), "{command} has no row");
    }
}

fn word(command: &str) -> String {
    command.split(' ').next().unwrap().to_owned()
}

/// The names that a help lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap();
    let listed = listed.split("\n\n").next().unwrap().lines();
    let names = listed.filter_map(|it| it.strip_prefix("  "));
    let names = names.filter(|it| !it.starts_with(' ')).map(word);
    names.filter(|it| it != "help").collect()
}

#[test]
fn codes_where_no_journal_can_be_used_are_as_they_were() {
    let (bench, mut table) = (Bench::with_demo(), Table::default());
    let (unknown, known) = (Ids::unknown(), Ids::first_in(&bench, "demo"));
    table.all("no journal is there", &bench, "nope", &unknown);
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    table.all("something else is there", &bench, "mine", &unknown);
    let held = DiskJournal::open_existing(bench.path("demo")).unwrap();
    let situation = "another process writes the journal";
    table.all_at_once(situation, &bench, "demo", &known);
    drop(held);
    flip(&bench, b"amount_cents");
    table.all("the journal is damaged", &bench, "demo", &known);
    let marker = bench.path("demo/JOURNAL");
    let text = std::fs::read_to_string(&marker).unwrap();
    let newer = text.replace("\"version\":1", "\"version\":99");
    std::fs::write(&marker, newer).unwrap();
    table.all("a newer version wrote the journal", &bench, "demo", &known);
    assert_pinned("exit_codes/journals.txt", &table.text);
}

#[test]
fn codes_over_sessions_are_as_they_were() {
    let (bench, mut table) = (Bench::with_demo(), Table::default());
    let known = Ids::first_in(&bench, "demo");
    table.all("the ids are unknown", &bench, "demo", &Ids::unknown());
    table.all("the calls are settled", &bench, "demo", &known);
    forge(&bench, "forged", |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    table.all("a decision was altered", &bench, "forged", &known);
    let (pondering, _) = pondered();
    let ids = Ids::first_in(&pondering, "demo");
    table.all("a record is of a newer kind", &pondering, "demo", &ids);
    let sealed = Bench::new();
    let (_simulator, _) = sealing::paused(&sealed);
    let session = sealed.session("j").parse().unwrap();
    let ids = Ids {
        session,
        ..Ids::unknown()
    };
    table.all("the session is sealed", &sealed, "j", &ids);
    let mut service = Service::start();
    service.ask_for("refund");
    let ids = Ids::first_in(&service.bench, "j");
    table.all("a service holds the journal", &service.bench, "j", &ids);
    assert_pinned("exit_codes/sessions.txt", &table.text);
}

/// Journals of the corpus whose sessions have no open call.
const STORIES: [&str; 10] = [
    "approved",
    "denied",
    "expired",
    "withdrawn_by_the_model",
    "asked_anew_because_the_contract_changed",
    "cut_off_unknown_and_reconciled",
    "cut_off_asked_and_settled_as_done",
    "cancelled_by_an_operator",
    "long_running_over_a_restart",
    "closed_while_a_person_is_asked",
];

#[test]
fn codes_of_answers_that_come_late_are_as_they_were() {
    let (bench, mut table) = (Bench::new(), Table::default());
    for story in STORIES {
        imported(&bench, story);
        writeln!(table.text, "# {story}").unwrap();
        let mut ids = Ids::first_in(&bench, story);
        let log = bench.run(&format!("log {story} {} --json", ids.session));
        for record in log.json_lines() {
            let commands = match record["kind"].as_str() {
                Some("confirmation_requested" | "confirmation_reopened") => &COMMANDS[13..16],
                Some("function_call_received") => &COMMANDS[16..19],
                _ => continue,
            };
            let seq = Seq(record["seq"].as_u64().unwrap());
            (ids.request, ids.call) = (seq, seq);
            for command in commands {
                let run = bench.run(&ids.fill(command, story));
                table.row(&format!("{command} (seq {seq})"), &run);
            }
        }
    }
    assert_pinned("exit_codes/answers.txt", &table.text);
}

/// Command lines for the one situation of their test.
const OTHERS: [&str; 50] = [
    "--help",
    "--version",
    "nonsense",
    "import nope.jsonl fresh1",
    "import out.jsonl fresh2",
    "import out.jsonl demo",
    "import forged.jsonl fresh3",
    "import cut.jsonl fresh4",
    "verify out.jsonl",
    "verify forged.jsonl",
    "verify cut.jsonl",
    "verify out.jsonl --root ROOT",
    "verify out.jsonl --root NOROOT",
    "backup demo copy",
    "backup demo copy",
    "backup demo demo/within",
    "restore copy fresh5",
    "restore --verify copy fresh6",
    "restore demo fresh7",
    "restore nope fresh8",
    "export demo --out out.jsonl",
    "export demo --out demo/within.jsonl",
    "show demo nonsense",
    "log demo abc",
    "approve demo nonsense",
    "respond-call demo {} --response {}",
    "respond-call demo 0123 --response {",
    "state demo SESSION --at 9999",
    "state demo SESSION --pointer /nowhere",
    "state demo SESSION --pointer nowhere",
    "audit decisions demo --from nonsense",
    "audit decisions demo --verdict nonsense",
    "audit decisions demo --tool refund",
    "replay demo --policy wrong.toml",
    "policy schema",
    "policy check right.toml",
    "policy check wrong.toml",
    "policy check nope.toml",
    "fixture test nope",
    "fixture test nope --junit out.jsonl",
    "fixture review nope",
    "fixture update nope",
    "fixture migrate nope",
    "demo --approve --deny",
    "demo --approve --journal mine",
    "run --tools wrong.toml --endpoint ws://127.0.0.1:1",
    "run --tools tools.toml --endpoint http://127.0.0.1:1",
    "run --tools tools.toml",
    "simulate --script nope.jsonl",
    "reads demo",
];

#[test]
fn codes_of_other_command_lines_are_as_they_were() {
    let (bench, mut table) = (Bench::with_demo(), Table::default());
    bench.run("export demo --out out.jsonl").ends_with(0);
    let text = std::fs::read_to_string(bench.path("out.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let root = bench.run("verify demo --json").json()["root"].clone();
    let session = bench.session("demo");
    bench.write(
        "forged.jsonl",
        &text.replace("\"confirmed\":true", "\"confirmed\":false"),
    );
    bench.write("cut.jsonl", &(lines[..lines.len() - 3].join("\n") + "\n"));
    bench.write("right.toml", "running_max = 1\n");
    bench.write("wrong.toml", "[tools.pay]\ntimout = \"1s\"\n");
    bench.write("tools.toml", crate::answering::TOOLS);
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    for command in OTHERS {
        let line = command
            .replace("NOROOT", &"f".repeat(64))
            .replace("ROOT", root.as_str().unwrap())
            .replace("SESSION", &session);
        table.row(command, &bench.run(&line));
    }
    writeln!(table.text, "# a flag that is none").unwrap();
    let flags = COMMANDS.iter().chain(&OTHERS[2..]);
    let names: BTreeSet<String> = flags.map(|it| word(it)).collect();
    let flags: Vec<String> = names.iter().map(|it| format!("{it} --nonsense")).collect();
    table.each(&bench, flags.iter().map(String::as_str));
    assert_pinned("exit_codes/others.txt", &table.text);
}

/// Command lines of a service and of its configuration, for the one situation of their test.
#[cfg(feature = "serve")]
const OF_A_SERVICE: [&str; 45] = [
    "init",
    "init",
    "init clear --clear",
    "init demo/within",
    "init --nonsense",
    "check",
    "check --config nope.toml",
    "check --config wrong.toml",
    "check --schema",
    "check --schema --json",
    "token create",
    "token create ada --role root",
    "token create ada --role viewer --tokens nope/tokens.json",
    "token create ada --role viewer --config wrong.toml",
    "token list",
    "token list --tokens wrong.toml",
    "token revoke 0123",
    "token --nonsense",
    "reload",
    "reload nope",
    "reload --nonsense",
    "notify test nothing",
    "notify test nothing --config wrong.toml",
    "notify test unreachable --config sinks.toml",
    "notify --nonsense",
    "serve --nonsense",
    "serve --listen nonsense",
    "serve --listen 0.0.0.0:0",
    "serve --config nope.toml",
    "serve --config wrong.toml",
    "serve --listen 127.0.0.1:0 --journal mine",
    "serve --listen 127.0.0.1:0 --journal demo/within",
    "gateway --nonsense",
    "gateway --listen nonsense",
    "gateway --certificate gateway.pem",
    "gateway --listen 0.0.0.0:0",
    "gateway --tls-listen 127.0.0.1:0",
    "gateway --upstream nonsense",
    "gateway --policies nope.toml",
    "gateway --config wrong.toml",
    "gateway dev-certificate --nonsense",
    "gateway dev-certificate --host a/b",
    "gateway dev-certificate",
    "gateway dev-certificate",
    "gateway dev-certificate --out demo/within",
];

#[test]
#[cfg(feature = "serve")]
fn codes_of_a_service_are_as_they_were() {
    let (bench, mut table) = (Bench::with_demo(), Table::default());
    bench.write("wrong.toml", "jornal = \"j\"\n");
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.write("mine/letter.txt", "dear");
    bench.write(
        "sinks.toml",
        "[[sinks]]\nname = \"unreachable\"\nkind = \"command\"\ncommand = [\"/nowhere/it\"]\n",
    );
    table.each(&bench, OF_A_SERVICE);
    assert_pinned("exit_codes/serve.txt", &table.text);
}
