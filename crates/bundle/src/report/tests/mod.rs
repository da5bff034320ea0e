//! Tests of the whole page, over recorded histories of each kind.

mod calls;
mod changes;
mod frame;
mod kit;

#[test]
fn zz_dump() {
    use recount::session::*; use recount::testing::*; use serde_json::json;
    let mut kept = kit::Kept::new();
    let tools = toolbox().gated("refund").gated("mail").may_allow_for_session("mail").plain("look_up").in_doubt("refund", InDoubt::Ask)
        .policy("refund", |it: &mut ToolPolicy| { it.gate_terms.edits = Some(Edits::Allowed); });
    let other = toolbox().gated("refund").gated("look_up").gated("mail").may_allow_for_session("mail").per_session("look_up", 3);
    let ada = || Actor::token("ada").with_identity(Identity::of("https://login.example").with_role("finance")).as_person();
    let edited = json!({"order_id": "1001", "cents": 4000, "currency": "EUR"});
    let told = kit::begun(&tools).call("c0", "look_up", json!({"order_id":"1001"})).returned(json!({"status":"shipped"}))
        .call("c1", "refund", json!({"order_id": "1001", "cents": 4200, "currency": "EUR"})).later(42_000)
        .answered_by(ada(), ToolConfirmation::confirmed().with_reason("goodwill of 2 EUR is not covered").with_args(edited)).later(700).returned(json!({"ok":true}))
        .call("c2", "refund", json!({"order_id": "1002", "cents": 99})).later(5_000).denied("bob", Some("wrong account"))
        .call("c3", "mail", json!({"to":"a@example.com"})).granted_for("ada", AllowFor::Count(5)).returned(json!({}))
        .call("c4", "mail", json!({"to":"b@example.com"})).returned(json!({}))
        .call("c5", "look_up", json!({"order_id":"<script>\u{202e}x"})).returned(json!({}))
        .call("c6", "refund", json!({"order_id":"1003"})).granted("ada").attached(&other);
    kept.keep(&told, &tools);
    let t2 = kit::begun(&other).call("c1","look_up",json!({"q":1})).granted("carol").returned(json!({})).call("c2","refund",json!({"q":2}));
    kept.keep(&t2, &other);
    kept.seal(&kit::begun(&tools).closed(), &tools);
    let by = json!({"name": "ada", "authenticated_by": "os_user"});
    kept.note("hold_placed", &json!({"target": {"label":{"key":"matter","value":"17"}}, "reason": "letter of counsel", "by": by}));
    kept.checkpoint();
    let mut c = kept.contents(crate::Disclose::All);
    c.statements.journal = Some("shop.example/journal".into());
    std::fs::write("/tmp/rep/report.html", crate::report::html(&c)).unwrap();
    let c = kept.contents(crate::Disclose::None);
    std::fs::write("/tmp/rep/none.html", crate::report::html(&c)).unwrap();
    let mut c = kept.contents(crate::Disclose::All);
    let call = c.sessions[0].calls[1].clone();
    c.sessions[0].calls = vec![call; 10_000];
    let t = std::time::Instant::now();
    let h = crate::report::html(&c);
    println!("{} bytes {:?}", h.len(), t.elapsed());
    std::fs::write("/tmp/rep/big.html", h).unwrap();
}
