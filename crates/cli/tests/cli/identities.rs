//! Identities that other parties vouch for, and the limits of connections, over real sockets.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Bench, Started};
use crate::web::{Reply, Web, bearer, request, secret, token};

const PROXY: &str = r#"
journal = "j"
[access.proxy]
socket = "proxy.sock"
groups_header = "X-Forwarded-Groups"
[[access.proxy.roles]]
value = "staff"
role = "viewer"
agents = ["support"]
"#;

pub(crate) const JWT: &str = r#"
journal = "j"
[access.jwt]
issuer = "https://login.example"
audience = "recount"
jwks_file = "jwks.json"
[[access.jwt.roles]]
value = "acme-support"
role = "approver"
labels = { tenant = "acme" }
tools = ["refund"]
"#;

/// The public key of the tokens below. Their private key was not kept.
pub(crate) const JWKS: &str = r#"{"keys":[{"kty":"OKP","kid":"test","use":"sig","crv":"Ed25519",
"x":"b7jk2HKIgTIJMnilVxXJWhlVFR4ZrPEEZOaxaMhUTsk"}]}"#;

/// A token of ada for `recount`, valid until 2100, signed with Ed25519.
pub(crate) const TOKEN: &str = concat!(
    "eyJhbGciOiJFZERTQSIsImtpZCI6InRlc3QiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2xvZ",
    "2luLmV4YW1wbGUiLCJhdWQiOiJyZWNvdW50Iiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwLCJyb2xlc",
    "yI6WyJhY21lLXN1cHBvcnQiXSwiZ3JvdXBzIjpbInN0YWZmIl19.NtQCaig9yjQGMsbfZXoY2_q0QhV3sdmq",
    "KlefBuW1UNY-6DSV4sLQGA4W9dhfw-1KAGouPONBkgVyge1tLtjDDA",
);

/// The same for another audience.
pub(crate) const FOREIGN: &str = concat!(
    "eyJhbGciOiJFZERTQSIsImtpZCI6InRlc3QiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2xvZ",
    "2luLmV4YW1wbGUiLCJhdWQiOiJiaWxsaW5nIiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwLCJyb2xlc",
    "yI6WyJhY21lLXN1cHBvcnQiXSwiZ3JvdXBzIjpbInN0YWZmIl19.Bjm0bcYdb8R0iZtIukkZLFk2ghjf75Za",
    "aRHec5uqHs37SGxIEG1pJwvXxCt9xwzNnaHr9jS37xM0ESytyNz6AA",
);

/// The headers that the proxy adds for a user.
fn user(name: &str, groups: &str) -> String {
    format!("x-forwarded-user: {name}\r\nx-forwarded-groups: {groups}\r\n")
}

/// Sends a request to the socket of the proxy.
fn through(bench: &Bench, headers: &str) -> Reply {
    let mut stream = UnixStream::connect(bench.path("proxy.sock")).unwrap();
    let text = request("127.0.0.1", "GET /v1/me", headers, "");
    stream.write_all(text.as_bytes()).unwrap();
    Reply::read(stream)
}

fn mode(bench: &Bench) -> u32 {
    let facts = fs::metadata(bench.path("proxy.sock")).unwrap();
    facts.permissions().mode() & 0o777
}

#[test]
fn user_of_the_proxy_comes_through_its_socket_alone() {
    let bench = Bench::new();
    bench.write("recount.toml", PROXY);
    let mut command = bench.command("serve --listen 127.0.0.1:0 --json");
    command.env("RECOUNT_LOG", "warn");
    let mut program = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = program.stderr.take().unwrap();
    let web = Web::of(Started::of(program));
    assert_eq!(mode(&bench), 0o600);
    let me = through(&bench, &user("ada", "staff, other")).json();
    assert_eq!(
        me["actor"],
        json!({
            "name": "ada",
            "authenticated_by": "token",
            "issuer": "proxy",
            "groups": ["other", "staff"],
        })
    );
    let grant = json!({"role": "viewer", "agents": ["support"], "labels": {}});
    assert_eq!(me["grants"], json!([grant]));
    assert_eq!(through(&bench, "").status, 401);
    for _ in 0..3 {
        let foreign = web.send("GET /v1/me", &user("ada", "staff"), "");
        assert_eq!(foreign.status, 401, "{foreign:?}");
    }
    let bob = token(&bench, "bob --role viewer");
    let both = format!("{}{}", bearer(secret(&bob)), user("ada", "staff"));
    assert_eq!(
        web.send("GET /v1/me", &both, "").json()["actor"]["name"],
        "bob"
    );
    web.ask_to_end();
    assert!(web.program.ends_well());
    let mut log = String::new();
    err.read_to_string(&mut log).unwrap();
    let warnings = log
        .matches("a header of the proxy came from elsewhere")
        .count();
    assert_eq!(warnings, 1, "{log}");
    assert!(!bench.path("proxy.sock").exists());
}

