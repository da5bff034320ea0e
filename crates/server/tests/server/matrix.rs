//! The matrix: each route, each role, own and foreign sessions.
//!
//! The list of routes is the router's own. A route without a row fails the test.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use recount_server::Role;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::{Bench, Reply};
use crate::world::{FOREIGN, Place, World};

/// The credentials that a route needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Need {
    /// None.
    Nothing,
    /// Any valid credentials; the response is about the caller alone.
    Caller,
    /// Any valid credentials; the response lists what the caller may see.
    Listing,
    /// This role in the session that the request names.
    In(Role),
    /// The role operator in all sessions, which a tenant does not have.
    Everywhere,
    /// A role that may call and claim, in the session that the request names.
    Driving,
    /// A role that may call and claim, for the session that the request opens.
    Opening,
}

/// A route of the matrix.
pub(crate) struct Row {
    pub(crate) method: &'static str,
    /// The path, as the router has it.
    pub(crate) path: &'static str,
    pub(crate) needs: Need,
    /// The status for a caller that may do it.
    pub(crate) allowed: u16,
    /// The path for a place.
    filled: fn(&Place) -> String,
    body: Option<fn(&Place) -> Value>,
    /// True if the request needs an idempotency key.
    keyed: bool,
    /// True if the response is a stream, of which the first part is read.
    streams: bool,
}

fn row(method: &'static str, path: &'static str, needs: Need, allowed: u16) -> Row {
    Row {
        method,
        path,
        needs,
        allowed,
        filled: |_| String::new(),
        body: None,
        keyed: false,
        streams: false,
    }
}

impl Row {
    fn keyed(mut self) -> Row {
        self.keyed = true;
        self
    }

    fn streams(mut self) -> Row {
        self.streams = true;
        self
    }

    fn at(mut self, filled: fn(&Place) -> String) -> Row {
        self.filled = filled;
        self
    }

    fn with(mut self, body: fn(&Place) -> Value) -> Row {
        self.body = Some(body);
        self
    }

    fn path_for(&self, place: &Place) -> String {
        match (self.filled)(place) {
            path if path.is_empty() => self.path.to_owned(),
            path => path,
        }
    }

