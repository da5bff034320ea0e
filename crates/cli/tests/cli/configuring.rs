//! `recount init` and `recount check`: a first configuration, and every mistake with its line.

use std::fs;

use crate::program::{Bench, Run};
use crate::web::{Web, secret, token};

/// A sound configuration with everything but TLS.
const SOUND: &str = r#"
journal = "j"
[access]
tokens = "tokens.json"
public_url = "http://127.0.0.1:7878"
[limits]
body_bytes = 65536
connections = 10
running_max = 4
grace = "2s"
[agents.orders]
tools = ["tools.toml"]
policies = "policies.toml"
[[agents.orders.client_tools]]
name = "pack_order"
description = "Packs an order"
parameters = { type = "object", properties = { order = { type = "integer" } } }
confirm = "Pack this order?"
approvers = { groups = ["warehouse"] }
[agents.voice]
model = "gemini-3.8-live"
endpoint = "ws://127.0.0.1:1"
instruction = "Help."
record_transcripts = "none"
"#;

const TOOLS: &str = r#"
[[tool]]
name = "refund"
description = "Refunds an order"
command = ["sh", "-c", "cat"]
confirm = "Refund?"
"#;

const POLICIES: &str = "[tools.refund]\napprovers = { roles = [\"finance\"] }\nquorum = 2\n";

/// A bench with the sound configuration and its files.
fn sound() -> Bench {
    let bench = Bench::new();
    bench.write("recount.toml", SOUND);
    bench.write("tools.toml", TOOLS);
    bench.write("policies.toml", POLICIES);
    let options = "ada --role approver --group warehouse --approver-role finance";
    token(&bench, options);
    bench
}

/// Checks that these mistakes are listed, and no other.
fn lists(run: Run, expected: &[&str]) {
    let run = run.fails(2, "config-file");
    let listed = run.err.lines().filter_map(|it| it.strip_prefix("  - "));
    let listed: Vec<&str> = listed.collect();
    assert_eq!(listed.len(), expected.len(), "{run:#?}");
    for (found, expected) in listed.iter().zip(expected) {
        assert!(
            found.starts_with(expected),
            "expected {expected:?} in {run:#?}"
        );
    }
}

#[test]
fn sound_configuration_has_no_mistakes() {
    let bench = sound();
    bench
        .run("check")
        .ends_with(0)
        .prints(&["No mistakes: recount.toml"]);
    let checked = bench.run("check --json").ends_with(0).json();
    assert_eq!(checked["agents"], serde_json::json!(["orders", "voice"]));
    assert_eq!(
        (&checked["sound"], &checked["mistakes"]),
        (&true.into(), &serde_json::json!([]))
    );
    let web = Web::start(&bench, "");
    assert_eq!(web.ready["config"], "recount.toml");
    assert_eq!(web.get("", "/readyz").status, 200);
}

#[test]
fn every_mistake_has_its_line_and_column() {
    let bench = Bench::new();
    bench.write(
        "recount.toml",
        "listen = \"nowhere\"\njornal = \"j\"\n\n[limits]\nconnections = 0\ngrace = \"soon\"\n\
         [tls]\ncertificate = \"c.pem\"\n[agents.a]\nmodel = 5\n  tools = \"t.toml\"\n\
         [[agents.a.client_tools]]\nname = \"x\"\nconfirm = 7\n\
         [[agents.a.mcp]]\nprefix = \"p\"\n",
    );
    lists(
        bench.run("check"),
        &[
            "recount.toml:1:10: listen: expected an address and a port",
            "recount.toml:2:1: jornal: unknown key; did you mean \"journal\"?",
            "recount.toml:5:15: limits.connections: expected a whole number from 1",
            "recount.toml:6:9: limits.grace: expected a time such as",
            "recount.toml:7:2: tls.key: expected a value, found none",
            "recount.toml:8:15: tls.certificate: expected a key, too",
            "recount.toml:10:9: agents.a.model: expected a text",
            "recount.toml:11:11: agents.a.tools: expected a list of texts",
            "recount.toml:12:1: agents.a.client_tools.description: expected a value",
            "recount.toml:14:1: agents.a.client_tools.confirm: expected a hint",
            "recount.toml:15:1: agents.a.mcp.server: expected a value, found none",
        ],
    );
    let json = bench.run("check --json").ends_with(2).json();
    let first = &json["mistakes"][0];
    assert_eq!((&first["line"], &first["column"]), (&1.into(), &10.into()));
    assert_eq!(
        (&json["sound"], &first["source"]),
        (&false.into(), &"recount.toml".into())
    );
    lists_syntax(&bench);
    bench
        .run("serve --listen 127.0.0.1:0")
        .fails(2, "config-file");
    assert!(
        !bench.path("recount-journal").exists(),
        "nothing was created"
    );
}

