//! `recount gateway`: its start, its settings and their mistakes, and its certificates.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::program::{Bench, Run, Started};
use crate::web::{Reply, Web, request, token};

/// Free ports for both parts of `recount gateway`.
const FREE: &str = "gateway --listen 127.0.0.1:0 --api-listen 127.0.0.1:0";

/// The certificate that `recount gateway dev-certificate` made.
const MADE: &str = "--certificate recount-certificate/gateway.pem \
                    --key recount-certificate/gateway-key.pem";

/// A running gateway, with its part of the first line.
fn gateway(bench: &Bench, options: &str) -> (Web, Value) {
    let web = Web::of(bench.start(&format!("{FREE} --json {options}")));
    let gateway = web.ready["gateway"].clone();
    (web, gateway)
}

/// The mistakes that a run lists.
fn mistakes(run: Run) -> Vec<String> {
    let run = run.fails(2, "config-file");
    let listed = run.err.lines().filter_map(|it| it.strip_prefix("  - "));
    listed.map(str::to_owned).collect()
}

#[test]
fn gateway_needs_no_configuration() {
    let bench = Bench::new();
    let (web, gateway) = gateway(&bench, "--upstream ws://127.0.0.1:9");
    let address = gateway["address"].as_str().unwrap().to_owned();
    let expected = json!({
        "address": address,
        "url": format!("http://{address}"),
        "tls_address": null,
        "tls_url": null,
        "agent": "gateway",
        "upstream": "ws://127.0.0.1:9",
        "dry_run": false,
    });
    assert_eq!(gateway, expected);
    assert!(TcpStream::connect(address).is_ok());
    assert!(bench.path("recount-journal/JOURNAL").exists());
    assert_eq!(web.get("", "/healthz").status, 200);
    let login = web.send(&format!("GET {}", web.login()), "", "");
    assert_eq!((login.status, login.header("location")), (303, "./inbox"));
    #[cfg(unix)]
    {
        web.ask_to_end();
        assert!(web.program.ends_well());
    }
}

#[test]
fn people_get_the_addresses_and_the_link() {
    let bench = Bench::new();
    let options = "--upstream ws://127.0.0.1:9 --agent support --dry-run --journal j";
    let mut started = bench.start(&format!("{FREE} {options}"));
    started.until("Serving j at http://127.0.0.1:");
    let relaying = started.until("Relaying live clients at http://127.0.0.1:");
    assert!(relaying.ends_with(" to ws://127.0.0.1:9"), "{relaying}");
    started.until("for the agent support");
    started.until("a dry run: nothing is held");
    started.until("/login?token=");
}

#[test]
fn service_with_a_section_has_a_gateway() {
    let bench = Bench::new();
    let section = "[gateway]\nlisten = \"127.0.0.1:0\"\nagent = \"shop\"\n[agents.shop]\n";
    bench.write("recount.toml", section);
    let web = Web::start(&bench, "");
    assert_eq!(web.ready["gateway"]["agent"], "shop");
    assert!(web.ready["gateway"]["upstream"].is_null());
    let changed = section.replace("agent = ", "max_hold = \"5m\"\nagent = ");
    bench.write("recount.toml", &changed);
    bench
        .run("reload recount-journal")
        .fails(2, "config-file")
        .prints_error(&["gateway: the change is read with the next start"]);
}

#[test]
fn policies_may_name_tools_of_clients() {
    let bench = Bench::new();
    bench.write(
        "p.toml",
        "[tools.refund]\nconfirm = \"Refund this order?\"\n",
    );
    let agent = "[agents.shop]\npolicies = \"p.toml\"\n";
    bench.write("recount.toml", agent);
    assert_eq!(
        mistakes(bench.run("check")),
        ["p.toml:1:8: tools.refund: agent \"shop\" has no tool \"refund\"; there are none"]
    );
    bench.write(
        "recount.toml",
        &format!("{agent}[gateway]\nagent = \"shop\"\n"),
    );
    bench.run("check").ends_with(0);
    let (_web, started) = gateway(&bench, "");
    assert_eq!(started["agent"], "shop");
    // Without a configuration of the agent, too.
    bench.write("recount.toml", "");
    let (_web, started) = gateway(&bench, "--journal other --policies p.toml");
    assert_eq!(started["agent"], "gateway");
    bench.write("p.toml", "[tools.refund]\nconfrim = true\n");
    let listed = mistakes(bench.run(&format!("{FREE} --policies p.toml")));
    assert!(
        listed[0].starts_with("p.toml:2:1: tools.refund.confrim: unknown"),
        "{listed:?}"
    );
}