    pub(crate) async fn send(&self, bench: &Bench, token: Option<&str>, place: &Place) -> Reply {
        let mut request = Request::builder()
            .method(self.method.to_uppercase().as_str())
            .uri(self.path_for(place));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if self.keyed {
            request = request.header("idempotency-key", "k1");
        }
        let body = match self.body {
            None => Body::empty(),
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body(place).to_string())
            }
        };
        match self.streams {
            false => bench.send(request, body).await,
            true => bench.first(request, body).await,
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let (viewer, approver) = (Need::In(Role::Viewer), Need::In(Role::Approver));
    let operator = Need::In(Role::Operator);
    let mut rows = vec![
        row("get", "/healthz", Need::Nothing, 200),
        row("get", "/readyz", Need::Nothing, 200),
        row("get", "/v1/openapi.json", Need::Nothing, 200),
        // Without a token of its own; `browsers` has its tests.
        row("get", "/login", Need::Nothing, 200),
        row("get", "/v1/me", Need::Caller, 200),
        row("post", "/v1/logout", Need::Caller, 204),
        row("get", "/v1/sessions", Need::Listing, 200),
        row("get", "/v1/pending", Need::Listing, 200),
        row("get", "/v1/pending/events", Need::Listing, 200).streams(),
        row("get", "/v1/leaves", Need::Listing, 200),
        row("get", "/v1/pauses", Need::Listing, 200),
        row("get", "/v1/holds", Need::Listing, 200),
        row("get", "/v1/audit/decisions", Need::Listing, 200),
        row("get", "/metrics", Need::Caller, 200),
        row("get", "/v1/checkpoints", Need::Everywhere, 200),
        row("get", "/v1/sinks", Need::Everywhere, 200),
        row("get", "/v1/reads", Need::Everywhere, 200),
    ];
    rows.extend([
        row("get", "/v1/sessions/{id}", Need::In(Role::Client), 200)
            .at(|it| format!("/v1/sessions/{}", it.session)),
        row("get", "/v1/sessions/{id}/calls", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/calls", it.session)),
        row("get", "/v1/sessions/{id}/records", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/records", it.session)),
        row("get", "/v1/sessions/{id}/events", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/events", it.session))
            .streams(),
        row("get", "/v1/sessions/{id}/export", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/export", it.session)),
        row("post", "/v1/sessions/{id}/replay", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/replay", it.session)),
        row("post", "/v1/sessions/{id}/verify", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/verify", it.session)),
        row("get", "/v1/sessions/{id}/state", viewer, 200)
            .at(|it| format!("/v1/sessions/{}/state", it.session)),
        row("post", "/v1/sessions/{id}/close", operator, 200)
            .at(|it| format!("/v1/sessions/{}/close", it.session))
            .with(|_| json!({"reason": "done"})),
        row("post", "/v1/sessions/{id}/deny-all", approver, 200)
            .at(|it| format!("/v1/sessions/{}/deny-all", it.session))
            .with(|_| json!({"reason": "on hold"})),
        row("post", "/v1/requests/{id}/answer", approver, 200)
            .at(|it| format!("/v1/requests/{}/answer", it.request))
            .with(|_| json!({"confirmed": true})),
        row("post", "/v1/answers", approver, 200)
            .with(|it| json!({"requests": [it.request], "answer": {"confirmed": true}})),
        row(
            "post",
            "/v1/sessions/{id}/leaves/{seq}/revoke",
            approver,
            200,
        )
        .at(|it| format!("/v1/sessions/{}/leaves/{}/revoke", it.session, it.leave)),
        row("post", "/v1/pause", operator, 200)
            .with(|it| json!({"target": {"session": it.session}})),
        row("post", "/v1/hold", operator, 200)
            .with(|it| json!({"target": {"session": it.session}, "reason": "matter 17"})),
        row("post", "/v1/unhold", operator, 200)
            .with(|it| json!({"hold": it.hold, "reason": "settled"})),
        // No such pause is in force, but the caller may end one.
        row("post", "/v1/unpause", operator, 409)
            .with(|it| json!({"target": {"session": it.session}})),
        row(
            "post",
            "/v1/sessions/{id}/calls/{call}/respond",
            operator,
            200,
        )
        .at(|it| format!("/v1/sessions/{}/calls/{}/respond", it.session, it.paused))
        .with(|_| json!({"response": {"shipped": true}})),
        // The outcome is known, but the caller may find one.
        row(
            "post",
            "/v1/sessions/{id}/calls/{call}/reconcile",
            operator,
            409,
        )
        .at(|it| format!("/v1/sessions/{}/calls/{}/reconcile", it.session, it.ended))
        .with(|_| json!({"found": {"failed": "refused"}})),
        row(
            "post",
            "/v1/sessions/{id}/calls/{call}/cancel",
            operator,
            200,
        )
        .at(|it| format!("/v1/sessions/{}/calls/{}/cancel", it.session, it.paused)),
    ]);
    let all = "/v1/sinks/{sink}/dead-letters/retry";
    let filled = |_: &Place| "/v1/sinks/ops/dead-letters/retry".to_owned();
    rows.push(row("post", all, Need::Everywhere, 204).at(filled));
    rows.extend(["retry", "discard"].map(|doing| {
        let (path, filled): (_, fn(&Place) -> String) = match doing {
            "retry" => ("/v1/sinks/{sink}/dead-letters/{letter}/retry", |it| {
                format!("/v1/sinks/ops/dead-letters/{}/retry", it.session)
            }),
            _ => ("/v1/sinks/{sink}/dead-letters/{letter}/discard", |it| {
                format!("/v1/sinks/ops/dead-letters/{}/discard", it.session)
            }),
        };
        row("post", path, Need::Everywhere, 204).at(filled)
    }));
    rows.extend(program_rows());
    rows
}

/// The routes of programs that drive sessions and run calls.
fn program_rows() -> Vec<Row> {
    let claim = |path, filled: fn(&Place) -> String, body| {
        let row = row("post", path, Need::Driving, 200);
        row.at(filled).with(body)
    };
    vec![
        row("post", "/v1/sessions", Need::Opening, 201)
            .with(|_| json!({"agent": "support", "labels": {"tenant": "acme"}})),
        row("post", "/v1/sessions/{id}/calls", Need::Driving, 202)
            .at(|it| format!("/v1/sessions/{}/calls", it.session))
            .with(|_| json!({"tool": "refund", "args": {"note": "x"}}))
            .keyed(),
        row(
            "get",
            "/v1/sessions/{id}/calls/{call}",
            Need::In(Role::Client),
            200,
        )
        .at(|it| format!("/v1/sessions/{}/calls/{}", it.session, it.paused)),
        row("post", "/v1/claims", Need::Driving, 200)
            .with(|it| json!({"claim": "w1", "session": it.session, "call": it.claimable})),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/renew",
            |it| of_claim(it, "renew"),
            |_| json!({"claim": "held", "lease_ms": 90_000}),
        ),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/yield",
            |it| of_claim(it, "yield"),
            |_| json!({"claim": "held", "response": {"boxes": 1}}),
        ),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/report",
            |it| of_claim(it, "report"),
            |_| json!({"claim": "held", "name": "progress", "data": {"percent": 10}}),
        ),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/finish",
            |it| of_claim(it, "finish"),
            |_| json!({"claim": "held", "result": {"boxes": 2}}),
        ),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/fail",
            |it| of_claim(it, "fail"),
            |_| json!({"claim": "held", "failed": "out of boxes"}),
        ),
        claim(
            "/v1/sessions/{id}/calls/{call}/claim/release",
            |it| of_claim(it, "release"),
            |_| json!({"claim": "held", "not_begun": true}),
        ),
    ]
}

fn of_claim(place: &Place, report: &str) -> String {
    let (session, call) = (place.session, place.claimed);
    format!("/v1/sessions/{session}/calls/{call}/claim/{report}")
}

/// The status of a response, or that of the only outcome of several answers.
fn status(reply: &Reply) -> u16 {
    let of_item = reply.json()["items"][0]["status"].as_u64();
    let of_item = of_item.and_then(|it| u16::try_from(it).ok());
    of_item.unwrap_or_else(|| reply.status.as_u16())
}

#[tokio::test]
async fn every_route_has_a_row() {
    let world = World::new().await;
    let document = world.bench.get("", "/v1/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap();
    let of_router: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(|method| (method.clone(), path.clone()))
        })
        .collect();
    let of_rows = rows().into_iter();
    let of_rows: BTreeSet<(String, String)> = of_rows
        .map(|it| (it.method.to_owned(), it.path.to_owned()))
        .collect();
    assert_eq!(of_router, of_rows);
}

