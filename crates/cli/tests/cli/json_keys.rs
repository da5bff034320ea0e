//! The keys in the `--json` output of every command, from real runs over real journals.
//!
//! `tests/frozen/json/` pins them. Keys are only ever added, and `docs/command-line.md` lists them.

use std::collections::BTreeSet;

use recount::prelude::InDoubt;

use crate::comparing::imported;
use crate::damage::{flip, forge};
use crate::fixtures::exported;
use crate::json_shape::Shapes;
use crate::pinned::assert_pinned;
use crate::program::Bench;
use crate::sealing;
use crate::service::{Service, runtime};
use crate::settling::cut_off;

/// Journals of the corpus that together have every kind of row.
const STORIES: [&str; 13] = [
    "an_agent_whose_call_was_approved_after_a_restart",
    "answered_twice",
    "asked_because_the_program_said_so_after_a_restart",
    "asked_by_the_tool_over_a_restart",
    "cancelled_by_an_operator",
    "cut_off_asked_and_settled_as_failed",
    "cut_off_unknown_and_reconciled",
    "every_policy_and_a_restart",
    "expired",
    "gates_waived",
    "long_running_over_a_restart",
    "not_found_invalid_malformed_and_failed",
    "withdrawn_by_the_model",
];

const POLICY: &str =
    "running_max = 1\n[defaults]\nconfirm = true\n[tools.nowhere]\ntimeout = \"1s\"\n";

#[test]
fn keys_of_commands_that_look_are_as_they_were() {
    let (bench, mut shapes) = (Bench::new(), Shapes::default());
    bench.write("p.toml", POLICY);
    for story in STORIES {
        imported(&bench, story);
        let id = bench.session(story);
        let mut add = |name, command: String| shapes.add(name, &bench.run(&command));
        add("sessions", format!("sessions {story} --json"));
        add("log", format!("log {story} {id} --json"));
        add("replay", format!("replay {story} --json"));
        add(
            "replay --policy",
            format!("replay {story} --policy p.toml --json"),
        );
        add("state", format!("state {story} {id} --json"));
        add("state --at 0", format!("state {story} {id} --at 0 --json"));
        add(
            "state --diff",
            format!("state {story} {id} --at 1 --diff 9 --json"),
        );
        add("audit decisions", format!("audit decisions {story} --json"));
        add("verify", format!("verify {story} --json"));
        add("audit clock", format!("audit clock {story} --json"));
    }
    let log = bench.run(&format!("log expired {} --json", bench.session("expired")));
    let log = log.json_lines();
    for (kind, pointer) in [
        ("runner_attached", "/body/catalog"),
        ("runner_attached", "/body/policies"),
        ("confirmation_requested", "/body/contract"),
        ("confirmation_requested", "/body/declaration"),
    ] {
        let record = log.iter().find(|it| it["kind"] == kind).unwrap();
        let hash = record.pointer(pointer).unwrap().as_str().unwrap();
        shapes.add("show", &bench.run(&format!("show expired {hash} --json")));
    }
    assert_pinned("json/looking.txt", &shapes.text());
}