fn lists_syntax(bench: &Bench) {
    bench.write("broken.toml", "listen = \njournal = \"j\"\n[agents\n");
    let run = bench
        .run("check --config broken.toml")
        .fails(2, "config-file");
    run.prints_error(&["broken.toml:1:", "broken.toml:3:"]);
}

#[test]
fn unknown_keys_and_unfit_values_are_mistakes() {
    let bench = Bench::new();
    bench.write(
        "recount.toml",
        "journal = \" \"\n\"a\\u001b[2J\" = 1\n[keys]\nstore = \"k\"\nmaster = 1\n\
         [tls]\ncert = 1\ncertificate = \"c\"\nkey = \"k\"\n[limits]\nconnection = 1\n\
         head_time = \"0s\"\n[access]\npublic_url = \"ftp://recount.example\"\n",
    );
    let run = bench.run("check").fails(2, "config-file");
    assert!(!run.err.contains('\u{1b}'), "{run:?}");
    run.prints_error(&[
        "recount.toml:1:11: journal: expected a path",
        "recount.toml:2:1: a",
        "recount.toml:5:1: keys.master: unknown key",
        "recount.toml:7:1: tls.cert: unknown key",
        "recount.toml:11:1: limits.connection: unknown key",
        "recount.toml:12:13: limits.head_time: expected a time longer than 0",
        "recount.toml:14:14: access.public_url: expected a URL",
    ]);
    bench.write("recount.toml", "listen = \"0.0.0.0:1\"\n");
    lists(
        bench.run("check"),
        &[
            "recount.toml:1:10: listen: other machines reach 0.0.0.0:1, so [tls]",
            "recount.toml:1:10: listen: other machines reach 0.0.0.0:1, so public_url",
            "recount.toml:1:10: listen: other machines reach 0.0.0.0:1, so tokens",
        ],
    );
    let spaces = " ".repeat(1 << 20);
    bench.write("recount.toml", &format!("journal = \"j\"{spaces}\n"));
    bench.run("check").fails(2, "io");
}

#[test]
fn references_to_nothing_are_mistakes() {
    let bench = sound();
    // An expired token gives nothing.
    token(&bench, "eve --role viewer --expires 1ms");
    bench.write("tools.toml", &TOOLS.replace("\"sh\"", "\"./nowhere.sh\""));
    bench.write(
        "policies.toml",
        "[tools.refund]\napprovers = { roles = [\"finanse\"], names = [\"recount:eve\"] }\n\
         [tools.refunt]\nconfirm = true\n",
    );
    let config = SOUND.replace("[\"warehouse\"]", "[\"werehouse\"]");
    bench.write("recount.toml", &config);
    lists(
        bench.run("check"),
        &[
            "policies.toml:2:1: tools.refund.approvers: no valid token gives the role \"finanse\"",
            "policies.toml:2:1: tools.refund.approvers: no valid token has the name \"eve\"",
            "policies.toml:3:8: tools.refunt: agent \"orders\" has no tool \"refunt\"; did you \
             mean \"refund\"?",
            "recount.toml:15:8: client tool \"pack_order\": approvers: no valid token gives the \
             group \"werehouse\"",
            "tools.toml:5:12: tool \"refund\": command: expected an executable program",
        ],
    );
}

