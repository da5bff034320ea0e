//! Legal holds by label, and the release by a form.

use recount::prelude::{Actor, json};
use recount_server::{Grant, Principal, Role};

use crate::visitor::{Visitor, section, words};
use crate::world::World;

#[tokio::test]
async fn hold_by_label_is_of_operators_of_everything() {
    let world = World::new().await;
    let (bench, admin) = (&world.bench, world.bench.admin());
    let target = json!({"label": {"key": "tenant", "value": "acme"}});
    let hold = json!({"target": target, "reason": "matter 17"});
    let placed = bench.post(&admin, "/v1/hold", &hold).await;
    assert_eq!(placed.status, 200, "{}", placed.text);
    let id = placed.json()["seq"].as_u64().unwrap();
    // The hold again is the same hold.
    let again = bench.post(&admin, "/v1/hold", &hold).await;
    assert_eq!(again.json()["seq"], id);

    let tenant = world.tenant(Role::Admin);
    let refused = bench.post(&tenant, "/v1/hold", &hold).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (403, "role-missing")
    );
    let listed = bench.get(&tenant, "/v1/holds").await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let release = json!({"hold": id, "reason": "settled"});
    let unseen = bench.post(&tenant, "/v1/unhold", &release).await;
    assert_eq!(unseen.code(), "unknown-hold");

    let listed = bench.get(&admin, "/v1/holds").await.json();
    assert_eq!(listed["items"][3]["target"], target);
    assert_eq!(bench.post(&admin, "/v1/unhold", &release).await.status, 200);
    let ended = bench.post(&admin, "/v1/unhold", &release).await;
    assert_eq!(ended.code(), "hold-released");
    assert_eq!(ended.json()["by"]["name"], "root");
    for (body, code) in [
        (json!({"target": target, "reason": " "}), "no-reason"),
        (
            json!({"target": {"label": {"key": "", "value": "x"}}, "reason": "why"}),
            "no-label",
        ),
    ] {
        let unfit = bench.post(&admin, "/v1/hold", &body).await;
        assert_eq!((unfit.status.as_u16(), unfit.code().as_str()), (422, code));
    }
}

#[tokio::test]
async fn hold_is_released_with_a_form() {
    let world = World::new().await;
    let root = Principal::new(Actor::token("root"), vec![Grant::everywhere(Role::Admin)]);
    let root = Visitor::of(&world.bench, root);
    let page = root.open("/operations").await.text;
    let listed = section(&page, "holds");
    assert_eq!(listed.matches("unhold-").count() % 3, 0, "{listed}");
    assert!(words(listed).join(" ").contains("own-text"), "{listed}");
    let hold = world.own.hold.to_string();
    let fields = [("hold", hold.as_str()), ("reason", "settled")];
    let done = root.submit("/operations/unhold", &fields).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let in_force = world.bench.engine.ledger().holds().await.unwrap();
    assert_eq!(in_force.len(), 2);
    assert!(in_force.iter().all(|it| it.id != world.own.hold));
    let on_record = world.bench.engine.ledger().holds_on_record().await.unwrap();
    let end = on_record.into_iter().find_map(|it| it.released).unwrap();
    assert_eq!(
        (end.by, end.reason.as_str()),
        (Actor::token("root"), "settled")
    );
}