#[test]
fn socket_replaces_only_one_that_no_process_serves() {
    let bench = Bench::new();
    let more = "socket_mode = \"0660\"\nissuer = \"sso\"\nuser_header = \"X-User\"\n[[";
    let shared = PROXY.replace("[[", more);
    bench.write("recount.toml", &shared);
    let path = bench.path("proxy.sock");
    bench.write("proxy.sock", "kept");
    let refused = || bench.run("serve --listen 127.0.0.1:0").fails(1, "listen");
    refused().prints_error(&["another kind of file", "[access.proxy]"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    fs::remove_file(&path).unwrap();
    let taken = UnixListener::bind(&path).unwrap();
    refused().prints_error(&["another process already listens there"]);
    drop(taken);
    let web = Web::start(&bench, "");
    assert_eq!(mode(&bench), 0o660);
    assert_eq!(through(&bench, &user("ada", "")).status, 401);
    let me = through(&bench, "x-user: ada\r\n").json();
    assert_eq!(me["actor"]["issuer"], "sso", "{me}");
    drop(web);
    let left: Vec<_> = fs::read_dir(bench.path("")).unwrap().collect();
    let hidden = |it: &std::io::Result<fs::DirEntry>| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".recount")
    };
    assert!(!left.iter().any(hidden), "{left:?}");
}

#[test]
fn jwt_of_the_configured_issuer_is_admitted() {
    let bench = Bench::new();
    bench.write("recount.toml", JWT);
    bench.write("jwks.json", JWKS);
    let web = Web::start(&bench, "");
    let me = web.get(TOKEN, "/v1/me").json();
    assert_eq!(me["actor"]["issuer"], "https://login.example", "{me}");
    assert_eq!(me["actor"]["groups"], json!(["staff"]));
    let grant = json!({
        "role": "approver",
        "agents": "any",
        "labels": {"tenant": "acme"},
        "tools": ["refund"],
    });
    assert_eq!(me["grants"], json!([grant]));
    let foreign = web.get(FOREIGN, "/v1/me");
    assert_eq!(
        (foreign.status, &foreign.json()["code"]),
        (401, &json!("unauthenticated"))
    );
    let (message, _) = TOKEN.rsplit_once('.').unwrap();
    assert_eq!(web.get(&format!("{message}."), "/v1/me").status, 401);
}

/// The mistakes of a configuration, each with its line and its field.
fn mistakes_of(bench: &Bench, config: &str) -> Vec<String> {
    bench.write("recount.toml", config);
    let checked = bench.run("check --json").json();
    let mistakes = checked["mistakes"].as_array().unwrap().iter();
    let line = |it: &Value| {
        let what = it["what"].as_str().unwrap();
        format!("{} {}: {what}", it["line"], it["field"].as_str().unwrap())
    };
    mistakes.map(line).collect()
}

/// Expects that the mistakes of a configuration begin like these.
fn expect_mistakes(bench: &Bench, config: &str, expected: &[&str]) {
    let found = mistakes_of(bench, config);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found.starts_with(expected),
            "{found:?} and not {expected:?}"
        );
    }
}

#[test]
fn unfit_limits_of_jwts_are_mistakes() {
    let bench = Bench::new();
    bench.write("jwks.json", JWKS);
    let jwt = |limits: &str| JWT.replace("[[", &format!("{limits}[["));
    let unfit = "algorithms = []\nclock_skew = \"3650d\"\nrefetch_after = \"0s\"\n";
    expect_mistakes(
        &bench,
        &jwt(unfit),
        &[
            "7 access.jwt.algorithms: expected an algorithm, found an empty list",
            "8 access.jwt.clock_skew: expected a time up to 10m",
            "9 access.jwt.refetch_after: expected a time longer than 0",
        ],
    );
    let seldom = jwt("refetch_after = \"1d\"\n");
    expect_mistakes(
        &bench,
        &seldom,
        &["7 access.jwt.refetch_after: expected a time up to 15m"],
    );
    let fit = jwt("clock_skew = \"10m\"\nrefetch_after = \"15m\"\n");
    expect_mistakes(&bench, &fit, &[]);
}