#[test]
fn variables_and_options_override_the_section() {
    let bench = Bench::new();
    let section = "[gateway]\nlisten = \"127.0.0.1:1\"\nagent = \"shop\"\n\
                   upstream = \"ws://127.0.0.1:1\"\n[agents.shop]\n";
    bench.write("recount.toml", section);
    let started = |command: &str| {
        let mut command = bench.command(command);
        command
            .env("RECOUNT_SERVE_GATEWAY_LISTEN", "127.0.0.1:0")
            .env("RECOUNT_SERVE_GATEWAY_UPSTREAM", "ws://127.0.0.1:2")
            .env("RECOUNT_SERVE_GATEWAY_DRY_RUN", "true")
            .stdout(Stdio::piped());
        let web = Web::of(Started::of(command.spawn().unwrap()));
        let gateway = &web.ready["gateway"];
        assert_eq!(gateway["dry_run"], true);
        assert_ne!(gateway["address"], "127.0.0.1:1");
        (gateway["agent"].clone(), gateway["upstream"].clone())
    };
    let serve = "serve --listen 127.0.0.1:0 --json";
    assert_eq!(started(serve), (json!("shop"), json!("ws://127.0.0.1:2")));
    let options = format!("{FREE} --json --upstream ws://127.0.0.1:3");
    assert_eq!(
        started(&options),
        (json!("shop"), json!("ws://127.0.0.1:3"))
    );
    // They make a gateway where the file has none.
    bench.write("recount.toml", "");
    assert_eq!(
        started(serve),
        (json!("gateway"), json!("ws://127.0.0.1:2"))
    );
}

