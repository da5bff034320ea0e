//! The table of the routes: what their answers have of sessions.

use recount_reads::{Depth, Door};

/// The class of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Its answer has something of sessions.
    Read(Depth),
    /// It changes something, which is on record in the journal with its actor. Its answer has the
    /// outcome alone.
    Change,
    /// Its answer has nothing of sessions, or numbers of the service alone.
    Nothing,
}

const BODIES: Class = Class::Read(Depth::Bodies);
const ENVELOPES: Class = Class::Read(Depth::Envelopes);

/// The routes of programs. A route that is missing in the tables counts as one with bodies.
const API: [(&str, &str, Class); 47] = [
    ("GET", "/v1/me", Class::Nothing),
    ("POST", "/v1/logout", Class::Nothing),
    ("GET", "/metrics", Class::Nothing),
    ("GET", "/v1/checkpoints", ENVELOPES),
    ("GET", "/v1/sessions", ENVELOPES),
    ("POST", "/v1/sessions", Class::Change),
    ("GET", "/v1/sessions/{id}", ENVELOPES),
    ("GET", "/v1/sessions/{id}/state", BODIES),
    ("GET", "/v1/sessions/{id}/records", BODIES),
    ("GET", "/v1/sessions/{id}/events", BODIES),
    ("GET", "/v1/sessions/{id}/export", BODIES),
    ("POST", "/v1/sessions/{id}/replay", BODIES),
    ("POST", "/v1/sessions/{id}/verify", ENVELOPES),
    ("POST", "/v1/sessions/{id}/close", Class::Change),
    ("POST", "/v1/sessions/{id}/deny-all", Class::Change),
    ("GET", "/v1/sessions/{id}/calls", BODIES),
    ("POST", "/v1/sessions/{id}/calls", Class::Change),
    ("GET", "/v1/sessions/{id}/calls/{call}", BODIES),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/respond",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/reconcile",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/cancel",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/renew",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/yield",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/report",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/finish",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/fail",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sessions/{id}/calls/{call}/claim/release",
        Class::Change,
    ),
    // A claim is on record with the name of the client, before its arguments go out.
    ("POST", "/v1/claims", Class::Change),
    (
        "POST",
        "/v1/sessions/{id}/leaves/{seq}/revoke",
        Class::Change,
    ),
    ("GET", "/v1/pending", BODIES),
    ("GET", "/v1/pending/events", BODIES),
    ("POST", "/v1/requests/{id}/answer", Class::Change),
    ("POST", "/v1/answers", Class::Change),
    ("GET", "/v1/leaves", ENVELOPES),
    ("GET", "/v1/pauses", BODIES),
    ("POST", "/v1/pause", Class::Change),
    ("POST", "/v1/unpause", Class::Change),
    ("GET", "/v1/holds", BODIES),
    ("POST", "/v1/hold", Class::Change),
    ("POST", "/v1/unhold", Class::Change),
    ("GET", "/v1/sinks", ENVELOPES),
    ("POST", "/v1/sinks/{sink}/dead-letters/retry", Class::Change),
    (
        "POST",
        "/v1/sinks/{sink}/dead-letters/{letter}/retry",
        Class::Change,
    ),
    (
        "POST",
        "/v1/sinks/{sink}/dead-letters/{letter}/discard",
        Class::Change,
    ),
    ("GET", "/v1/audit/decisions", BODIES),
    // Who read what, of which the access journal has no bodies.
    ("GET", "/v1/reads", ENVELOPES),
    ("GET", "/v1/openapi.json", Class::Nothing),
];