#[test]
fn mistakes_of_named_files_have_their_lines() {
    let bench = sound();
    bench.write(
        "tools.toml",
        "[[tool]]\nname = \"refund\"\ncommand = []\ntimout = \"1s\"\n",
    );
    bench.write("policies.toml", "[tools.refund]\nconfirm = 5\n");
    lists(
        bench.run("check"),
        &[
            "policies.toml:2:1: tools.refund.confirm: expected a hint",
            "tools.toml:1:1: tool \"refund\": description: expected",
            "tools.toml:3:1: tool \"refund\": command: expected",
            "tools.toml:4:1: tool \"refund\": timout: unknown key",
        ],
    );
    bench.write("tools.toml", TOOLS);
    fs::remove_file(bench.path("policies.toml")).unwrap();
    lists(
        bench.run("check"),
        &["recount.toml:13:12: agents.orders.policies: the policies in policies.toml cannot"],
    );
}

#[test]
fn agent_that_the_engine_refuses_is_a_mistake() {
    let bench = sound();
    bench.write(
        "recount.toml",
        "[agents.a]\nsealed = true\n[agents.b]\ninstruction = \"Help.\"\n[agents.c]\n\
         tools = [\"tools.toml\", \"tools.toml\"]\n[agents.d]\nmodel = \"m\"\n\
         endpoint = \"http://127.0.0.1:1\"\n",
    );
    lists(
        bench.run("check"),
        &[
            "recount.toml:2:10: agents.a.sealed: a sealed agent needs a key store in [keys]",
            "recount.toml:4:15: agents.b.instruction: this needs a model",
            "recount.toml:5:9: agents.c: agent \"c\": tool \"refund\" is registered twice",
            "recount.toml:9:12: agents.d.endpoint: expected a URL that begins with ws://",
        ],
    );
}

#[test]
fn record_transcripts_is_one_of_three_words() {
    let bench = Bench::new();
    let agent =
        |name: &str, value: &str| format!("[agents.{name}]\nrecord_transcripts = {value}\n");
    let agents = ["full", "redacted", "none"].map(|it| agent(it, &format!("{it:?}")));
    bench.write("recount.toml", &agents.concat());
    bench.run("check").ends_with(0);
    bench.write(
        "recount.toml",
        &(agent("a", "\"some\"") + &agent("b", "true")),
    );
    lists(
        bench.run("check"),
        &[
            "recount.toml:2:22: agents.a.record_transcripts: expected full, redacted or none, \
             found \"some\"",
            "recount.toml:4:22: agents.b.record_transcripts: expected full, redacted or none",
        ],
    );
}

#[test]
fn environment_overrides_the_file() {
    let bench = sound();
    let with = |variables: &[(&str, &str)], arguments: &str| {
        let mut command = bench.command(arguments);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    };
    lists(
        with(
            &[
                ("RECOUNT_SERVE_LISTEN", "nowhere"),
                ("RECOUNT_SERVE_JORNAL", "x"),
                ("RECOUNT_SERVE_TOKENS", "gone/tokens.json"),
            ],
            "check",
        ),
        &[
            "RECOUNT_SERVE_JORNAL: unknown variable; did you mean RECOUNT_SERVE_JOURNAL?",
            "RECOUNT_SERVE_LISTEN: expected an address",
            "policies.toml:2:1: tools.refund.approvers: no valid token",
            "recount.toml:15:8: client tool",
        ],
    );
    fs::create_dir(bench.path("etc")).unwrap();
    fs::rename(bench.path("recount.toml"), bench.path("etc/recount.toml")).unwrap();
    let elsewhere = [("RECOUNT_SERVE_CONFIG", "etc/recount.toml")];
    let run = with(&elsewhere, "check").fails(2, "config-file");
    run.prints_error(&["etc/recount.toml:12:10: agents.orders.tools: the tools in etc/tools.toml"]);
}

