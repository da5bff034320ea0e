//! The OpenAPI document: it describes the responses that the service gives.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::Bench;
use crate::world::{World, engine};

async fn document(bench: &Bench) -> Value {
    bench.get("", "/v1/openapi.json").await.json()
}

#[tokio::test]
async fn document_is_openapi_3_1_with_a_token_scheme() {
    let bench = Bench::over(engine().await);
    let document = document(&bench).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(
        document["components"]["securitySchemes"]["token"]["scheme"],
        "bearer"
    );
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{id}");
            assert!(operation["tags"][0].is_string(), "{id}");
        }
    }
}

/// The schema of the successful response of an operation, with its reference followed.
fn schema<'d>(document: &'d Value, path: &str) -> &'d Value {
    let operation = &document["paths"][path]["get"];
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    resolved(document, schema)
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// Checks that a value has the required keys of its schema, and collects the described ones.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    let schema = resolved(document, schema);
    if let Some(items) = value.as_array() {
        for item in items {
            check(document, &schema["items"], item, &format!("{place}[]"));
        }
        return;
    }
    let (Some(object), Some(known)) = (value.as_object(), schema["properties"].as_object()) else {
        return;
    };
    let none = Vec::new();
    let required = schema["required"].as_array().unwrap_or(&none);
    for key in required.iter().filter_map(Value::as_str) {
        assert!(object.contains_key(key), "{place} has no {key}: {value}");
    }
    for (key, member) in object {
        if let Some(of_key) = known.get(key) {
            check(document, of_key, member, &format!("{place}.{key}"));
        }
    }
    let described: BTreeSet<&String> = known.keys().collect();
    assert!(
        object.keys().any(|key| described.contains(key)),
        "{place}: {value}"
    );
}

#[tokio::test]
async fn responses_have_the_described_keys() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.bench.admin());
    let pause = serde_json::json!({"target": "everything", "reason": "x"});
    bench.post(&token, "/v1/pause", &pause).await;
    let document = document(bench).await;
    let (session, ended) = (world.own.session.to_string(), world.own.ended.to_string());
    for path in [
        "/v1/sessions",
        "/v1/sessions/{id}",
        "/v1/sessions/{id}/calls",
        "/v1/sessions/{id}/calls/{call}",
        "/v1/sessions/{id}/records",
        "/v1/sessions/{id}/state",
        "/v1/pending",
        "/v1/leaves",
        "/v1/pauses",
        "/v1/holds",
        "/v1/me",
        "/healthz",
        "/readyz",
    ] {
        let filled = path.replace("{id}", &session).replace("{call}", &ended);
        let reply = bench.get(&token, &filled).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        check(&document, schema(&document, path), &reply.json(), path);
    }
}