#[test]
fn variables_and_options_are_checked_as_the_section() {
    let bench = Bench::new();
    let of = |name: &str, value: &str| {
        let output = bench.command("check").env(name, value).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    for (name, value, expected) in [
        ("HOLD_INLINE", "0s", "expected a time longer than 0"),
        (
            "CREDENTIALS",
            "token",
            "expected \"pass_through\" or \"tokens\"",
        ),
        (
            "CREDENTIALS",
            "tokens",
            "expected the vendor's key in vendor_key_env",
        ),
        ("CONNECTIONS", "0", "expected a whole number from 1 on"),
        ("PASS_OBSERVED", "yes", "expected true or false"),
        ("TLS_LISTEN", "127.0.0.1:0", "expected a certificate"),
        (
            "LISTN",
            "127.0.0.1:0",
            "did you mean RECOUNT_SERVE_GATEWAY_LISTEN?",
        ),
    ] {
        let name = format!("RECOUNT_SERVE_GATEWAY_{name}");
        let listed = of(&name, value);
        let mistake = listed.lines().find(|it| it.contains(&format!("{name}: ")));
        assert!(
            mistake.is_some_and(|it| it.contains(expected)),
            "{name}: {listed}"
        );
    }
    assert_eq!(of("RECOUNT_SERVE_GATEWAY_KEEP", "2h"), "");
    for (options, expected) in [
        ("--hold-inline 0s", "longer than 0"),
        ("--max-hold soon", "invalid value 'soon' for '--max-hold"),
        (
            "--credentials token",
            "expected \"pass_through\" or \"tokens\"",
        ),
        ("--connections 0", "invalid value '0' for '--connections"),
        (
            "--keep 1h --vendor-key-env PATH",
            "--vendor-key-env: this needs credentials",
        ),
        (
            "--credentials tokens",
            "--credentials: expected the vendor's key with --vendor-key-env or --vendor-key-file",
        ),
        (
            "--tls-listen 127.0.0.1:0",
            "--tls-listen: expected a certificate with --certificate and --key, found none",
        ),
        (
            "--credentials tokens --vendor-key-env RECOUNT_NO_SUCH_VARIABLE --pass-observed",
            "--vendor-key-env: expected the vendor's key in the variable RECOUNT_NO_SUCH_VARIABLE",
        ),
    ] {
        let run = bench.run(&format!("{FREE} {options}")).ends_with(2);
        assert!(run.err.contains(expected), "{options}: {run:?}");
        let told = run.err.matches("expected the vendor's key").count();
        assert!(told <= 1, "{options}: {run:?}");
    }
}

#[test]
fn mistakes_of_the_section_have_their_lines() {
    let bench = Bench::new();
    let of = |section: &str| {
        bench.write(
            "recount.toml",
            &format!("[gateway]\n{section}\n[agents.shop]\n"),
        );
        mistakes(bench.run("check"))
    };
    for (section, expected) in [
        (
            "agent = \"shpo\"",
            "recount.toml:2:9: gateway.agent: there is no agent \"shpo\"; did you mean \"shop\"?",
        ),
        (
            "lisen = \"127.0.0.1:0\"",
            "recount.toml:2:1: gateway.lisen: unknown key; did you mean \"listen\"?",
        ),
        (
            "listen = \"0.0.0.0:7879\"",
            "recount.toml:2:10: gateway.listen: other machines reach 0.0.0.0:7879",
        ),
        (
            "listen = \"127.0.0.1:7878\"",
            "recount.toml:2:10: gateway.listen: expected another address than 127.0.0.1:7878",
        ),
        (
            "tls_listen = \"127.0.0.1:0\"",
            "recount.toml:2:14: gateway.tls_listen: expected a certificate in [gateway.tls]",
        ),
        (
            "upstream = \"ftp://127.0.0.1\"",
            "recount.toml:2:12: gateway.upstream: expected the ws, wss, http or https URL",
        ),
        (
            "upstream = \"ws://gemini.example\"",
            "recount.toml:2:12: gateway.upstream: expected wss or https",
        ),
        (
            "upstream = \"ws://localhost:7879\"",
            "recount.toml:2:12: gateway.upstream: expected the address of a service, found one on",
        ),
        (
            "credentials = \"token\"",
            "recount.toml:2:15: gateway.credentials: expected \"pass_through\" or \"tokens\"",
        ),
        (
            "credentials = \"tokens\"",
            "recount.toml:2:15: gateway.credentials: expected the vendor's key in vendor_key_env",
        ),
        (
            "credentials = \"tokens\"\nvendor_key_env = \"RECOUNT_NO_SUCH_VARIABLE\"",
            "recount.toml:3:18: gateway.vendor_key_env: expected the vendor's key in the variable \
             RECOUNT_NO_SUCH_VARIABLE, which is not set",
        ),
        (
            "vendor_key_env = \"PATH\"",
            "recount.toml:2:18: gateway.vendor_key_env: this needs credentials = \"tokens\"",
        ),
        (
            "hold_inline = \"0s\"",
            "recount.toml:2:15: gateway.hold_inline: expected a time longer than 0",
        ),
        (
            "on_expiry = \"allow\"",
            "recount.toml:2:13: gateway.on_expiry: it says what becomes of a call after max_hold",
        ),
        (
            "max_hold = \"5m\"\non_expiry = \"run\"",
            "recount.toml:3:13: gateway.on_expiry: expected \"deny\" or \"allow\"",
        ),
        (
            "tls = { certificate = \"nope.pem\" }",
            "recount.toml:2:1: gateway.tls.key: expected a value, found none",
        ),
    ] {
        let listed = of(section);
        assert!(
            listed.iter().any(|it| it.starts_with(expected)),
            "{expected}: {listed:?}"
        );
    }
    let agent = "[gateway]\nagent = \"shop\"\n[agents.shop]\nmodel = \"m\"\n\
                 endpoint = \"ws://127.0.0.1:1\"\n";
    bench.write("recount.toml", agent);
    let listed = mistakes(bench.run("check"));
    assert_eq!(listed.len(), 2, "{listed:?}");
    let expected = "recount.toml:4:9: agents.shop.model: clients of the gateway bring it";
    assert!(listed[0].starts_with(expected), "{listed:?}");
}

#[test]
#[cfg(unix)]
fn vendor_key_is_private_and_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let section = "[gateway]\ncredentials = \"tokens\"\nvendor_key_file = \"vendor-key\"\n";
    bench.write("recount.toml", section);
    bench.write("vendor-key", "AIza secret\n");
    let file = bench.path("vendor-key");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let place = "recount.toml:3:19: gateway.vendor_key_file: ";
    let listed = mistakes(bench.run("check"));
    assert!(
        listed[0].starts_with(&format!("{place}vendor-key has the mode 644")),
        "{listed:?}"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let run = bench.run("check");
    assert!(!run.err.contains("AIza"), "{run:?}");
    let expected = format!("{place}expected a key without spaces and control characters");
    assert_eq!(mistakes(run), [expected]);
    bench.write("vendor-key", "AIzaSecret\n");
    bench.run("check").ends_with(0);
}

#[test]
fn certificate_for_development_is_trusted_by_its_authority() {
    let bench = Bench::new();
    let run = bench.run("gateway dev-certificate --host gateway.test --json");
    let made = run.ends_with(0).json();
    assert_eq!(
        made["hosts"],
        json!(["localhost", "127.0.0.1", "::1", "gateway.test"])
    );
    let (web, gateway) = gateway(&bench, &format!("{MADE} --tls-listen 127.0.0.1:0"));
    let port_of = |key: &str| {
        let address = gateway[key].as_str().unwrap();
        address.rsplit(':').next().unwrap().parse::<u16>().unwrap()
    };
    let (plain, encrypted) = (port_of("address"), port_of("tls_address"));
    for name in ["127.0.0.1", "localhost", "gateway.test"] {
        for port in [plain, encrypted] {
            let reply = over_tls(&bench, name, port).unwrap();
            assert!(reply.status >= 400, "{name} {port} {reply:?}");
        }
    }
    let refused = over_tls(&bench, "other.test", encrypted).unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    let clear = |port| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let text = request("127.0.0.1", "GET /nowhere", "", "");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The gateway may also reset the connection.
        let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
        answer.starts_with(b"HTTP/1.1 ")
    };
    assert_eq!((clear(plain), clear(encrypted)), (true, false));
    drop(web);
}