#[test]
fn roles_for_unknown_agents_and_tools_are_mistakes() {
    let bench = Bench::new();
    let config = "[access.proxy]\nsocket = \"s\"\n\
        [[access.proxy.roles]]\nvalue = \"a\"\nrole = \"client\"\nagents = [\"shp\"]\n\
        tools = [\"pakc\"]\n\
        [[access.proxy.roles]]\nvalue = \"b\"\nrole = \"client\"\n\
        tools = [\"pack\",\n\"pakc\"]\n";
    let shop = "[agents.shop]\n[[agents.shop.client_tools]]\nname = \"pack\"\n\
        description = \"Packs\"\n";
    expect_mistakes(
        &bench,
        &format!("{config}{shop}"),
        &[
            "6 access.proxy.roles.agents: there is no agent \"shp\"; did you mean \"shop\"?",
            "12 access.proxy.roles.tools: no agent of this role has a tool \"pakc\"; did you \
             mean \"pack\"?",
        ],
    );
    // The journal of another program may have these agents.
    expect_mistakes(&bench, config, &[]);
    let mcp = "[[agents.shop.mcp]]\nserver = \"npx\"\n";
    let of_servers = format!("{}{shop}{mcp}", config.replace("shp", "shop"));
    expect_mistakes(&bench, &of_servers, &[]);
}

#[test]
fn impossible_socket_is_a_mistake() {
    let bench = Bench::new();
    bench.write("kept", "a file");
    for (socket, expected) in [
        ("gone/s", "there is no directory gone"),
        ("kept", "it is another kind of file"),
        (&"s".repeat(120), "ss"),
    ] {
        let config = PROXY.replace("proxy.sock", socket);
        let expected = format!("4 access.proxy.socket: {expected}");
        expect_mistakes(&bench, &config, &[&expected]);
    }
    expect_mistakes(&bench, PROXY, &[]);
}

#[test]
fn directory_of_a_killed_service_stops_no_start() {
    let bench = Bench::new();
    bench.write("recount.toml", PROXY);
    let own = std::process::id();
    // A service that was killed while it began, with the id that the next one gets.
    for pid in own..own + 4096 {
        fs::create_dir(bench.path(&format!(".recount-{pid}"))).unwrap();
    }
    let _web = Web::start(&bench, "");
    assert_eq!(through(&bench, &user("ada", "staff")).status, 200);
}

#[test]
fn issuer_of_jwts_is_taken_anew() {
    let bench = Bench::new();
    bench.write("recount.toml", JWT);
    bench.write("jwks.json", JWKS);
    let web = Web::start(&bench, "");
    assert_eq!(web.get(TOKEN, "/v1/me").status, 200);
    let billing = JWT.replace("\"recount\"", "\"billing\"");
    bench.write("recount.toml", &billing);
    let reload = || bench.run("reload j");
    reload().ends_with(0).prints(&["Reloaded: access.jwt"]);
    assert_eq!(web.get(TOKEN, "/v1/me").status, 401);
    assert_eq!(web.get(FOREIGN, "/v1/me").status, 200);
    bench.write("jwks.json", "none");
    reload()
        .fails(2, "config-file")
        .prints_error(&["recount.toml:4:10: access.jwt.issuer: expected a JWK set"]);
    assert_eq!(web.get(FOREIGN, "/v1/me").status, 200, "the keys stay");
    bench.write("recount.toml", "journal = \"j\"\n");
    reload().ends_with(0).prints(&["Reloaded: access.jwt"]);
    assert_eq!(web.get(FOREIGN, "/v1/me").status, 401);
}

