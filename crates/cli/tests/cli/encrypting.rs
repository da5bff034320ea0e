//! `recount serve` with a certificate.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::program::Bench;
use crate::web::{Reply, Web, bearer, request, secret, token};

const AUTHORITY: &str = include_str!("../tls/ca.pem");
const CERTIFICATE: &str = include_str!("../tls/certificate.pem");
const KEY: &str = include_str!("../tls/key.pem");

const CONFIG: &str = "[tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n";

/// A bench with the certificate in its files.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("recount.toml", CONFIG);
    bench.write("certificate.pem", CERTIFICATE);
    bench.write("key.pem", KEY);
    #[cfg(unix)]
    protect(&bench, 0o600);
    bench
}

#[cfg(unix)]
fn protect(bench: &Bench, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(bench.path("key.pem"), mode).unwrap();
}

#[test]
fn service_encrypts_with_its_certificate() {
    let bench = bench();
    let web = Web::start(&bench, "");
    let link = web.ready["link"].as_str().unwrap();
    assert!(link.starts_with("https://127.0.0.1:"), "{link}");
    let ada = token(&bench, "ada --role viewer");
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).unwrap())
        .unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = Arc::new(client);
    let send = |text: &str| {
        let connection = ClientConnection::new(client.clone(), name.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, web.connect());
        stream.write_all(text.as_bytes()).unwrap();
        Reply::read(stream)
    };
    let text = request(&web.host, "GET /v1/me", &bearer(secret(&ada)), "");
    let me = send(&text);
    assert_eq!(
        (me.status, &me.json()["actor"]["name"]),
        (200, &"ada".into())
    );
    let login = request(&web.host, &format!("GET {}", web.login()), "", "");
    let cookie = send(&login);
    assert!(
        cookie.header("set-cookie").ends_with("; secure"),
        "{cookie:?}"
    );
    bench.write("certificate.pem", "none");
    bench
        .run("reload recount-journal")
        .fails(2, "config-file")
        .prints_error(&[
            "taken anew: tokens",
            "recount.toml:2:15: tls.certificate: expected",
        ]);
    bench.write("certificate.pem", CERTIFICATE);
    bench
        .run("reload")
        .ends_with(0)
        .prints(&["tokens, certificate"]);
    bench.write("recount.toml", "");
    bench.run("reload").fails(2, "config-file").prints_error(&[
        "taken anew: tokens:",
        "the certificate stays until the next start",
    ]);
    let mut clear = web.connect();
    clear.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The service may also reset the connection.
    let _ = std::io::Read::read_to_end(&mut clear, &mut answer);
    assert!(!answer.starts_with(b"HTTP"), "nothing is served in clear");
}

#[test]
fn unfit_certificate_and_key_are_mistakes() {
    let bench = bench();
    bench.run("check").ends_with(0);
    bench.write("certificate.pem", AUTHORITY);
    bench
        .run("check")
        .fails(2, "config-file")
        .prints_error(&["recount.toml:2:15: tls.certificate: the certificate and the key"]);
    bench.write("certificate.pem", "none");
    fs::remove_file(bench.path("key.pem")).unwrap();
    bench
        .run("serve --listen 127.0.0.1:0")
        .fails(2, "config-file")
        .prints_error(&[
            "recount.toml:2:15: ",
            "recount.toml:3:7: tls.key: key.pem cannot be read",
        ]);
    bench.write(
        "key.pem",
        "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
    );
    #[cfg(unix)]
    {
        protect(&bench, 0o644);
        bench
            .run("check")
            .fails(2, "config-file")
            .prints_error(&["has the mode 644"]);
        protect(&bench, 0o640);
    }
    let run = bench.run("check").fails(2, "config-file");
    assert!(!run.err.contains("secret"), "{run:?}");
}
