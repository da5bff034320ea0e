//! Several services over a journal in one database, as behind a balancer.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::json;

use crate::answering::{TOOLS, refunds};
use crate::in_database::address;
use crate::program::{Bench, Started};
use crate::web::{Reply, Web, bearer, secret, token};

/// The services of one configuration, in a directory of their own.
struct Services {
    bench: Bench,
    at: String,
    key: String,
}

impl Services {
    fn new() -> Services {
        let bench = Bench::new();
        bench.write("tools.toml", TOOLS);
        bench.write(
            "recount.toml",
            "journal_env = \"JOURNAL\"\n[postgres]\nlease = \"3s\"\n\
             [access]\ntokens = \"shared/tokens.json\"\n[agents.orders]\ntools = [\"tools.toml\"]\n\
             [[agents.orders.client_tools]]\nname = \"pack\"\ndescription = \"Packs an order\"\n",
        );
        std::fs::create_dir(bench.path("shared")).unwrap();
        let key = secret(&token(&bench, "ada --role admin")).to_owned();
        Services {
            bench,
            at: address(),
            key,
        }
    }

    /// Starts a service whose state is in a directory of this name.
    fn program(&self, node: &str) -> Started {
        let mut command = self.bench.command("serve --listen 127.0.0.1:0 --json");
        let command = command.env("JOURNAL", &self.at);
        let command = command.env("RECOUNT_SERVE_NODE", node);
        let command = command.env("RECOUNT_SERVE_STATE", node);
        let child = command.stdout(Stdio::piped()).spawn();
        Started::of(child.unwrap())
    }

    fn start(&self, node: &str) -> Web {
        Web::of(self.program(node))
    }

    fn open(&self, at: &Web, key: &str) -> Reply {
        let headers = format!("{}idempotency-key: {key}\r\n", bearer(&self.key));
        let body = json!({"agent": "orders", "external_id": "order-7"}).to_string();
        at.send("POST /v1/sessions", &headers, &body)
    }
}

fn session(reply: &Reply) -> String {
    reply.json()["session"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn key_opens_one_session_at_all_services() {
    let services = Services::new();
    let (a, b) = (services.start("a"), services.start("b"));
    let first = services.open(&a, "k1");
    assert_eq!(
        (first.status, first.header("idempotent-replayed")),
        (201, "")
    );
    let again = services.open(&b, "k1");
    assert_eq!(
        (again.status, again.header("idempotent-replayed")),
        (201, "true")
    );
    assert_eq!(
        (&again.body, again.header("location")),
        (&first.body, first.header("location"))
    );
    let headers = format!("{}idempotency-key: k1\r\n", bearer(&services.key));
    let body = json!({"agent": "orders"}).to_string();
    for at in [&a, &b] {
        let other = at.send("POST /v1/sessions", &headers, &body);
        assert_eq!(
            (other.status, &other.json()["code"]),
            (422, &json!("idempotency-key-reused"))
        );
    }
    assert_ne!(session(&services.open(&b, "k2")), session(&first));
    for it in [a, b] {
        it.program.kill();
    }
    let after = services.open(&services.start("c"), "k1");
    assert_eq!(after.body, first.body);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn key_given_to_both_services_at_once_opens_one_session() {
    let services = Services::new();
    let nodes = [services.start("a"), services.start("b")];
    let mut all = BTreeSet::new();
    for number in 0..20 {
        let key = format!("k{number}");
        let both: Vec<Reply> = std::thread::scope(|scope| {
            let (services, key) = (&services, &key);
            let opening = nodes
                .each_ref()
                .map(|at| scope.spawn(move || services.open(at, key)));
            opening.map(|it| it.join().unwrap()).into()
        });
        let ids: BTreeSet<_> = both.iter().map(session).collect();
        assert_eq!(ids.len(), 1, "{both:?}");
        all.extend(ids);
    }
    assert_eq!(all.len(), 20);
    let listed = nodes[0].get(&services.key, "/v1/sessions?limit=100").json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 20);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn second_service_with_the_same_state_is_refused() {
    let services = Services::new();
    let first = services.start("a");
    let mut command = services.bench.command("serve --listen 127.0.0.1:0 --json");
    let second = command
        .env("JOURNAL", &services.at)
        .env("RECOUNT_SERVE_STATE", "a")
        .output()
        .unwrap();
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{error}");
    let pid = format!(
        "another service (process {}) has the state in",
        first.program.id()
    );
    for expected in [&pid, "journal-in-use", "RECOUNT_SERVE_STATE"] {
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(String::from_utf8(second.stdout).unwrap(), "");
    // The state of a killed service is free, as is another state beside a running one.
    first.program.kill();
    let again = services.start("a");
    assert_eq!(
        services.start("b").get(&services.key, "/readyz").status,
        200
    );
    assert_eq!(again.get(&services.key, "/v1/sessions").status, 200);
}

/// The steps of docs/postgres.md behind a balancer.
#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn approval_goes_on_at_the_service_that_is_left() {
    let services = Services::new();
    let (a, b) = (services.start("a"), services.start("b"));
    let session = session(&services.open(&a, "k1"));
    let headers = format!("{}idempotency-key: c1\r\n", bearer(&services.key));
    let call = json!({"tool": "refund", "args": {"order": "A-17"}}).to_string();
    let line = format!("POST /v1/sessions/{session}/calls");
    let asked = a.send(&line, &headers, &call).json();
    a.program.kill();
    let answer = format!("/v1/requests/{}/answer", asked["request"].as_str().unwrap());
    let answered = b.post(&services.key, &answer, &json!({"confirmed": true}));
    assert_eq!(answered.status, 200, "{answered:?}");
    let headers = format!("{headers}prefer: wait=30\r\n");
    let ended = b.send(&line, &headers, &call).json();
    assert_eq!(ended["ended"]["outcome"], "returned", "{ended}");
    assert_eq!(refunds(&services.bench), 1);
}

#[test]
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
fn worker_at_one_service_runs_the_call_of_another() {
    let services = Services::new();
    let (a, b) = (services.start("a"), services.start("b"));
    let session = session(&services.open(&a, "k1"));
    let claim = |name: &str, wait: u64| json!({"claim": name, "tools": ["pack"], "wait": wait});
    let (claimed, path) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| b.post(&services.key, "/v1/claims", &claim("w1", 60)));
        let headers = format!("{}idempotency-key: c1\r\n", bearer(&services.key));
        let call = json!({"tool": "pack", "args": {"order": 7}}).to_string();
        let line = format!("POST /v1/sessions/{session}/calls");
        let made = a.send(&line, &headers, &call).json();
        let path = format!("/v1/sessions/{session}/calls/{}", made["call"]);
        (waiting.join().unwrap(), path)
    });
    assert_eq!(claimed.status, 200, "{claimed:?}");
    assert_eq!(claimed.json()["args"], json!({"order": 7}));
    let none = a.post(&services.key, "/v1/claims", &claim("w2", 0));
    assert_eq!(none.status, 204);
    let named = json!({"claim": "w3", "session": session, "call": claimed.json()["call"]});
    let refused = b.post(&services.key, "/v1/claims", &named);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("already-claimed"))
    );
    let result = json!({"claim": "w1", "attempt": 1, "result": {"boxes": 2}});
    let finished = b.post(&services.key, &format!("{path}/claim/finish"), &result);
    assert_eq!(finished.status, 200, "{finished:?}");
    let ended = a.get(&services.key, &path).json();
    assert_eq!(ended["ended"]["response"], json!({"boxes": 2}), "{ended}");
}