#[test]
fn settings_of_the_issuer_count() {
    let bench = Bench::new();
    bench.write("jwks.json", r#"{"keys":[]}"#);
    let with = |more: &str| {
        let more = format!("audience = \"recount\"\n{more}\n");
        bench.write(
            "recount.toml",
            &JWT.replace("audience = \"recount\"\n", &more),
        );
        Web::start(&bench, "")
    };
    let web = with("refetch_after = \"1ms\"\nroles_claim = \"groups\"\ngroups_claim = \"roles\"");
    assert_eq!(web.get(TOKEN, "/v1/me").status, 401, "there is no key yet");
    bench.write("jwks.json", JWKS);
    // Each request takes longer than the keys are fresh, or the next one does.
    let mut replies = (0..100).map(|_| web.get(TOKEN, "/v1/me"));
    let me = replies.find(|it| it.status == 200).unwrap().json();
    assert_eq!(me["actor"]["roles"], json!(["staff"]), "{me}");
    assert_eq!(me["actor"]["groups"], json!(["acme-support"]));
    assert_eq!(me["grants"], json!([]));
    web.ask_to_end();
    assert!(web.program.ends_well());
    let web = with("algorithms = [\"ES256\"]");
    assert_eq!(web.get(TOKEN, "/v1/me").status, 401);
}

#[test]
fn mistakes_about_identities_have_their_lines() {
    let bench = Bench::new();
    let lines = |config: &str| mistakes_of(&bench, config);
    let expected = |config: &str, expected: &[&str]| expect_mistakes(&bench, config, expected);
    expected(
        "[access.jwt]\nissuer = \"recount\"\naudience = \"a\"\njwks_file = \"k\"\n\
         [access.proxy]\nsocket = \"s\"\nuser_header = \"a b\"\n",
        &[
            "2 access.jwt.issuer: expected an issuer other than recount",
            "7 access.proxy.user_header: expected the name of a header",
        ],
    );
    let jwt = "[access.jwt]\nissuer = \"i\"\naudience = \"a\"\n";
    expected(
        &format!("{jwt}jwks_url = \"https://login.example\"\njwks_file = \"k\"\n"),
        &["5 access.jwt.jwks_file: expected either jwks_url or jwks_file"],
    );
    expected(
        &format!("{jwt}jwks_file = \"k\"\njwks_authorities = \"ca.pem\"\n"),
        &["5 access.jwt.jwks_authorities: expected it with jwks_url"],
    );
    expected(
        "[access]\ntokns = \"t\"\n[access.jwt]\nkey = 1\nissuer = \"i\"\naudience = \"a\"\n\
         jwks_url = \"https://login.example\"\n\
         [[access.jwt.roles]]\nvalue = \"v\"\nrole = \"viewer\"\nagent = \"a\"\n\
         [agents.a]\nmodle = \"m\"\n",
        &[
            "2 access.tokns: unknown key",
            "4 access.jwt.key: unknown key",
            "11 access.jwt.roles.agent: unknown key",
            "13 agents.a.modle: unknown key",
        ],
    );
    expected(
        "[access.jwt]\nissuer = \"i\"\naudience = \"a\"\njwks_file = \"gone\"\n",
        &["4 access.jwt.jwks_file: gone cannot be read"],
    );
    expected(
        "[access.jwt]\nissuer = \"i\"\naudience = \"a\"\n\
         jwks_url = \"http://login.example\"\n",
        &["4 access.jwt.jwks_url: expected an https URL"],
    );
    expected(
        "[access.jwt]\nissuer = \"i\"\nalgorithms = [\"HS256\", \"ES256\"]\n\
         [[access.jwt.roles]]\nvalue = \"v\"\nrole = \"boss\"\nagents = []\n\
         [access.proxy]\nsocket_mode = \"0666\"\nhead = 1\n",
        &[
            "1 access.jwt: expected jwks_url or jwks_file, found neither",
            "1 access.jwt.audience: expected a value, found none",
            "3 access.jwt.algorithms: expected RS256",
            "6 access.jwt.roles.role: expected one of client, viewer",
            "7 access.jwt.roles.agents: expected a name",
            "8 access.proxy.socket: expected a value, found none",
            "9 access.proxy.socket_mode: expected \"0600\" or \"0660\"",
            "10 access.proxy.head: unknown key",
        ],
    );
    bench
        .run("serve --listen 127.0.0.1:0")
        .fails(2, "config-file");
    assert!(!bench.path("recount-journal").exists());
    bench.write("jwks.json", r#"{"keys":[]}"#);
    assert_eq!(lines(JWT), Vec::<String>::new());
    // A group that only the issuer gives is no mistake.
    let asking = "[agents.a]\n[[agents.a.client_tools]]\nname = \"pay\"\n\
                  description = \"Pays\"\nconfirm = \"Pay?\"\n\
                  approvers = { groups = [\"staff\"] }\n";
    let of_a_role = asking.replace("groups", "roles");
    for identities in [
        format!("{JWT}{asking}"),
        format!("{PROXY}{asking}"),
        format!("{JWT}{of_a_role}"),
    ] {
        let identities = identities
            .replace("refund", "pay")
            .replace("\"support\"", "\"a\"");
        assert_eq!(lines(&identities), Vec::<String>::new(), "{identities}");
    }
    assert_eq!(lines(asking).len(), 1);
}

#[test]
fn slow_head_and_slow_body_are_given_up() {
    let bench = Bench::new();
    bench.write(
        "recount.toml",
        "[limits]\nhead_time = \"100ms\"\nbody_time = \"100ms\"\n",
    );
    let web = Web::start(&bench, "--journal j");
    let root = token(&bench, "root --role admin");
    let mut slow = web.connect();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127")
        .unwrap();
    // The service closes the connection; the test sends nothing more.
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    let body = r#"{"target":"everything"}"#;
    let whole = request(&web.host, "POST /v1/pause", &bearer(secret(&root)), body);
    let mut slow = web.connect();
    slow.write_all(whole.strip_suffix("}").unwrap().as_bytes())
        .unwrap();
    let refused = Reply::read(slow);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (408, &json!("too-slow"))
    );
    assert_eq!(web.get("", "/healthz").status, 200);
    let pauses = web.get(secret(&root), "/v1/pauses").json();
    assert_eq!(pauses["items"], json!([]), "{pauses}");
}

#[test]
fn failed_credentials_are_limited_and_lock_no_one_out() {
    let bench = Bench::new();
    bench.write("recount.toml", "[limits]\nfailures_per_minute = 1\n");
    let web = Web::start(&bench, "--journal j");
    let ada = token(&bench, "ada --role viewer");
    assert_eq!(web.get("rct_guess", "/v1/me").status, 401);
    let refused = web.get("rct_guess", "/v1/me");
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (429, &json!("too-many-requests"))
    );
    assert!(refused.header("retry-after").parse::<u32>().unwrap() <= 60);
    assert_eq!(web.get(secret(&ada), "/v1/me").status, 200);
}