/// The pages. A form that is refused shows its page again.
const PAGES: [(&str, &str, Class); 35] = [
    ("GET", "/", Class::Nothing),
    ("POST", "/logout", Class::Nothing),
    // It tells when to fetch a page again, without its content.
    ("GET", "/live", Class::Nothing),
    ("GET", "/inbox", BODIES),
    ("GET", "/history", BODIES),
    ("GET", "/figures", ENVELOPES),
    ("GET", "/operations", BODIES),
    ("POST", "/operations/discard-letter", Class::Change),
    ("POST", "/operations/pause", Class::Change),
    ("POST", "/operations/retry-letter", Class::Change),
    ("POST", "/operations/retry-letters", Class::Change),
    ("POST", "/operations/revoke", Class::Change),
    ("POST", "/operations/unhold", Class::Change),
    ("POST", "/operations/unpause", Class::Change),
    ("GET", "/reads", ENVELOPES),
    ("GET", "/audit", BODIES),
    ("POST", "/audit/replay", BODIES),
    ("POST", "/audit/verify", ENVELOPES),
    ("GET", "/sessions", ENVELOPES),
    ("GET", "/sessions/{id}", BODIES),
    ("GET", "/sessions/{id}/records/{seq}", BODIES),
    ("POST", "/sessions/{id}/replay", BODIES),
    ("POST", "/sessions/{id}/verify", ENVELOPES),
    ("POST", "/sessions/{id}/pause", Class::Change),
    ("POST", "/sessions/{id}/unpause", Class::Change),
    ("POST", "/sessions/{id}/deny-all", Class::Change),
    ("POST", "/sessions/{id}/leaves/{seq}/revoke", Class::Change),
    ("GET", "/sessions/{id}/calls/{call}", BODIES),
    ("POST", "/sessions/{id}/calls/{call}/answer", Class::Change),
    ("POST", "/sessions/{id}/calls/{call}/respond", Class::Change),
    (
        "POST",
        "/sessions/{id}/calls/{call}/reconcile",
        Class::Change,
    ),
    ("GET", "/sessions/{id}/calls/{call}/edit", BODIES),
    ("POST", "/sessions/{id}/calls/{call}/edit", BODIES),
    (
        "POST",
        "/sessions/{id}/calls/{call}/leaves/{leave}/revoke",
        Class::Change,
    ),
    ("POST", "/login/token", Class::Nothing),
];

/// The class of a route.
pub(super) fn class_of(method: &str, pattern: &str) -> Class {
    listed(method, pattern).unwrap_or(BODIES)
}

/// The door of a route.
pub(super) fn door_of(pattern: &str) -> Door {
    match pattern.starts_with("/v1/") || pattern == "/metrics" {
        true => Door::Http,
        false => Door::Pages,
    }
}

fn listed(method: &str, pattern: &str) -> Option<Class> {
    let mut rows = API.iter().chain(&PAGES);
    let row = rows.find(|(of, path, _)| *of == method && *path == pattern);
    row.map(|(_, _, class)| *class)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use recount::Engine;
    use serde_json::Value;

    use super::*;
    use crate::access::Access;
    use crate::service::Service;

    /// The routes without a principal, which read nothing.
    const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/v1/openapi.json"];

    fn rows(of: &[(&'static str, &'static str, Class)]) -> BTreeSet<(String, String)> {
        let owned = of
            .iter()
            .map(|(a, b, _)| ((*a).to_owned(), (*b).to_owned()));
        owned
            .filter(|(_, path)| !OPEN.contains(&path.as_str()))
            .collect()
    }

    /// The paths are those of the router: one that is new has to be classified here.
    #[tokio::test]
    async fn every_route_of_the_api_has_a_class() {
        let engine = Engine::in_memory().open().await.unwrap();
        let service = Service::new(engine, Access::none());
        let _ = service.clone().router();
        let document: Value = serde_json::from_str(service.document.get().unwrap()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let routes = paths
            .iter()
            .filter(|(path, _)| !OPEN.contains(&path.as_str()));
        let routes = routes.flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(|it| (it.to_uppercase(), path.clone()))
        });
        assert_eq!(routes.collect::<BTreeSet<_>>(), rows(&API));
    }

    #[test]
    fn every_page_has_a_class() {
        let sources = [
            include_str!("../pages/routes.rs"),
            include_str!("../pages/audit/routes.rs"),
            include_str!("../pages/sessions/routes.rs"),
        ];
        let mut routes = BTreeSet::new();
        for route in sources.iter().flat_map(|it| it.split(".route(").skip(1)) {
            let path = route.split('"').nth(1).unwrap();
            for (name, method) in [("get(", "GET"), ("post(", "POST")] {
                // The next route, or the end of the function, ends this one.
                let own = route.split("\n}").next().unwrap();
                if own.contains(name) && path != "/assets/{name}" {
                    routes.insert((method.to_owned(), path.to_owned()));
                }
            }
        }
        assert!(routes.len() > 30, "{routes:?}");
        assert_eq!(routes, rows(&PAGES));
    }

    #[test]
    fn new_route_counts_as_one_with_bodies() {
        assert_eq!(class_of("GET", "/v1/new"), BODIES);
        assert_eq!(class_of("GET", "/v1/pending"), BODIES);
        assert_eq!(class_of("POST", "/v1/pause"), Class::Change);
    }
}
