//! Terms of approval over HTTP: the person of a token is its name, its roles and its groups.

use recount::prelude::{Actor, Agent, Engine, T, json};
use recount::session::{Approvers, RequestId, Timestamp};
use recount_server::{Grant, NewToken, Role};

use crate::bench::{Bench, Reply};

/// A bench with one open request, which two persons of `finance` must approve.
async fn two_of_finance() -> (Bench, RequestId) {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let finance = T::approvers(T::confirm(pay, "Pay?"), Approvers::roles(["finance"]));
    let agent = Agent::new().model("none").strict();
    let agent = agent.tools(T::quorum(finance, 2));
    let engine = Engine::in_memory().agent("desk", agent).open().await;
    let engine = engine.unwrap();
    let session = engine.session("desk").open().await.unwrap();
    let mut updates = session.subscribe();
    let calling = session.clone();
    drop(tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        calling.call_function("pay", json!({}), by).await
    }));
    let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
    assert!(asked.await.is_some());
    let request = session.pending().await.unwrap().remove(0).id;
    (Bench::over(engine), request)
}

/// A token of a person with these roles, as approvers name them.
fn person(bench: &Bench, name: &str, roles: &[&str]) -> String {
    let new = NewToken::new(name).grant(Grant::everywhere(Role::Approver));
    let new = roles.iter().fold(new, |new, role| new.role(*role));
    let store = bench.access.tokens().unwrap();
    let (token, _) = store.create(new, Timestamp(1)).unwrap();
    token.expose().to_owned()
}

#[tokio::test]
async fn two_persons_of_a_role_approve_together() {
    let (bench, request) = two_of_finance().await;
    let path = format!("/v1/requests/{request}/answer");
    let yes = async |token: &str| -> Reply {
        bench.post(token, &path, &json!({"confirmed": true})).await
    };
    let outsider = yes(&person(&bench, "eve", &["sales"])).await;
    assert_eq!(outsider.status, 403, "{}", outsider.text);
    assert_eq!(outsider.code(), "not-an-approver");
    let (ada, again) = (
        person(&bench, "ada", &["finance"]),
        person(&bench, "ada", &["finance"]),
    );
    let first = yes(&ada).await;
    assert_eq!(
        (first.status.as_u16(), &first.json()["missing"]),
        (202, &json!(1))
    );
    // Another token of the same name is the same person.
    let same = yes(&again).await;
    assert_eq!(
        (same.status.as_u16(), same.code().as_str()),
        (409, "already-approved")
    );
    let last = yes(&person(&bench, "grace", &["finance"])).await;
    assert_eq!(last.status, 200, "{}", last.text);
    let several = json!({"requests": [request], "answer": {"confirmed": true}});
    let late = bench.post(&ada, "/v1/answers", &several).await.json();
    assert_eq!(late["items"][0]["refused"]["code"], "already-answered");
}

#[tokio::test]
async fn first_of_several_approvals_is_accepted_only() {
    let (bench, request) = two_of_finance().await;
    let ada = person(&bench, "ada", &["finance"]);
    let several = json!({"requests": [request], "answer": {"confirmed": true}});
    let first = bench.post(&ada, "/v1/answers", &several).await.json();
    assert_eq!(first["items"][0]["status"], 202);
}

#[tokio::test]
async fn listed_request_has_each_new_approval() {
    let (bench, request) = two_of_finance().await;
    let ada = person(&bench, "ada", &["finance"]);
    let approvals = async || {
        let listed = bench.get(&ada, "/v1/pending").await.json();
        let asked = listed["items"][0]["confirmation"].clone();
        assert_eq!(asked["request"], json!(request));
        asked["approvals"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(approvals().await, 0);
    let path = format!("/v1/requests/{request}/answer");
    let first = bench.post(&ada, &path, &json!({"confirmed": true})).await;
    assert_eq!(first.status, 202, "{}", first.text);
    assert_eq!(approvals().await, 1);
}