#[test]
fn limits_of_the_configuration_count() {
    let bench = Bench::new();
    let limits = "[limits]\nbody_bytes = 30\nstreams = 1\nwaiting = 1\n";
    bench.write("recount.toml", limits);
    let web = Web::start(&bench, "--journal j");
    let (root, bob) = (
        token(&bench, "root --role admin"),
        token(&bench, "bob --role client"),
    );
    let large = json!({"target": "everything", "reason": "x"});
    assert_eq!(web.post(secret(&root), "/v1/pause", &large).status, 413);
    let open = |token: &Value, line: &str, body: &str| {
        let mut held = web.connect();
        let text = request(&web.host, line, &bearer(secret(token)), body);
        held.write_all(text.as_bytes()).unwrap();
        held
    };
    let taken = |metric: &str| {
        let metrics = web.get(secret(&root), "/metrics").body;
        metrics.lines().any(|it| it == format!("{metric} 1"))
    };
    let _stream = open(&root, "GET /v1/pending/events", "");
    while !taken("recount_streams") {}
    assert_eq!(web.get(secret(&root), "/v1/pending/events").status, 429);
    let claim = r#"{"claim":"w1","wait":60}"#;
    let _waiting = open(&bob, "POST /v1/claims", claim);
    while !taken("recount_waiting_requests") {}
    let claim: Value = serde_json::from_str(claim).unwrap();
    assert_eq!(web.post(secret(&bob), "/v1/claims", &claim).status, 429);
}

#[test]
fn requests_of_a_person_are_limited_as_configured() {
    let bench = Bench::new();
    bench.write("recount.toml", "[limits]\nrequests_per_second = 1\n");
    let web = Web::start(&bench, "--journal j");
    let ada = token(&bench, "ada --role viewer");
    let mut statuses = (0..100).map(|_| web.get(secret(&ada), "/v1/me").status);
    assert!(statuses.any(|it| it == 429));
}