#[tokio::test]
async fn role_decides_in_own_sessions() {
    for row in rows() {
        for role in Role::ALL {
            let world = World::new().await;
            let token = world.tenant(role);
            let reply = row.send(&world.bench, Some(&token), &world.own).await;
            let expected = match row.needs {
                Need::In(needed) if role < needed => 403,
                Need::Everywhere => 403,
                Need::Driving | Need::Opening if matches!(role, Role::Viewer | Role::Approver) => {
                    403
                }
                Need::In(_)
                | Need::Driving
                | Need::Opening
                | Need::Nothing
                | Need::Caller
                | Need::Listing => row.allowed,
            };
            let cell = format!("{} {} as {role}", row.method, row.path);
            assert_eq!(status(&reply), expected, "{cell}: {}", reply.text);
            assert!(!reply.text.contains(FOREIGN), "{cell}: {}", reply.text);
            assert!(!reply.text.contains("globex"), "{cell}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn foreign_session_answers_as_an_unknown_one() {
    let world = World::new().await;
    let session: recount::session::SessionId =
        Uuid::from_u128(7 << 64).to_string().parse().unwrap();
    for role in Role::ALL {
        let token = world.tenant(role);
        for row in rows() {
            if !matches!(row.needs, Need::In(_) | Need::Driving) {
                continue;
            }
            for foreign in [&world.other_tenant, &world.other_agent] {
                let unknown = Place {
                    session,
                    request: session.request_id(recount::session::Seq(7)),
                    hold: recount::session::Seq(999),
                    ..*foreign
                };
                let cell = format!("{} {} as {role}", row.method, row.path);
                let seen = row.send(&world.bench, Some(&token), foreign).await;
                let expected = row.send(&world.bench, Some(&token), &unknown).await;
                assert_eq!(status(&seen), 404, "{cell}: {}", seen.text);
                assert_eq!(
                    without_ids(&seen, foreign),
                    without_ids(&expected, &unknown)
                );
                assert_eq!(seen.headers, expected.headers, "{cell}");
            }
        }
    }
    // Nothing has happened in the foreign sessions.
    for foreign in [&world.other_tenant, &world.other_agent] {
        let waiting = world
            .bench
            .engine
            .ledger()
            .pending_in(foreign.session)
            .await;
        assert_eq!(waiting.unwrap().len(), 1);
    }
}

fn without_ids(reply: &Reply, place: &Place) -> String {
    let text = reply.text.replace(&place.session.to_string(), "SESSION");
    text.replace(&place.request.to_string(), "REQUEST")
}

#[tokio::test]
async fn listing_has_own_sessions_alone() {
    let world = World::new().await;
    let target = |place: &Place| json!({"target": {"session": place.session}, "reason": FOREIGN});
    let admin = world.bench.admin();
    for place in [&world.own, &world.other_tenant, &world.other_agent] {
        let mut body = target(place);
        if place.session == world.own.session {
            body["reason"] = json!("own-text");
        }
        let paused = world.bench.post(&admin, "/v1/pause", &body).await;
        assert_eq!(paused.status, 200, "{}", paused.text);
    }
    let token = world.tenant(Role::Viewer);
    for row in rows().iter().filter(|it| it.needs == Need::Listing) {
        let seen = row.send(&world.bench, Some(&token), &world.own).await;
        assert!(
            seen.text.contains(&world.own.session.to_string()),
            "{}",
            row.path
        );
        for foreign in [&world.other_tenant, &world.other_agent] {
            let id = foreign.session.to_string();
            assert!(!seen.text.contains(&id), "{}: {}", row.path, seen.text);
            let all = row.send(&world.bench, Some(&admin), &world.own).await;
            assert!(all.text.contains(&id), "{}: {}", row.path, all.text);
        }
        assert!(!seen.text.contains(FOREIGN), "{}: {}", row.path, seen.text);
    }
}

#[tokio::test]
async fn request_without_credentials_is_refused() {
    let world = World::new().await;
    for row in rows() {
        let none = row.send(&world.bench, None, &world.own).await;
        let wrong = row
            .send(&world.bench, Some("rct_guessed"), &world.own)
            .await;
        let expected = match row.needs {
            Need::Nothing => row.allowed,
            Need::Caller
            | Need::Listing
            | Need::In(_)
            | Need::Everywhere
            | Need::Driving
            | Need::Opening => 401,
        };
        assert_eq!(none.status, expected, "{}", row.path);
        assert_eq!(wrong.status, expected, "{}", row.path);
    }
}
