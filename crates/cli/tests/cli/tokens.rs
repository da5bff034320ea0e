//! `recount token`: tokens are made, used by a running service, listed and revoked.

use serde_json::json;

use crate::program::Bench;
use crate::web::{Web, secret, token};

#[test]
fn running_service_takes_new_and_revoked_tokens() {
    let bench = Bench::new();
    let web = Web::start(&bench, "");
    let options = "ada --role approver --agent support --agent billing --label tenant=acme \
                   --group staff --approver-role finance";
    let ada = token(&bench, options);
    let me = web.get(secret(&ada), "/v1/me");
    assert_eq!(me.status, 200, "{me:?}");
    let me = me.json();
    assert_eq!(me["actor"]["name"], "ada");
    assert_eq!(me["actor"]["issuer"], "recount");
    assert_eq!(me["actor"]["roles"], json!(["finance"]));
    assert_eq!(me["actor"]["groups"], json!(["staff"]));
    let grant = json!({
        "role": "approver",
        "agents": ["billing", "support"],
        "labels": {"tenant": "acme"},
    });
    assert_eq!(me["grants"], json!([grant]));
    let id = ada["id"].as_str().unwrap();
    let revoked = bench.run(&format!("token revoke {id} --json")).ends_with(0);
    assert!(revoked.json()["revoked_at_us"].is_u64());
    assert_eq!(web.get(secret(&ada), "/v1/me").status, 401);
}

#[test]
fn token_is_shown_once() {
    let bench = Bench::new();
    let made = bench.run("token create ada --role viewer");
    assert_eq!(made.code, 0, "{made:?}");
    // A script takes the whole output.
    let text = made.out.strip_suffix('\n').unwrap().to_owned();
    assert!(text.starts_with("rct_") && !text.contains('\n'), "{made:?}");
    made.prints_error(&["never shown again"]);
    let other = token(&bench, "bob --role operator --expires never");
    token(
        &bench,
        "packer --role client --agent shop --tool pack --tool ship",
    );
    let file = std::fs::read_to_string(bench.path("recount-tokens.json")).unwrap();
    let listed = bench.run("token list").ends_with(0);
    let as_json = bench.run("token list --json").ends_with(0);
    for shown in [&file, &listed.out, &as_json.out] {
        assert!(!shown.contains(&text) && !shown.contains(secret(&other)));
    }
    let listed = listed.prints(&["ada: viewer; until ", "bob: operator; never expires"]);
    listed.prints(&["packer: client of shop for the tools pack and ship; until "]);
    let lines = as_json.json_lines();
    assert!(lines[1]["expires_at_us"].is_null());
    assert!(lines[0].get("token").is_none() && lines[0].get("sha256").is_none());
}

#[test]
fn token_lives_ninety_days_unless_told_otherwise() {
    let bench = Bench::new();
    for (options, seconds) in [("", 90 * 86_400), ("--expires 12h", 12 * 3600)] {
        let made = token(&bench, &format!("ada --role viewer {options}"));
        let life =
            made["expires_at_us"].as_i64().unwrap() - made["created_at_us"].as_i64().unwrap();
        assert_eq!(life, seconds * 1_000_000, "{options:?}");
    }
}

#[test]
fn wrong_token_commands_have_their_codes() {
    let bench = Bench::new();
    bench.run("token list").ends_with(0).prints(&["no tokens"]);
    for wrong in [
        "token create ada",
        "token create ada --role root",
        "token create ada --role viewer --expires 0s",
        "token create ada --role viewer --expires soon",
        "token create ada --role viewer --label tenant",
    ] {
        assert_eq!(bench.run(wrong).code, 2, "{wrong}");
    }
    bench
        .run(&format!("token create {} --role viewer", "a".repeat(300)))
        .fails(2, "bad-request");
    assert!(!bench.path("recount-tokens.json").exists());
    bench.run("token revoke 0123").fails(1, "unknown-token");
    bench.write("t.json", "{}");
    std::fs::set_permissions(bench.path("t.json"), private()).unwrap();
    bench
        .run("token list --tokens t.json")
        .fails(1, "token-file")
        .prints_error(&["t.json"]);
    bench
        .run("serve --listen 127.0.0.1:0 --config nope.toml")
        .fails(2, "io")
        .prints_error(&["nope.toml"]);
}

/// A name with a character that is not seen looks like that of another person.
#[test]
fn name_with_unseen_characters_is_refused() {
    let bench = Bench::new();
    for name in ["ad\u{200b}a", "\u{202e}ada", "ada\u{1b}[2J", "\u{2800}"] {
        let refused = bench.run(&format!("token create {name} --role viewer"));
        let refused = refused.fails(2, "bad-request");
        assert!(!refused.err.contains(name), "{refused:?}");
    }
    assert!(!bench.path("recount-tokens.json").exists());
    token(&bench, "Zoë --role viewer");
}

#[cfg(unix)]
fn private() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

#[cfg(not(unix))]
fn private() -> std::fs::Permissions {
    std::fs::metadata(".").unwrap().permissions()
}

#[test]
#[cfg(unix)]
fn token_file_of_other_users_is_refused() {
    let bench = Bench::new();
    token(&bench, "ada --role viewer");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(bench.path("recount-tokens.json"), open).unwrap();
    // A supervisor does not repeat a mistake in the configuration.
    for (command, exit) in [("token list", 1), ("serve --listen 127.0.0.1:0", 2)] {
        bench
            .run(command)
            .fails(exit, "token-file")
            .prints_error(&["chmod 600"]);
    }
}

#[test]
fn token_goes_to_the_file_of_the_configuration() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("etc")).unwrap();
    bench.write("etc/recount.toml", "[access]\ntokens = \"tokens.json\"\n");
    token(&bench, "ada --role viewer --config etc/recount.toml");
    assert!(bench.path("etc/tokens.json").exists());
    bench.write("recount.toml", "nonsense = 1\n");
    bench
        .run("token create bob --role viewer")
        .fails(2, "config-file")
        .prints_error(&["recount.toml:1:1: nonsense: unknown key"]);
    let named = bench
        .run("token list --tokens etc/tokens.json")
        .ends_with(0);
    named.prints(&["ada"]);
}

#[cfg(unix)]
#[test]
fn link_to_the_file_of_tokens_stays_a_link() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("secrets")).unwrap();
    let link = bench.path("recount-tokens.json");
    std::os::unix::fs::symlink("secrets/tokens.json", &link).unwrap();
    let ada = token(&bench, "ada --role viewer");
    let id = ada["id"].as_str().unwrap();
    bench.run(&format!("token revoke {id}")).ends_with(0);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let listed = bench.run("token list --tokens secrets/tokens.json");
    listed.ends_with(0).prints(&["ada: viewer; revoked "]);
}