#[test]
fn init_writes_a_sound_sealed_configuration() {
    let bench = Bench::new();
    bench
        .run("init")
        .ends_with(0)
        .prints(&["Wrote recount.toml", "recount serve"]);
    for private in ["recount-master-key", "recount-keys"] {
        assert!(bench.path(private).exists(), "{private}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = bench.path(private).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{private}");
        }
    }
    let key = fs::read_to_string(bench.path("recount-master-key")).unwrap();
    assert_eq!(key.trim().len(), 64);
    bench.run("check").ends_with(0);
    let before = fs::read(bench.path("recount.toml")).unwrap();
    bench
        .run("init")
        .fails(1, "occupied")
        .prints_error(&["recount.toml"]);
    fs::remove_file(bench.path("recount.toml")).unwrap();
    bench
        .run("init")
        .fails(1, "occupied")
        .prints_error(&["recount-master-key"]);
    assert!(!bench.path("recount.toml").exists(), "nothing was written");
    let kept = fs::read_to_string(bench.path("recount-master-key")).unwrap();
    assert_eq!(kept, key);
    let clear = bench.run("init clear --clear --json").ends_with(0).json();
    assert_eq!(clear["config"], "clear/recount.toml");
    assert!(clear["keys"].is_null() && !bench.path("clear/recount-keys").exists());
    bench.run("check --config clear/recount.toml").ends_with(0);
    let with_keys = String::from_utf8(before).unwrap();
    let without = fs::read_to_string(bench.path("clear/recount.toml")).unwrap();
    assert!(with_keys.contains("[keys]") && !without.contains("[keys]"));
}

#[test]
fn unusable_master_key_is_a_mistake_of_its_setting() {
    let bench = Bench::new();
    bench.run("init").ends_with(0);
    let refused = |what: &str| {
        let what = format!("recount.toml:18:19: keys.master_key_file: {what}");
        for command in ["check", "serve --listen 127.0.0.1:0"] {
            bench
                .run(command)
                .fails(2, "config-file")
                .prints_error(&[&what]);
        }
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let set_mode = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(bench.path("recount-master-key"), mode).unwrap();
        };
        set_mode(0o604);
        refused("recount-master-key has the mode 604, so every user can read sealed sessions");
        bench.run("check --insecure-directory").ends_with(0);
        set_mode(0o640);
        bench.run("check").ends_with(0);
    }
    bench.write("recount-master-key", "short");
    refused("a master key is 32 bytes or 64 hex digits, found 5 bytes");
    fs::remove_file(bench.path("recount-master-key")).unwrap();
    refused("recount-master-key cannot be read: ");
}

#[test]
fn service_of_a_new_configuration_seals() {
    let bench = Bench::new();
    bench.run("init").ends_with(0);
    let config = fs::read_to_string(bench.path("recount.toml")).unwrap();
    let listening = config.replace("127.0.0.1:7878", "127.0.0.1:0");
    let agents = "[agents.orders]\n[agents.open]\nsealed = false\n";
    bench.write("recount.toml", &(listening + agents));
    let web = Web::of(bench.start("serve --json"));
    let root = token(&bench, "root --role admin");
    for agent in ["orders", "open"] {
        let session = serde_json::json!({"agent": agent, "external_id": "ticket-77"});
        let opened = web.post(secret(&root), "/v1/sessions", &session);
        assert_eq!(opened.status, 201, "{opened:?}");
    }
    drop(web);
    // Without the keys, the records of one of them are not read.
    let listed = bench.run("sessions recount-journal --json").ends_with(0);
    let listed = listed.json_lines();
    let sealed = |agent: &str| -> Vec<_> {
        let named = listed.iter().filter(|it| it["agent"] == agent);
        named.map(|it| it["sealed"] == true).collect()
    };
    assert_eq!(
        (sealed("open"), sealed("orders")),
        (vec![false], vec![]),
        "{listed:?}"
    );
    assert_eq!(listed.len(), 2);
    bench.write("recount-master-key", &"a".repeat(64));
    bench.run("serve --json").fails(6, "wrong-master-key");
    lists(bench.run("check"), &["recount.toml:"]);
}

#[test]
fn published_schema_is_that_of_the_program() {
    let schema = Bench::new().run("check --schema").ends_with(0).out;
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/recount.schema.json"
    );
    if std::env::var_os("RECOUNT_WRITE_DOCS").is_some() {
        fs::write(path, &schema).unwrap();
    }
    let published = fs::read_to_string(path).unwrap();
    assert_eq!(
        published, schema,
        "`recount check --schema > docs/recount.schema.json`"
    );
}