#[test]
fn keys_of_commands_that_find_damage_are_as_they_were() {
    let (bench, mut shapes) = (Bench::with_demo(), Shapes::default());
    forge(&bench, "forged", |body, _| {
        *body = body.replace("\"verdict\":\"ask\"", "\"verdict\":\"allowed\"");
    });
    shapes.add(
        "replay that diverges",
        &bench.run("replay forged --json").ends_with(5),
    );
    bench.run("export demo --out out.jsonl").ends_with(0);
    let text = std::fs::read_to_string(bench.path("out.jsonl")).unwrap();
    bench.write(
        "forged.jsonl",
        &text.replace("\"confirmed\":true", "\"confirmed\":false"),
    );
    shapes.add(
        "verify of damage",
        &bench.run("verify forged.jsonl --json").ends_with(4),
    );
    shapes.add(
        "verify of an export",
        &bench.run("verify out.jsonl --json").ends_with(0),
    );
    shapes.add(
        "evidence",
        &bench.run("evidence demo --out bundle --json").ends_with(0),
    );
    shapes.add(
        "verify of a bundle",
        &bench.run("verify bundle --json").ends_with(0),
    );
    shapes.add(
        "import",
        &bench.run("import out.jsonl new --json").ends_with(0),
    );
    shapes.add("backup", &bench.run("backup demo copy --json").ends_with(0));
    shapes.add(
        "restore",
        &bench.run("restore copy again --json").ends_with(0),
    );
    let verified = bench.run("restore --verify copy third --json").ends_with(0);
    shapes.add("restore --verify", &verified);
    shapes.add("compact", &bench.run("compact demo --json").ends_with(0));
    shapes.add(
        "repair of nothing",
        &bench.run("repair again --json").ends_with(0),
    );
    flip(&bench, b"amount_cents");
    let dry = bench.run("repair demo --dry-run --json").ends_with(0);
    shapes.add("repair --dry-run", &dry);
    shapes.add("repair", &bench.run("repair demo --json").ends_with(0));
    std::fs::remove_dir_all(bench.path("demo/sled")).unwrap();
    flip(&bench, b"amount_cents");
    let lost = bench.run("repair demo --json").ends_with(4);
    shapes.add("repair that loses records", &lost);
    bench.write("p.toml", POLICY);
    let checked = bench.run("policy check p.toml --json").ends_with(0);
    shapes.add("policy check", &checked);
    bench.write("p.toml", "[tools.pay]\ntimout = \"1s\"\n");
    let checked = bench.run("policy check p.toml --json").ends_with(2);
    shapes.add("policy check with mistakes", &checked);
    assert_pinned("json/maintaining.txt", &shapes.text());
}

