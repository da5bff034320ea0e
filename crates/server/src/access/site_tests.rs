//! Tests of the checks against other sites.

use axum::http::Request;

use super::*;

fn request(method: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri("/v1/pause");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn example() -> PublicUrl {
    PublicUrl::parse("https://Recount.example/base").unwrap()
}

#[test]
fn hosts_of_this_machine_and_the_public_one_pass() {
    let public = example();
    for host in [
        "localhost",
        "localhost:7878",
        "127.0.0.1:7878",
        "[::1]:7878",
        "LOCALHOST:1",
        "recount.example",
        "recount.example:443",
        "Recount.Example",
    ] {
        let of = request("GET", &[("host", host)]);
        assert!(check_host(&of, Some(&public)).is_ok(), "{host}");
    }
}

#[test]
fn rebound_or_doubtful_host_is_refused() {
    let public = example();
    for host in [
        "attacker.example",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "localhost:x",
        "localhost:1:2",
        "recount.example:444",
        "127.0.0.2",
        "",
    ] {
        let of = request("GET", &[("host", host)]);
        let refused = check_host(&of, Some(&public)).unwrap_err();
        assert_eq!(refused.code(), Code::WrongHost, "{host}");
    }
    let twice = request("GET", &[("host", "localhost"), ("host", "localhost")]);
    assert!(check_host(&twice, None).is_err());
    let mut other_target = request("GET", &[("host", "localhost")]);
    other_target.uri = "http://127.0.0.1/v1/pause".parse().unwrap();
    assert!(check_host(&other_target, None).is_err());
    assert!(check_host(&request("GET", &[]), None).is_err());
    let public_unset = request("GET", &[("host", "recount.example")]);
    assert!(check_host(&public_unset, None).is_err());
}

#[test]
fn own_pages_and_programs_may_change() {
    let public = example();
    for headers in [
        vec![("host", "localhost:7878")],
        vec![
            ("host", "localhost:7878"),
            ("origin", "http://localhost:7878"),
        ],
        vec![
            ("host", "recount.example"),
            ("origin", "https://recount.example"),
        ],
        vec![
            ("host", "localhost:7878"),
            ("sec-fetch-site", "same-origin"),
        ],
        vec![("host", "localhost:7878"), ("sec-fetch-site", "none")],
    ] {
        let of = request("POST", &headers);
        assert!(check_site(&of, Some(&public)).is_ok(), "{headers:?}");
    }
}

#[test]
fn pages_of_other_sites_may_not_change() {
    let public = example();
    for headers in [
        vec![
            ("host", "localhost:7878"),
            ("origin", "http://localhost:3000"),
        ],
        vec![
            ("host", "localhost:7878"),
            ("origin", "https://attacker.example"),
        ],
        vec![("host", "localhost:7878"), ("origin", "null")],
        vec![
            ("host", "localhost:7878"),
            ("origin", "ftp://localhost:7878"),
        ],
        vec![
            ("host", "attacker.example"),
            ("origin", "http://attacker.example"),
        ],
        vec![
            ("host", "recount.example"),
            ("origin", "http://recount.example"),
        ],
        vec![("host", "localhost:7878"), ("sec-fetch-site", "cross-site")],
        vec![("host", "localhost:7878"), ("sec-fetch-site", "same-site")],
        vec![
            ("host", "localhost:7878"),
            ("origin", "http://localhost:7878"),
            ("origin", "https://attacker.example"),
        ],
    ] {
        let refused = check_site(&request("POST", &headers), Some(&public)).unwrap_err();
        assert_eq!(refused.code(), Code::CrossSite, "{headers:?}");
        assert!(check_site(&request("GET", &headers), Some(&public)).is_ok());
    }
}

#[test]
fn text_that_is_no_public_url_is_refused() {
    for text in [
        "recount.example",
        "ftp://recount.example",
        "",
        "https://a@b",
        "/x",
    ] {
        assert!(PublicUrl::parse(text).is_err(), "{text}");
    }
    assert!(example().is_https());
}