/// Sends a request to a port of this machine, over TLS that trusts the made authority alone.
fn over_tls(bench: &Bench, name: &'static str, port: u16) -> std::io::Result<Reply> {
    let authority = fs::read(bench.path("recount-certificate/ca.pem"))?;
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&authority).unwrap())
        .unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerName::try_from(name).unwrap();
    let connection = ClientConnection::new(Arc::new(client), server).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(request(name, "GET /nowhere", "", "").as_bytes())?;
    Ok(Reply::read(stream))
}

#[test]
fn certificate_for_development_overwrites_nothing() {
    let bench = Bench::new();
    let made = bench.run("gateway dev-certificate --out made").ends_with(0);
    let trusted = bench.path("made/ca.pem").canonicalize().unwrap();
    made.prints(&[
        "Wrote made/gateway.pem",
        "for localhost, 127.0.0.1, ::1, until ",
        "export SSL_CERT_FILE=",
        &format!("export NODE_EXTRA_CA_CERTS={}", trusted.display()),
        "[gateway.tls]\n  certificate = \"made/gateway.pem\"\n  key = \"made/gateway-key.pem\"",
        "recount gateway --certificate made/gateway.pem --key made/gateway-key.pem",
    ]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| {
            let facts = bench.path(&format!("made/{name}")).metadata().unwrap();
            facts.permissions().mode() & 0o777
        };
        assert_eq!(mode("gateway-key.pem"), 0o600);
        assert_eq!(mode("gateway.pem") & 0o022, 0);
    }
    let files = fs::read_dir(bench.path("made")).unwrap().count();
    assert_eq!(files, 3, "the key of the authority is not kept");
    let before = fs::read(bench.path("made/gateway-key.pem")).unwrap();
    fs::remove_file(bench.path("made/ca.pem")).unwrap();
    bench
        .run("gateway dev-certificate --out made")
        .fails(1, "occupied")
        .prints_error(&["made/gateway.pem"]);
    assert_eq!(
        fs::read(bench.path("made/gateway-key.pem")).unwrap(),
        before
    );
    assert!(!bench.path("made/ca.pem").exists());
}

#[test]
fn certificate_of_the_gateway_is_read_anew() {
    let bench = Bench::new();
    bench.run("gateway dev-certificate").ends_with(0);
    let section = "[gateway]\nlisten = \"127.0.0.1:0\"\n[gateway.tls]\n\
                   certificate = \"recount-certificate/gateway.pem\"\n\
                   key = \"recount-certificate/gateway-key.pem\"\n";
    bench.write("recount.toml", section);
    let web = Web::start(&bench, "");
    let url = web.ready["gateway"]["tls_url"].as_str().unwrap().to_owned();
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    let first = bench.path("first");
    fs::rename(bench.path("recount-certificate"), &first).unwrap();
    bench.run("gateway dev-certificate").ends_with(0);
    assert!(
        over_tls(&bench, "localhost", port).is_err(),
        "the first certificate is in use"
    );
    bench
        .run("reload")
        .ends_with(0)
        .prints(&["certificate of the gateway"]);
    assert!(over_tls(&bench, "localhost", port).is_ok());
}

#[test]
fn token_has_its_models() {
    let bench = Bench::new();
    let options = "shop --role client --agent support --model models/gemini-3.8-live --model pro";
    let made = token(&bench, options);
    assert_eq!(
        made["grants"][0]["models"],
        json!(["gemini-3.8-live", "pro"])
    );
    let other = token(&bench, "desk --role client");
    assert_eq!(other["grants"][0].get("models"), None);
    let listed = bench.run("token list").ends_with(0);
    listed.prints(&["shop: client of support with the models gemini-3.8-live and pro; until "]);
}
