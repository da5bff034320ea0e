//! Names that a form would change: what a page offers must still mean the exact name.

use recount::ledger::PauseTarget;
use recount::prelude::{Actor, Agent, Engine, T, json};
use recount_server::{Grant, Principal, Role};

use crate::bench::Bench;
use crate::visitor::{Visitor, section};

/// A name with everything that a browser, an encoding or a separator could change.
const ODD: &str = "a\nb\r\nc\rd+e f&g=h%0A\"<é>\u{1}";

/// The text of an attribute, as a browser has it and sends it with a form.
fn sent_by_a_browser(attribute: &str) -> String {
    let text = attribute
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    // The parser makes one line feed of each break, and the form a pair of each.
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    lines.replace('\n', "\r\n").replace('\0', "\u{fffd}")
}

/// The hidden fields of a part of a page, without the token.
fn hidden(part: &str) -> Vec<(String, String)> {
    let fields = part.split(r#"<input type="hidden" name=""#).skip(1);
    let fields = fields.map(|it| {
        let (name, rest) = it.split_once(r#"" value=""#).unwrap();
        let value = rest.split('"').next().unwrap();
        (name.to_owned(), sent_by_a_browser(value))
    });
    fields.filter(|(name, _)| name != "csrf").collect()
}

#[tokio::test]
async fn pause_of_an_odd_name_is_ended_by_its_form() {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({})) });
    let agent = Agent::new().model("none").strict().tools(pay);
    let engine = Engine::in_memory().agent(ODD, agent).open().await.unwrap();
    let bench = Bench::over(engine);
    let handle = bench.engine.session(ODD).open().await.unwrap();
    let session = handle.session_id();
    let everything = vec![Grant::everywhere(Role::Admin)];
    let root = Visitor::of(&bench, Principal::new(Actor::token("root"), everything));
    let pauses = async || bench.engine.ledger().pauses().await.unwrap();
    let tool = PauseTarget::Tool {
        session,
        tool: "pay".to_owned(),
    };
    for target in [PauseTarget::Agent(ODD.to_owned()), tool] {
        let by = Actor::embedder("ada");
        bench.engine.pause(target, None, false, by).await.unwrap();
        assert_eq!(pauses().await.len(), 1);
        let page = root.open("/operations").await.text;
        let fields = hidden(section(&page, "pauses"));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (&**a, &**b)).collect();
        let ended = root.submit("/operations/unpause", &fields).await;
        assert_eq!(ended.status, 303, "{fields:?}: {}", ended.text);
        assert!(pauses().await.is_empty(), "{fields:?}");
    }
    // The option of the form that begins a pause names the agent as exactly.
    let page = root.open("/operations").await.text;
    let (_, option) = page.split_once(r#"<option value="agent:"#).unwrap();
    let target = format!("agent:{}", option.split('"').next().unwrap());
    let target = sent_by_a_browser(&target);
    let paused = root
        .submit("/operations/pause", &[("target", &target)])
        .await;
    assert_eq!(paused.status, 303, "{}", paused.text);
    assert_eq!(root.open("/operations").await.status, 200);
    let found = pauses().await.remove(0).pause.scope;
    assert_eq!(found, recount::session::PauseScope::Agent(ODD.to_owned()));
    for odd in ["agent:", "agent:a=b", "agent:a&b"] {
        let refused = root.submit("/operations/pause", &[("target", odd)]).await;
        assert_eq!(refused.status, 422, "{odd}");
    }
}