#[test]
fn keys_of_commands_that_answer_are_as_they_were() {
    let (mut service, mut shapes) = (Service::start(), Shapes::default());
    let refund = service.ask_for("refund");
    service.takes_refund_back();
    let leave = service.ask_for("leave");
    let shift = service.ask_for("shift");
    service.ask_for("pay");
    shapes.add("pending", &service.run("pending j --json"));
    let mut add = |name, command: String| {
        shapes.add(name, &service.run(&command).ends_with(0));
    };
    add(
        "approve beside a service",
        format!(r#"approve j {leave} --payload {{"from":"June"}} --json"#),
    );
    add(
        "approve with other arguments",
        format!(r#"approve j {shift} --args {{"days":3}} --json"#),
    );
    add(
        "deny beside a service",
        format!("deny j {refund} --reason no --json"),
    );
    let pending = service.run("pending j --json").json_lines();
    service.shut_down();
    let waiting = |tool: &str, id: &str| {
        let found = pending.iter().find(|it| it["tool"] == tool).unwrap();
        found[id].as_str().unwrap().to_owned()
    };
    let (shift, pay) = (waiting("shift", "request"), waiting("pay", "call_id"));
    let respond = format!(r#"respond-call j {pay} --response {{"receipt":17}} --json"#);
    let mut add = |name, command: String| {
        shapes.add(name, &service.run(&command).ends_with(0));
    };
    add("approve", format!("approve j {shift} --as ada --json"));
    add("respond-call", respond);

    let mut service = Service::start();
    let shift = service.ask_for("shift");
    let leave = service.ask_for("leave");
    let several = service.run(&format!("approve j {shift} {leave} --json"));
    shapes.add("approve several", &several.ends_with(3));
    let all = format!("deny j --session {} --all --json", service.session());
    shapes.add("deny --all", &service.run(&all).ends_with(0));

    let mut service = Service::start();
    let pay = service.ask_for("pay");
    let respond = format!(r#"respond-call j {pay} --response {{"receipt":17}} --json"#);
    let responded = service.run(&respond).ends_with(0);
    shapes.add("respond-call beside a service", &responded);
    service.ask_for("refund");
    let pending = service.run("pending j --json").json_lines();
    let cancel = format!(
        "cancel j {} {} --json",
        service.session(),
        pending[0]["call"]
    );
    shapes.add(
        "cancel beside a service",
        &service.run(&cancel).ends_with(0),
    );
    assert_pinned("json/answering.txt", &shapes.text());
}

#[test]
fn keys_of_commands_about_doubts_are_as_they_were() {
    let mut shapes = Shapes::default();
    for rule in [InDoubt::Ask, InDoubt::SettleUnknown] {
        let (bench, runtime) = (Bench::new(), runtime());
        cut_off(&bench, &runtime, rule);
        let session = bench.session("j");
        let calls = bench.run(&format!("log j {session} --json")).json_lines();
        let calls = calls
            .iter()
            .filter(|it| it["kind"] == "function_call_received");
        let calls: Vec<u64> = calls.filter_map(|it| it["seq"].as_u64()).collect();
        if rule == InDoubt::SettleUnknown {
            let found = format!("reconcile j {session} {} --failed no --json", calls[0]);
            shapes.add("reconcile", &bench.run(&found).ends_with(0));
            continue;
        }
        let pending = bench.run("pending j --json").ends_with(0);
        shapes.add("pending of doubts", &pending);
        let requests = pending.json_lines();
        let request = requests[0]["request"].as_str().unwrap();
        let settle = format!(r#"settle j {request} --done {{"receipt":17}} --json"#);
        shapes.add("settle", &bench.run(&settle).ends_with(0));
        let cancel = format!("cancel j {session} {} --reason twice --json", calls[1]);
        shapes.add("cancel", &bench.run(&cancel).ends_with(0));
    }
    assert_pinned("json/doubts.txt", &shapes.text());
}

#[test]
fn keys_of_the_stop_switch_are_as_they_were() {
    let (mut service, mut shapes) = (Service::start(), Shapes::default());
    service.ask_for("refund");
    let session = service.session();
    for (name, rest) in [
        ("pause", format!("{session} --tool refund")),
        ("pause", "--all --reason twice".to_owned()),
        ("pauses", String::new()),
        ("sessions", String::new()),
        ("pending", String::new()),
        ("state", session.clone()),
        ("unpause", "--all".to_owned()),
    ] {
        let run = service.run(&format!("{name} j {rest} --json"));
        shapes.add(name, &run.ends_with(0));
    }
    let held = service.run(&format!("hold j {session} --reason counsel --json"));
    let held = held.ends_with(0);
    shapes.add("hold", &held);
    let hold = held.json()["hold"].clone();
    for (name, rest) in [
        ("hold", "--label matter=17 --reason counsel".to_owned()),
        ("holds", String::new()),
        ("sessions", String::new()),
        ("unhold", format!("{hold} --reason settled")),
        ("holds", "--all".to_owned()),
    ] {
        let run = service.run(&format!("{name} j {rest} --json"));
        shapes.add(name, &run.ends_with(0));
    }
    assert_pinned("json/pausing.txt", &shapes.text());
}

#[test]
fn keys_of_commands_over_sealed_sessions_are_as_they_were() {
    let (bench, mut shapes) = (Bench::new(), Shapes::default());
    let (_simulator, _) = sealing::paused(&bench);
    let session = bench.session("j");
    bench.write("p.toml", POLICY);
    let keyed = |command: &str| sealing::run(&bench, "a", &format!("{command} --keys k --json"));
    shapes.add("pending with keys", &keyed("pending j").ends_with(0));
    let request = keyed("pending j").json_lines()[0]["request"].clone();
    for (name, command) in [
        ("sessions", "sessions j --json"),
        ("pending", "pending j --json"),
        ("replay", "replay j --json"),
        ("replay --policy", "replay j --policy p.toml --json"),
        ("audit decisions", "audit decisions j --json"),
    ] {
        shapes.add(name, &bench.run(command));
    }
    keyed(&format!("deny j {}", request.as_str().unwrap())).ends_with(0);
    let erased = keyed(&format!("erase j {session} --reason ticket-17 --yes"));
    shapes.add("erase", &erased.ends_with(0));
    shapes.add(
        "audit decisions of what is erased",
        &keyed("audit decisions j"),
    );
    assert_pinned("json/sealed.txt", &shapes.text());
}

#[test]
fn keys_of_commands_that_compare_are_as_they_were() {
    let (bench, mut shapes) = (exported(), Shapes::default());
    for story in [
        "approved",
        "denied",
        "small_talk",
        "asked_anew_because_the_contract_changed",
        "every_policy_and_a_restart",
    ] {
        imported(&bench, story);
        let told = bench.run(&format!("diff approved {story} --json"));
        shapes.add("diff", &told);
    }
    let exact = bench.run("diff approved denied --exact --json");
    shapes.add("diff --exact", &exact.ends_with(5));
    shapes.add("diff with a fixture", &bench.run("diff fixture j --json"));
    let session = bench.session("j");
    let export = format!("fixture export j {session} second --redact /card --json");
    shapes.add("fixture export", &bench.run(&export).ends_with(0));
    let played = bench.run("fixture test fixture --json").ends_with(0);
    shapes.add("fixture test", &played);
    let broken = bench.run("fixture test nope fixture --json");
    shapes.add("fixture test of what is none", &broken);
    let story = std::fs::read_to_string(bench.path("fixture/story.txt")).unwrap();
    bench.write("fixture/story.txt", &story.replace("Refunded.", "Done."));
    let differs = bench.run("fixture test fixture --json").ends_with(5);
    shapes.add("fixture test that differs", &differs);
    let reviewed = bench.run("fixture review fixture --json").ends_with(5);
    shapes.add("fixture review", &reviewed);
    let updated = bench.run("fixture update fixture --json").ends_with(0);
    shapes.add("fixture update", &updated);
    let migrated = bench.run("fixture migrate fixture --json").ends_with(0);
    shapes.add("fixture migrate", &migrated);
    assert_pinned("json/comparing.txt", &shapes.text());
}

/// The folder of the pinned keys, and the pages that explain them.
const PINNED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frozen/json");
const PAGES: [&str; 2] = ["command-line.md", "audit.md"];

/// The keys of `log` are those of the records, which the event schema describes.
#[test]
fn every_pinned_key_is_documented() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = PAGES.map(|it| std::fs::read_to_string(docs.join(it)).unwrap());
    let words = pages.iter().flat_map(|it| it.split('`').skip(1).step_by(2));
    let words: BTreeSet<&str> = words.collect();
    for file in std::fs::read_dir(PINNED).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let mut command = "";
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# ") {
                command = name;
                continue;
            }
            let path = line.split(": ").next().unwrap();
            let key = path.rsplit('.').next().unwrap().replace("[]", "");
            let is_known = command == "log" || key.is_empty() || words.contains(key.as_str());
            assert!(is_known, "the docs have no `{key}` of {command}");
        }
    }
}

#[test]
#[cfg(feature = "serve")]
fn keys_of_a_service_are_as_they_were() {
    let (bench, mut shapes) = (Bench::new(), Shapes::default());
    shapes.add("init", &bench.run("init --json").ends_with(0));
    shapes.add("check", &bench.run("check --json").ends_with(0));
    bench.write("wrong.toml", "jornal = 1\n");
    let wrong = bench.run("check --config wrong.toml --json").ends_with(2);
    shapes.add("check with mistakes", &wrong);
    let options = "--role viewer --agent a --label k=v --group g --approver-role r";
    let made = bench.run(&format!("token create ada {options} --json"));
    shapes.add("token create", &made.ends_with(0));
    shapes.add("token list", &bench.run("token list --json").ends_with(0));
    let id = bench.run("token list --json").json()["id"].clone();
    let revoked = bench.run(&format!("token revoke {} --json", id.as_str().unwrap()));
    shapes.add("token revoke", &revoked.ends_with(0));
    bench.write("clear.toml", "");
    let mut service = bench.start("serve --config clear.toml --listen 127.0.0.1:0 --json");
    let ready = |service: &mut crate::program::Started| crate::program::Run {
        code: 0,
        out: service.until("{"),
        err: String::new(),
    };
    shapes.add("serve", &ready(&mut service));
    let made = bench.run("gateway dev-certificate --json");
    shapes.add("gateway dev-certificate", &made.ends_with(0));
    let mut gateway = bench.start(
        "gateway --config clear.toml --journal g --upstream ws://127.0.0.1:9 --json \
         --listen 127.0.0.1:0 --tls-listen 127.0.0.1:0 --api-listen 127.0.0.1:0 \
         --certificate recount-certificate/gateway.pem \
         --key recount-certificate/gateway-key.pem",
    );
    shapes.add("gateway", &ready(&mut gateway));
    let reloaded = bench.run("reload --config clear.toml --json").ends_with(0);
    shapes.add("reload", &reloaded);
    bench.write(
        "sinks.toml",
        "[[sinks]]\nname = \"ops\"\nkind = \"command\"\ncommand = [\"/nowhere/it\"]\n",
    );
    let tried = bench.run("notify test ops --config sinks.toml --json");
    shapes.add("notify test", &tried.ends_with(1));
    assert_pinned("json/serve.txt", &shapes.text());
}
